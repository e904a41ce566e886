//! Latencies of devices, interval by interval: events of the block layer into histograms that are emptied each time.
//!
//! Nothing grows with the number of I/Os: what is kept are those in flight, and four histograms per device.

use crate::ObserveError;
use crate::block::{Block, Ended};
use crate::event::{Event, Name, Op, What};
use crate::events::{Events, Way};
use crate::process::{self, now};
use crate::recording::{Cost, with_below};
use measure::{Histogram, Nanos};
use model::{DeviceLatency, LatencyPercentiles, OperationLatency};
use rustc_hash::FxHashMap;
use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use sys::devices::identity::{BlockDevice, DeviceNumber};
use sys::processes::usage;

/// Time between two readings of the events.
const STEP: Duration = Duration::from_millis(20);
/// I/Os in flight; of more the ends are missing.
const MOST_IN_FLIGHT: usize = 100_000;

/// Times of one direction at a device.
#[derive(Debug, Default)]
struct Times {
    ios: u64,
    queue: Histogram,
    device: Histogram,
}

/// Times at a device.
#[derive(Debug, Default)]
struct Directions {
    read: Times,
    write: Times,
}

impl Times {
    fn add(&mut self, io: &Ended) {
        self.ios += 1;
        if let Some(issued) = io.issued {
            self.queue.record(issued.saturating_sub(io.queued));
        }
        self.device.record(io.done.saturating_sub(io.issued.unwrap_or(io.queued)));
    }

    /// The percentiles; counts from zero again.
    fn take(&mut self) -> OperationLatency {
        let of = LatencyPercentiles::of;
        let taken = OperationLatency { ios: self.ios, queue: of(&self.queue), device: of(&self.device) };
        self.ios = 0;
        self.queue.clear();
        self.device.clear();
        taken
    }
}

/// Events of the block layer → times at each device: a pure function of the events.
#[derive(Debug, Default)]
struct Devices {
    block: Block,
    times: FxHashMap<DeviceNumber, Box<Directions>>,
    /// I/Os whose ends were not seen.
    forgotten: u64,
}

impl Devices {
    fn new(wholes: FxHashMap<DeviceNumber, DeviceNumber>) -> Self {
        Devices { block: Block::with_ends(wholes), ..Devices::default() }
    }

    fn take(&mut self, event: &Event) {
        let (at, block) = (event.time, &mut self.block);
        match event.what {
            What::Queue { span, name } => drop(block.queue(span, name, at, event.thread)),
            What::Request(span) | What::Merge(span) => block.request(span, Name::default(), at, event.thread),
            What::Issue(span) => block.issue(span, at),
            What::Requeue(span) => block.requeue(span, at),
            What::Complete(span) => drop(block.complete(span, at)),
            What::BioComplete(span) => drop(block.bio_complete(span, at)),
            What::Remap { to, from, from_sector } => block.remap(to, from, from_sector, at),
            What::Lost => self.forget_all(),
            _ => {}
        }
        if self.block.in_flight() > MOST_IN_FLIGHT {
            self.forget_all();
        }
        for io in self.block.ended.replace(Vec::new()).unwrap_or_default() {
            self.count(&io);
        }
    }

    fn forget_all(&mut self) {
        self.forgotten += self.block.in_flight() as u64;
        self.block.clear();
    }

    /// Counts an I/O at its device, and one of a partition at its disk, too.
    fn count(&mut self, io: &Ended) {
        let device = io.span.device;
        let whole = self.block.wholes.get(&device).copied().filter(|whole| *whole != device);
        for device in [Some(device), whole].into_iter().flatten().filter(|_| io.span.sectors > 0) {
            let times = self.times.entry(device).or_default();
            match io.span.op {
                Op::Read => times.read.add(io),
                Op::Write => times.write.add(io),
                Op::Other => {}
            }
        }
    }

    fn latencies(&mut self) -> FxHashMap<DeviceNumber, DeviceLatency> {
        let taken = |times: &mut Directions| DeviceLatency { read: times.read.take(), write: times.write.take() };
        self.times.iter_mut().map(|(device, times)| (*device, taken(times))).collect()
    }
}

/// Times of the I/Os that ended since they were taken last.
#[derive(Debug, Default)]
pub struct LatencyInterval {
    devices: FxHashMap<DeviceNumber, DeviceLatency>,
    /// Events that the kernel could not keep.
    pub lost: u64,
    /// I/Os without an end because of that.
    pub forgotten: u64,
}

impl LatencyInterval {
    /// Those of a device or partition by its kernel's name; without I/Os if it had none, `None` if there is no such device.
    pub fn of(&self, name: &str) -> Option<DeviceLatency> {
        let number = device(name)?.number()?;
        Some(self.devices.get(&number).copied().unwrap_or_default())
    }
}

/// The events with their reader.
#[derive(Debug)]
struct Live {
    events: Events,
    waiting: Vec<Event>,
    devices: Devices,
    lost: u64,
    failed: Option<ObserveError>,
}

impl Live {
    fn step(&mut self) -> Result<(), ObserveError> {
        let time = now();
        let complete = self.events.read(&mut self.waiting)?;
        self.waiting.sort_by_key(|event| event.time);
        let ready = self.waiting.partition_point(|event| event.time < complete);
        for event in self.waiting.drain(..ready) {
            self.devices.take(&event);
        }
        self.devices.block.forget(time);
        Ok(())
    }
}

/// A recording of latencies, for as long as it is kept.
#[derive(Debug)]
pub struct Latencies {
    live: Arc<Mutex<Live>>,
    is_over: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
    followed: HashSet<DeviceNumber>,
    begun: Nanos,
    used: u64,
}

impl Latencies {
    /// Prepares a recording, which [`Latencies::follow`] begins.
    ///
    /// # Errors
    /// The kernel gives no events.
    pub fn prepare() -> Result<Self, ObserveError> {
        let events = Events::of_block(Some(Way::Tracefs), "latency")?;
        let devices = Devices::new(process::wholes());
        let live = Arc::new(Mutex::new(Live { events, waiting: Vec::new(), devices, lost: 0, failed: None }));
        let is_over = Arc::new(AtomicBool::new(false));
        let (reading, is_over_there) = (Arc::clone(&live), Arc::clone(&is_over));
        let reader = std::thread::spawn(move || {
            while !is_over_there.load(Ordering::Relaxed) {
                let mut live = locked(&reading);
                if let Err(error) = live.step() {
                    live.failed = Some(error);
                    break;
                }
                drop(live);
                std::thread::sleep(STEP);
            }
        });
        let (begun, used) = (now(), processor_time());
        Ok(Latencies { live, is_over, reader: Some(reader), followed: HashSet::new(), begun, used })
    }

    /// Records these devices, by the kernel's names, besides those before; all devices if there are no names.
    ///
    /// # Errors
    /// The kernel has not the events.
    pub fn follow(&mut self, names: &[String]) -> Result<(), ObserveError> {
        let found: HashSet<DeviceNumber> = names.iter().filter_map(|name| device(name)).flat_map(with_below).collect();
        let is_new = !found.is_subset(&self.followed);
        self.followed.extend(found);
        if !is_new && !names.is_empty() {
            return Ok(());
        }
        let followed: Vec<DeviceNumber> = self.followed.iter().copied().collect();
        let mut live = locked(&self.live);
        live.devices.block.wholes = process::wholes();
        live.events.record_devices(if names.is_empty() { &[] } else { &followed })
    }

    /// Latencies of the I/Os that ended since this was called last.
    ///
    /// # Errors
    /// The events could not be read.
    pub fn take(&self) -> Result<LatencyInterval, ObserveError> {
        let mut live = locked(&self.live);
        if let Some(error) = live.failed.take() {
            return Err(error);
        }
        live.step()?;
        let lost = live.events.lost();
        let before = std::mem::replace(&mut live.lost, lost);
        let forgotten = std::mem::take(&mut live.devices.forgotten);
        Ok(LatencyInterval { devices: live.devices.latencies(), lost: lost.saturating_sub(before), forgotten })
    }

    /// Its costs so far.
    pub fn cost(&self) -> Cost {
        let live = locked(&self.live);
        Cost {
            time: now().saturating_sub(self.begun),
            processor: Nanos(processor_time().saturating_sub(self.used)),
            events: live.events.count(),
            lost: live.lost,
            way: Some(live.events.way()),
            why_not_bpf: live.events.why_not.clone(),
            ..Cost::default()
        }
    }
}

impl Drop for Latencies {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

fn locked(live: &Mutex<Live>) -> MutexGuard<'_, Live> {
    live.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Processor time of this process: a thread reads, another takes.
fn processor_time() -> u64 {
    let used = usage::of_process();
    used.user_ns.saturating_add(used.system_ns)
}

/// A device or partition by the kernel's name.
fn device(name: &str) -> Option<BlockDevice> {
    BlockDevice::of_link(&Path::new("/sys/class/block").join(name.replace('/', "!")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Span, Thread};

    const DISK: DeviceNumber = DeviceNumber { major: 8, minor: 0 };
    const PART: DeviceNumber = DeviceNumber { major: 8, minor: 1 };
    const STACKED: DeviceNumber = DeviceNumber { major: 252, minor: 0 };

    fn span(device: DeviceNumber, sector: u64, op: Op) -> Span {
        Span { device, sector, sectors: 8, op, is_ahead: false, is_after_flush: false }
    }

    fn taken(devices: &mut Devices, events: &[(u64, What)]) {
        for (time, what) in events {
            let event = Event { time: Nanos(*time), cpu: 0, thread: Thread(7), context: 0, what: *what };
            devices.take(&event);
        }
    }

    fn queue(span: Span) -> What {
        What::Queue { span, name: Name::default() }
    }

    /// An I/O that waits for 50 ns in the queue and is in the device for `time`.
    fn io(devices: &mut Devices, begin: u64, of: DeviceNumber, op: Op, time: u64) {
        let (queued, request) = (span(of, begin, op), span(DISK, begin, op));
        let events = [
            (begin, queue(queued)),
            (begin + 20, What::Request(request)),
            (begin + 50, What::Issue(request)),
            (begin + 50 + time, What::Complete(request)),
        ];
        taken(devices, &events);
    }

    #[test]
    fn queue_and_device_of_reads_and_writes_are_apart() {
        let mut devices = Devices::new(FxHashMap::from_iter([(PART, DISK)]));
        for number in 0..100 {
            io(&mut devices, number * 1000, DISK, Op::Read, if number < 99 { 100 } else { 120 });
        }
        for number in 100..103 {
            io(&mut devices, number * 1000, PART, Op::Write, 70);
        }
        let found = devices.latencies();
        let (read, write) = (found[&DISK].read, found[&DISK].write);
        assert_eq!((read.ios, read.queue.p50, read.queue.p99), (100, Some(Nanos(50)), Some(Nanos(50))));
        assert_eq!(read.device.all(), [Some(Nanos(100)), Some(Nanos(100)), None]);
        assert_eq!((write.ios, write.device.all()), (3, [Some(Nanos(70)), None, None]));
        assert_eq!(found[&PART], DeviceLatency { write, ..DeviceLatency::default() }, "a partition has its own");
        assert_eq!(devices.latencies()[&DISK], DeviceLatency::default(), "it was taken");
    }

    #[test]
    fn each_device_of_a_stack_has_its_own_times() {
        let mut devices = Devices::new(FxHashMap::default());
        for begin in [0, 1000] {
            let (above, below) = (span(STACKED, begin, Op::Read), span(DISK, begin + 2048, Op::Read));
            let events = [
                (begin, queue(above)),
                (begin + 10, What::Remap { to: below, from: STACKED, from_sector: begin }),
                (begin + 15, queue(below)),
                (begin + 20, What::Request(below)),
                (begin + 40, What::Issue(below)),
                (begin + 100, What::Complete(below)),
                (begin + 105, What::BioComplete(above)),
            ];
            taken(&mut devices, &events);
        }
        let found = devices.latencies();
        let (above, below) = (found[&STACKED].read, found[&DISK].read);
        assert_eq!((above.ios, above.queue.p50, above.device.p50), (2, None, Some(Nanos(105))));
        assert_eq!((below.ios, below.queue.p50, below.device.p50), (2, Some(Nanos(25)), Some(Nanos(60))));
    }

    #[test]
    fn an_io_that_the_driver_gave_back_is_queued_again() {
        let mut devices = Devices::new(FxHashMap::default());
        for begin in [0, 1000] {
            let one = span(DISK, begin, Op::Write);
            let events = [
                (begin, queue(one)),
                (begin + 10, What::Issue(one)),
                (begin + 20, What::Requeue(one)),
                (begin + 60, What::Issue(one)),
                (begin + 90, What::Complete(one)),
            ];
            taken(&mut devices, &events);
        }
        let write = devices.latencies()[&DISK].write;
        assert_eq!((write.queue.p50, write.device.p50), (Some(Nanos(60)), Some(Nanos(30))));
    }

    #[test]
    fn nothing_grows_with_the_number_of_ios() {
        let mut devices = Devices::new(FxHashMap::default());
        for number in 0..10_000 {
            io(&mut devices, number * 1000, DISK, Op::Read, 100);
            let kept = (devices.block.in_flight(), devices.times.len(), devices.block.ended.as_ref().map(Vec::len));
            assert_eq!(kept, (0, 1, Some(0)));
        }
        assert_eq!(devices.latencies()[&DISK].read.ios, 10_000);
        // Ends that are never seen.
        for number in 0..150_000 {
            taken(&mut devices, &[(number, queue(span(DISK, number * 8, Op::Read)))]);
        }
        assert!(devices.block.in_flight() <= MOST_IN_FLIGHT && devices.forgotten > 100_000);
    }

    #[test]
    fn lost_events_end_what_was_in_flight() {
        let mut devices = Devices::new(FxHashMap::default());
        let one = span(DISK, 0, Op::Read);
        let events = [(0, queue(one)), (5, What::Lost), (6, What::Issue(one)), (7, What::Complete(one))];
        taken(&mut devices, &events);
        assert_eq!((devices.forgotten, devices.latencies().len()), (1, 0));
    }
}

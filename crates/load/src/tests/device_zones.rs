//! Loads on a model of a zoned device, which refuses what a device refuses: a write that is not at the write pointer,
//! one beyond the capacity, one to a zone too many.

use super::*;
use crate::random::Random;
use crate::shared_zones::{DeviceZone, SharedZones, WriteOrder, ZoneKind, ZonedDevice};
use crate::{Expects, SharedWords, ZoneAction};
use plan::{VerifyPlan, ZonePlan, Zoned};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

const ZONE: u64 = 64 * K;
const CAPACITY: u64 = 48 * K;
const BLOCK: u64 = 4 * K;

struct Device {
    /// Bytes written in each zone, as the device counts them; more than the capacity if it was finished.
    written: Vec<u64>,
    conventional: usize,
    active_most: usize,
    /// The writer of each block.
    content: HashMap<u64, (usize, u64)>,
    resets: u64,
    most_active: usize,
}

impl Device {
    fn new(written: &[u64], conventional: usize, active_most: usize) -> Self {
        let content = HashMap::new();
        Device { written: written.to_vec(), conventional, active_most, content, resets: 0, most_active: 0 }
    }

    fn active(&self) -> usize {
        let sequential = &self.written[self.conventional..];
        sequential.iter().filter(|&&written| written > 0 && written < CAPACITY).count()
    }

    fn write(&mut self, request: &Request, writer: (usize, u64)) -> Result<(), String> {
        let (zone, inside) = (usize::try_from(request.offset / ZONE).unwrap(), request.offset % ZONE);
        let end = inside + u64::from(request.length);
        if zone >= self.conventional {
            if self.written[zone] != inside || end > CAPACITY {
                return Err(format!("{request:?} is not at the write pointer {}", self.written[zone]));
            }
            if inside == 0 && self.active() >= self.active_most {
                return Err(format!("{request:?}: {} zones are active", self.active()));
            }
            self.written[zone] = end;
            self.most_active = self.most_active.max(self.active());
        }
        for block in 0..u64::from(request.length) / BLOCK {
            self.content.insert(request.offset + block * BLOCK, writer);
        }
        Ok(())
    }

    fn act(&mut self, request: &Request, action: ZoneAction) -> Result<u64, i32> {
        let zone = usize::try_from(request.offset / ZONE).unwrap();
        assert!(zone >= self.conventional, "{request:?} {action:?}");
        match action {
            ZoneAction::Reset | ZoneAction::Trim => {
                (self.written[zone], self.resets) = (0, self.resets + 1);
            }
            ZoneAction::Finish => self.written[zone] = CAPACITY,
            ZoneAction::Report => return Ok(self.written[zone]),
            ZoneAction::SetBack => panic!("{request:?}: the zones are not emulated"),
        }
        Ok(0)
    }

    /// The zones that the workers share, as a supervisor would make them.
    fn shared(&self, open_most: Option<u32>) -> SharedZones {
        let slots = open_most.map_or(0, |most| most as usize).max(self.active());
        let words: Box<[AtomicU64]> =
            (0..SharedZones::words(self.written.len(), slots)).map(|_| AtomicU64::new(0)).collect();
        let words: Arc<dyn SharedWords> = Arc::new(words);
        let zones = self.written.iter().enumerate();
        let report: Vec<DeviceZone> = zones
            .map(|(zone, &written)| match zone < self.conventional {
                true => DeviceZone { capacity: ZONE, written: 0, kind: ZoneKind::Conventional },
                false => DeviceZone { capacity: CAPACITY, written, kind: ZoneKind::Sequential },
            })
            .collect();
        let open = (self.conventional..report.len()).filter(|&zone| (1..CAPACITY).contains(&report[zone].written));
        let open: Vec<usize> = if open_most.is_some() { open.collect() } else { Vec::new() };
        SharedZones::of_device(words, slots, ZonedDevice { zone_size: ZONE, open_most }, &report, &open)
    }
}

fn job_on_zones(mix: Mix, engine: &'static str, depth: u32) -> JobPlan {
    let mut job = job();
    (job.load.mix, job.load.random, job.engine, job.depth.depth) = (mix, true, engine, depth);
    job.load.block_size = alike(BlockSize::Fixed(u32::try_from(BLOCK).unwrap()));
    job.load.zones = ZonePlan::Zoned(Zoned::default());
    job
}

fn verifying(mut job: JobPlan) -> JobPlan {
    job.verify = Some(VerifyPlan { check: true, ..VerifyPlan::default() });
    job
}

/// A worker, with the I/Os that are on their way to the device and those that have arrived there.
struct Worker {
    load: Load,
    sent: VecDeque<(Request, Option<Expects>)>,
    arrived: Vec<Request>,
    depth: usize,
    in_order: bool,
    ended: bool,
    /// Writes and reads that arrived.
    writes: u64,
    reads: u64,
    bytes: u64,
    deepest: usize,
}

impl Worker {
    fn new(job: &JobPlan, number: u32, zones: &SharedZones, region: std::ops::Range<u64>) -> Self {
        let region = [Region { start: region.start * ZONE, end: region.end * ZONE, reach: Reach::Part }];
        let order = if job.engine == "io_uring" { WriteOrder::Kept } else { WriteOrder::Any };
        let zones = [Some(zones.ordered(order))];
        let setup = LoadSetup { job, number, regions: &region, zones: &zones, system_seed: 1 };
        let mut load = Load::new(&setup).unwrap();
        load.begin(Nanos(0));
        let (depth, in_order) = (job.depth.depth as usize, job.engine == "io_uring");
        let (sent, arrived) = (VecDeque::new(), Vec::new());
        Worker { load, sent, arrived, depth, in_order, ended: false, writes: 0, reads: 0, bytes: 0, deepest: 0 }
    }

    fn in_flight(&self) -> usize {
        self.sent.len() + self.arrived.len()
    }

    /// Asks the load for its next step.
    fn decide(&mut self, device: &mut Device, now: Nanos) -> Result<(), String> {
        match self.load.next(now) {
            Next::Issue(request) => self.sent.push_back((request, None)),
            Next::Review { request, expects } => self.sent.push_back((request, Some(expects))),
            Next::Zone { request, action, length } => {
                if length != ZONE || request.offset % ZONE > 0 {
                    return Err(format!("{request:?} {action:?} is not a zone"));
                }
                self.load.zone_done(&request, action, device.act(&request, action));
            }
            Next::Stop => self.ended = true,
            // Everything that is in flight ends first.
            Next::Drain | Next::BeginReview | Next::EndReview => {
                while self.in_flight() > 0 {
                    self.arrive(device, 0)?;
                    self.complete(0);
                }
            }
            _ => {}
        }
        self.deepest = self.deepest.max(self.in_flight());
        Ok(())
    }

    /// Brings an I/O to the device.
    fn arrive(&mut self, device: &mut Device, which: usize) -> Result<(), String> {
        let which = if self.in_order { 0 } else { which % self.sent.len().max(1) };
        let Some((request, expects)) = self.sent.remove(which) else { return Ok(()) };
        let me = std::ptr::from_ref(self) as usize;
        match (request.operation, expects) {
            (Operation::Write, _) => {
                self.writes += 1;
                self.bytes += u64::from(request.length);
                device.write(&request, (me, request.offset))?;
            }
            (_, Some(_)) => {
                self.reads += 1;
                for block in 0..u64::from(request.length) / BLOCK {
                    let found = device.content.get(&(request.offset + block * BLOCK));
                    if found != Some(&(me, request.offset)) {
                        return Err(format!("{request:?} finds {found:?}"));
                    }
                }
            }
            _ => self.reads += 1,
        }
        self.arrived.push(request);
        Ok(())
    }

    fn complete(&mut self, which: usize) {
        if !self.arrived.is_empty() {
            let request = self.arrived.swap_remove(which % self.arrived.len());
            self.load.note_completed(&request);
            self.load.completed(&request);
        }
    }
}

/// Runs workers in random turns to their end.
fn run_all(workers: &mut [Worker], device: &mut Device, seed: u64) -> Result<(), String> {
    let mut turns = Random::new(seed);
    let mut draw = |below: usize| usize::try_from(turns.below(below as u64)).unwrap();
    for step in 0..2_000_000 {
        let Some(_) = workers.iter().find(|worker| !worker.ended || worker.in_flight() > 0) else { return Ok(()) };
        let worker = draw(workers.len());
        let worker = &mut workers[worker];
        match draw(3) {
            0 if !worker.ended && worker.in_flight() < worker.depth => worker.decide(device, Nanos(step * 1000))?,
            1 => worker.arrive(device, draw(64))?,
            _ => worker.complete(draw(64)),
        }
    }
    Err("the workers wait for each other".to_owned())
}

#[test]
fn four_jobs_verify_the_same_zones_at_the_limit_of_open_ones() {
    for seed in 0..20 {
        for (engine, depth) in [("psync", 1), ("io_uring", 8), ("posixaio", 8)] {
            let before: Vec<u64> = [0, CAPACITY, 8 * K, 44 * K].repeat(4);
            let mut device = Device::new(&before, 0, 12);
            let zones = device.shared(Some(6));
            let mut job = verifying(job_on_zones(Mix::Only(Direction::Write), engine, depth));
            (job.load.seed, job.limits.loops) = (Some(seed), 2);
            let mut workers: Vec<Worker> = (1..=4).map(|number| Worker::new(&job, number, &zones, 0..16)).collect();
            run_all(&mut workers, &mut device, seed).unwrap_or_else(|error| panic!("{seed} {engine}: {error}"));
            let sum = |count: fn(&Worker) -> u64| workers.iter().map(count).sum::<u64>();
            assert_eq!(sum(|worker| worker.load.zone_resets()), device.resets, "{seed} {engine}");
            assert_eq!(sum(|worker| worker.writes), sum(|worker| worker.reads), "{seed} {engine}");
            assert!(sum(|worker| worker.writes) >= 16 * 12, "{seed} {engine}: {}", sum(|worker| worker.writes));
            assert!(device.most_active <= 8, "{seed} {engine}: {} active", device.most_active);
        }
    }
}

#[test]
fn mixed_sizes_go_on_over_conventional_and_half_full_zones() {
    for seed in 0..20 {
        for (engine, depth) in [("psync", 1), ("io_uring", 16)] {
            let before: Vec<u64> = (0..16).map(|zone| if zone % 3 == 0 { 12 * K } else { 0 }).collect();
            let mut device = Device::new(&before, 2, 8);
            let zones = device.shared(Some(8));
            let mut job = job_on_zones(Mix::Only(Direction::Write), engine, depth);
            job.load.block_size = alike(BlockSize::Range(4096, 12288));
            (job.load.seed, job.files.io_size) = (Some(seed), Some(Extent::Bytes(4 * 16 * ZONE)));
            let mut workers: Vec<Worker> = (1..=3).map(|number| Worker::new(&job, number, &zones, 0..16)).collect();
            run_all(&mut workers, &mut device, seed).unwrap_or_else(|error| panic!("{seed} {engine}: {error}"));
            for worker in &workers {
                assert!(worker.bytes >= 4 * 16 * ZONE, "{seed} {engine}: {} bytes", worker.bytes);
            }
            assert!(device.resets > 0 && device.most_active <= 8, "{seed} {engine}: {}", device.most_active);
        }
    }
}

#[test]
fn writes_of_a_zone_fly_together_only_if_their_order_is_kept() {
    for (engine, together) in [("io_uring", true), ("posixaio", false)] {
        let mut device = Device::new(&[0; 4], 0, 8);
        let zones = device.shared(None);
        let mut job = job_on_zones(Mix::Only(Direction::Write), engine, 8);
        job.load.random = false;
        let mut workers = [Worker::new(&job, 1, &zones, 0..1)];
        run_all(&mut workers, &mut device, 1).unwrap();
        assert_eq!((workers[0].deepest > 1, workers[0].writes), (together, 12), "{engine}");
    }
}

#[test]
fn a_block_that_leaves_a_remainder_finishes_its_zone() {
    let mut device = Device::new(&[0; 12], 0, 4);
    let zones = device.shared(Some(4));
    let mut job = job_on_zones(Mix::Only(Direction::Write), "io_uring", 4);
    job.load.block_size = alike(BlockSize::Fixed(20480));
    let mut workers = [Worker::new(&job, 1, &zones, 0..12)];
    run_all(&mut workers, &mut device, 1).unwrap();
    assert!(workers[0].writes >= 24 && device.most_active <= 4, "{} {}", workers[0].writes, device.most_active);
}

#[test]
fn a_write_that_failed_is_looked_up_if_the_job_recovers() {
    for (recovers, goes_on) in [(true, true), (false, false)] {
        let mut device = Device::new(&[0; 2], 0, 4);
        let zones = device.shared(None);
        let mut job = job_on_zones(Mix::Only(Direction::Write), "psync", 1);
        job.load.random = false;
        job.load.zones = ZonePlan::Zoned(Zoned { recovers, ..Zoned::default() });
        let mut worker = Worker::new(&job, 1, &zones, 0..1);
        worker.decide(&mut device, Nanos(0)).unwrap();
        let (lost, _) = worker.sent.pop_front().unwrap();
        worker.load.failed(&lost);
        let mut workers = [worker];
        assert_eq!(run_all(&mut workers, &mut device, 1).is_ok(), goes_on, "{recovers}");
    }
}

#[test]
fn the_limit_of_a_device_is_left_to_it_if_the_job_ignores_it() {
    for (ignores_limits, goes_on) in [(false, true), (true, false)] {
        let mut device = Device::new(&[0; 16], 0, 4);
        let zones = device.shared(Some(4));
        let mut job = job_on_zones(Mix::Only(Direction::Write), "psync", 1);
        job.load.zones = ZonePlan::Zoned(Zoned { ignores_limits, ..Zoned::default() });
        let mut workers = [Worker::new(&job, 1, &zones, 0..16)];
        assert_eq!(run_all(&mut workers, &mut device, 1).is_ok(), goes_on, "{ignores_limits}");
    }
}

#[test]
fn the_zones_of_a_killed_worker_are_free_again() {
    let mut device = Device::new(&[0; 2], 0, 4);
    let zones = device.shared(None);
    let job = job_on_zones(Mix::Only(Direction::Write), "psync", 1);
    let mut killed = Worker::new(&job, 1, &zones, 0..1);
    killed.decide(&mut device, Nanos(0)).unwrap();
    std::mem::forget(killed);
    let mut workers = [Worker::new(&job, 2, &zones, 0..1)];
    for _ in 0..100 {
        workers[0].decide(&mut device, Nanos(0)).unwrap();
    }
    assert_eq!(workers[0].in_flight(), 0, "the other has the zone");
    zones.abandon(1, 2);
    run_all(&mut workers, &mut device, 1).unwrap();
    assert_eq!(workers[0].writes, 16, "the killed worker's write never arrived");
}

#[test]
fn reads_stay_below_writes_in_flight_and_trims_go_to_data() {
    let mut device = Device::new(&[0, 0, 16 * K, 0], 0, 4);
    let zones = device.shared(None);
    let mut writer = Worker::new(&job_on_zones(Mix::Only(Direction::Write), "io_uring", 4), 1, &zones, 0..1);
    writer.decide(&mut device, Nanos(0)).unwrap();
    let read = job_on_zones(Mix::Only(Direction::Read), "psync", 1);
    let mut workers = [Worker::new(&read, 2, &zones, 0..4)];
    workers[0].decide(&mut device, Nanos(0)).unwrap();
    assert_eq!(workers[0].sent[0].0.offset / ZONE, 2, "zone 0 holds a write that has not ended");
    let mut trim = job_on_zones(Mix::Only(Direction::Trim), "psync", 1);
    trim.load.block_size = alike(BlockSize::Fixed(u32::try_from(ZONE).unwrap()));
    let mut workers = [Worker::new(&trim, 3, &zones, 1..4)];
    run_all(&mut workers, &mut device, 1).unwrap();
    assert_eq!((device.resets, device.written[2], workers[0].load.zone_resets()), (1, 0, 1));
}

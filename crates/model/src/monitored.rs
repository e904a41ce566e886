//! What the parent saw beside the jobs while they ran: devices, processors, pressure, control group, workers, targets.
//!
//! Every interval holds what was *gained* in it, in the counters' own units, so that intervals add up to the run and
//! two neighbours can be made one. A signal that could not be read is `None` or missing, never 0.

use crate::LatencyCounts;
use measure::Nanos;
use serde::{Deserialize, Serialize};

/// All that was seen of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Monitored {
    /// When it began, milliseconds since 1970 UTC; times below count from here.
    pub began_unix_ms: u64,
    /// CPU time that the looking itself took.
    pub own_cpu: Nanos,
    /// The facts of each device that was watched, in the order of every interval's `devices`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceFacts>,
    /// The facts of each file or device that jobs used; of the first 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetFacts>,
    /// What the control group of this process may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_limits: Option<GroupLimits>,
    /// What virtualises the machine; `None` on bare metal or where nothing tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
    /// What happened, interval after interval, without gaps.
    pub intervals: Vec<Interval>,
}

/// A device's constant facts, from sysfs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// Kernel name, `sda`.
    pub name: String,
    /// Whether nothing that could be seen lies below it: the bytes of all leaves are what reached disks.
    pub leaf: bool,
    /// Whether a target lies directly on it (or on a partition of it).
    pub top: bool,
    /// Names of the devices directly below.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<String>,
    /// Model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Whether it says that it has moving parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// The I/O scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Whether writes are acknowledged before they are durable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_back: Option<bool>,
    /// What it addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logical_block_bytes: Option<u64>,
    /// What it writes without reading around it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physical_block_bytes: Option<u64>,
    /// The largest request; larger I/Os are split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_max_bytes: Option<u64>,
    /// Requests that are queued at most per hardware queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_requests: Option<u64>,
    /// Hardware queues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_queues: Option<u64>,
    /// Read-ahead of buffered sequential reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ahead_bytes: Option<u64>,
    /// The largest discard; 0 when it takes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discard_max_bytes: Option<u64>,
    /// The memory node it is attached to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<u32>,
    /// What its link can carry at most, where sysfs tells (PCIe, SATA).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_bytes_per_second: Option<u64>,
}

/// A file or device that jobs used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// Its path.
    pub path: String,
    /// Its size when I/O began.
    pub size_bytes: u64,
    /// The whole device it lies on, by kernel name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The file system that holds it; `None` for a device used directly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount: Option<MountFacts>,
    /// Bytes of the jobs' regions that were holes, or reserved and never written, when I/O began: reads of them reach
    /// no device. `None` where the file system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unwritten_bytes: Option<u64>,
    /// Bytes of the jobs' regions in it.
    pub region_bytes: u64,
    /// Its pages in memory when I/O began, after the jobs let go of the cache where they were asked to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_before: Option<CachedBytes>,
    /// Its pages in memory when the run was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_after: Option<CachedBytes>,
}

/// Where a target's file system is mounted, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountFacts {
    /// The directory.
    pub point: String,
    /// Its type, `ext4`.
    pub kind: String,
    /// Options of the mount and of the file system.
    pub options: String,
}

/// Pages of a target in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedBytes {
    /// All of them.
    pub bytes: u64,
    /// Those that were not written back yet; `None` on kernels that do not tell (before 6.5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty_bytes: Option<u64>,
}

/// The tightest limits on the way from this process's control group to the top.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupLimits {
    /// Processors, as quota ÷ period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<f64>,
    /// Bytes of memory, page cache included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Rates per device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub io: Vec<IoCap>,
}

/// Rates that a control group may not exceed on one device; `None` is no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoCap {
    /// The device's kernel name, or its number where it has none in sysfs.
    pub device: String,
    /// Bytes read per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes_per_second: Option<u64>,
    /// Bytes written per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_bytes_per_second: Option<u64>,
    /// Reads per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_iops: Option<u64>,
    /// Writes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_iops: Option<u64>,
}

/// What was gained between the end of the interval before and `until`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Its end, since the monitoring began; it begins where the one before ended, the first at 0.
    pub until: Nanos,
    /// Workers in the measured part of their I/O at its end.
    pub measuring: u32,
    /// Bytes that the workers' finished I/O moved: read, written, trimmed.
    pub bytes: [u64; 3],
    /// The workers' finished I/Os: reads, writes, trims.
    pub ios: [u64; 3],
    /// Latencies of reads, writes and trims, total where those are counted, else completion: of the part of the run that
    /// counts. Empty where workers are threads, keep no percentiles or are more than 128.
    #[serde(default, skip_serializing_if = "crate::latency::none")]
    pub latencies: [LatencyCounts; 3],
    /// What the devices gained, in the order of [`Monitored::devices`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceGain>,
    /// Ticks of all processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuTicks>,
    /// Time lost to waiting, by resource; `None` on kernels that do not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure: Option<PressureGain>,
    /// What the control group did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupGain>,
    /// What the workers' main threads did: of the first 64, in the order of the jobs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerGain>,
}

/// What one kind of request gained at a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestGain {
    /// Finished requests.
    pub ios: u64,
    /// Requests merged into others.
    pub merges: u64,
    /// Sectors of 512 bytes.
    pub sectors: u64,
    /// Milliseconds that the requests took, all together.
    pub ticks_ms: u64,
}

/// What a device gained in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceGain {
    /// Reads.
    pub reads: RequestGain,
    /// Writes.
    pub writes: RequestGain,
    /// Discards; `None` on kernels that do not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discards: Option<RequestGain>,
    /// Flushes: finished, and their milliseconds; `None` on kernels that do not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flushes: Option<(u64, u64)>,
    /// Requests in flight at the end of the interval.
    pub in_flight: u64,
    /// Milliseconds with at least one request in flight.
    pub busy_ms: u64,
    /// Milliseconds weighted by the requests in flight.
    pub in_queue_ms: u64,
}

/// Ticks of all processors together, usually 10 ms each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTicks {
    /// In programs, nice ones included.
    pub user: u64,
    /// In the kernel, interrupts included.
    pub system: u64,
    /// Idle while I/O was under way.
    pub iowait: u64,
    /// Taken by the hypervisor.
    pub steal: u64,
    /// Idle.
    pub idle: u64,
}

/// Microseconds lost to waiting: while some task waited, and while all did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PressureGain {
    /// For a processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_us: Option<(u64, u64)>,
    /// For memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_us: Option<(u64, u64)>,
    /// For devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_us: Option<(u64, u64)>,
}

/// What the control group of this process did in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupGain {
    /// CPU time in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_us: Option<u64>,
    /// Periods in which it was held back from the processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_periods: Option<u64>,
    /// For how long in all, in microseconds, by thread-queue: several processors add up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_us: Option<u64>,
    /// Bytes that it read from and wrote to all devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_bytes: Option<(u64, u64)>,
    /// Requests that it read from and wrote to all devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_requests: Option<(u64, u64)>,
}

/// What a worker's main thread did in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerGain {
    /// Time on a processor; `None` where the kernel does not tell, or the worker was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_cpu: Option<Nanos>,
    /// Time ready to run without a processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_delay: Option<Nanos>,
    /// How often it was put on a processor: its context switches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<u64>,
    /// Bytes that its reads and writes passed to and from the kernel, and bytes that these caused at devices: `rchar`,
    /// `wchar`, `read_bytes`, `write_bytes` of proc_pid_io(5). io_uring and libaio do not count in the first two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_bytes: Option<[u64; 4]>,
    /// I/Os that it finished.
    pub ios: u64,
}

/// Values of which a second can be added to a first.
trait Gain: Copy {
    fn plus(self, more: Self) -> Self;
}

impl Gain for u64 {
    fn plus(self, more: Self) -> Self {
        self.saturating_add(more)
    }
}

impl Gain for Nanos {
    fn plus(self, more: Self) -> Self {
        self.saturating_add(more)
    }
}

impl<T: Gain> Gain for (T, T) {
    fn plus(self, more: Self) -> Self {
        (self.0.plus(more.0), self.1.plus(more.1))
    }
}

impl<T: Gain, const N: usize> Gain for [T; N] {
    fn plus(self, more: Self) -> Self {
        std::array::from_fn(|index| self[index].plus(more[index]))
    }
}

/// What one of two intervals knows is what both know.
impl<T: Gain> Gain for Option<T> {
    fn plus(self, more: Self) -> Self {
        match (self, more) {
            (Some(one), Some(more)) => Some(one.plus(more)),
            (one, more) => one.or(more),
        }
    }
}

impl Gain for RequestGain {
    fn plus(self, more: Self) -> Self {
        RequestGain {
            ios: self.ios.plus(more.ios),
            merges: self.merges.plus(more.merges),
            sectors: self.sectors.plus(more.sectors),
            ticks_ms: self.ticks_ms.plus(more.ticks_ms),
        }
    }
}

impl Gain for DeviceGain {
    fn plus(self, more: Self) -> Self {
        DeviceGain {
            reads: self.reads.plus(more.reads),
            writes: self.writes.plus(more.writes),
            discards: self.discards.plus(more.discards),
            flushes: self.flushes.plus(more.flushes),
            in_flight: more.in_flight,
            busy_ms: self.busy_ms.plus(more.busy_ms),
            in_queue_ms: self.in_queue_ms.plus(more.in_queue_ms),
        }
    }
}

impl Gain for CpuTicks {
    fn plus(self, more: Self) -> Self {
        CpuTicks {
            user: self.user.plus(more.user),
            system: self.system.plus(more.system),
            iowait: self.iowait.plus(more.iowait),
            steal: self.steal.plus(more.steal),
            idle: self.idle.plus(more.idle),
        }
    }
}

impl Gain for PressureGain {
    fn plus(self, more: Self) -> Self {
        PressureGain {
            cpu_us: self.cpu_us.plus(more.cpu_us),
            memory_us: self.memory_us.plus(more.memory_us),
            io_us: self.io_us.plus(more.io_us),
        }
    }
}

impl Gain for GroupGain {
    fn plus(self, more: Self) -> Self {
        GroupGain {
            cpu_us: self.cpu_us.plus(more.cpu_us),
            throttled_periods: self.throttled_periods.plus(more.throttled_periods),
            throttled_us: self.throttled_us.plus(more.throttled_us),
            io_bytes: self.io_bytes.plus(more.io_bytes),
            io_requests: self.io_requests.plus(more.io_requests),
        }
    }
}

impl Gain for WorkerGain {
    fn plus(self, more: Self) -> Self {
        WorkerGain {
            on_cpu: self.on_cpu.plus(more.on_cpu),
            run_delay: self.run_delay.plus(more.run_delay),
            switches: self.switches.plus(more.switches),
            io_bytes: self.io_bytes.plus(more.io_bytes),
            ios: self.ios.plus(more.ios),
        }
    }
}

fn plus_each<T: Gain>(mine: &mut Vec<T>, more: &[T]) {
    for (one, &more) in mine.iter_mut().zip(more) {
        *one = one.plus(more);
    }
    mine.extend(more.iter().skip(mine.len()));
}

impl Interval {
    /// Makes this interval and the one behind it one.
    pub fn append(&mut self, later: &Interval) {
        self.until = later.until;
        self.measuring = later.measuring;
        self.bytes = self.bytes.plus(later.bytes);
        self.ios = self.ios.plus(later.ios);
        self.latencies.iter_mut().zip(&later.latencies).for_each(|(mine, more)| mine.add(more));
        plus_each(&mut self.devices, &later.devices);
        self.cpu = self.cpu.plus(later.cpu);
        self.pressure = self.pressure.plus(later.pressure);
        self.group = self.group.plus(later.group);
        plus_each(&mut self.workers, &later.workers);
    }
}

impl Monitored {
    /// All intervals as one: what the whole run gained.
    pub fn whole(&self) -> Interval {
        let mut intervals = self.intervals.iter();
        let mut whole = intervals.next().cloned().unwrap_or_default();
        intervals.for_each(|later| whole.append(later));
        whole
    }

    /// The intervals in whose whole length all the workers that ever measured at once did so: without start, ramp and
    /// end. With each its length. Empty for runs of less than three intervals.
    pub fn steady(&self) -> Vec<(Nanos, &Interval)> {
        let most = self.intervals.iter().map(|interval| interval.measuring).max().unwrap_or(0);
        let inside = |pair: &[Interval]| most > 0 && pair[0].measuring == most && pair[1].measuring == most;
        let pairs = self.intervals.windows(2).filter(|pair| inside(pair));
        pairs.map(|pair| (pair[1].until.saturating_sub(pair[0].until), &pair[1])).collect()
    }

    /// The steady part as one interval, with its length; the whole run where there is none.
    pub fn steady_whole(&self) -> (Nanos, Interval) {
        let steady = self.steady();
        let Some(((first_length, first), rest)) = steady.split_first() else {
            let whole = self.whole();
            return (whole.until, whole);
        };
        let (mut length, mut sum) = (*first_length, (*first).clone());
        for (more, interval) in rest {
            length = length.saturating_add(*more);
            sum.append(interval);
        }
        (length, sum)
    }
}

impl CpuTicks {
    /// All ticks.
    pub fn total(&self) -> u64 {
        [self.user, self.system, self.iowait, self.steal, self.idle].into_iter().fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(until_s: u64, measuring: u32, ios: u64) -> Interval {
        let reads = RequestGain { ios, ..RequestGain::default() };
        Interval {
            until: Nanos::from_secs(until_s),
            measuring,
            ios: [ios, 0, 0],
            devices: vec![DeviceGain { reads, in_flight: ios, ..DeviceGain::default() }],
            workers: vec![WorkerGain { ios, ..WorkerGain::default() }],
            ..Interval::default()
        }
    }

    fn run() -> Monitored {
        let intervals =
            vec![interval(1, 0, 1), interval(2, 4, 7), interval(3, 4, 10), interval(4, 4, 11), interval(5, 1, 3)];
        Monitored { intervals, ..Monitored::default() }
    }

    #[test]
    fn intervals_add_up_to_the_run() {
        let whole = run().whole();
        assert_eq!((whole.until, whole.ios, whole.measuring), (Nanos::from_secs(5), [32, 0, 0], 1));
        assert_eq!((whole.devices[0].reads.ios, whole.devices[0].in_flight, whole.workers[0].ios), (32, 3, 32));
        assert_eq!(Monitored::default().whole(), Interval::default());
    }

    #[test]
    fn the_steady_part_has_all_workers_from_end_to_end() {
        let (length, steady) = run().steady_whole();
        assert_eq!((length, steady.ios[0]), (Nanos::from_secs(2), 21));
        let short = Monitored { intervals: vec![interval(1, 0, 5)], ..Monitored::default() };
        assert_eq!(short.steady_whole().1.ios[0], 5);
    }

    #[test]
    fn what_one_of_two_intervals_knows_is_kept() {
        let mut first = Interval { cpu: Some(CpuTicks { user: 3, ..CpuTicks::default() }), ..Interval::default() };
        first
            .append(&Interval { workers: vec![WorkerGain { ios: 2, ..WorkerGain::default() }], ..Interval::default() });
        assert_eq!((first.cpu.map(|cpu| cpu.total()), first.workers.len(), first.group), (Some(3), 1, None));
    }
}

//! Data that the parent collects while the jobs run: devices, CPUs, pressure, control group, workers, files.
//!
//! Each interval has the *increments* of the counters in their own units, so intervals can be added and adjacent ones
//! merged. A signal that could not be read is `None` or missing, never 0.

use crate::{LatencyCounts, Layer};
use measure::Nanos;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// All monitoring data of one run.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Monitored {
    /// Start time, in milliseconds since 1970 UTC; the times below count from it.
    pub began_unix_ms: u64,
    /// CPU time of the monitoring itself.
    pub own_cpu: Nanos,
    /// Properties of the monitored devices, in the order of each interval's `devices`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceFacts>,
    /// Properties of the files or devices that jobs used, up to 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetFacts>,
    /// Limits of this process's control group.
    pub group_limits: Option<GroupLimits>,
    /// Changes of these limits during the run, up to 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limit_changes: Vec<LimitChange>,
    /// Hypervisor; `None` on bare metal or if it is not known.
    pub hypervisor: Option<String>,
    /// The intervals in order, without gaps.
    pub intervals: Vec<Interval>,
}

/// Constant properties of a device, from sysfs.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// Kernel name, such as `sda`.
    pub name: String,
    /// True if no visible device is below it: the bytes of all leaves are those that reached disks.
    pub leaf: bool,
    /// True if a target is directly on it or on a partition of it.
    pub top: bool,
    /// Names of the devices directly below.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<String>,
    /// Model.
    pub model: Option<String>,
    /// Size in bytes.
    pub size_bytes: Option<u64>,
    /// True if it reports itself as rotational.
    pub rotational: Option<bool>,
    /// I/O scheduler.
    pub scheduler: Option<String>,
    /// True if writes complete before they are durable (write-back cache).
    pub write_back: Option<bool>,
    /// The same as the device itself reports it, whatever the kernel was set to.
    pub own_write_back: Option<bool>,
    /// True if the device has a write cache that is switched off (`hdparm -W0`); `None` if it is not known.
    pub cache_switched_off: Option<bool>,
    /// Logical block size: the unit of addressing.
    pub logical_block_bytes: Option<u64>,
    /// Physical block size: the unit of writes without read-modify-write.
    pub physical_block_bytes: Option<u64>,
    /// Maximum size of a request; larger I/Os are split.
    pub request_max_bytes: Option<u64>,
    /// Maximum number of requests per hardware queue.
    pub queue_requests: Option<u64>,
    /// Number of hardware queues.
    pub hardware_queues: Option<u64>,
    /// Readahead of buffered sequential reads.
    pub read_ahead_bytes: Option<u64>,
    /// Maximum size of a discard; 0 if discards are not supported.
    pub discard_max_bytes: Option<u64>,
    /// NUMA node that it is attached to.
    pub numa_node: Option<u32>,
    /// Maximum rate of its link, if sysfs reports it (PCIe, SATA).
    pub link_bytes_per_second: Option<u64>,
    /// True if its link transfers in one direction at a time (SATA), unlike PCIe.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub link_half_duplex: bool,
    /// Temperature, in thousandths of a degree Celsius, from which on it warns and may slow down; NVMe only.
    pub warning_millidegrees: Option<i64>,
}

impl DeviceFacts {
    /// Returns the bytes that its link must carry in one direction at least, of these bytes read and written.
    pub fn bytes_over_link(&self, read: u64, written: u64) -> u64 {
        if self.link_half_duplex { read.saturating_add(written) } else { read.max(written) }
    }
}

/// A file or device that jobs used.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// Its path.
    pub path: String,
    /// Size when I/O started.
    pub size_bytes: u64,
    /// Bytes of the jobs' regions past the end of the file when I/O started: writes there extend it.
    pub past_end_bytes: Option<u64>,
    /// The same for all names of the same bytes: hard and symbolic links, other mounts, and a loop device that shows a
    /// whole file from its start. `None` if it cannot be found out.
    pub identity: Option<TargetIdentity>,
    /// Kernel name of the whole device that it is on.
    pub device: Option<String>,
    /// File system that contains it; `None` for a device that is used directly.
    pub mount: Option<MountFacts>,
    /// Bytes in the jobs' regions that were holes or unwritten extents when I/O started: reads of them do not reach the
    /// device. `None` if the file system does not report extents.
    pub unwritten_bytes: Option<u64>,
    /// Bytes of the jobs' regions, at most, that a thin volume had provisioned when I/O started; `None` for any other
    /// target.
    pub provisioned_bytes: Option<u64>,
    /// Bytes in the jobs' regions whose blocks other files share (reflinks, snapshots).
    pub shared_bytes: Option<u64>,
    /// Bytes in the jobs' regions that the file system stores compressed.
    pub compressed_bytes: Option<u64>,
    /// Bytes in the jobs' regions that are in the metadata of the file system (inline data).
    pub inline_bytes: Option<u64>,
    /// Attributes of the file that change what an I/O does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<FileAttribute>,
    /// Total size of the jobs' regions in it.
    pub region_bytes: u64,
    /// Use that the jobs make of it; `None` in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<TargetAccess>,
    /// The layers down to what stores its bytes, the target's own first; empty if they were not looked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Layer>,
    /// Page cache of the file when I/O started, after the cache was dropped if the jobs asked for that.
    pub cached_before: Option<CachedBytes>,
    /// Page cache of the file at the end of the run.
    pub cached_after: Option<CachedBytes>,
    /// Contents of a few blocks of the regions that jobs read, after the run.
    pub sampled: Option<SampledBlocks>,
}

/// Use of a target by jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetAccess {
    /// They only read it.
    Reads,
    /// They only write or trim it.
    Writes,
    /// Both.
    Both,
}

impl TargetAccess {
    /// Use by two jobs together.
    #[must_use]
    pub fn and(self, other: TargetAccess) -> TargetAccess {
        if self == other { self } else { TargetAccess::Both }
    }
}

/// Identity of a file or device, by which two names of it are known as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetIdentity {
    /// A file: number of the file system's device, and inode.
    File(String, u64),
    /// A block device: its number.
    Device(String),
}

/// Attribute of a file, as chattr(1) sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileAttribute {
    /// The file system compresses what is written (`c`).
    Compressed,
    /// Data is written to the journal first (`j`).
    JournaledData,
    /// Each write is durable before it completes (`S`).
    Synchronous,
    /// Blocks are overwritten in place (`C`): without compression on btrfs.
    OverwrittenInPlace,
}

/// Contents of sampled blocks of 4 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledBlocks {
    /// Number of blocks.
    pub blocks: u32,
    /// Blocks that hold only zeros.
    pub zeros: u32,
    /// Blocks with the most frequent of the other contents; 0 if all are different.
    pub alike: u32,
}

/// Mount of a target's file system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountFacts {
    /// Mount point.
    pub point: String,
    /// Type, such as `ext4`.
    pub kind: String,
    /// Options of the mount and of the file system.
    pub options: String,
}

/// Page cache of a target.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedBytes {
    /// Cached bytes.
    pub bytes: u64,
    /// Dirty bytes among these; `None` on kernels before 6.5, which do not report them.
    pub dirty_bytes: Option<u64>,
}

/// The limits of all groups up to the root: the lowest of processors and memory, those of I/O at each level.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupLimits {
    /// Number of CPUs: quota ÷ period.
    pub cpus: Option<f64>,
    /// Memory in bytes, including page cache.
    pub memory_bytes: Option<u64>,
    /// Rates per group and device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub io: Vec<IoCap>,
}

/// A change of the limits of a control group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitChange {
    /// End of the interval in which it was seen, since the monitoring started.
    pub at: Nanos,
    /// The limits from then on.
    pub limits: GroupLimits,
}

/// I/O limits of a control group on one device; `None` for no limit.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoCap {
    /// Path of the group in its hierarchy, if it is known.
    pub group: Option<String>,
    /// Kernel name of the device, or its number if it has no name in sysfs.
    pub device: String,
    /// Bytes read per second.
    pub read_bytes_per_second: Option<u64>,
    /// Bytes written per second.
    pub write_bytes_per_second: Option<u64>,
    /// Reads per second.
    pub read_iops: Option<u64>,
    /// Writes per second.
    pub write_iops: Option<u64>,
}

/// Increments of all counters from the end of the previous interval to `until`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// End of the interval, since the monitoring started; it starts where the previous one ended, the first one at 0.
    pub until: Nanos,
    /// Number of workers in the measured part of their I/O at its end.
    pub measuring: u32,
    /// Bytes of the workers' completed I/Os: read, written, trimmed.
    pub bytes: [u64; 3],
    /// Number of the workers' completed I/Os: reads, writes, trims.
    pub ios: [u64; 3],
    /// Latencies of reads, writes and trims in the measured part: total latency if it is recorded, otherwise completion
    /// latency. Empty if workers are threads, record no percentiles, or are more than 128.
    #[serde(default, skip_serializing_if = "crate::latency::none")]
    pub latencies: [LatencyCounts; 3],
    /// Latencies of fsync and fdatasync in the measured part, under the same conditions.
    #[serde(default, skip_serializing_if = "LatencyCounts::is_empty")]
    pub sync_latencies: LatencyCounts,
    /// Increments of the devices' counters, in the order of [`Monitored::devices`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceGain>,
    /// Ticks of all CPUs.
    pub cpu: Option<CpuTicks>,
    /// Stall times by resource; `None` on kernels without pressure stall information.
    pub pressure: Option<PressureGain>,
    /// Increments of the control group's counters.
    pub group: Option<GroupGain>,
    /// Times that processors were slowed because of heat, of packages and cores together; `None` without counters.
    pub processor_throttles: Option<u64>,
    /// Increments for the main threads of the first 64 workers, in the order of the jobs. In the result of a survey the
    /// first worker of a group has the bytes and switches of all of them ([`crate::RunResult::gather`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerGain>,
}

/// Counters of one kind of request to a device: since the device appeared, or in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestGain {
    /// Completed requests.
    pub ios: u64,
    /// Requests merged into others.
    pub merges: u64,
    /// Sectors of 512 bytes, whatever the sector size of the device.
    pub sectors: u64,
    /// Milliseconds from submission to completion, summed over the requests.
    pub ticks_ms: u64,
}

/// Counters of a block device: one reading, or the difference of two. Source: Documentation/block/stat.rst of Linux.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceGain {
    /// Reads.
    pub reads: RequestGain,
    /// Writes.
    pub writes: RequestGain,
    /// Discards; `None` on kernels that do not count them.
    pub discards: Option<RequestGain>,
    /// Completed flushes and their milliseconds; `None` on kernels that do not count them.
    pub flushes: Option<(u64, u64)>,
    /// Requests in flight at the reading, or at the end of the interval.
    pub in_flight: u64,
    /// Milliseconds with at least one request in flight.
    pub busy_ms: u64,
    /// Milliseconds weighted by the number of requests in flight.
    pub in_queue_ms: u64,
    /// Temperature in thousandths of a degree Celsius at the end, or the highest of merged ones; NVMe only.
    pub temperature_millidegrees: Option<i64>,
}

/// Ticks of all CPUs together, usually 10 ms each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTicks {
    /// User mode, including low priority.
    pub user: u64,
    /// Kernel, including interrupts.
    pub system: u64,
    /// Idle with I/O outstanding.
    pub iowait: u64,
    /// Taken by the hypervisor.
    pub steal: u64,
    /// Idle.
    pub idle: u64,
}

/// Stall times in microseconds: while some tasks were stalled, and while all were.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PressureGain {
    /// For the CPU.
    pub cpu_us: Option<(u64, u64)>,
    /// For memory.
    pub memory_us: Option<(u64, u64)>,
    /// For I/O.
    pub io_us: Option<(u64, u64)>,
}

/// Increments of the counters of this process's control group in an interval.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupGain {
    /// CPU time in microseconds.
    pub cpu_us: Option<u64>,
    /// Periods in which its CPU time was throttled.
    pub throttled_periods: Option<u64>,
    /// Total time throttled, in microseconds; the times of several CPUs are added.
    pub throttled_us: Option<u64>,
    /// Bytes that it read from and wrote to all devices.
    pub io_bytes: Option<(u64, u64)>,
    /// Read and write requests to all devices.
    pub io_requests: Option<(u64, u64)>,
}

/// Increments for a worker's main thread in an interval.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerGain {
    /// Time on a CPU; `None` if the kernel does not report it, or the worker did not exist.
    pub on_cpu: Option<Nanos>,
    /// Time runnable but waiting for a CPU.
    pub run_delay: Option<Nanos>,
    /// Number of times it was scheduled: its context switches.
    pub switches: Option<u64>,
    /// Bytes of its read and write calls, and bytes of the resulting device I/O: `rchar`, `wchar`, `read_bytes`,
    /// `write_bytes` of proc_pid_io(5). The first two do not include io_uring and libaio.
    pub io_bytes: Option<[u64; 4]>,
    /// Number of I/Os that it completed.
    pub ios: u64,
}

/// Increments that can be added; sums saturate.
pub(crate) trait Gain: Copy {
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

/// If only one of two intervals has a value, the sum has that value.
impl<T: Gain> Gain for Option<T> {
    fn plus(self, more: Self) -> Self {
        match (self, more) {
            (Some(one), Some(more)) => Some(one.plus(more)),
            (one, more) => one.or(more),
        }
    }
}

/// Adds each of these fields.
macro_rules! gain {
    ($type:ident: $($field:ident),+) => {
        impl $crate::monitored::Gain for $type {
            fn plus(self, more: Self) -> Self {
                $type { $($field: self.$field.plus(more.$field)),+ }
            }
        }
    };
}
pub(crate) use gain;

gain!(RequestGain: ios, merges, sectors, ticks_ms);
gain!(CpuTicks: user, system, iowait, steal, idle);
gain!(PressureGain: cpu_us, memory_us, io_us);
gain!(GroupGain: cpu_us, throttled_periods, throttled_us, io_bytes, io_requests);
gain!(WorkerGain: on_cpu, run_delay, switches, io_bytes, ios);

impl Gain for DeviceGain {
    fn plus(self, more: Self) -> Self {
        DeviceGain {
            reads: self.reads.plus(more.reads),
            writes: self.writes.plus(more.writes),
            discards: self.discards.plus(more.discards),
            flushes: self.flushes.plus(more.flushes),
            in_flight: more.in_flight,
            temperature_millidegrees: self.temperature_millidegrees.max(more.temperature_millidegrees),
            busy_ms: self.busy_ms.plus(more.busy_ms),
            in_queue_ms: self.in_queue_ms.plus(more.in_queue_ms),
        }
    }
}

impl DeviceGain {
    /// Adds later increments.
    pub fn add(&mut self, later: DeviceGain) {
        *self = self.plus(later);
    }
}

fn plus_each<T: Gain>(mine: &mut Vec<T>, more: &[T]) {
    for (one, &more) in mine.iter_mut().zip(more) {
        *one = one.plus(more);
    }
    mine.extend(more.iter().skip(mine.len()));
}

impl Interval {
    /// Merges the next interval into this one.
    pub fn append(&mut self, later: &Interval) {
        self.until = later.until;
        self.measuring = later.measuring;
        self.bytes = self.bytes.plus(later.bytes);
        self.ios = self.ios.plus(later.ios);
        self.latencies.iter_mut().zip(&later.latencies).for_each(|(mine, more)| mine.add(more));
        self.sync_latencies.add(&later.sync_latencies);
        plus_each(&mut self.devices, &later.devices);
        self.cpu = self.cpu.plus(later.cpu);
        self.pressure = self.pressure.plus(later.pressure);
        self.group = self.group.plus(later.group);
        self.processor_throttles = self.processor_throttles.plus(later.processor_throttles);
        plus_each(&mut self.workers, &later.workers);
    }
}

impl Monitored {
    /// All intervals merged: the increments of the whole run.
    pub fn whole(&self) -> Interval {
        let mut intervals = self.intervals.iter();
        let mut whole = intervals.next().cloned().unwrap_or_default();
        intervals.for_each(|later| whole.append(later));
        whole
    }

    /// The intervals, with their lengths, in which all workers were in their measured part from start to end: without
    /// start, ramp and end of the run. "All" is the largest number that was measuring at the same time. Empty for runs
    /// of less than three intervals.
    pub fn steady(&self) -> Vec<(Nanos, &Interval)> {
        let most = self.intervals.iter().map(|interval| interval.measuring).max().unwrap_or(0);
        let inside = |pair: &[Interval]| most > 0 && pair[0].measuring == most && pair[1].measuring == most;
        let pairs = self.intervals.windows(2).filter(|pair| inside(pair));
        pairs.map(|pair| (pair[1].until.saturating_sub(pair[0].until), &pair[1])).collect()
    }

    /// The steady part merged into one interval, with its length; the whole run if there is no steady part.
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
    /// Sum of all ticks.
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

//! Inputs of the checks and limiter rules, derived from a result: bytes requested and transferred, the steady part of
//! the run, rates and fractions, latency sums. Leaves conclusions to the checks.

pub(crate) use measure::float;
use measure::{Direction, Nanos};
use model::reading::ReadJob;
use model::{
    DeviceFacts, DeviceGain, DeviceUsage, FileAttribute, Interval, JobResult, LatencyStatistics, Monitored, MountFacts,
    RunResult, TargetFacts, WorkerGain,
};
use plan::Workload;
use std::collections::BTreeMap;

/// Numbers of the steady part of a run.
pub(crate) struct RunFacts<'a> {
    pub(crate) result: &'a RunResult,
    /// Devices and CPUs during the run; `None` in imported results.
    pub(crate) monitored: Option<&'a Monitored>,
    /// The part during which all workers measured, as one interval.
    pub(crate) steady: Interval,
    /// Its length in seconds, never 0.
    pub(crate) seconds: f64,
}

impl<'a> RunFacts<'a> {
    /// `None` for a run without I/O, and for one in simulated time.
    pub(crate) fn of(result: &'a RunResult) -> Option<Self> {
        if busy_jobs(result).next().is_none() || result.jobs.iter().any(is_simulated) {
            return None;
        }
        let monitored = result.monitored.as_ref().filter(|monitored| !monitored.intervals.is_empty());
        let (length, steady) = match monitored {
            Some(monitored) => monitored.steady_whole(),
            None => (result.jobs.iter().map(window).max()?, Interval::default()),
        };
        (length > Nanos::ZERO).then(|| RunFacts { result, monitored, steady, seconds: length.as_secs_f64() })
    }

    /// Jobs that did I/O.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = &'a JobResult> {
        busy_jobs(self.result)
    }

    /// Bytes that the devices read for the workers, in the steady part. `None` if the kernel counts reads on another
    /// account than that of the workers, as those of helper threads and of io_uring.
    pub(crate) fn reads_of_workers(&self) -> Option<u64> {
        /// The calls of read and their like are on the account of the thread that made them.
        const COUNTED: f64 = 0.9;
        let asked = self.steady.bytes[0];
        let accounts = || self.steady.workers.iter().filter_map(|worker| worker.io_bytes);
        let called = accounts().map(|account| account[0]).fold(0, u64::saturating_add);
        let read = accounts().map(|account| account[2]).fold(0, u64::saturating_add);
        (asked > 0 && float(called) >= COUNTED * float(asked)).then_some(read)
    }

    /// Other members of the same run on this machine, if there are any: their I/O is not that of other programs.
    pub(crate) fn other_members(&self) -> Option<u32> {
        self.result.environment.other_members.filter(|others| *others > 0)
    }

    /// Workers that did I/O.
    pub(crate) fn workers(&self) -> u32 {
        self.jobs().map(|job| job.workers.max(1)).fold(0, u32::saturating_add)
    }

    /// Maximum number of I/Os in flight.
    pub(crate) fn users(&self) -> u32 {
        self.jobs().map(|job| job.workers.max(1).saturating_mul(slots(job))).fold(0, u32::saturating_add)
    }

    /// Devices under the files, with their counters for the steady part.
    pub(crate) fn devices(&self) -> impl Iterator<Item = (&'a DeviceFacts, &DeviceGain)> {
        self.monitored.into_iter().flat_map(|monitored| &monitored.devices).zip(&self.steady.devices)
    }

    /// The device with the largest fraction of busy time, and that fraction.
    pub(crate) fn busiest(&self) -> Option<(&'a DeviceFacts, &DeviceGain, f64)> {
        let busy = self.devices().map(|(facts, gain)| (facts, gain, self.share_of_time(float(gain.busy_ms) / 1e3)));
        busy.max_by(|a, b| a.2.total_cmp(&b.2))
    }

    /// Converts seconds to a fraction of the steady part, at most 1.
    pub(crate) fn share_of_time(&self, seconds: f64) -> f64 {
        (seconds / self.seconds).min(1.0)
    }

    /// Converts a count to a rate over the steady part.
    pub(crate) fn per_second(&self, count: u64) -> f64 {
        float(count) / self.seconds
    }

    /// Mean fractions of the time that the workers' main threads were on a CPU, and runnable but waiting for one.
    pub(crate) fn processor_shares(&self) -> Option<(f64, f64)> {
        let sampled: Vec<_> =
            self.steady.workers.iter().filter(|worker| worker.ios > 0 && worker.on_cpu.is_some()).collect();
        if sampled.is_empty() {
            return self.processor_share_of_jobs().map(|share| (share, 0.0));
        }
        let time = float(sampled.len() as u64) * self.seconds;
        let sum = |of: fn(&WorkerGain) -> Option<Nanos>| {
            sampled.iter().filter_map(|worker| of(worker)).map(Nanos::as_secs_f64).sum::<f64>()
        };
        Some((sum(|worker| worker.on_cpu) / time, sum(|worker| worker.run_delay) / time))
    }

    /// Fraction of the processors' time that the hypervisor took; 0 if less than a second was sampled.
    pub(crate) fn stolen_share(&self) -> f64 {
        let ticks = self.steady.cpu.filter(|cpu| cpu.total() >= 100);
        ticks.map_or(0.0, |cpu| float(cpu.steal) / float(cpu.total()))
    }

    fn processor_share_of_jobs(&self) -> Option<f64> {
        let time: f64 = self.jobs().map(|job| job.runtime.as_secs_f64()).sum();
        let used: f64 = self.jobs().map(|job| (job.cpu.user.saturating_add(job.cpu.system)).as_secs_f64()).sum();
        (time > 0.0).then_some(used / time)
    }

    /// Mean latency of an I/O in milliseconds, without flushes; `None` if it was not measured.
    pub(crate) fn latency_ms(&self) -> Option<f64> {
        let (mut sum, mut count) = (0.0, 0_u64);
        for job in self.jobs() {
            sum += latency_sum_ns(job)? - flush_ns(job);
            count = count.saturating_add(job.ios());
        }
        (count > 0 && sum > 0.0).then(|| sum / float(count) / 1e6)
    }

    /// Fraction of the workers' time spent in flushes.
    pub(crate) fn flush_share(&self) -> f64 {
        let time: f64 = self.jobs().map(|job| window(job).as_secs_f64() * f64::from(job.workers.max(1))).sum();
        let flushes: f64 = self.jobs().map(flush_ns).sum::<f64>() / 1e9;
        if time > 0.0 { (flushes / time).min(1.0) } else { 0.0 }
    }
}

fn flush_ns(job: &JobResult) -> f64 {
    job.sync.latency.moments.sum() as f64
}

/// Bytes of 512-byte sectors.
pub(crate) fn bytes_of_sectors(sectors: u64) -> u64 {
    sectors.saturating_mul(512)
}

/// Number of flushes that the jobs caused: their calls of fsync, and writes that are durable before they complete.
pub(crate) fn flushes(result: &RunResult) -> u64 {
    let of = |job: &JobResult| {
        let each = job.workload.as_ref().is_some_and(|workload| workload.flushes.by_each_write);
        job.sync.count + if each { job.directions.write.ios } else { 0 }
    };
    result.jobs.iter().map(of).fold(0, u64::saturating_add)
}

/// True if a target is a file on a file system that stores data on a device.
pub(crate) fn on_files(monitored: &Monitored) -> bool {
    monitored.targets.iter().any(|target| target.mount.is_some())
}

/// True if each write to the target is durable before it completes, by its mount or its attribute.
pub(crate) fn is_synchronous(target: &TargetFacts) -> bool {
    let by_mount = |mount: &MountFacts| mount.options.split(',').any(|option| option == "sync");
    target.mount.as_ref().is_some_and(by_mount) || target.attributes.contains(&FileAttribute::Synchronous)
}

/// True if most writes were past the end of their files: each needs the file for itself, to change its size.
pub(crate) fn extends_files<'a>(result: &RunResult, jobs: impl Iterator<Item = &'a JobResult>) -> bool {
    most_went_to(result, jobs, |target| target.past_end_bytes)
}

/// True if most writes were into holes and unwritten extents of their files: a file system may let one at a time do so.
pub(crate) fn fills_holes<'a>(result: &RunResult, jobs: impl Iterator<Item = &'a JobResult>) -> bool {
    most_went_to(result, jobs, |target| target.unwritten_bytes)
}

fn most_went_to<'a>(
    result: &RunResult,
    jobs: impl Iterator<Item = &'a JobResult>,
    part: fn(&TargetFacts) -> Option<u64>,
) -> bool {
    const MOST: f64 = 0.5;
    let (mut written, mut paths) = (0_u64, Vec::new());
    for job in jobs {
        written = written.saturating_add(job.directions.write.bytes);
        paths.extend(&job.echo.paths);
    }
    let targets = result.monitored.iter().flat_map(|monitored| &monitored.targets);
    let bytes = targets.filter(|target| paths.contains(&&target.path)).filter_map(part);
    written > 0 && float(bytes.fold(0, u64::saturating_add)) >= MOST * float(written)
}

/// True for a pass of iozone: it writes one page of data over and over, and flushes after the time that counts.
pub(crate) fn is_pass(result: &RunResult) -> bool {
    busy_jobs(result).all(|job| job.pass.is_some())
}

/// Bytes of one direction requested by all jobs.
pub(crate) fn bytes_asked(result: &RunResult, direction: Direction) -> u64 {
    result.jobs.iter().map(|job| job.directions[direction].bytes).fold(0, u64::saturating_add)
}

/// Bytes of a direction at the lowest sampled level of disks under the files; `None` without a disk or counter.
pub(crate) fn bytes_at_devices(result: &RunResult, direction: Direction) -> Option<u64> {
    let index = match direction {
        Direction::Read => 0,
        Direction::Write => 1,
        Direction::Trim => return None,
    };
    if let Some(lowest) = &result.lowest_traffic {
        return Some([lowest.read_bytes, lowest.written_bytes][index]);
    }
    // A disk may be listed separately and as a member of a stacked device; it counts once.
    let mut disks: BTreeMap<&str, Option<u64>> = BTreeMap::new();
    result.devices.iter().for_each(|device| collect_disks(device, index, &mut disks));
    if disks.is_empty() {
        return None;
    }
    // The sum of a part is not that of all: fio 3.33 states no sectors.
    let sectors: Option<Vec<u64>> = disks.into_values().collect();
    sectors.map(|each| each.into_iter().fold(0, u64::saturating_add).saturating_mul(512))
}

/// The devices under the files; those of the monitor where a report lacks the time of sampling (fio's formats).
pub(crate) fn watched_devices(result: &RunResult) -> Vec<DeviceUsage> {
    let Some(monitored) = &result.monitored else { return result.devices.clone() };
    let whole = monitored.whole();
    let seen = |device: &DeviceUsage| {
        let (_, gain) = monitored.devices.iter().zip(&whole.devices).find(|(facts, _)| facts.name == device.name)?;
        let seen = DeviceUsage::of_gain(&device.name, gain, whole.until);
        Some(DeviceUsage { members: device.members.clone(), ..seen })
    };
    let of = |device: &DeviceUsage| match device.elapsed_ms {
        None => seen(device).unwrap_or_else(|| device.clone()),
        Some(_) => device.clone(),
    };
    result.devices.iter().map(of).collect()
}

fn collect_disks<'a>(device: &'a DeviceUsage, index: usize, disks: &mut BTreeMap<&'a str, Option<u64>>) {
    if device.members.is_empty() {
        disks.insert(&device.name, device.sectors.map(|both| both[index]));
    }
    device.members.iter().for_each(|member| collect_disks(member, index, disks));
}

/// The longest measured time of any direction of a job.
pub(crate) fn window(job: &JobResult) -> Nanos {
    job.directions.iter().map(|(_, direction)| direction.runtime).max().unwrap_or(Nanos::ZERO)
}

/// Sum of the latencies of all I/Os and flushes of a job in nanoseconds; `None` if they were not measured.
pub(crate) fn latency_sum_ns(job: &JobResult) -> Option<f64> {
    let sum = |latency: &Option<LatencyStatistics>| latency.as_ref().map(|latency| latency.moments.sum() as f64);
    let mut total = job.sync.latency.moments.sum() as f64;
    for (_, direction) in job.directions.iter().filter(|(_, direction)| direction.ios > 0) {
        let completion = || Some(sum(&direction.completion)? + sum(&direction.submission).unwrap_or(0.0));
        total += sum(&direction.total).or_else(completion)?;
    }
    Some(total)
}

/// Most I/Os in flight of one worker: the requested depth, or less if the depth bins show that it was not reached.
pub(crate) fn slots(job: &JobResult) -> u32 {
    const BIN_ENDS: [u32; 7] = [1, 3, 7, 15, 31, 63, u32::MAX];
    let deepest = job.depth.level.iter().rposition(|&count| count > 0);
    deepest.map_or(job.echo.iodepth, |bin| job.echo.iodepth.min(BIN_ENDS[bin])).max(1)
}

/// The numbers of a job as printed, where the result is that of a report of another program.
pub(crate) fn printed_of<'a>(result: &'a RunResult, job: &JobResult) -> Option<&'a ReadJob> {
    result.printed()?.jobs.get(usize::try_from(job.echo.number.checked_sub(1)?).ok()?)
}

/// fio reads the counters of disks four times a second, and not when the jobs start and end: so much of the longest run
/// may be missing in its report. `None` if that is too much to say anything; 0 for runs of plumb.
pub(crate) fn unseen_by_devices(result: &RunResult) -> Option<f64> {
    const UNSEEN_S: f64 = 0.5;
    const MOST: f64 = 0.25;
    if result.printed().is_none() || result.was_monitored() {
        return Some(0.0);
    }
    let length = result.jobs.iter().map(window).max().unwrap_or(Nanos::ZERO).as_secs_f64();
    Some(UNSEEN_S / length.max(0.001)).filter(|&share| share <= MOST)
}

/// True if the job limits itself (rate, think time, flow). False if an imported report does not say so.
pub(crate) fn is_paced(job: &JobResult) -> bool {
    job.workload.as_ref().is_some_and(|workload| workload.pace.is_limited())
}

/// True if the job accesses its files sequentially; also the assumption if its pattern is unknown.
pub(crate) fn is_sequential(job: &JobResult) -> bool {
    job.workload.as_ref().is_none_or(Workload::is_sequential)
}

/// True if the workers of a job poll for completions.
pub(crate) fn polls(job: &JobResult) -> bool {
    job.workload.as_ref().is_some_and(|workload| workload.polls)
}

pub(crate) fn is_simulated(job: &JobResult) -> bool {
    job.workload.as_ref().is_some_and(|workload| workload.virtual_time)
}

/// Jobs that transferred data.
pub(crate) fn busy_jobs(result: &RunResult) -> impl Iterator<Item = &JobResult> {
    result.jobs.iter().filter(|job| is_busy(job))
}

/// True if a job transferred data.
pub(crate) fn is_busy(job: &JobResult) -> bool {
    job.directions.iter().any(|(_, direction)| direction.ios > 0)
}

/// The block size of a direction, if all jobs with I/O have the same.
pub(crate) fn block_size(result: &RunResult, direction: Direction) -> Option<u32> {
    let mut sizes =
        busy_jobs(result).filter(|job| job.directions[direction].ios > 0).map(|job| job.echo.block_sizes[direction]);
    let (low, high) = sizes.next()?;
    (low == high && low > 0 && sizes.all(|size| size == (low, high))).then_some(low)
}

//! What the checks read from a result: bytes asked and delivered, windows, latency sums.

use measure::{Direction, Nanos};
use model::{DeviceUsage, JobResult, LatencyStatistics, RunResult};
use std::collections::BTreeMap;

/// Bytes of one direction that all jobs asked of their files.
pub(crate) fn bytes_asked(result: &RunResult, direction: Direction) -> u64 {
    result.jobs.iter().map(|job| job.directions[direction].bytes).fold(0, u64::saturating_add)
}

/// Bytes of one direction that the disks under the files moved, at the bottom of all stacks as far as it was watched.
/// `None` when no disk was watched or the direction has no counter.
pub(crate) fn bytes_at_devices(result: &RunResult, direction: Direction) -> Option<u64> {
    let index = match direction {
        Direction::Read => 0,
        Direction::Write => 1,
        Direction::Trim => return None,
    };
    if let Some(lowest) = &result.lowest_traffic {
        return Some([lowest.read_bytes, lowest.written_bytes][index]);
    }
    // A disk may stand in the list beside the stacked devices made of it; each counts once.
    let mut disks: BTreeMap<&str, u64> = BTreeMap::new();
    result.devices.iter().for_each(|device| collect_disks(device, index, &mut disks));
    (!disks.is_empty()).then(|| disks.values().copied().fold(0, u64::saturating_add).saturating_mul(512))
}

/// The devices under the files; of a report that does not state how long they were watched (fio's formats), those that
/// the monitor saw.
pub(crate) fn watched_devices(result: &RunResult) -> Vec<DeviceUsage> {
    let Some(monitored) = &result.monitored else { return result.devices.clone() };
    let whole = monitored.whole();
    let elapsed_ms = whole.until.get() / Nanos::MILLISECOND.get();
    let seen = |device: &DeviceUsage| {
        let (_, gain) = monitored.devices.iter().zip(&whole.devices).find(|(facts, _)| facts.name == device.name)?;
        let seen = DeviceUsage::of_gain(&device.name, gain, elapsed_ms);
        Some(DeviceUsage { members: device.members.clone(), ..seen })
    };
    let of = |device: &DeviceUsage| match device.elapsed_ms {
        0 => seen(device).unwrap_or_else(|| device.clone()),
        _ => device.clone(),
    };
    result.devices.iter().map(of).collect()
}

fn collect_disks<'a>(device: &'a DeviceUsage, index: usize, disks: &mut BTreeMap<&'a str, u64>) {
    if device.members.is_empty() {
        disks.insert(&device.name, device.sectors[index]);
    }
    device.members.iter().for_each(|member| collect_disks(member, index, disks));
}

/// The longest measured part of any direction of a job.
pub(crate) fn window(job: &JobResult) -> Nanos {
    job.directions.iter().map(|(_, direction)| direction.runtime).max().unwrap_or(Nanos::ZERO)
}

/// The sum of the latencies of all I/Os and flushes of a job in nanoseconds; `None` when they were not measured.
#[expect(clippy::cast_precision_loss, reason = "a ratio is made of it")]
pub(crate) fn latency_sum_ns(job: &JobResult) -> Option<f64> {
    let sum = |latency: &Option<LatencyStatistics>| latency.as_ref().map(|latency| latency.moments.sum() as f64);
    let mut total = job.sync.latency.moments.sum() as f64;
    for (_, direction) in job.directions.iter().filter(|(_, direction)| direction.ios > 0) {
        let completion = || Some(sum(&direction.completion)? + sum(&direction.submission).unwrap_or(0.0));
        total += sum(&direction.total).or_else(completion)?;
    }
    Some(total)
}

/// How many I/Os one worker of a job can have in flight: the depth asked for, or less where the depth bins show
/// that the engine never went that far (a synchronous engine has one).
pub(crate) fn slots(job: &JobResult) -> u32 {
    const BIN_ENDS: [u32; 7] = [1, 3, 7, 15, 31, 63, u32::MAX];
    let deepest = job.depth.level.iter().rposition(|&count| count > 0);
    deepest.map_or(job.echo.iodepth, |bin| job.echo.iodepth.min(BIN_ENDS[bin])).max(1)
}

/// Whether the job held itself back (rate, think time): then idle users are wanted.
pub(crate) fn is_paced(job: &JobResult, result: &RunResult) -> bool {
    let paces = |(name, _): &(String, String)| matches!(name.as_str(), "rate" | "rate_iops" | "thinktime" | "flow");
    job.echo.options.iter().any(paces) || result.global_options.iter().any(paces)
}

/// The last value of an option that a job was given: its own before the global one.
pub(crate) fn option<'a>(job: &'a JobResult, result: &'a RunResult, names: &[&str]) -> Option<&'a str> {
    let last = |options: &'a [(String, String)]| {
        options.iter().rev().find(|(name, _)| names.contains(&name.as_str())).map(|(_, value)| value.as_str())
    };
    last(&job.echo.options).or_else(|| last(&result.global_options))
}

/// Whether an option was given with a value that is not zero.
pub(crate) fn is_on(job: &JobResult, result: &RunResult, names: &[&str]) -> bool {
    option(job, result, names).is_some_and(|value| !matches!(value.trim(), "0" | "none" | "false"))
}

/// A time of an option in seconds: `10`, `500ms`, `1m`.
pub(crate) fn seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    let unit = match text[end..].trim() {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return None,
    };
    Some(number * unit)
}

/// Whether a job goes through its files in order.
pub(crate) fn is_sequential(job: &JobResult, result: &RunResult) -> bool {
    let pattern = option(job, result, &["rw", "readwrite"]).unwrap_or("read");
    !pattern.trim_start_matches("trim").starts_with("rand")
}

/// Jobs that moved something.
pub(crate) fn busy_jobs(result: &RunResult) -> impl Iterator<Item = &JobResult> {
    result.jobs.iter().filter(|job| job.directions.iter().any(|(_, direction)| direction.ios > 0))
}

/// The one block size of all busy jobs in a direction.
pub(crate) fn block_size(result: &RunResult, direction: Direction) -> Option<u32> {
    let mut sizes =
        busy_jobs(result).filter(|job| job.directions[direction].ios > 0).map(|job| job.echo.block_sizes[direction]);
    let (low, high) = sizes.next()?;
    (low == high && low > 0 && sizes.all(|size| size == (low, high))).then_some(low)
}

/// A size as people say it: `4 KiB`, `1.2 GiB`.
pub(crate) fn size(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (bytes, 0);
    // Sizes of requests are told in KiB up to 9,999: 1,280 KiB is not 1.2 MiB.
    while value >= 1024.0 && unit + 1 < UNITS.len() && (unit != 1 || value >= 10_000.0 || value % 1024.0 == 0.0) {
        value /= 1024.0;
        unit += 1;
    }
    if value.fract().abs() < 0.005 || value >= 100.0 {
        let whole = if value < 1000.0 { format!("{value:.0}") } else { crate::summary::thousands(value.round()) };
        format!("{whole} {}", UNITS[unit])
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

#[expect(clippy::cast_precision_loss, reason = "a ratio is made of it")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

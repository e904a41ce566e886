//! What the checks read from a result: bytes asked and delivered, windows, latency sums.

use measure::{Direction, Nanos};
use model::{DeviceUsage, JobResult, LatencyStatistics, RunResult};
use std::collections::BTreeMap;

/// Bytes of one direction that all jobs asked of their files.
pub(crate) fn bytes_asked(result: &RunResult, direction: Direction) -> u64 {
    result.jobs.iter().map(|job| job.directions[direction].bytes).sum()
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
    (!disks.is_empty()).then(|| 512 * disks.values().sum::<u64>())
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

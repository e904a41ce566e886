//! Buffered latency: a write that ends in memory says nothing about the disk; the flush at the end does.
//!
//! Signals: options of the jobs, latency sums and measured times, layers under the targets.

use super::note;
use crate::run_facts::{busy_jobs, bytes_asked, float, is_pass, is_synchronous, latency_sum_ns, slots, window};
use measure::{Direction, text};
use model::{Bottom, Grade, JobResult, LatencyStatistics, Note, RunResult};
use plan::Workload;

/// Writes that take more of the time may have waited for the disk: memory was full of what was to be written.
const WAITED: f64 = 0.9;
/// Below this share of memory the kernel lets no write wait (half of vm.dirty_background_ratio and vm.dirty_ratio).
const FREE: f64 = 0.05;

/// Reports the job whose writes took the smallest share of its time.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let targets = || result.monitored.iter().flat_map(|monitored| &monitored.targets);
    let is_in_memory = targets().flat_map(|target| &target.layers).any(|layer| layer.bottom == Some(Bottom::Memory));
    let has_devices =
        !result.devices.is_empty() || result.monitored.iter().any(|monitored| !monitored.devices.is_empty());
    if is_in_memory || !has_devices || is_pass(result) || targets().any(is_synchronous) {
        return Vec::new();
    }
    let limits = result.monitored.as_ref().and_then(|monitored| monitored.group_limits.as_ref());
    let memory = limits.and_then(|limits| limits.memory_bytes).unwrap_or(u64::MAX).min(result.environment.memory_bytes);
    let is_free = float(bytes_asked(result, Direction::Write)) <= FREE * float(memory);
    let waited = if is_free { f64::INFINITY } else { WAITED };
    let found = busy_jobs(result).filter(|job| is_flushed_at_the_end(job)).filter_map(|job| judge(job, waited));
    let least = found.min_by(|one, other| share_of(one).total_cmp(&share_of(other)));
    least.into_iter().collect()
}

fn share_of(note: &Note) -> f64 {
    note.evidence.iter().find(|(name, _)| name == "writing_percent").map_or(0.0, |&(_, share)| share)
}

/// True if a job writes to the page cache, and nothing but the end of the job flushes that.
fn is_flushed_at_the_end(job: &JobResult) -> bool {
    let only_then = |workload: &Workload| {
        let flushes = workload.flushes;
        let before = flushes.by_each_write || flushes.fsync_every > 0 || flushes.fdatasync_every > 0;
        !workload.is_outline && !before && (flushes.at_end || flushes.at_close)
    };
    let is_buffered = job.directions.write.ios > 0 && !job.echo.direct && !job.echo.paths.is_empty();
    is_buffered && job.workload.as_ref().is_some_and(only_then)
}

fn judge(job: &JobResult, waited: f64) -> Option<Note> {
    let latency: &LatencyStatistics = job.directions.write.latency()?;
    let mean = latency.moments.sum() as f64 / float(latency.moments.count().max(1));
    let users = f64::from(job.workers.max(1).saturating_mul(slots(job)));
    let share = latency_sum_ns(job)? / (window(job).as_f64() * users);
    (share.is_finite() && share < waited).then(|| {
        let sentence = format!(
            "the buffered writes took {} each, {} of the time: that is the latency of memory; the disk's part is in \
             the flush at the end, and so in the rate alone",
            text::time(mean),
            text::percent(share.min(1.0))
        );
        note(Grade::ValidWithLimits, sentence, &[("mean_ns", mean), ("writing_percent", 100.0 * share)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{watched_random_write, workload};
    use measure::Nanos;
    use model::FileAttribute;

    /// 8 users whose writes of 4 ms take all of the 10 s; `seconds` are measured.
    fn writes(seconds: u64) -> RunResult {
        let mut result = watched_random_write();
        result.jobs[0].directions.write.runtime = Nanos::from_secs(seconds);
        workload(&mut result).flushes.at_end = true;
        result
    }

    #[test]
    fn writes_that_end_in_memory_say_so_of_their_latency() {
        assert_eq!(run(&writes(10)), [], "they waited for the disk");
        let mut small = writes(10);
        small.environment.memory_bytes = 32 << 30;
        assert_eq!(run(&small).len(), 1, "the kernel let none of them wait");
        assert_eq!(
            run(&writes(40))[0].sentence,
            "the buffered writes took 4 ms each, 25 % of the time: that is the latency of memory; the disk's part is in \
             the flush at the end, and so in the rate alone"
        );
        let mut result = writes(40);
        workload(&mut result).flushes.at_end = false;
        assert_eq!(run(&result), [], "another check has what was never flushed");
        workload(&mut result).flushes.at_close = true;
        assert_eq!(run(&result).len(), 1);
    }

    #[test]
    fn writes_that_are_durable_are_the_disks() {
        let silent: [fn(&mut RunResult); 7] = [
            |result| result.jobs[0].echo.direct = true,
            |result| workload(result).flushes.by_each_write = true,
            |result| workload(result).flushes.fsync_every = 1,
            |result| result.jobs[0].directions.write.total = None,
            |result| result.jobs[0].pass = Some(model::PassResult::default()),
            |result| {
                result.monitored.as_mut().unwrap().targets[0].attributes.push(FileAttribute::Synchronous);
            },
            |result| {
                result.monitored.as_mut().unwrap().targets[0].layers[0].bottom = Some(Bottom::Memory);
            },
        ];
        for (at, change) in silent.into_iter().enumerate() {
            let mut result = writes(40);
            change(&mut result);
            assert_eq!(run(&result), [], "{at}");
        }
    }
}

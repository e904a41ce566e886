//! No flush: without a flush, written data may still be in memory or in the drive's cache when the run ends.
//!
//! Signals: flushes of the jobs, dirty pages of the targets at the end, write caches of the devices.

use super::note;
use crate::run_facts::{busy_jobs, bytes_asked, bytes_at_devices, float, is_pass};
use measure::{Direction, text};
use model::{Grade, JobResult, Note, RunResult};
use plan::Workload;

/// A smaller fraction does not affect the result.
const LEAST_SHARE: f64 = 0.02;

/// Sums the data that was not on stable storage at the end.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    judge(result).into_iter().collect()
}

fn judge(result: &RunResult) -> Option<Note> {
    let monitored = result.monitored.as_ref()?;
    let flushes = |job: &JobResult| {
        let by_plan = |workload: &Workload| {
            workload.verifies_only || (workload.flushes.any() && workload.flushes.only_period().is_none())
        };
        job.sync.count > 0 || job.workload.as_ref().is_some_and(by_plan)
    };
    let unflushed = |job: &&JobResult| job.directions.write.bytes > 0 && !flushes(job);
    let jobs: Vec<&JobResult> = busy_jobs(result).filter(unflushed).filter(|job| !job.echo.paths.is_empty()).collect();
    if jobs.is_empty() || monitored.devices.is_empty() {
        return None;
    }
    let written = float(bytes_asked(result, Direction::Write));
    let dirty: u64 =
        monitored.targets.iter().filter_map(|target| target.cached_after?.dirty_bytes).fold(0, u64::saturating_add);
    let arrived = bytes_at_devices(result, Direction::Write).map_or(written, float);
    let missing = float(dirty).max(if jobs.iter().any(|job| !job.echo.direct) { written - arrived } else { 0.0 });
    let share = (missing / written).clamp(0.0, 1.0);
    let evidence = [
        ("bytes_asked", written),
        ("bytes_dirty", float(dirty)),
        ("bytes_at_device", arrived),
        ("share_percent", 100.0 * share),
    ];
    if share >= LEAST_SHARE {
        let sentence =
            format!("{} of the data was still in RAM or in the drive's cache at the end", text::percent(share));
        return Some(note(Grade::ValidWithLimits, sentence, &evidence));
    }
    if is_pass(result) {
        return None;
    }
    let caches = monitored.devices.iter().find(|device| device.write_back == Some(true))?;
    let sentence =
        format!("nothing was flushed and {} says that it acknowledges writes before they are durable", caches.name);
    Some(note(Grade::ValidWithLimits, sentence, &evidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{watched_random_write, workload};
    use model::CachedBytes;

    fn writes() -> RunResult {
        let mut result = watched_random_write();
        let job = &mut result.jobs[0];
        job.echo.direct = true;
        let sectors = job.directions.write.bytes / 512;
        result.devices = vec![crate::fixtures::device(0, sectors)];
        result
    }

    #[test]
    fn dirty_pages_at_the_end_are_reported_with_their_share() {
        let mut result = writes();
        assert_eq!(run(&result), [], "a cache that writes through has all of it");
        let written = result.jobs[0].directions.write.bytes;
        result.monitored.as_mut().unwrap().targets[0].cached_after =
            Some(CachedBytes { bytes: written, dirty_bytes: Some(written * 3 / 10) });
        assert!(run(&result)[0].sentence.starts_with("30 % of the data was still in RAM"));
        workload(&mut result).flushes.fsync_every = 1_000_000;
        assert_eq!(run(&result).len(), 1, "a period that is not reached flushes nothing");
        workload(&mut result).flushes.at_end = true;
        assert_eq!(run(&result), []);
    }

    #[test]
    fn a_write_back_cache_without_a_flush_is_named() {
        let mut result = writes();
        result.monitored.as_mut().unwrap().devices[0].write_back = Some(true);
        assert!(run(&result)[0].sentence.contains("sda says that it acknowledges writes before they are durable"));
        let mut pass = result.clone();
        pass.jobs[0].pass = Some(model::PassResult::default());
        assert_eq!(run(&pass), [], "iozone flushes after the time that counts");
        result.jobs[0].sync.count = 1;
        assert_eq!(run(&result), []);
    }
}

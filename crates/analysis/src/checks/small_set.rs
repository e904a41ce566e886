//! Small set: a working set that fits into a cache measures the cache.
//!
//! Signals: regions and bytes of the jobs, memory size, and jobs that differ only in their region (a size sweep).

use super::note;
use crate::run_facts::{busy_jobs, float};
use measure::{Direction, text};
use model::{Grade, JobResult, Note, RunResult};
use plan::Workload;

/// A larger working set that is slower by this factor no longer fits into a cache.
const STEP: f64 = 1.5;

/// Reports a step in a size sweep, otherwise buffered reads of a working set that fits into memory.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let rows = result.reported_jobs();
    let found = step(&rows).or_else(|| in_memory(result));
    found.into_iter().collect()
}

/// True if two jobs differ only in the size of their region.
fn are_alike(job: &JobResult, other: &JobResult) -> bool {
    let setting = |job: &JobResult| {
        let blocks = job.echo.block_sizes[Direction::Read].max(job.echo.block_sizes[Direction::Write]);
        (job.echo.iodepth, job.workers, blocks, job.echo.direct)
    };
    let pattern = |job: &JobResult| {
        let Workload { mix, read_percent, order, step, .. } = job.workload.clone()?;
        Some((mix, read_percent, order, step))
    };
    job.echo.engine == other.echo.engine && setting(job) == setting(other) && pattern(job) == pattern(other)
}

fn step(rows: &[JobResult]) -> Option<Note> {
    let rate = |job: &JobResult| job.directions.iter().filter_map(|(_, direction)| direction.iops()).sum::<f64>();
    let mut steps =
        rows.iter().flat_map(|small| rows.iter().map(move |large| (small, large))).filter(|(small, large)| {
            let fits =
                small.echo.region_bytes > 0 && large.echo.region_bytes >= small.echo.region_bytes.saturating_mul(2);
            fits && rate(large) > 0.0 && rate(small) > STEP * rate(large) && are_alike(small, large)
        });
    let (small, large) = steps.next()?;
    let row = |job: &JobResult| {
        format!("{}: {} IOPS", text::rounded_size(float(job.echo.region_bytes)), text::number(rate(job)))
    };
    let sentence = format!("{}; {}: the smaller set fits a cache", row(small), row(large));
    let evidence = [
        ("small_bytes", float(small.echo.region_bytes)),
        ("small_iops", rate(small)),
        ("large_bytes", float(large.echo.region_bytes)),
        ("large_iops", rate(large)),
    ];
    Some(note(Grade::ValidWithLimits, sentence, &evidence))
}

fn in_memory(result: &RunResult) -> Option<Note> {
    let monitored = result.monitored.as_ref()?;
    let memory = monitored.group_limits.as_ref().and_then(|limits| limits.memory_bytes).unwrap_or(u64::MAX);
    let memory = memory.min(Some(result.environment.memory_bytes).filter(|&bytes| bytes > 0)?);
    let set: u64 = monitored.targets.iter().map(|target| target.region_bytes).fold(0, u64::saturating_add);
    let buffered = |job: &&JobResult| !job.echo.direct && !job.echo.paths.is_empty();
    let read: u64 =
        busy_jobs(result).filter(buffered).map(|job| job.directions.read.bytes).fold(0, u64::saturating_add);
    // A single pass does not read any block twice, so it cannot hit the cache.
    if set == 0 || set > memory || float(read) <= 1.1 * float(set) {
        return None;
    }
    let times = float(read) / float(set);
    let sentence = format!(
        "the set of {} fits into {} of memory and was read {times:.1} times: a larger one will be slower",
        text::rounded_size(float(set)),
        text::rounded_size(float(memory))
    );
    let evidence = [("set_bytes", float(set)), ("memory_bytes", float(memory)), ("read_bytes", float(read))];
    Some(note(Grade::ValidWithLimits, sentence, &evidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{closed_loop, watched_random_read};
    use measure::Nanos;

    #[test]
    fn a_step_in_a_size_sweep_is_shown_with_both_rates() {
        let mut result = closed_loop(1, 410_000, Nanos(2_400), Nanos::SECOND);
        let mut large = closed_loop(1, 96_000, Nanos(10_400), Nanos::SECOND);
        result.jobs[0].echo.region_bytes = 32 << 30;
        large.jobs[0].echo.region_bytes = 256 << 30;
        result.jobs.append(&mut large.jobs);
        assert_eq!(
            run(&result)[0].sentence,
            "32 GiB: 410,000 IOPS; 256 GiB: 96,000 IOPS: the smaller set fits a cache"
        );
        result.jobs[1].echo.iodepth = 4;
        assert_eq!(run(&result), [], "not alike");
    }

    #[test]
    fn buffered_reads_of_what_memory_holds_are_a_finding() {
        let mut result = watched_random_read();
        result.environment.memory_bytes = 8 << 30;
        assert!(run(&result)[0].sentence.contains("fits into 8 GiB of memory"));
        result.jobs[0].echo.direct = true;
        assert_eq!(run(&result), []);
    }
}

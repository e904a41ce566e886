//! Tool share: a tenth or more of the median latency of direct I/O is the tool's own.
//!
//! Signals: the calibration of the run: the time of an I/O that takes none, and how long completions waited.

use super::{backing, cache, note, nothing_moved};
use crate::not_storage::denies_storage;
use crate::run_facts::{busy_jobs, is_simulated};
use crate::tool_share::bar;
use measure::{Direction, text};
use model::{ErrorBar, Grade, JobResult, Note, RunResult};

/// The part of the median latency from which on it matters.
const PART_MIN: f64 = 0.1;

/// A direction whose latencies are partly the tool's.
struct ToolPart {
    direction: Direction,
    bar: ErrorBar,
    median_ns: f64,
}

/// Reports the direction and job with the largest part; not where the page cache or no storage was measured.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let jobs = busy_jobs(result).filter(|job| is_of_storage(job) && !is_simulated(job));
    let all = jobs.flat_map(|job| Direction::ALL.map(|direction| found(job, direction))).flatten();
    let large = all.filter(|found| found.part() >= PART_MIN);
    let Some(worst) = large.max_by(|a, b| a.part().total_cmp(&b.part())) else { return Vec::new() };
    let others = [nothing_moved::run, backing::run, cache::run];
    if others.iter().any(|check| check(result).iter().any(|note| denies_storage(note.grade))) {
        return Vec::new();
    }
    let ToolPart { direction, bar, median_ns } = worst;
    let sentence = format!(
        "{} of the {} that a {} takes (median) are the tool's: the storage is that much faster",
        text::time(bar.tool_ns),
        text::time(median_ns),
        direction.word()
    );
    let evidence =
        [("tool_percent", 100.0 * worst.part()), ("tool_us", bar.tool_ns / 1e3), ("median_us", median_ns / 1e3)];
    vec![note(Grade::ValidWithLimits, sentence, &evidence)]
}

/// True if the latencies of a job are to be those of the storage: direct I/O, or writes that are durable one by one.
fn is_of_storage(job: &JobResult) -> bool {
    job.echo.direct || job.workload.as_ref().is_some_and(|workload| workload.flushes.by_each_write)
}

fn found(job: &JobResult, direction: Direction) -> Option<ToolPart> {
    let median_ns = job.directions[direction].latency_distribution()?.histogram.as_ref()?.percentile(50.0)?.as_f64();
    let bar = bar(job, direction, 50.0)?;
    (median_ns > 0.0).then_some(ToolPart { direction, bar, median_ns })
}

impl ToolPart {
    fn part(&self) -> f64 {
        self.bar.tool_ns / self.median_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{clean_random_read, device, workload};
    use model::Calibration;

    /// Reads of 1 ms of which the tool takes this time.
    fn with(tool_ns: u64) -> RunResult {
        let mut result = clean_random_read();
        let job = &mut result.jobs[0];
        job.echo.direct = true;
        let calibration =
            Calibration { total_ns: Some([tool_ns; 2]), reap_ns: Some(20_000.0), ..Calibration::default() };
        job.calibration = Some(Box::new(calibration));
        result
    }

    #[test]
    fn a_tenth_of_the_median_is_a_finding_and_less_is_not() {
        assert_eq!(run(&with(70_000)), []);
        let found = run(&with(100_000));
        assert_eq!(
            found[0].sentence,
            "120 µs of the 1 ms that a read takes (median) are the tool's: the storage is that much faster"
        );
        assert_eq!(found[0].evidence[1], ("tool_us".to_owned(), 120.0));
    }

    #[test]
    fn it_is_silent_in_virtual_time_and_without_a_storage() {
        let mut buffered = with(500_000);
        buffered.jobs[0].echo.direct = false;
        assert_eq!(run(&buffered), []);
        let mut cached = with(500_000);
        cached.devices = vec![device(0, 0)];
        assert_eq!(run(&cached), [], "all of it came from memory");
        let mut simulated = with(500_000);
        workload(&mut simulated).virtual_time = true;
        assert_eq!(run(&simulated), []);
        let mut unknown = with(500_000);
        unknown.jobs[0].calibration = None;
        assert_eq!(run(&unknown), []);
    }
}

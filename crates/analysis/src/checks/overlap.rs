//! Overlap: workers that go through the same blocks in step read what the others just read.
//!
//! Signals: paths, regions, patterns and offsets of the jobs.

use super::note;
use crate::evidence::{busy_jobs, float, is_on, is_sequential, option, size};
use model::{Grade, JobResult, Note, RunResult};

/// The name in notes.
pub(super) const ID: &str = "overlap";

/// Fewer repeats than this are told by nobody's number.
const LEAST_SHARE: f64 = 0.10;

/// The largest crowd of sequential readers of the same blocks.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let readers: Vec<&JobResult> = busy_jobs(result)
        .filter(|job| job.directions.read.bytes > 0 && is_sequential(job, result))
        .filter(|job| !is_on(job, result, &["offset_increment", "stonewall", "wait_for_previous"]))
        .collect();
    let mut worst: Option<(f64, Note)> = None;
    for leader in &readers {
        let crowd: Vec<&&JobResult> = readers.iter().filter(|job| same_place(job, leader, result)).collect();
        if let Some(found) = judge(&crowd)
            && worst.as_ref().is_none_or(|known| known.0 < found.0)
        {
            worst = Some(found);
        }
    }
    worst.map(|(_, note)| note).into_iter().collect()
}

fn same_place(job: &JobResult, other: &JobResult, result: &RunResult) -> bool {
    let offset = |job| option(job, result, &["offset", "fileoffset"]).unwrap_or("0").to_owned();
    !job.echo.paths.is_empty() && job.echo.paths == other.echo.paths && offset(job) == offset(other)
}

fn judge(crowd: &[&&JobResult]) -> Option<(f64, Note)> {
    let workers: u32 = crowd.iter().map(|job| job.workers.max(1)).fold(0, u32::saturating_add);
    // A foreign result does not tell the region.
    if workers < 2 || crowd.iter().any(|job| job.echo.region_bytes == 0) {
        return None;
    }
    let all: u64 = crowd.iter().map(|job| job.directions.read.bytes).fold(0, u64::saturating_add);
    let each = |job: &JobResult| job.directions.read.bytes / u64::from(job.workers.max(1));
    let new = crowd.iter().map(|job| each(job).min(job.echo.region_bytes)).max()?;
    let share = 1.0 - float(new) / float(all.max(1));
    (share >= LEAST_SHARE).then(|| {
        let sentence = format!("{workers} workers read the same {}: {:.0} % repeats", size(float(new)), 100.0 * share);
        let evidence = [("read_bytes", float(all)), ("different_bytes", float(new)), ("workers", f64::from(workers))];
        (share, note(ID, Grade::ValidWithLimits, sentence, &evidence))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::closed_loop;
    use measure::Nanos;

    #[test]
    fn eight_sequential_readers_of_one_gigabyte_repeat_seven_eighths() {
        let mut result = closed_loop(8, 8 << 17, Nanos::MILLISECOND, Nanos::SECOND);
        result.jobs[0].echo.region_bytes = 1 << 30;
        result.jobs[0].echo.options.push(("rw".into(), "read".into()));
        assert_eq!(run(&result)[0].sentence, "8 workers read the same 1 GiB: 88 % repeats");
        result.jobs[0].echo.options.push(("offset_increment".into(), "1g".into()));
        assert_eq!(run(&result), []);
    }

    #[test]
    fn one_reader_and_random_readers_are_silent() {
        let mut result = closed_loop(8, 8_000, Nanos::MILLISECOND, Nanos::SECOND);
        result.jobs[0].echo.region_bytes = 1 << 30;
        result.jobs[0].echo.options.push(("rw".into(), "randread".into()));
        assert_eq!(run(&result), []);
        result.jobs[0].workers = 1;
        result.jobs[0].echo.options[0].1 = "read".into();
        assert_eq!(run(&result), []);
    }
}

//! Errors: a run with a failed or short I/O is never trusted as it is.
//!
//! Signals: the error that ended a job, tolerated errors, short and dropped I/Os.

use super::note;
use crate::run_facts::{float, printed_of};
use measure::Direction;
use model::reading::ReadJob;
use model::{Grade, JobResult, Note, RunResult};

/// One note for all errors of the run.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let failed: Vec<&JobResult> = result.jobs.iter().filter(|job| job.error.is_some()).collect();
    let forgiven: u64 = result.jobs.iter().map(|job| job.forgiven_errors).fold(0, u64::saturating_add);
    let directions = || result.jobs.iter().flat_map(|job| job.directions.iter());
    let short = result.jobs.iter().map(|job| short_ios(job, printed_of(result, job))).fold(0, u64::saturating_add);
    let dropped: u64 = directions().map(|(_, direction)| direction.dropped_ios).fold(0, u64::saturating_add);
    let mut parts = Vec::new();
    if let Some(error) = failed.first().and_then(|job| job.error.as_ref().map(|error| (job, error))) {
        let (job, error) = error;
        let others = match failed.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        let why = if error.message.is_empty() { format!("errno {}", error.errno) } else { error.message.clone() };
        parts.push(format!("job `{}`{others} ended with an error ({why})", job.echo.name));
    }
    for (count, what) in [(forgiven, "failed"), (short, "moved less than asked"), (dropped, "were dropped")] {
        if count > 0 {
            parts.push(format!("{count} I/Os {what}"));
        }
    }
    if parts.is_empty() {
        return Vec::new();
    }
    let nothing_moved = result.jobs.iter().all(|job| job.directions.iter().all(|(_, direction)| direction.bytes == 0));
    let grade = if nothing_moved { Grade::NotAStorageResult } else { Grade::ValidWithLimits };
    let evidence = [
        ("jobs_failed", float(failed.len() as u64)),
        ("errors_forgiven", float(forgiven)),
        ("ios_short", float(short)),
        ("ios_dropped", float(dropped)),
    ];
    vec![note(grade, parts.join("; "), &evidence)]
}

/// I/Os that moved less than asked. fio counts each flush as a short read, so a report with flushes has no such number.
fn short_ios(job: &JobResult, printed: Option<&ReadJob>) -> u64 {
    let is_known = |direction: Direction| match printed {
        Some(printed) => job.directions[direction].ios > 0 && (printed.sync.is_none() || direction != Direction::Read),
        None => true,
    };
    let known = Direction::ALL.into_iter().filter(|&direction| is_known(direction));
    known.map(|direction| job.directions[direction].short_ios).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::clean_random_read;
    use model::JobError;

    fn failure() -> JobError {
        JobError { errno: 5, operation: "read".into(), message: "read of a at 4096: I/O error".into(), signal: None }
    }

    #[test]
    fn no_errors_is_silent() {
        assert_eq!(run(&clean_random_read()), []);
    }

    #[test]
    fn a_failed_job_is_named_with_its_error() {
        let mut result = clean_random_read();
        result.jobs[0].error = Some(failure());
        let notes = run(&result);
        assert_eq!(notes[0].sentence, "job `reads` ended with an error (read of a at 4096: I/O error)");
        assert_eq!(notes[0].grade, Grade::ValidWithLimits);
    }

    #[test]
    fn a_run_that_only_failed_is_not_a_result() {
        let mut result = clean_random_read();
        result.jobs[0].error = Some(failure());
        result.jobs[0].directions = Default::default();
        assert_eq!(run(&result)[0].grade, Grade::NotAStorageResult);
    }

    #[test]
    fn short_dropped_and_forgiven_ios_are_counted() {
        let mut result = clean_random_read();
        result.jobs[0].directions.read.short_ios = 3;
        result.jobs[0].directions.write.dropped_ios = 2;
        result.jobs[0].forgiven_errors = 7;
        let notes = run(&result);
        assert_eq!(notes[0].sentence, "7 I/Os failed; 3 I/Os moved less than asked; 2 I/Os were dropped");
        assert!(notes[0].evidence.contains(&("ios_short".to_owned(), 3.0)));
    }

    #[test]
    fn a_flush_that_fio_counts_as_a_short_read_is_none() {
        let mut result = crate::fixtures::printed(clean_random_read(), Some(8.0), Some(1.0));
        result.jobs[0].directions.write.short_ios = 255;
        assert_eq!(run(&result), [], "there were no writes");
        result.jobs[0].directions.read.short_ios = 255;
        assert_eq!(run(&result)[0].sentence, "255 I/Os moved less than asked");
        crate::fixtures::printed_job(&mut result).sync = Some(model::reading::ReadLatency::default());
        assert_eq!(run(&result), []);
    }
}

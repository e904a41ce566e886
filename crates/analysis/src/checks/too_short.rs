//! Too short: a percentile is reliable if at least a hundred I/Os are above it, and a mean if the time that it is of is
//! long enough for what the storage does now and then.
//!
//! Signals: the percentiles printed, the number of I/Os, the measured time and the runtime of the plan.

use super::note;
use crate::run_facts::{busy_jobs, float, is_simulated, window};
use measure::{Nanos, text};
use model::{Grade, JobResult, Note, RunResult, samples_needed};

/// A run that is ended by its runtime before this says nothing about a second: one pause of a drive or of the machine
/// is a tenth of it, or is not in it.
const LEAST_TIME: Nanos = Nanos::from_millis(500);

/// Reports a time that is too short for a mean, and the row that has the smallest fraction of the I/Os it needs.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let rows = result.reported_jobs();
    let poorest = rows.iter().filter_map(judge).min_by(|a, b| a.0.total_cmp(&b.0));
    of_the_mean(result).into_iter().chain(poorest.map(|(_, note)| note)).collect()
}

/// A run whose time was chosen, and is too short. One that ends with its data is as long as it takes.
fn of_the_mean(result: &RunResult) -> Option<Note> {
    let is_timed = |job: &JobResult| {
        let runtime = job.workload.as_ref().and_then(|workload| workload.runtime);
        runtime.is_some_and(|runtime| runtime > Nanos::ZERO && runtime < LEAST_TIME && window(job) < LEAST_TIME)
    };
    let mut jobs = busy_jobs(result).peekable();
    jobs.peek()?;
    let has_storage = jobs.all(|job| is_timed(job) && !is_simulated(job) && job.pass.is_none());
    let longest = result.jobs.iter().map(window).max()?;
    (has_storage && longest > Nanos::ZERO && result.printed().is_none()).then(|| {
        let seconds = longest.as_secs_f64();
        let sentence = format!(
            "{} were measured: too short for a mean or a rate, of which a single pause is a large part",
            text::span(seconds)
        );
        note(Grade::ValidWithLimits, sentence, &[("measured_s", seconds)])
    })
}

/// Fraction of the required I/Os that the row has, and the note.
fn judge(row: &JobResult) -> Option<(f64, Note)> {
    let directions = row.directions.iter().filter(|(_, direction)| direction.ios > 0);
    let counted = directions.filter_map(|(_, direction)| {
        let shown = direction.completion.as_ref().filter(|_| row.style.completion_percentiles);
        let shown = shown.or(direction.total.as_ref().filter(|_| row.style.total_percentiles))?;
        shown.histogram.as_ref().map(|histogram| histogram.total())
    });
    let ios = counted.min()?;
    let unfounded: Vec<f64> = row
        .style
        .percentiles
        .iter()
        .copied()
        .filter(|&percent| percent < 100.0 && samples_needed(percent) > ios)
        .collect();
    let (first, last) = (*unfounded.first()?, *unfounded.last()?);
    let needed = float(samples_needed(last));
    let names = if unfounded.len() == 1 { format!("p{last}") } else { format!("p{first} to p{last}") };
    let sentence = format!(
        "{names} {} about {} I/Os, this run has {}: not {}",
        if unfounded.len() == 1 { "needs" } else { "need up to" },
        text::number(needed),
        text::number(float(ios)),
        if unfounded.len() == 1 { "a fact" } else { "facts" },
    );
    let evidence = [("ios", float(ios)), ("ios_needed", needed), ("percentile", last)];
    Some((float(ios) / needed, note(Grade::ValidWithLimits, sentence, &evidence)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{clean_random_read, closed_loop, workload};

    #[test]
    fn a_run_that_is_ended_after_100_ms_has_no_mean() {
        let of = |runtime: Option<u64>, lasted: u64| {
            let mut result = closed_loop(1, 1_000, Nanos::from_micros(100), Nanos::from_millis(lasted));
            workload(&mut result).runtime = runtime.map(Nanos::from_millis);
            result
        };
        let sentences = |result: &RunResult| run(result).into_iter().map(|note| note.sentence).collect::<Vec<_>>();
        assert_eq!(
            sentences(&of(Some(100), 100)),
            ["100 ms were measured: too short for a mean or a rate, of which a single pause is a large part"]
        );
        assert_eq!(run(&of(Some(1_000), 1_000)), []);
        assert_eq!(run(&of(None, 100)), [], "it ended with its data");
        assert_eq!(run(&of(Some(60_000), 100)), [], "as did this one");
        let mut simulated = of(Some(100), 100);
        workload(&mut simulated).virtual_time = true;
        assert_eq!(run(&simulated), []);
    }

    #[test]
    fn percentiles_without_enough_ios_behind_them_are_no_facts() {
        let mut result = clean_random_read();
        assert_eq!(run(&result), [], "no percentiles are shown");
        let read = &mut result.jobs[0].directions.read;
        read.completion = read.total.clone();
        let notes = run(&result);
        assert_eq!(notes[0].sentence, "p99 to p99.99 need up to about 1,000,000 I/Os, this run has 8,000: not facts");
        result.jobs[0].style.percentiles = vec![50.0, 95.0, 99.9];
        assert!(run(&result)[0].sentence.starts_with("p99.9 needs about 100,000 I/Os"));
        result.jobs[0].style.percentiles = vec![50.0, 95.0];
        assert_eq!(run(&result), []);
    }
}

//! Too short: a percentile is reliable if at least a hundred I/Os are above it.
//!
//! Signals: the percentiles printed, and the number of I/Os.

use super::note;
use crate::run_facts::float;
use measure::text;
use model::{Grade, JobResult, Note, RunResult, samples_needed};

/// Reports the row that has the smallest fraction of the I/Os it needs.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let rows = result.reported_jobs();
    let poorest = rows.iter().filter_map(judge).min_by(|a, b| a.0.total_cmp(&b.0));
    poorest.map(|(_, note)| note).into_iter().collect()
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
    use crate::fixtures::clean_random_read;

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

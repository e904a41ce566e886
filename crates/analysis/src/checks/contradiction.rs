//! Contradiction: printed rates that do not match the bytes, I/Os and time of the same report.
//!
//! Signals: rates that an imported report prints in addition to its counts. plumb's own results have no such rates:
//! they are computed from the counts.

use super::note;
use crate::identities::{Identity, contradictions};
use crate::summary::thousands;
use model::{Grade, Note, RunResult};

pub(super) const ID: &str = "contradiction";

/// The largest contradiction of each row.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let apart = |identity: &Identity| identity.apart().unwrap_or_default();
    let worst = |found: Vec<Identity>| found.into_iter().max_by(|a, b| apart(a).total_cmp(&apart(b)));
    result
        .reported_jobs()
        .iter()
        .filter_map(|job| worst(contradictions(job)))
        .map(|identity| note_of(&identity))
        .collect()
}

fn note_of(identity: &Identity) -> Note {
    let (left, right) = (identity.left.unwrap_or_default(), identity.right.unwrap_or_default());
    let (unit, apart) = (identity.unit, 100.0 * identity.apart().unwrap_or_default());
    let sentence = format!(
        "{}: {} does not hold: {} {unit} against {} = {} {unit}; what is printed is not of one run",
        identity.subject,
        identity.equation,
        thousands(left),
        identity.numbers,
        thousands(right)
    );
    let evidence = [("stated", left), ("computed", right), ("apart_percent", apart)];
    note(ID, Grade::NotAStorageResult, sentence, &evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::clean_random_read;
    use model::StatedRates;

    fn check(bytes_per_second: Option<f64>, iops: Option<f64>) -> Option<String> {
        let mut result = clean_random_read();
        result.jobs[0].directions.read.stated = Some(StatedRates { bytes_per_second, iops });
        run(&result).into_iter().next().map(|note| note.sentence)
    }

    #[test]
    fn rates_that_follow_from_the_counts_are_silent_also_when_rounded() {
        assert_eq!(run(&clean_random_read()), []);
        for (bytes_per_second, iops) in [(Some(65_536_000.0), Some(8_000.0)), (Some(64e6), None), (None, Some(8_100.0))]
        {
            assert_eq!(check(bytes_per_second, iops), None);
        }
    }

    #[test]
    fn a_printed_rate_that_its_own_bytes_deny_is_told_with_both() {
        let sentence = check(Some(131_072_000.0), Some(8_000.0)).unwrap();
        assert!(
            sentence.contains("io = bw × runtime does not hold: 65,536,000 B against 131072000 B/s × 1.000 s"),
            "{sentence}"
        );
        assert!(check(None, Some(16_000.0)).unwrap().contains("issued = iops × runtime"));
    }
}

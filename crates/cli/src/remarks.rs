//! Remarks of the checks after a run, for every command that measures.

use crate::limited_by;
use analysis::{grade_title, is_finding};
use formats::printable;
use model::{Note, RunResult};
use std::io::Write;

/// Exit status with `--strict` if a check found a problem.
pub(crate) const STRICT: u8 = 4;

/// Runs the checks on a result and determines its limiting resource. Both are stored in the result, and so in its JSON.
pub(crate) fn judge(result: &mut RunResult) {
    result.limited_by = analysis::limited_by(result);
    result.notes = analysis::judge(result);
}

/// Prints remarks and limiting resource to standard error, if remarks are wanted there.
pub(crate) fn tell(result: &RunResult) {
    if !limited_by::remarks_are_wanted() {
        return;
    }
    let mut lines: Vec<String> = findings(&result.notes).map(|note| format!("check: {}", line(note))).collect();
    lines.extend(limited_by::line_of(result));
    for line in lines {
        // Errors are ignored: standard error may be closed.
        let _ = writeln!(std::io::stderr(), "plumb: {}", printable::line(&line));
    }
}

/// `cache: 93 % of the reads were answered by memory … [NOT A STORAGE RESULT]`.
pub(crate) fn line(note: &Note) -> String {
    format!("{}: {} [{}]", note.check, note.sentence, grade_title(note.grade))
}

/// The notes that report a problem.
pub(crate) fn findings(notes: &[Note]) -> impl Iterator<Item = &Note> {
    notes.iter().filter(|note| is_finding(note))
}

/// Returns the exit status with `--strict`: [`STRICT`] if `status` is 0 and a check found a problem, otherwise
/// `status`.
pub(crate) fn strict_status(status: u8, notes: &[Note]) -> u8 {
    if status == 0 && findings(notes).next().is_some() { STRICT } else { status }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Grade;

    #[test]
    fn strict_fails_on_findings_and_not_on_what_is_unknown() {
        let with = |grade| Note { check: "x".into(), grade, sentence: String::new(), evidence: Vec::new() };
        assert_eq!(strict_status(0, &[]), 0);
        assert_eq!(strict_status(0, &[with(Grade::NotChecked)]), 0);
        assert_eq!(strict_status(0, &[with(Grade::ValidWithLimits)]), STRICT);
        assert_eq!(strict_status(1, &[with(Grade::ValidWithLimits)]), 1, "a failed job is told first");
    }
}

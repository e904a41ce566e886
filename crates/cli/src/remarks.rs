//! What the checks say after a run: one function for every command that measures.

use crate::limit;
use analysis::{grade_title, is_finding};
use formats::printable;
use model::{Note, RunResult};
use std::io::Write;

/// The status of a run that a check speaks against, where `--strict` asks for it.
pub(crate) const STRICT: u8 = 4;

/// Judges a result: what held it back, and every check. The notes are in JSON from here on.
pub(crate) fn judge(result: &mut RunResult) {
    result.limited_by = analysis::limited_by(result);
    result.notes = analysis::judge(result);
}

/// Tells what the checks found and what held the run back on standard error, where somebody wants to read it.
pub(crate) fn tell(result: &RunResult) {
    if !limit::remarks_are_wanted() {
        return;
    }
    let mut lines: Vec<String> = findings(&result.notes).map(|note| format!("check: {}", line(note))).collect();
    lines.extend(limit::line_of(result));
    for line in lines {
        // Whoever closed standard error does not want to read it.
        let _ = writeln!(std::io::stderr(), "plumb: {}", printable::line(&line));
    }
}

/// `cache: 93 % of the reads were answered by memory … [NOT A STORAGE RESULT]`.
pub(crate) fn line(note: &Note) -> String {
    format!("{}: {} [{}]", note.check, note.sentence, grade_title(note.grade))
}

/// The notes that say that something is wrong.
pub(crate) fn findings(notes: &[Note]) -> impl Iterator<Item = &Note> {
    notes.iter().filter(|note| is_finding(note))
}

/// The status for `--strict`: `status` where that tells of a failure already, or nothing was found.
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

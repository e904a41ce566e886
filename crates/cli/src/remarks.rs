//! Remarks of the checks and the limiting resource after a run, for every command that measures.

use crate::output::print_error;
use analysis::{grade_title, is_finding, is_shown};
use formats::printable;
use model::{LimitedBy, Note, RunResult};
use std::io::IsTerminal;

/// Exit status with `--strict` if a check found a problem.
pub(crate) const STRICT: u8 = 4;

/// Runs the checks on a result and determines its limiting resource. Both are stored in the result, and so in its JSON.
/// A limit that the run itself found stays if its samples are not in the result.
pub(crate) fn judge(result: &mut RunResult) {
    if !result.samples_left_out {
        result.limited_by = analysis::limited_by(result);
    }
    result.notes = analysis::judge(result);
}

/// True if remarks go to standard error: if it is a terminal, or as the environment variable `PLUMB_REMARKS` says.
pub(crate) fn are_wanted() -> bool {
    match std::env::var("PLUMB_REMARKS").as_deref() {
        Ok("always") => true,
        Ok("never") => false,
        _ => std::io::stderr().is_terminal(),
    }
}

/// Prints remarks and limiting resource to standard error, if remarks are wanted there.
pub(crate) fn print(result: &RunResult) {
    if !are_wanted() {
        return;
    }
    let remarks = shown(&result.notes).map(|note| format!("check: {}", line(note)));
    for line in remarks.chain(result.limited_by.as_ref().map(limit_line)) {
        print_error(&format!("plumb: {}", printable::line(&line)));
    }
}

/// `limited by the device (99 %): sda was at work …`.
pub(crate) fn limit_line(limited_by: &LimitedBy) -> String {
    format!("limited by {} ({:.0} %): {}", limited_by.limiter.title(), limited_by.share_percent, limited_by.sentence)
}

/// `cache: 93 % of the reads were answered by memory … [NOT A STORAGE RESULT]`.
pub(crate) fn line(note: &Note) -> String {
    format!("{}: {} [{}]", note.check, note.sentence, grade_title(note.grade))
}

/// The notes for a person: problems, and that the storage under the files could not be seen.
pub(crate) fn shown(notes: &[Note]) -> impl Iterator<Item = &Note> {
    notes.iter().filter(|note| is_shown(note))
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
        assert_eq!(strict_status(1, &[with(Grade::ValidWithLimits)]), 1, "a failed job has precedence");
    }
}

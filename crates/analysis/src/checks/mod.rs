//! The checks: one file and one row each.

mod busy_users;
mod cache;
mod errors;

pub(crate) use busy_users::{LEAST_SHARE as LEAST_BUSY_SHARE, MOST_SHARE as MOST_BUSY_SHARE};

use model::{Grade, Note, RunResult};

/// One question to a result.
#[derive(Clone, Copy)]
pub struct Check {
    /// The name in notes and files.
    pub id: &'static str,
    /// Why it is asked, one line.
    pub why: &'static str,
    /// The answer: empty when there is nothing to say.
    pub run: fn(&RunResult) -> Vec<Note>,
}

/// All checks, in the order in which their notes are shown.
pub const CHECKS: &[Check] = &[
    Check {
        id: errors::ID,
        why: "a run with errors or short I/Os is not the run that was asked for",
        run: errors::run,
    },
    Check { id: cache::ID, why: "reads that memory answers say nothing about the device", run: cache::run },
    Check {
        id: busy_users::ID,
        why: "in a closed loop IOPS × latency is the number of users; if it is less, some did nothing",
        run: busy_users::run,
    },
];

/// The notes of all checks. A clean result has none.
pub fn judge(result: &RunResult) -> Vec<Note> {
    CHECKS.iter().flat_map(|check| (check.run)(result)).collect()
}

/// The grade of a result with these notes: the worst of them; not checked when nothing spoke against it but a
/// check could not be made.
pub fn grade(notes: &[Note]) -> Grade {
    let worst = notes.iter().map(|note| note.grade).max().unwrap_or(Grade::Trusted);
    let unchecked = notes.iter().any(|note| note.grade == Grade::NotChecked);
    if worst <= Grade::Trusted && unchecked { Grade::NotChecked } else { worst }
}

fn note(check: &str, grade: Grade, sentence: String, evidence: &[(&str, f64)]) -> Note {
    let evidence = evidence.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    Note { check: check.to_owned(), grade, sentence, evidence }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::clean_random_read;

    #[test]
    fn a_clean_run_stays_silent() {
        assert_eq!(judge(&clean_random_read()), []);
    }

    #[test]
    fn an_unreadable_signal_is_never_a_pass() {
        let with = |grades: &[Grade]| {
            let notes: Vec<Note> = grades.iter().map(|&grade| note("x", grade, String::new(), &[])).collect();
            grade(&notes)
        };
        assert_eq!(with(&[]), Grade::Trusted);
        assert_eq!(with(&[Grade::NotChecked]), Grade::NotChecked);
        assert_eq!(with(&[Grade::NotChecked, Grade::Trusted]), Grade::NotChecked);
        assert_eq!(with(&[Grade::ValidWithLimits, Grade::NotChecked]), Grade::ValidWithLimits);
        assert_eq!(with(&[Grade::NotAStorageResult, Grade::ValidWithLimits]), Grade::NotAStorageResult);
    }

    #[test]
    fn every_check_has_its_own_id() {
        for (index, check) in CHECKS.iter().enumerate() {
            assert!(CHECKS[..index].iter().all(|other| other.id != check.id), "{}", check.id);
        }
    }
}

//! The one definition of a result that is not of the storage. On such a result no command says yes or no, better or
//! worse, which is best, or how far it grows; its numbers are shown.
//!
//! A result is not of the storage if a check gives it that grade and the user does not accept the check. It does not
//! matter who caused it. Workers without processor time measured the machine, also where another program took the
//! processors: a yes on that is as wrong as a yes on memory, and the same result has the same verdict in all commands.
//! Only the way out differs ([`Cause`]): another run helps, or another set-up.
//!
//! A neighbour on the disk, or a worker that waited for a part of the time, makes a result slower but leaves it one of
//! the storage. Such a finding ([`disturbed`]) puts only that in doubt which it can explain.

use crate::checks::{CLIENT_CPU, NEIGHBOUR};
use model::{Grade, Note};
use std::fmt;

/// A worker that waited for a processor for this share of the time has lost it to another program.
const WAITED_PERCENT: f64 = 5.0;
/// The same of what the hypervisor gave to other guests.
const STOLEN_PERCENT: f64 = 10.0;

/// Why a result is not of the storage. As text: the check and its sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct NotStorage {
    /// The finding.
    pub note: Note,
    /// The kind of remedy.
    pub cause: Cause,
}

impl fmt::Display for NotStorage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.note.check, self.note.sentence)
    }
}

/// The cause, which decides whether another run would help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The target, the job or the tester: the next run would be the same.
    SetUp,
    /// Other programs took the processors while it ran: measure again.
    Moment,
}

/// True for the grade of what is not of the storage, of a finding or of a whole result.
pub fn denies_storage(grade: Grade) -> bool {
    grade == Grade::NotAStorageResult
}

/// Why a result with these notes is not of the storage, except for checks that are accepted; `None` if it is one of
/// the storage. What another run would not change comes first.
///
/// ```
/// use model::{Grade, Note};
///
/// let note = Note {
///     check: "cache".into(),
///     grade: Grade::NotAStorageResult,
///     sentence: "93 % of the reads were answered by memory".into(),
///     evidence: Vec::new(),
/// };
/// let notes = [note];
/// let found = analysis::not_storage(&notes, &[]).unwrap();
/// assert_eq!(found.to_string(), "cache: 93 % of the reads were answered by memory");
/// assert_eq!((found.cause, analysis::not_storage(&notes, &["cache"])), (analysis::Cause::SetUp, None));
/// ```
pub fn not_storage(notes: &[Note], accepted: &[&str]) -> Option<NotStorage> {
    let counts = |note: &&Note| denies_storage(note.grade) && !accepted.contains(&note.check.as_str());
    let cause = |note: &&Note| if is_of_the_moment(note) { Cause::Moment } else { Cause::SetUp };
    let first = notes.iter().filter(counts).min_by_key(cause)?;
    Some(NotStorage { note: first.clone(), cause: cause(&first) })
}

/// The first finding that other programs made a result slower: I/O on its disks, or processors that its workers waited
/// for. The result may be one of the storage.
pub fn disturbed(notes: &[Note]) -> Option<&Note> {
    notes.iter().find(|note| note.grade > Grade::Trusted && is_of_the_moment(note))
}

/// True for a finding that other programs caused during the run. A worker that computes all the time by itself would do
/// so again.
fn is_of_the_moment(note: &Note) -> bool {
    let percent = |name: &str| note.evidence.iter().find(|(known, _)| known == name).map_or(0.0, |(_, value)| *value);
    let waited = denies_storage(note.grade) && percent("run_delay_percent") >= WAITED_PERCENT;
    note.check == NEIGHBOUR || (note.check == CLIENT_CPU && (waited || percent("steal_percent") >= STOLEN_PERCENT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(check: &str, grade: Grade, evidence: &[(&str, f64)]) -> Note {
        let evidence = evidence.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Note { check: check.into(), grade, sentence: "x".into(), evidence }
    }

    #[test]
    fn a_program_that_took_the_processors_counts_as_a_worker_does() {
        let (bad, limits) = (Grade::NotAStorageResult, Grade::ValidWithLimits);
        let cause = |check: &str, grade: Grade, evidence: &[(&str, f64)]| {
            not_storage(&[note(check, grade, evidence)], &[]).map(|found| found.cause)
        };
        assert_eq!(cause("client CPU", bad, &[("run_delay_percent", 38.0)]), Some(Cause::Moment));
        assert_eq!(cause("client CPU", bad, &[("run_delay_percent", 1.0)]), Some(Cause::SetUp));
        assert_eq!(cause("cache", bad, &[("run_delay_percent", 38.0)]), Some(Cause::SetUp));
        assert_eq!(cause("client CPU", limits, &[("steal_percent", 30.0)]), None, "slower, and of the storage");
        assert_eq!(cause("neighbour", limits, &[]), None);
    }

    #[test]
    fn what_another_run_would_not_change_comes_first() {
        let taken = note("client CPU", Grade::NotAStorageResult, &[("run_delay_percent", 38.0)]);
        let notes = [taken, note("cache", Grade::NotAStorageResult, &[])];
        assert_eq!(not_storage(&notes, &[]).unwrap().to_string(), "cache: x");
        assert_eq!(not_storage(&notes, &["cache"]).unwrap().cause, Cause::Moment);
        assert_eq!(not_storage(&notes, &["cache", "client CPU"]), None);
        assert_eq!(disturbed(&notes), Some(&notes[0]));
    }
}

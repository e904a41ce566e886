//! A recording with what follows from it: the one thing that is printed, drawn and kept.

use super::gains::{self, Gain};
use observe::Summary;
use session::layers::Recorded;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// A recording, and what follows from it.
pub(super) struct Answer {
    pub(super) recorded: Recorded,
    pub(super) summary: Summary,
    /// The gains of all that may be changed.
    pub(super) gains: Vec<Gain>,
}

impl Answer {
    /// The answer of a recording, a new one or one that was kept.
    pub(super) fn of(recorded: Recorded) -> Self {
        let summary = Summary::of(&recorded.seen.ios, recorded.seen.cost.time);
        let gains = gains::gains(&recorded, &summary);
        Answer { recorded, summary, gains }
    }

    /// Exit status of the command, if one was recorded and has ended.
    pub(super) fn status(&self) -> Option<ExitStatus> {
        self.recorded.seen.status.map(ExitStatus::from_raw)
    }
}

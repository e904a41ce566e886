//! A recording with what follows from it: the one thing that is printed, drawn and kept.

use super::disk::Disk;
use observe::{Seen, Summary};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// A recording with what was recorded, and what follows from it.
pub(super) struct Answer {
    /// The target in words.
    pub(super) target: String,
    /// Name of the machine.
    pub(super) host: Option<String>,
    /// End of the recording, since 1970.
    pub(super) ended_unix_ms: u64,
    pub(super) seen: Seen,
    /// Rates of the disks, by results in the store.
    pub(super) disks: Vec<Disk>,
    pub(super) summary: Summary,
    /// True for all programs on a device.
    pub(super) is_device: bool,
    /// True if there was no room for more.
    pub(super) is_full: bool,
}

impl Answer {
    /// Exit status of the command, if one was recorded and has ended.
    pub(super) fn status(&self) -> Option<ExitStatus> {
        self.seen.status.map(ExitStatus::from_raw)
    }
}

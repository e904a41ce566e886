//! The files of a worker while its loop runs.

use crate::files::{FileLocks, OpenFiles};

/// The open files, and the work that is pending at the end of a pass over the data.
pub(super) struct JobFiles<'w> {
    pub(super) open: &'w mut OpenFiles,
    /// Their locks, if each I/O takes one.
    pub(super) locks: Option<FileLocks>,
    /// True if data were written since the last flush at the end of a pass.
    pub(super) unflushed: bool,
    /// Number of passes that have ended.
    pub(super) passes: u64,
}

impl<'w> JobFiles<'w> {
    pub(super) fn new(open: &'w mut OpenFiles, locks: Option<FileLocks>) -> Self {
        JobFiles { open, locks, unflushed: false, passes: 0 }
    }
}

//! Locks around single I/Os (`lockfile`).
//!
//! A lock (flock(2)) belongs to an open file description, so workers that are threads exclude each other as processes
//! do; each worker opens the files a second time for it.

use super::regions::{FileKind, PlannedFile};
use crate::error::file_error;
use model::JobError;
use plan::{FileLock, Operation};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use std::os::fd::OwnedFd;

/// The locks of a worker's files.
pub(crate) struct FileLocks {
    kind: FileLock,
    files: Vec<OwnedFd>,
}

impl FileLocks {
    /// Opens the files to lock; `None` if the job locks none.
    pub(crate) fn open(kind: FileLock, files: &[PlannedFile]) -> Result<Option<Self>, JobError> {
        let on_disk = files.iter().all(|file| file.kind != FileKind::NameOnly);
        // Background engines have no files, and a separate loop.
        if kind == FileLock::None || !on_disk || files.is_empty() {
            return Ok(None);
        }
        let open = |file: &PlannedFile| {
            rustix::fs::open(&file.path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
                .map_err(|error| file_error("open for its lock", &file.path, error, ""))
        };
        Ok(Some(FileLocks { kind, files: files.iter().map(open).collect::<Result<_, _>>()? }))
    }

    /// Takes the lock that this operation on the file needs; waits for it. Fails if the kernel refuses the lock.
    pub(crate) fn acquire(&self, file: u32, operation: Operation) -> Result<(), Errno> {
        let how = match (self.kind, operation) {
            (FileLock::ReadWrite, Operation::Read) => FlockOperation::LockShared,
            _ => FlockOperation::LockExclusive,
        };
        self.apply(file, how)
    }

    /// Releases the lock of a file.
    pub(crate) fn release(&self, file: u32) -> Result<(), Errno> {
        self.apply(file, FlockOperation::Unlock)
    }

    fn apply(&self, file: u32, how: FlockOperation) -> Result<(), Errno> {
        let Some(file) = self.files.get(file as usize) else { return Ok(()) };
        rustix::io::retry_on_intr(|| flock(file, how))
    }
}

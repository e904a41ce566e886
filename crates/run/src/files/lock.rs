//! Locks around single I/Os (`lockfile`).
//!
//! A lock belongs to an open file description, so workers that are threads lock each other out as processes do; each
//! worker opens the files a second time for it.

use super::file_error;
use super::plan::{FileKind, PlannedFile};
use engine::Operation;
use job::plan::FileLock;
use model::JobError;
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use std::os::fd::OwnedFd;

/// The locks of a worker's files.
pub(crate) struct FileLocks {
    kind: FileLock,
    files: Vec<OwnedFd>,
}

impl FileLocks {
    /// Opens what is to be locked; `None` where nothing is.
    ///
    /// # Errors
    /// When a file cannot be opened.
    pub(crate) fn open(kind: FileLock, files: &[PlannedFile]) -> Result<Option<Self>, JobError> {
        let on_disk = files.iter().all(|file| file.kind != FileKind::NameOnly);
        // Engines that keep others company have no files, and a loop of their own.
        if kind == FileLock::None || !on_disk || files.is_empty() {
            return Ok(None);
        }
        let open = |file: &PlannedFile| {
            rustix::fs::open(&file.path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
                .map_err(|error| file_error("open for its lock", &file.path, error, ""))
        };
        Ok(Some(FileLocks { kind, files: files.iter().map(open).collect::<Result<_, _>>()? }))
    }

    /// Waits until the worker may do this to the file.
    ///
    /// # Errors
    /// When the kernel refuses the lock.
    pub(crate) fn take(&self, file: u32, operation: Operation) -> Result<(), Errno> {
        let how = match (self.kind, operation) {
            (FileLock::ReadWrite, Operation::Read) => FlockOperation::LockShared,
            _ => FlockOperation::LockExclusive,
        };
        self.apply(file, how)
    }

    /// Lets the others on.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn give_back(&self, file: u32) -> Result<(), Errno> {
        self.apply(file, FlockOperation::Unlock)
    }

    fn apply(&self, file: u32, how: FlockOperation) -> Result<(), Errno> {
        let Some(file) = self.files.get(file as usize) else { return Ok(()) };
        rustix::io::retry_on_intr(|| flock(file, how))
    }
}

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
use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The locks of a worker's files.
pub(crate) struct FileLocks {
    kind: FileLock,
    /// By target. A target may have another file by the time of its next I/O, if fewer are open than the job has.
    of_target: RefCell<Vec<Lockable>>,
}

/// A file that was opened for its lock.
struct Lockable {
    path: PathBuf,
    descriptor: OwnedFd,
}

impl Lockable {
    fn open(path: &Path) -> Result<Self, Errno> {
        let descriptor = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Lockable { path: path.to_owned(), descriptor })
    }
}

impl FileLocks {
    /// Opens the files to lock, those of the targets at `open`; `None` if the job locks none.
    pub(crate) fn open(kind: FileLock, files: &[PlannedFile], open: &[PathBuf]) -> Result<Option<Self>, JobError> {
        let on_disk = files.iter().all(|file| file.kind != FileKind::NameOnly);
        // Background engines have no files, and a separate loop.
        if kind == FileLock::None || !on_disk || files.is_empty() {
            return Ok(None);
        }
        let lockable =
            |path: &PathBuf| Lockable::open(path).map_err(|error| file_error("open for its lock", path, error, ""));
        let of_target = open.iter().map(lockable).collect::<Result<_, _>>()?;
        Ok(Some(FileLocks { kind, of_target: RefCell::new(of_target) }))
    }

    /// Takes the lock that this operation on the file of a target needs; waits for it. Fails if the kernel refuses the
    /// lock, or the file cannot be opened.
    pub(crate) fn acquire(&self, target: u32, path: &Path, operation: Operation) -> Result<(), Errno> {
        let how = match (self.kind, operation) {
            (FileLock::ReadWrite, Operation::Read) => FlockOperation::LockShared,
            _ => FlockOperation::LockExclusive,
        };
        if let Some(lockable) = self.of_target.borrow_mut().get_mut(target as usize)
            && lockable.path != path
        {
            *lockable = Lockable::open(path)?;
        }
        self.apply(target, how)
    }

    /// Releases the lock of a target's file.
    pub(crate) fn release(&self, target: u32) -> Result<(), Errno> {
        self.apply(target, FlockOperation::Unlock)
    }

    fn apply(&self, target: u32, how: FlockOperation) -> Result<(), Errno> {
        let of_target = self.of_target.borrow();
        let Some(lockable) = of_target.get(target as usize) else { return Ok(()) };
        rustix::io::retry_on_intr(|| flock(&lockable.descriptor, how))
    }
}

//! Directories in which members of servers keep logs until they are sent. A member that is killed cannot remove its
//! own: the next look at them does.
//!
//! A directory is in use as long as a process holds its lock, which ends with the process whatever ends it, and is seen
//! from other PID namespaces, too.

use crate::failure::Failure;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How the names begin.
const NAME: &str = "plumb-logs-";
/// Largest number of names that are tried.
const NAMES: u32 = 1000;

/// A directory that is in use until this value is dropped, which removes it.
#[derive(Debug)]
pub(crate) struct LogFolder {
    path: PathBuf,
    /// Holds the lock. Workers have it, too.
    _lock: File,
}

impl LogFolder {
    /// Makes one in the directory for temporary files.
    pub(crate) fn make() -> Result<Self, Failure> {
        Self::make_in(&std::env::temp_dir())
    }

    fn make_in(place: &Path) -> Result<Self, Failure> {
        for number in 0..NAMES {
            let path = place.join(format!("{NAME}{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(Failure::at(&path, format!("cannot be made for logs: {error}"))),
            }
            // Another process may have taken it for an abandoned one meanwhile.
            if let Some(lock) = locked(&path).filter(|lock| is_same(lock, &path)) {
                return Ok(LogFolder { path, _lock: lock });
            }
        }
        Err(Failure::new(format!("{} has too many directories for logs; remove {NAME}*", place.display())))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A directory in the folder; both are made if they are not there.
    pub(crate) fn below(folder: &mut Option<LogFolder>, name: &str) -> Result<PathBuf, Failure> {
        let made = match folder.take() {
            Some(made) => made,
            None => LogFolder::make()?,
        };
        let into = folder.insert(made).path.join(name);
        fs::create_dir_all(&into).map_err(|error| Failure::at(&into, error))?;
        Ok(into)
    }
}

impl Drop for LogFolder {
    fn drop(&mut self) {
        // Errors are ignored: the directory is one for temporary files.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the directories of this user's members that were killed.
pub(crate) fn remove_abandoned() {
    remove_abandoned_in(&std::env::temp_dir());
}

fn remove_abandoned_in(place: &Path) {
    let own = rustix::process::geteuid().as_raw();
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(NAME)) {
        let path = entry.path();
        // No link is followed: it may be another user's.
        let is_own = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir() && found.uid() == own);
        if is_own && locked(&path).is_some_and(|lock| is_same(&lock, &path)) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// The lock of a directory that no process uses.
fn locked(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok().map(|()| file)
}

/// True if this is still the directory of that name.
fn is_same(lock: &File, path: &Path) -> bool {
    let identity = |found: fs::Metadata| (found.dev(), found.ino());
    lock.metadata().ok().map(identity) == fs::symlink_metadata(path).ok().map(identity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_in_use_stays_and_an_abandoned_one_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let used = LogFolder::make_in(place.path()).unwrap();
        fs::write(used.path().join("a_bw.1.log"), "1\n").unwrap();
        // As a member leaves it that is killed: nothing holds its lock.
        let abandoned = place.path().join("plumb-logs-1-0");
        fs::create_dir(&abandoned).unwrap();
        fs::write(abandoned.join("b_bw.1.log"), "1\n").unwrap();
        let other = place.path().join("other");
        fs::create_dir(&other).unwrap();
        std::os::unix::fs::symlink(&other, place.path().join("plumb-logs-2-0")).unwrap();
        remove_abandoned_in(place.path());
        assert!(used.path().join("a_bw.1.log").exists() && !abandoned.exists() && other.exists());
        let another = LogFolder::make_in(place.path()).unwrap();
        assert_ne!(used.path(), another.path());
        let (first, second) = (used.path().to_owned(), another.path().to_owned());
        drop((used, another));
        assert!(!first.exists() && !second.exists());
    }
}

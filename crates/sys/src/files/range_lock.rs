//! Locks on byte ranges of a file between processes (fcntl(2), F_SETLKW).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Kinds of lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeLock {
    /// F_RDLCK: excludes writers.
    Shared,
    /// F_WRLCK: excludes readers and writers.
    Exclusive,
    /// F_UNLCK: releases the lock.
    Released,
}

/// Waits for this lock on the range. A `length` of 0 means up to the end of the file, however large it becomes.
///
/// # Errors
/// As fcntl(2), except EINTR, after which it waits again.
pub fn lock_range(file: BorrowedFd<'_>, lock: RangeLock, offset: u64, length: u64) -> io::Result<()> {
    let kind = match lock {
        RangeLock::Shared => libc::F_RDLCK,
        RangeLock::Exclusive => libc::F_WRLCK,
        RangeLock::Released => libc::F_UNLCK,
    };
    let too_large = |_| io::Error::from_raw_os_error(libc::EOVERFLOW);
    let wanted = libc::flock {
        l_type: i16::try_from(kind).map_err(too_large)?,
        l_whence: i16::try_from(libc::SEEK_SET).map_err(too_large)?,
        l_start: i64::try_from(offset).map_err(too_large)?,
        l_len: i64::try_from(length).map_err(too_large)?,
        l_pid: 0,
    };
    loop {
        // SAFETY: F_SETLKW reads one flock from the pointer, which lives through the call.
        let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLKW, &raw const wanted) };
        if result == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_range_is_locked_and_let_go() {
        let file = tempfile::tempfile().unwrap();
        lock_range(file.as_fd(), RangeLock::Exclusive, 4096, 8192).unwrap();
        lock_range(file.as_fd(), RangeLock::Released, 4096, 8192).unwrap();
        let named = tempfile::NamedTempFile::new().unwrap();
        let read_only = std::fs::File::open(named.path()).unwrap();
        lock_range(read_only.as_fd(), RangeLock::Shared, 0, 0).unwrap();
        let refused = lock_range(read_only.as_fd(), RangeLock::Exclusive, 0, 0).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EBADF));
    }
}

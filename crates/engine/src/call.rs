//! Plain system calls that end before they return, with the result as a completion wants it: bytes or -errno.

use crate::contract::{Io, Operation};
use measure::Nanos;
use std::os::fd::RawFd;

/// errno of the last call in this thread.
#[inline]
pub(crate) fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// A span of time as the kernel takes it.
pub(crate) fn timespec(span: Nanos) -> libc::timespec {
    let second = Nanos::SECOND.get();
    libc::timespec {
        tv_sec: i64::try_from(span.get() / second).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(span.get() % second).unwrap_or(0),
    }
}

/// Turns a call's return value into bytes or -errno; `None` when a signal came first and the call is to be repeated.
#[inline]
fn settled(returned: i64) -> Option<i64> {
    if returned >= 0 {
        return Some(returned);
    }
    let errno = errno();
    (errno != libc::EINTR).then_some(-i64::from(errno))
}

/// Repeats `call` until it ends for another reason than a signal: an I/O that was begun is finished.
#[inline]
pub(crate) fn finish(mut call: impl FnMut() -> isize) -> i64 {
    loop {
        if let Some(result) = settled(call() as i64) {
            return result;
        }
    }
}

/// Carries out a trim or a sync.
pub(crate) fn without_data(descriptor: RawFd, io: &Io) -> i64 {
    match io.operation {
        Operation::Trim => discard(descriptor, io.offset, io.length),
        operation => synchronise(descriptor, operation),
    }
}

/// fsync or fdatasync of a file.
fn synchronise(descriptor: RawFd, operation: Operation) -> i64 {
    finish(|| match operation {
        // SAFETY: fdatasync(2) takes no memory; a descriptor that is not open is an EBADF.
        Operation::DataSync => unsafe { libc::fdatasync(descriptor) as isize },
        // SAFETY: as above, for fsync(2).
        _ => unsafe { libc::fsync(descriptor) as isize },
    })
}

/// Discards a range of a block device; a regular file answers ENOTTY, as any ioctl it does not know.
fn discard(descriptor: RawFd, offset: u64, length: u32) -> i64 {
    /// `_IO(0x12, 119)` of linux/fs.h.
    const BLKDISCARD: libc::c_ulong = 0x1277;
    let range: [u64; 2] = [offset, u64::from(length)];
    // SAFETY: BLKDISCARD reads two u64 from the pointer, which `range` holds for the whole call.
    let result = finish(|| unsafe { libc::ioctl(descriptor, BLKDISCARD, range.as_ptr()) as isize });
    if result == 0 { i64::from(length) } else { result }
}

/// Offset as the kernel takes it. What is beyond 2^63 exists nowhere and becomes an offset that the kernel refuses; -1
/// would be the file's own position to some calls.
#[inline]
pub(crate) fn signed(offset: u64) -> i64 {
    i64::try_from(offset).unwrap_or(i64::MIN)
}

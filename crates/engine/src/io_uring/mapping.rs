//! Memory that a ring shares with the kernel, mapped by the engine.
//!
//! The io-uring crate reaches its mappings by calls that are not inlined into other crates, and reads and writes the
//! indices of a ring for every entry: 41 of the 394 instructions that an I/O took. A second mapping shows the same
//! pages.

use super::setup;
use crate::contract::EngineError;
use ::io_uring::{IoUring, Parameters};
use rustix::io_uring::io_uring_params;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

/// A mapping of a part of a ring.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    /// Maps `bytes` of the part that has this offset (IORING_OFF_* of linux/io_uring.h).
    ///
    /// # Errors
    /// If there is no room for it.
    pub(super) fn of(ring: &IoUring, part: u64, bytes: usize) -> Result<Self, EngineError> {
        let (access, sharing) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::POPULATE);
        // SAFETY: the ring is open for the length of this call.
        let descriptor = unsafe { BorrowedFd::borrow_raw(ring.as_raw_fd()) };
        // SAFETY: a null hint without MAP_FIXED lets the kernel choose free addresses, so no existing mapping is
        // replaced.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, access, sharing, descriptor, part) };
        let start = start.map_err(|errno| unmapped(errno.raw_os_error()))?;
        // A child that a hook starts has no use for it; if the kernel refuses, it has a mapping more.
        // SAFETY: the range is that of the mapping above.
        let _ = unsafe { madvise(start, bytes, Advice::LinuxDontFork) };
        let start = NonNull::new(start.cast::<u8>()).ok_or_else(|| unmapped(libc::ENOMEM))?;
        Ok(Mapping { start, bytes })
    }

    /// The value at `offset` bytes, which is in the mapping and aligned for it.
    pub(super) fn at<T>(&self, offset: u32) -> NonNull<T> {
        let offset = offset as usize;
        assert!(offset + size_of::<T>() <= self.bytes, "the kernel names a place within the ring");
        // SAFETY: the place is within the mapping.
        unsafe { self.start.add(offset) }.cast()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is that of `of`; what points into it is dropped with it.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Parameters of the ring as the kernel filled them in.
pub(super) fn parameters(ring: &IoUring) -> io_uring_params {
    // SAFETY: both are the kernel's `struct io_uring_params`, plain integers.
    unsafe { std::mem::transmute::<Parameters, io_uring_params>(ring.params().clone()) }
}

fn unmapped(errno: i32) -> EngineError {
    setup::failed("mmap of a ring", errno, "lower the depth")
}

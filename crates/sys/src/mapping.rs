//! A mapping of memory that is unmapped when its owner goes.

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

/// The size of a page on every machine we know how to run on; a mapping's start is aligned to it at least.
pub(crate) const PAGE: usize = 4096;

/// Memory from mmap, readable and writable, owned.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: a mapping is plain memory of this process, not bound to the thread that made it.
unsafe impl Send for Mapping {}
// SAFETY: a shared `Mapping` only tells its address and length; those who touch the memory keep their own promises.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Fresh zero pages; `flags` says whether they are shared with children and how large they are.
    pub(crate) fn anonymous(length: usize, flags: MapFlags) -> rustix::io::Result<Self> {
        let wanted = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a null hint without MAP_FIXED lets the kernel choose free addresses, so no live memory is replaced.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), length, wanted, flags) }?;
        Self::adopt(start.cast(), length)
    }

    /// `length` bytes of an open file from its start.
    pub(crate) fn of_file(file: BorrowedFd<'_>, length: usize, flags: MapFlags) -> rustix::io::Result<Self> {
        let wanted = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a null hint without MAP_FIXED lets the kernel choose free addresses, so no live memory is replaced.
        let start = unsafe { mmap(std::ptr::null_mut(), length, wanted, flags, file, 0) }?;
        Self::adopt(start.cast(), length)
    }

    fn adopt(start: *mut u8, length: usize) -> rustix::io::Result<Self> {
        NonNull::new(start).map(|start| Mapping { start, length }).ok_or(rustix::io::Errno::NOMEM)
    }

    /// The first byte.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `start` and `length` are what mmap gave, and whoever borrows the memory borrows its owner.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// `length` rounded up to whole steps; `None` when it does not fit the address space.
pub(crate) fn round_up(length: usize, step: usize) -> Option<usize> {
    length.checked_next_multiple_of(step).filter(|&rounded| isize::try_from(rounded).is_ok())
}

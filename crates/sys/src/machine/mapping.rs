//! A memory mapping that is unmapped when it is dropped.

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

/// Page size of all supported machines; the start of a mapping has at least this alignment.
pub(crate) const PAGE: usize = 4096;

/// A mapping with an owner, readable and, but for [`Mapping::of_readable`], writable.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: a mapping is plain memory of this process, not bound to the thread that created it.
unsafe impl Send for Mapping {}
// SAFETY: a shared `Mapping` only returns its address and length; code that accesses the memory has its own
// obligations.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps new zero pages; `flags` select sharing with children and the page size.
    pub(crate) fn anonymous(length: usize, flags: MapFlags) -> rustix::io::Result<Self> {
        let wanted = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a null hint without MAP_FIXED lets the kernel choose free addresses, so no existing mapping is
        // replaced.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), length, wanted, flags) }?;
        Self::adopt(start.cast(), length)
    }

    /// Maps `length` bytes from the start of an open file.
    pub(crate) fn of_file(file: BorrowedFd<'_>, length: usize, flags: MapFlags) -> rustix::io::Result<Self> {
        let wanted = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a null hint without MAP_FIXED lets the kernel choose free addresses, so no existing mapping is
        // replaced.
        let start = unsafe { mmap(std::ptr::null_mut(), length, wanted, flags, file, 0) }?;
        Self::adopt(start.cast(), length)
    }

    /// Maps `length` bytes from `offset` of an open file on, which are only read.
    pub(crate) fn of_readable(file: BorrowedFd<'_>, length: usize, offset: u64) -> rustix::io::Result<Self> {
        // SAFETY: a null hint without MAP_FIXED lets the kernel choose free addresses, so no existing mapping is
        // replaced.
        let start = unsafe { mmap(std::ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, file, offset) }?;
        Self::adopt(start.cast(), length)
    }

    fn adopt(start: *mut u8, length: usize) -> rustix::io::Result<Self> {
        NonNull::new(start).map(|start| Mapping { start, length }).ok_or(rustix::io::Errno::NOMEM)
    }

    /// Address of the first byte.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `start` and `length` are those of mmap, and references to the memory borrow its owner.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Rounds `length` up to a multiple of `step`; `None` if the result exceeds the address space.
pub(crate) fn round_up(length: usize, step: usize) -> Option<usize> {
    length.checked_next_multiple_of(step).filter(|&rounded| isize::try_from(rounded).is_ok())
}

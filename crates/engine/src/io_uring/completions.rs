//! The completion ring, read in a mapping that belongs to the engine.
//!
//! The io-uring crate copies each entry by a call that is not inlined into other crates: 12 of the 394 instructions that an I/O takes.

use super::setup;
use crate::contract::{Completion, EngineError};
use ::io_uring::{IoUring, Parameters};
use rustix::io_uring::{IORING_OFF_CQ_RING, io_uring_params};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// `struct io_uring_cqe`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Entry {
    user_data: u64,
    result: i32,
    flags: u32,
}

/// The completion ring of a ring. The kernel writes entries and then the tail, this side only the head.
#[derive(Debug)]
pub(super) struct Completions {
    start: NonNull<u8>,
    bytes: usize,
    head: NonNull<AtomicU32>,
    tail: NonNull<AtomicU32>,
    entries: NonNull<Entry>,
    /// Count of entries less one; the count is a power of two.
    mask: u32,
}

impl Completions {
    /// Maps the completion ring.
    ///
    /// # Errors
    /// If there is no room for it.
    pub(super) fn of(ring: &IoUring) -> Result<Self, EngineError> {
        // SAFETY: both are the kernel's `struct io_uring_params`, plain integers.
        let params = unsafe { std::mem::transmute::<Parameters, io_uring_params>(ring.params().clone()) };
        let [head, tail, entries] = [params.cq_off.head, params.cq_off.tail, params.cq_off.cqes].map(|at| at as usize);
        let bytes = entries + params.cq_entries as usize * size_of::<Entry>();
        let (access, sharing) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::POPULATE);
        // SAFETY: the ring is open for the length of this call.
        let descriptor = unsafe { BorrowedFd::borrow_raw(ring.as_raw_fd()) };
        // SAFETY: a null hint without MAP_FIXED lets the kernel choose free addresses, so no existing mapping is replaced.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, access, sharing, descriptor, IORING_OFF_CQ_RING) };
        let start = start.map_err(|errno| unmapped(errno.raw_os_error()))?;
        // A child that a hook starts has no use for it; if the kernel refuses, it has a mapping more.
        // SAFETY: the range is that of the mapping above.
        let _ = unsafe { madvise(start, bytes, Advice::LinuxDontFork) };
        let start = NonNull::new(start.cast::<u8>()).ok_or_else(|| unmapped(libc::ENOMEM))?;
        // SAFETY: the kernel gives places within the ring, of which `bytes` are mapped.
        let [head, tail, entries] = [head, tail, entries].map(|at| unsafe { start.add(at) });
        let mask = params.cq_entries - 1;
        Ok(Completions { start, bytes, head: head.cast(), tail: tail.cast(), entries: entries.cast(), mask })
    }

    /// Moves up to `max` completions to `done`, and returns how many.
    #[inline(always)]
    pub(super) fn take(&mut self, max: u32, done: &mut Vec<Completion>) -> u32 {
        // SAFETY: both are in the mapping, which lives as long as `self`.
        let (head, tail) = unsafe { (self.head.as_ref(), self.tail.as_ref()) };
        let first = head.load(Ordering::Relaxed);
        // Acquire: the kernel has written the entries before the tail.
        let count = tail.load(Ordering::Acquire).wrapping_sub(first).min(max);
        done.extend((0..count).map(|index| {
            let place = (first.wrapping_add(index) & self.mask) as usize;
            // SAFETY: masked, the place is in the ring; between head and tail the kernel does not write.
            let entry = unsafe { self.entries.add(place).read() };
            #[expect(clippy::cast_possible_truncation, reason = "the data is the slot that we gave, a u32")]
            Completion { slot: entry.user_data as u32, result: i64::from(entry.result) }
        }));
        // Release: the entries are read before the kernel may use their places.
        head.store(first.wrapping_add(count), Ordering::Release);
        count
    }
}

impl Drop for Completions {
    fn drop(&mut self) {
        // SAFETY: the mapping is that of `of`, and nothing refers to it but `self`.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

fn unmapped(errno: i32) -> EngineError {
    setup::failed("mmap of the completion ring", errno, "lower the depth")
}

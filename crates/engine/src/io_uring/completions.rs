//! The completion ring.

use super::mapping::{Mapping, parameters};
use crate::contract::{Completion, EngineError};
use ::io_uring::IoUring;
use rustix::io_uring::IORING_OFF_CQ_RING;
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
    head: NonNull<AtomicU32>,
    tail: NonNull<AtomicU32>,
    entries: NonNull<Entry>,
    /// Count of entries less one; the count is a power of two.
    mask: u32,
    _mapping: Mapping,
}

impl Completions {
    /// Maps the completion ring.
    ///
    /// # Errors
    /// If there is no room for it.
    pub(super) fn of(ring: &IoUring) -> Result<Self, EngineError> {
        let params = parameters(ring);
        let bytes = params.cq_off.cqes as usize + params.cq_entries as usize * size_of::<Entry>();
        let mapping = Mapping::of(ring, IORING_OFF_CQ_RING, bytes)?;
        let [head, tail] = [params.cq_off.head, params.cq_off.tail].map(|at| mapping.at(at));
        let entries = mapping.at(params.cq_off.cqes);
        Ok(Completions { head, tail, entries, mask: params.cq_entries - 1, _mapping: mapping })
    }

    /// Moves up to `max` completions to `done`, and returns how many.
    #[inline(always)]
    pub(super) fn take(&mut self, max: u32, done: &mut Vec<Completion>) -> u32 {
        // SAFETY: both are in the mapping, which lives as long as `self`.
        let (head, tail) = unsafe { (self.head.as_ref(), self.tail.as_ref()) };
        let first = head.load(Ordering::Relaxed);
        // Acquire: the kernel has written the entries before the tail.
        let count = tail.load(Ordering::Acquire).wrapping_sub(first).min(max);
        for index in 0..count {
            let place = (first.wrapping_add(index) & self.mask) as usize;
            // SAFETY: masked, the place is in the ring; between head and tail the kernel does not write.
            let entry = unsafe { self.entries.add(place).read() };
            #[expect(clippy::cast_possible_truncation, reason = "the data is the slot that we gave, a u32")]
            done.push(Completion { slot: entry.user_data as u32, result: i64::from(entry.result) });
        }
        // Release: the entries are read before the kernel may use their places.
        head.store(first.wrapping_add(count), Ordering::Release);
        count
    }
}

//! The submission ring.

use super::mapping::{Mapping, parameters};
use crate::contract::EngineError;
use ::io_uring::IoUring;
use ::io_uring::squeue::Entry;
use rustix::io_uring::{IORING_OFF_SQ_RING, IORING_OFF_SQES};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// Flags of the ring: the polling thread sleeps; completions did not fit; the task has work that posts completions.
const NEED_WAKEUP: u32 = 1;
const OVERFLOW: u32 = 2;
const TASK_WORK: u32 = 4;

/// The submission ring of a ring. This side writes entries and then the tail, the kernel only the head and the flags.
#[derive(Debug)]
pub(super) struct Submissions {
    entries: NonNull<Entry>,
    /// Count of entries less one; the count is a power of two.
    mask: u32,
    /// Where the next entry goes.
    next: u32,
    /// Entries before it were taken by the kernel when it was looked up last.
    taken: u32,
    head: NonNull<AtomicU32>,
    tail: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    _mappings: [Mapping; 2],
}

impl Submissions {
    /// Maps the submission ring. From then on entries come only from here.
    ///
    /// # Errors
    /// If there is no room for it.
    pub(super) fn of(ring: &IoUring) -> Result<Self, EngineError> {
        let params = parameters(ring);
        let places = [params.sq_off.head, params.sq_off.tail, params.sq_off.flags];
        let last = places.iter().max().map_or(0, |&last| last as usize);
        let indices = Mapping::of(ring, IORING_OFF_SQ_RING, last + size_of::<AtomicU32>())?;
        let entries = Mapping::of(ring, IORING_OFF_SQES, params.sq_entries as usize * size_of::<Entry>())?;
        let [head, tail, flags] = places.map(|at| indices.at(at));
        Ok(Submissions {
            entries: entries.at(0),
            mask: params.sq_entries - 1,
            next: 0,
            taken: 0,
            head,
            tail,
            flags,
            _mappings: [indices, entries],
        })
    }

    /// Puts an entry into the ring, for [`Submissions::publish`]; false if there is no room for it.
    ///
    /// # Safety
    /// What the entry points to stays where it is until its completion is taken, and is not accessed before.
    #[inline(always)]
    pub(super) unsafe fn push(&mut self, entry: Entry) -> bool {
        if self.next.wrapping_sub(self.taken) > self.mask && !self.has_room() {
            return false;
        }
        // SAFETY: masked, the place is in the ring; the kernel has taken what was there.
        unsafe { self.entries.add((self.next & self.mask) as usize).write(entry) };
        self.next = self.next.wrapping_add(1);
        true
    }

    /// Looks up how many entries the kernel has taken.
    #[cold]
    fn has_room(&mut self) -> bool {
        // SAFETY: it is in the mapping, which lives as long as `self`.
        // Acquire: the kernel has read the entries before the head.
        self.taken = unsafe { self.head.as_ref() }.load(Ordering::Acquire);
        self.next.wrapping_sub(self.taken) <= self.mask
    }

    /// Lets the kernel see all entries.
    #[inline(always)]
    pub(super) fn publish(&self) {
        // SAFETY: it is in the mapping, which lives as long as `self`.
        // Release: the entries are written before the kernel may read them.
        unsafe { self.tail.as_ref() }.store(self.next, Ordering::Release);
    }

    /// Lets the kernel's polling thread see all entries; true if it sleeps and has to be woken by a call.
    pub(super) fn publish_to_poller(&self) -> bool {
        self.publish();
        // The thread sets the flag and then looks at the tail; here the tail comes first. With a full barrier between
        // the two on both sides, at least one sees what the other wrote.
        fence(Ordering::SeqCst);
        self.flags() & NEED_WAKEUP != 0
    }

    /// True if the kernel has completions that only a system call brings to the ring: deferred ones (DEFER_TASKRUN),
    /// and those of an overflow.
    #[inline]
    pub(super) fn hide_completions(&self) -> bool {
        self.flags() & (TASK_WORK | OVERFLOW) != 0
    }

    #[inline(always)]
    fn flags(&self) -> u32 {
        // SAFETY: it is in the mapping, which lives as long as `self`.
        unsafe { self.flags.as_ref() }.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::completions::Completions;
    use super::super::setup::{ENTER_GETEVENTS, Handle};
    use super::*;
    use ::io_uring::opcode::Nop;

    #[test]
    fn a_full_ring_takes_entries_when_the_kernel_has_taken_some() {
        let ring = IoUring::new(4).unwrap();
        let (mut submissions, mut completions) = (Submissions::of(&ring).unwrap(), Completions::of(&ring).unwrap());
        let handle = Handle::plain(&ring);
        // SAFETY: a NOP points to nothing.
        let push = |to: &mut Submissions, data: u64| unsafe { to.push(Nop::new().build().user_data(data)) };
        let (mut next, mut done) = (0, Vec::new());
        for round in 0..1000 {
            while push(&mut submissions, next) {
                next += 1;
            }
            // One stays behind for the next round.
            assert_eq!(next, 4 + 3 * round);
            submissions.publish();
            assert_eq!(handle.enter(3, 3, ENTER_GETEVENTS), Ok(3));
            assert_eq!(completions.take(u32::MAX, &mut done), 3);
        }
        assert!(done.iter().map(|completion| u64::from(completion.slot)).eq(0..3000));
    }
}

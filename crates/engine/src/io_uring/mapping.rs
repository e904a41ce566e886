//! The submission ring and the completion ring: memory shared with the kernel, mapped by the engine.
//!
//! The io-uring crate reaches its mappings by calls that are not inlined into other crates, and reads and writes the
//! indices of a ring for every entry: 41 of the 394 instructions that an I/O took. A second mapping shows the same
//! pages.

use super::setup;
use crate::contract::{Completion, EngineError};
use ::io_uring::squeue::Entry;
use ::io_uring::{IoUring, Parameters};
use rustix::io_uring::{IORING_OFF_CQ_RING, IORING_OFF_SQ_RING, IORING_OFF_SQES, io_uring_params};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// A mapping of a part of a ring.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    /// Maps `bytes` of the part that has this offset (IORING_OFF_* of linux/io_uring.h). Fails if there is no room for
    /// it.
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

/// `struct io_uring_cqe`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct CompletionEntry {
    user_data: u64,
    result: i32,
    flags: u32,
}

/// The completion ring of a ring. The kernel writes entries and then the tail, this side only the head.
#[derive(Debug)]
pub(super) struct Completions {
    head: NonNull<AtomicU32>,
    tail: NonNull<AtomicU32>,
    entries: NonNull<CompletionEntry>,
    /// Count of entries less one; the count is a power of two.
    mask: u32,
    _mapping: Mapping,
}

impl Completions {
    /// Maps the completion ring. Fails if there is no room for it.
    pub(super) fn of(ring: &IoUring) -> Result<Self, EngineError> {
        let params = parameters(ring);
        let bytes = params.cq_off.cqes as usize + params.cq_entries as usize * size_of::<CompletionEntry>();
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
    /// Maps the submission ring. From then on entries come only from here. Fails if there is no room for it.
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

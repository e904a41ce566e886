//! A kernel aio context: its four system calls, its structures, and the completion ring mapped into the process.
//!
//! The structures are those of linux/aio_abi.h. The ring's layout is internal to the kernel (fs/aio.c) and is checked
//! by its magic number.

use super::NAME;
use crate::call;
use crate::contract::{Completion, EngineError};
use std::sync::atomic::{AtomicU32, Ordering};

/// Opcodes of a control block.
pub(super) const PREAD: u16 = 0;
pub(super) const PWRITE: u16 = 1;
pub(super) const PREADV: u16 = 7;
pub(super) const PWRITEV: u16 = 8;
/// IOCB_FLAG_IOPRIO: the priority field of the control block is valid.
pub(super) const HAS_PRIORITY: u32 = 2;

/// `struct iocb`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Iocb {
    pub(super) data: u64,
    #[cfg(target_endian = "little")]
    pub(super) key: u32,
    pub(super) rw_flags: i32,
    #[cfg(target_endian = "big")]
    pub(super) key: u32,
    pub(super) operation: u16,
    pub(super) priority: i16,
    pub(super) descriptor: u32,
    pub(super) address: u64,
    pub(super) length: u64,
    pub(super) offset: i64,
    pub(super) reserved: u64,
    pub(super) flags: u32,
    pub(super) result_descriptor: u32,
}

/// `struct io_event`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Event {
    data: u64,
    object: u64,
    result: i64,
    result2: i64,
}

impl Event {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the data is the slot that we gave, a u32")]
    pub(super) fn completion(&self) -> Completion {
        Completion { slot: self.data as u32, result: self.result }
    }
}

/// `struct aio_ring`, without its events.
#[repr(C)]
struct Header {
    id: u32,
    capacity: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
    compatible_features: u32,
    incompatible_features: u32,
    header_length: u32,
}

const MAGIC: u32 = 0xa10a_10a1;

/// An aio context. Its ID is the address at which the kernel mapped the ring.
#[derive(Debug)]
pub(super) struct Context {
    id: libc::c_ulong,
}

impl Context {
    pub(super) fn new(depth: u32) -> Result<Self, EngineError> {
        let mut id: libc::c_ulong = 0;
        // SAFETY: io_setup(2) writes the ID of the context to `id`, which outlives the call.
        let result = unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut id) };
        if result == 0 {
            return Ok(Context { id });
        }
        let errno = call::errno();
        let advice = match errno {
            libc::EAGAIN => "the system has too few aio slots left; raise fs.aio-max-nr or lower the depth",
            libc::ENOSYS | libc::EPERM => "the kernel or a sandbox does not allow it; try ioengine=psync or io_uring",
            _ => "try a lower depth",
        };
        let message = format!("{} (depth {depth}): {advice}", std::io::Error::from_raw_os_error(errno));
        Err(EngineError { engine: NAME, operation: "io_setup", message, errno })
    }

    /// Submits control blocks in order. Returns how many the kernel took, or the error of the first.
    #[inline(always)]
    pub(super) fn submit(&self, blocks: &[*mut Iocb]) -> Result<u32, i32> {
        let arguments = [self.address(), blocks.len(), blocks.as_ptr().expose_provenance(), 0, 0, 0];
        // SAFETY: each pointer is to a control block of the engine, which does not move or write it while it is in this
        // list; the kernel copies the blocks before it returns. Setup promises that the data buffers outlive the
        // engine, and io_destroy waits for all I/Os of the context.
        let taken = unsafe { call::system_call(libc::SYS_io_submit, arguments) };
        taken.map(count)
    }

    /// Waits for at least `min` events, at most `longest`, and reads as many as fit into `events`.
    #[inline(always)]
    pub(super) fn fetch(&self, min: u32, events: &mut [Event], longest: Option<&libc::timespec>) -> Result<u32, i32> {
        let (room, timeout) = (events.len(), longest.map_or(std::ptr::null(), std::ptr::from_ref));
        let memory = events.as_mut_ptr().expose_provenance();
        let arguments = [self.address(), min as usize, room, memory, timeout.expose_provenance(), 0];
        // SAFETY: the kernel writes at most `room` events to `events`, which is borrowed for the whole call, as is
        // the timeout.
        let fetched = unsafe { call::system_call(libc::SYS_io_getevents, arguments) };
        fetched.map(count)
    }

    /// True if the ring has the layout that [`Context::take`] expects.
    pub(super) fn is_readable(&self) -> bool {
        let header = self.header();
        header.magic == MAGIC
            && header.incompatible_features == 0
            && header.header_length as usize == size_of::<Header>()
    }

    /// Takes up to `max` events from the ring without a system call. Requires [`Context::is_readable`].
    ///
    /// The kernel is the only writer of `tail`, this thread the only writer of `head`. The kernel writes an event
    /// before it moves the tail, and reuses its entry only after the head has passed it: hence Acquire on the tail and
    /// Release on the head.
    #[inline]
    pub(super) fn take(&self, max: u32, mut each: impl FnMut(&Event)) -> u32 {
        let header = self.header();
        let mut head = header.head.load(Ordering::Relaxed);
        // Pairs with the kernel's write barrier between event and tail.
        let tail = header.tail.load(Ordering::Acquire);
        let mut count = 0;
        while head != tail && count < max {
            each(self.event(head));
            head = if head + 1 >= header.capacity { 0 } else { head + 1 };
            count += 1;
        }
        if count > 0 {
            header.head.store(head, Ordering::Release);
        }
        count
    }

    #[inline]
    fn header(&self) -> &Header {
        let address = std::ptr::with_exposed_provenance::<Header>(self.address());
        // SAFETY: the ID is the address at which the kernel mapped at least one page, which begins with the header,
        // until io_destroy, which only `drop` calls. The fields that the kernel changes are atomic in `Header`.
        unsafe { &*address }
    }

    #[inline]
    fn event(&self, index: u32) -> &Event {
        let first = self.address() + size_of::<Header>();
        let address = std::ptr::with_exposed_provenance::<Event>(first + index as usize * size_of::<Event>());
        // SAFETY: `index` is between head and tail, below the capacity of the mapped ring, and the kernel does not
        // overwrite this event before the head has passed it.
        unsafe { &*address }
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a c_ulong is as wide as an address on Linux")]
    fn address(&self) -> usize {
        self.id as usize
    }
}

/// Count of control blocks or events, at most the depth.
#[inline(always)]
fn count(returned: usize) -> u32 {
    u32::try_from(returned).unwrap_or(u32::MAX)
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context belongs to this object alone. The call returns when none of its I/Os is in flight, so the
        // buffers may be freed after the engine.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.id) };
    }
}

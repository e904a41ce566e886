//! Waits with a time: for a batch (`batch_wait`), or until the worker has other work.
//!
//! The times are an argument of each call, from which the kernel copies them, or they stand in memory that is
//! registered with the ring once (`registerwaits`; IORING_REGISTER_MEM_REGION, Linux 6.13).

use super::setup::{self, ENTER_GETEVENTS, Handle};
use crate::call;
use crate::contract::EngineError;
use ::io_uring::IoUring;
use measure::Nanos;
use std::os::fd::AsRawFd;
use sys::machine::buffers::{Arena, Source};

/// Constants of linux/io_uring.h.
const ENTER_EXT_ARG: u32 = 8;
const ENTER_EXT_ARG_REG: u32 = 64;
const REGISTER_MEM_REGION: libc::c_uint = 34;
const REGION_OF_USER: u32 = 1;
const REGION_HOLDS_WAITS: u64 = 1;
const HAS_SPAN: u32 = 1;

/// A wait for a whole batch goes on for this long if nothing at all completes; then it is repeated.
const SECONDS_OF_A_BATCH: i64 = 3600;

/// End of a wait, if fewer completions come than it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// The time of a batch, and then the first completion.
    Batch,
    /// The time of a batch: for a worker that has taken completions already.
    Rest,
    /// The time that [`Waits::set_moment`] set.
    Moment,
}

/// `struct io_uring_reg_wait`. Its span is present if its flags say so.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Times {
    span: libc::timespec,
    batch_us: u32,
    flags: u32,
    mask: u64,
    mask_size: u32,
    reserved: [u32; 3],
    reserved_too: [u64; 2],
}

const NO_SPAN: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };

impl Times {
    const fn new(span: Option<libc::timespec>, batch_us: u32) -> Self {
        let (span, flags) = match span {
            Some(span) => (span, HAS_SPAN),
            None => (NO_SPAN, 0),
        };
        Times { span, batch_us, flags, mask: 0, mask_size: 0, reserved: [0; 3], reserved_too: [0; 2] }
    }
}

/// `struct io_uring_getevents_arg`.
#[repr(C)]
struct Copied {
    mask: u64,
    mask_size: u32,
    batch_us: u32,
    span: *const libc::timespec,
}

/// `struct io_uring_region_desc`.
#[repr(C)]
struct Region {
    address: u64,
    bytes: u64,
    flags: u32,
    id: u32,
    mapping: u64,
    reserved: [u64; 4],
}

/// `struct io_uring_mem_region_reg`.
#[repr(C)]
struct Registration {
    region: *const Region,
    flags: u64,
    reserved: [u64; 2],
}

/// The times of all waits of a ring.
#[derive(Debug)]
pub(super) struct Waits {
    /// By [`Until`].
    times: [Times; 3],
    /// The same, where the kernel reads them.
    registered: Option<Arena>,
}

impl Waits {
    /// Times that are passed with each call; `batch_us` is the time of a batch, 0 without one.
    pub(super) const fn new(batch_us: u32) -> Self {
        let long = libc::timespec { tv_sec: SECONDS_OF_A_BATCH, tv_nsec: 0 };
        let times = [Times::new(Some(long), batch_us), Times::new(None, batch_us), Times::new(Some(NO_SPAN), 0)];
        Waits { times, registered: None }
    }

    /// Registers memory for the times with a ring that is not enabled yet. Fails: eINVAL before Linux 6.13; ENOMEM if
    /// too little memory may be locked.
    pub(super) fn register(&mut self, ring: &IoUring) -> Result<(), EngineError> {
        let page = rustix::param::page_size();
        let memory = Arena::new(&Source::Private, 1, page, page)
            .map_err(|error| setup::failed("registerwaits", libc::ENOMEM, &error.to_string()))?;
        let (address, bytes) = (memory.pointer().expose_provenance() as u64, memory.stride() as u64);
        let region = Region { address, bytes, flags: REGION_OF_USER, id: 0, mapping: 0, reserved: [0; 4] };
        let registration = Registration { region: &raw const region, flags: REGION_HOLDS_WAITS, reserved: [0; 2] };
        let argument = &raw const registration;
        // SAFETY: the kernel reads both structures, which outlive the call, and writes to the region's description what
        // it is at already. It pins the memory, which it only reads, and only within calls of this thread.
        let result =
            unsafe { libc::syscall(libc::SYS_io_uring_register, ring.as_raw_fd(), REGISTER_MEM_REGION, argument, 1) };
        if result < 0 {
            let errno = call::errno();
            let advice = match errno {
                libc::EINVAL => "registerwaits needs Linux 6.13",
                _ => "memory for waits cannot be registered; raise ulimit -l or drop registerwaits",
            };
            return Err(setup::failed("registerwaits", errno, advice));
        }
        self.registered = Some(memory);
        [Until::Batch, Until::Rest, Until::Moment].into_iter().for_each(|until| self.publish(until));
        Ok(())
    }

    /// True if the kernel reads the times from registered memory.
    pub(super) fn are_registered(&self) -> bool {
        self.registered.is_some()
    }

    /// True if waits for several completions have a time.
    #[inline(always)]
    pub(super) fn have_batch_time(&self) -> bool {
        self.times[Until::Batch as usize].batch_us != 0
    }

    /// Sets how long a wait [`Until::Moment`] lasts.
    pub(super) fn set_moment(&mut self, longest: Nanos) {
        self.times[Until::Moment as usize].span = call::timespec(longest);
        self.publish(Until::Moment);
    }

    /// Writes a time to the registered memory.
    fn publish(&self, until: Until) {
        let Some(memory) = &self.registered else { return };
        let place = memory.pointer().cast::<Times>().wrapping_add(until as usize);
        // SAFETY: the memory has a page, which holds more than three times and is aligned for them; the kernel reads it
        // only within calls of this thread. It is volatile because nothing else that the compiler sees reads it.
        unsafe { place.write_volatile(self.times[until as usize]) };
    }

    /// io_uring_enter(2): submits `submit` entries and waits for `wait` completions, or until its time is over. Returns
    /// the number submitted, or errno: ETIME if time is over and there is no completion.
    #[inline(always)]
    pub(super) fn enter(&self, handle: Handle, submit: u32, wait: u32, until: Until) -> Result<u32, i32> {
        let flags = ENTER_GETEVENTS | ENTER_EXT_ARG;
        let times = &self.times[until as usize];
        let copied = Copied {
            mask: 0,
            mask_size: 0,
            batch_us: times.batch_us,
            span: if times.flags & HAS_SPAN != 0 { &raw const times.span } else { std::ptr::null() },
        };
        let (flags, argument, bytes) = match &self.registered {
            // The place within the registered memory.
            Some(_) => (flags | ENTER_EXT_ARG_REG, until as usize * size_of::<Times>(), size_of::<Times>()),
            None => (flags, (&raw const copied).expose_provenance(), size_of::<Copied>()),
        };
        // SAFETY: the kernel reads the argument and the span that it points to, which both outlive the call, or
        // registered memory.
        unsafe { handle.enter_with(submit, wait, flags, argument, bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_layout_of_the_kernel() {
        assert_eq!((size_of::<Times>(), std::mem::offset_of!(Times, batch_us)), (64, 16));
        assert_eq!((size_of::<Copied>(), std::mem::offset_of!(Copied, span)), (24, 16));
        assert_eq!((size_of::<Region>(), size_of::<Registration>()), (64, 32));
    }
}

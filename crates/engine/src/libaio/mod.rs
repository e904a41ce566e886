//! `libaio`: Linux native asynchronous I/O by its system calls (io_setup(2), io_submit(2), io_getevents(2)), without
//! the libaio library.
//!
//! A flush submits the queued I/Os with one io_submit. Completions are read with io_getevents or, with
//! `userspace_reap`, directly from the ring that the kernel maps into the process; then a system call is needed only to
//! wait for more.

use crate::call;
use crate::contract::{Completion, Engine, EngineError, Io, Operation, Setup, Slots, Submitted, descriptors};
use crate::priority::{PRIORITY_OPTIONS, Priorities};
use measure::{Nanos, SystemClock};
use plan::option::{Effect, OptionSpec};
use plan::{Capabilities, EngineSpec, KeepsOrder, Submission, Work, options};
use ring::{Context, Event, HAS_PRIORITY, Iocb, PREAD, PREADV, PWRITE, PWRITEV};
use std::cell::UnsafeCell;
use std::os::fd::RawFd;

mod ring;

pub(crate) const NAME: &str = "libaio";
/// Capabilities of asynchronous engines on files.
pub(crate) const ASYNCHRONOUS: Capabilities =
    Capabilities { trim: true, ..Capabilities::new(Submission::Asynchronous, Work::Data) };

/// A kernel aio context and the I/Os queued for it.
#[derive(Debug)]
pub(crate) struct Libaio {
    context: Context,
    slots: Slots,
    descriptors: Box<[RawFd]>,
    /// One control block per slot, which the kernel copies in io_submit.
    blocks: Box<[UnsafeCell<Iocb>]>,
    /// One iovec per slot for `libaio_vectored`, which the kernel copies in io_submit; empty without.
    vectors: Box<[UnsafeCell<libc::iovec>]>,
    /// Addresses in `blocks` that wait for a flush, in order of submission.
    queue: Vec<*mut Iocb>,
    /// I/Os that io_submit rejected, until they are reaped.
    refused: Vec<Completion>,
    /// Buffer for the events of one io_getevents.
    events: Box<[Event]>,
    /// I/Os submitted and not yet reaped.
    in_flight: u32,
    /// RWF_* flags of reads, and of writes.
    flags: [i32; 2],
    /// True if completions are read from the mapped ring first.
    reap_from_ring: bool,
    /// Chooses priorities, if the job has more than one.
    priorities: Option<Box<Priorities>>,
    /// Note about a setting that has no effect here.
    remark: Option<&'static str>,
}

impl Engine for Libaio {
    type Clock = SystemClock;

    const OWN_LOOP: bool = true;

    const SPEC: EngineSpec = EngineSpec {
        name: NAME,
        help: "Linux native asynchronous I/O (io_submit(2), io_getevents(2)); queues only with direct I/O",
        capabilities: Capabilities {
            atomic_writes: true,
            keeps_order: KeepsOrder::Always,
            one_queue_options: &["cmdprio_percentage", "cmdprio_bssplit"],
            ..ASYNCHRONOUS
        },
        options: OPTIONS,
    };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        let depth = setup.depth as usize;
        let context = Context::new(setup.depth)?;
        let wants_ring = setup.options.is_on("userspace_reap");
        let has_ring = context.is_readable();
        let flags = if setup.options.is_on("nowait") { libc::RWF_NOWAIT } else { 0 };
        let vectored = setup.options.is_on("libaio_vectored");
        let no_vector = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        Ok(Libaio {
            context,
            slots: Slots::new(&setup),
            descriptors: descriptors(setup.targets),
            blocks: (0..depth).map(|_| UnsafeCell::new(Iocb::default())).collect(),
            vectors: (0..if vectored { depth } else { 0 }).map(|_| UnsafeCell::new(no_vector)).collect(),
            queue: Vec::with_capacity(depth),
            refused: Vec::with_capacity(depth),
            events: vec![Event::default(); depth].into(),
            in_flight: 0,
            flags: [flags, call::write_flags(&setup.job, flags)],
            reap_from_ring: wants_ring && has_ring,
            priorities: Priorities::from_options(&setup, NAME)?.map(Box::new),
            remark: (wants_ring && !has_ring)
                .then_some("userspace_reap: the kernel's ring has another layout here; using io_getevents instead"),
        })
    }

    // Forced inline: the I/O reaches the control block in registers instead of through memory.
    #[inline(always)]
    fn submit(&mut self, io: Io) -> Submitted {
        match io.operation {
            Operation::Read | Operation::Write => {}
            // A sync or trim must not overtake the I/Os that are queued.
            _ if !self.queue.is_empty() => return Submitted::Full,
            _ => return Submitted::Done(self.carry_out(&io)),
        }
        let block = self.prepare(&io);
        if self.priorities.is_some() {
            self.raise(&io);
        }
        self.queue.push(block);
        Submitted::Queued
    }

    #[inline(always)]
    fn flush(&mut self) -> Result<u32, EngineError> {
        let mut taken = 0;
        while (taken as usize) < self.queue.len() {
            match self.context.submit(&self.queue[taken as usize..]) {
                Ok(count) => {
                    taken += count;
                    self.in_flight += count;
                }
                Err(libc::EINTR) => {}
                // The context is full: the caller reaps first.
                Err(libc::EAGAIN) if self.in_flight > 0 => break,
                // io_submit returns an error only for the first control block of the list.
                Err(errno) => {
                    self.refuse(taken as usize, errno);
                    taken += 1;
                }
            }
        }
        self.queue.drain(..taken as usize);
        Ok(taken)
    }

    #[inline(always)]
    fn reap(&mut self, min: u32, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        let mut count = self.take_refused(max, done);
        if self.reap_from_ring {
            let taken = self.context.take(max - count, |event| done.push(event.completion()));
            self.in_flight -= taken;
            count += taken;
        }
        let missing = min.min(max).saturating_sub(count).min(self.in_flight);
        // With the ring, a system call is needed only to wait; without it, also to poll.
        let ask = if self.reap_from_ring { missing > 0 } else { count < max && self.in_flight > 0 };
        if ask {
            count += self.fetch(missing, max - count, None, done)?;
        }
        Ok(count)
    }

    fn priorities(&self) -> &[u16] {
        self.priorities.as_ref().map_or(&[], |priorities| priorities.all())
    }

    fn priority_of(&self, slot: u32) -> usize {
        self.priorities.as_ref().map_or(0, |priorities| priorities.of_slot(slot))
    }

    fn reap_within(&mut self, longest: Nanos, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        let count = self.reap(0, max, done)?;
        if count > 0 || self.in_flight == 0 {
            return Ok(count);
        }
        self.fetch(1, max, Some(&call::timespec(longest)), done)
    }

    fn note(&self) -> Option<String> {
        self.remark.map(str::to_owned)
    }
}

impl Libaio {
    /// Fills the control block of the slot.
    #[inline]
    fn prepare(&mut self, io: &Io) -> *mut Iocb {
        let slot = io.slot as usize;
        let writes = io.operation == Operation::Write;
        let memory = self.slots.address(io);
        let (operation, address, length) = match self.vectors.get(slot) {
            None => (if writes { PWRITE } else { PREAD }, memory.expose_provenance(), io.length as usize),
            Some(vector) => {
                let vector = vector.get();
                // SAFETY: the iovec belongs to this slot, which has no I/O queued: the kernel reads it only within
                // io_submit.
                unsafe { *vector = self.slots.vector(io) };
                (if writes { PWRITEV } else { PREADV }, vector.expose_provenance(), 1)
            }
        };
        let block = self.blocks[slot].get();
        let filled = Iocb {
            data: u64::from(io.slot),
            rw_flags: self.flags[usize::from(writes)],
            operation,
            descriptor: self.descriptors[io.target as usize].cast_unsigned(),
            address: address as u64,
            length: length as u64,
            offset: call::signed(io.offset),
            ..Iocb::default()
        };
        // SAFETY: as for the iovec.
        unsafe { *block = filled };
        block
    }

    /// Sets the chosen priority in the control block.
    #[cold]
    fn raise(&mut self, io: &Io) {
        let Some(value) = self.priorities.as_mut().and_then(|priorities| priorities.choose(io)) else { return };
        let block = self.blocks[io.slot as usize].get_mut();
        block.priority = value.cast_signed();
        block.flags |= HAS_PRIORITY;
    }

    /// Does a trim or sync synchronously: the kernel has no asynchronous trim here, and fio does its syncs this way
    /// too.
    #[cold]
    fn carry_out(&self, io: &Io) -> Completion {
        Completion { slot: io.slot, result: call::without_data(self.descriptors[io.target as usize], io) }
    }

    /// Records that the kernel rejected the I/O at `index` of the queue.
    #[cold]
    fn refuse(&mut self, index: usize, errno: i32) {
        // SAFETY: the queue holds addresses of this engine's control blocks, which nothing writes at this time.
        let block = unsafe { *self.queue[index] };
        #[expect(clippy::cast_possible_truncation, reason = "the data is the slot that we gave, a u32")]
        self.refused.push(Completion { slot: block.data as u32, result: -i64::from(errno) });
    }

    /// Moves I/Os that io_submit rejected to `done`.
    #[inline(always)]
    fn take_refused(&mut self, max: u32, done: &mut Vec<Completion>) -> u32 {
        let mut count = 0;
        while count < max {
            let Some(completion) = self.refused.pop() else { break };
            done.push(completion);
            count += 1;
        }
        count
    }

    /// Reads events with io_getevents; none after a signal or timeout.
    #[inline(always)]
    fn fetch(
        &mut self,
        min: u32,
        max: u32,
        longest: Option<&libc::timespec>,
        done: &mut Vec<Completion>,
    ) -> Result<u32, EngineError> {
        let room = self.events.len().min(max as usize);
        match self.context.fetch(min, &mut self.events[..room], longest) {
            Ok(count) => {
                self.in_flight -= count;
                done.extend(self.events[..count as usize].iter().map(Event::completion));
                Ok(count)
            }
            Err(libc::EINTR) => Ok(0),
            Err(errno) => Err(EngineError {
                engine: NAME,
                operation: "io_getevents",
                message: std::io::Error::from_raw_os_error(errno).to_string(),
                errno,
            }),
        }
    }
}

const OPTIONS: &[OptionSpec] = options! {
    "userspace_reap": FLAG, "0" => with(Effect::Polls);
        "Take completions from the ring in the process's memory; a system call only to wait for more";
    "nowait": BOOL, "0"; "RWF_NOWAIT: an I/O that would block ends with EAGAIN";
    "libaio_vectored": BOOL, "0"; "Submit vectored reads and writes (IOCB_CMD_PREADV, IOCB_CMD_PWRITEV)";
    with PRIORITY_OPTIONS[0], PRIORITY_OPTIONS[1], PRIORITY_OPTIONS[2], PRIORITY_OPTIONS[3], PRIORITY_OPTIONS[4];
};

//! Makes submission queue entries of a job's I/Os: opcodes, buffers, files, flags and priorities. Which ring they go to
//! is for the caller.

use super::{NAME, entry, setup};
use crate::call;
use crate::contract::{Completion, EngineError, Io, Operation, Setup, Slots, descriptors};
use crate::kernel_version::{KernelVersion, of_this_kernel};
use crate::priority::Priorities;
use ::io_uring::squeue::{Entry, Flags};
use ::io_uring::types::{Fd, FsyncFlags};
use ::io_uring::{IoUring, opcode};
use std::cell::UnsafeCell;
use std::num::NonZeroU64;
use std::os::fd::RawFd;

/// Opcodes that move data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transfer {
    /// IORING_OP_READ_FIXED and IORING_OP_WRITE_FIXED on the registered buffer of the slot.
    Fixed,
    /// IORING_OP_READ and IORING_OP_WRITE.
    Plain,
    /// IORING_OP_READV and IORING_OP_WRITEV.
    Vectored,
}

impl Transfer {
    /// The opcodes that the options ask for and the kernel has.
    pub(super) fn choose<C>(ring: &IoUring, setup: &Setup<'_, C>) -> Result<Transfer, EngineError> {
        if setup.options.is_on("fixedbufs") {
            return Ok(Transfer::Fixed);
        }
        let plain = setup::has_plain_transfers(ring);
        match setup.options.integer("nonvectored") {
            Some(0) => Ok(Transfer::Vectored),
            Some(1) if !plain => Err(setup::failed("options", libc::EINVAL, "nonvectored=1 needs Linux 5.6")),
            _ => Ok(if plain { Transfer::Plain } else { Transfer::Vectored }),
        }
    }

    /// Opcodes of a read and a write.
    fn operations(self) -> [u8; 2] {
        match self {
            Transfer::Fixed => [opcode::ReadFixed::CODE, opcode::WriteFixed::CODE],
            Transfer::Plain => [opcode::Read::CODE, opcode::Write::CODE],
            Transfer::Vectored => [opcode::Readv::CODE, opcode::Writev::CODE],
        }
    }
}

/// Where a ring has the registered buffers and files of a job.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Registered {
    /// Index of the buffer of slot 0.
    pub(super) first_buffer: u16,
    /// Index of the first file.
    pub(super) first_file: RawFd,
}

/// Makes the entries of one job.
#[derive(Debug)]
pub(crate) struct Requests {
    slots: Slots,
    descriptors: Box<[RawFd]>,
    /// File of an entry by target: a descriptor, or the index of a registered file.
    files: Box<[RawFd]>,
    /// One iovec per slot; empty unless transfers are vectored.
    vectors: Box<[UnsafeCell<libc::iovec>]>,
    transfer: Transfer,
    first_buffer: u16,
    /// Common parts of the entries of reads, and of writes.
    common: [Common; 2],
    /// Flags of every entry.
    entry_flags: Flags,
    /// The slots whose buffers are registered, as bits: all, or none.
    registered_slots: u16,
    /// True if entries of reads and writes differ in more than place, length and slot: [`Requests::varied`] makes them.
    vary: bool,
    /// Every Nth entry is passed to a kernel worker at once (`force_async=N`, IOSQE_ASYNC).
    force_async: Option<NonZeroU64>,
    /// Chooses priorities, if the job has more than one.
    priorities: Option<Box<Priorities>>,
    /// Entries built so far, if that matters.
    entries: u64,
    trims: Trims,
}

/// Trims that go through the ring: those of block devices, from Linux 6.12 on.
#[derive(Debug)]
struct Trims {
    /// By target: true if the kernel takes its trims.
    taken: Box<[bool]>,
    /// By slot: the bytes of its trim, of which the kernel says nothing; 0 if it has none.
    lengths: Box<[u32]>,
    in_flight: u32,
}

impl Trims {
    fn of<C>(setup: &Setup<'_, C>) -> Self {
        let any = !setup.job.trims_alone && has_discard();
        let taken: Box<[bool]> = setup.targets.iter().map(|target| any && target.block_device).collect();
        let slots = if taken.contains(&true) { setup.depth as usize } else { 0 };
        Trims { taken, lengths: vec![0; slots].into(), in_flight: 0 }
    }
}

/// True if the kernel discards by an entry: BLOCK_URING_CMD_DISCARD of linux/blkdev.h, from Linux 6.12 on. It cannot be
/// asked, and answers an entry of an older kernel as it answers a wrong one.
fn has_discard() -> bool {
    of_this_kernel() >= KernelVersion(6, 12)
}

/// Common parts of all entries of reads, or of writes.
#[derive(Clone, Copy, Debug)]
struct Common {
    start: entry::Start,
    /// RWF_* flags.
    transfer_flags: u32,
}

impl Requests {
    pub(super) fn new<C>(
        setup: &Setup<'_, C>,
        transfer: Transfer,
        registered: Registered,
    ) -> Result<Requests, EngineError> {
        let options = setup.options;
        let descriptors = descriptors(setup.targets);
        let registers_files = options.is_on("registerfiles");
        let vectors = if transfer == Transfer::Vectored { setup.depth } else { 0 };
        let no_vector = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        let flag = |name: &str, flag: i32| if options.is_on(name) { flag } else { 0 };
        let flags = flag("nowait", libc::RWF_NOWAIT) | flag("uncached", libc::RWF_DONTCACHE);
        let indices = || (registered.first_file..).take(descriptors.len()).collect();
        let entry_flags = if registers_files { Flags::FIXED_FILE } else { Flags::empty() };
        let common = |operation: u8, flags: i32| Common {
            start: entry::Start { operation, flags: entry_flags.bits(), priority: 0 },
            transfer_flags: flags.cast_unsigned(),
        };
        let [read, write] = transfer.operations();
        let force_async =
            options.integer("force_async").and_then(|every| u64::try_from(every).ok()).and_then(NonZeroU64::new);
        let priorities = Priorities::from_options(setup, NAME)?.map(Box::new);
        Ok(Requests {
            slots: Slots::new(setup),
            files: if registers_files { indices() } else { descriptors.clone() },
            descriptors,
            vectors: (0..vectors).map(|_| UnsafeCell::new(no_vector)).collect(),
            transfer,
            first_buffer: registered.first_buffer,
            common: [common(read, flags), common(write, call::write_flags(&setup.job, flags))],
            entry_flags,
            registered_slots: if transfer == Transfer::Fixed { u16::MAX } else { 0 },
            vary: transfer == Transfer::Vectored || force_async.is_some() || priorities.is_some(),
            force_async,
            priorities,
            entries: 0,
            trims: Trims::of(setup),
        })
    }

    /// Makes NOPs of all reads and writes from now on.
    pub(super) fn do_nothing(&mut self) {
        for common in &mut self.common {
            common.start.operation = opcode::Nop::CODE;
        }
    }

    /// Features of the ring that the entries use.
    pub(super) fn features(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            (self.entry_flags.contains(Flags::FIXED_FILE), "registered files"),
            (self.transfer == Transfer::Fixed, "registered buffers"),
            (self.transfer == Transfer::Vectored, "vectored transfers"),
        ];
        all.into_iter().filter(|(has, _)| *has).map(|(_, what)| what)
    }

    pub(super) fn priorities(&self) -> &[u16] {
        self.priorities.as_ref().map_or(&[], |priorities| priorities.all())
    }

    pub(super) fn priority_of(&self, slot: u32) -> usize {
        self.priorities.as_ref().map_or(0, |priorities| priorities.of_slot(slot))
    }

    /// True if the entry of an I/O may be made by [`Requests::transfer`].
    #[inline(always)]
    pub(super) fn are_alike(&self, io: &Io) -> bool {
        matches!(io.operation, Operation::Read | Operation::Write) && !self.vary
    }

    /// The entry of a read or write that differs from others in place, length and slot alone.
    #[inline(always)]
    pub(super) fn transfer(&self, io: &Io) -> entry::Transfer {
        let Common { start, transfer_flags } = self.common[usize::from(io.operation == Operation::Write)];
        #[expect(clippy::cast_possible_truncation, reason = "buffers register only up to 2^14")]
        let buffer = self.first_buffer.wrapping_add(io.slot as u16 & self.registered_slots);
        entry::Transfer {
            start,
            file: self.files[io.target as usize],
            offset: call::signed(io.offset).cast_unsigned(),
            address: self.slots.address(io).addr() as u64,
            length: io.length,
            transfer_flags,
            user_data: u64::from(io.slot),
            buffer: [buffer, 0, 0, 0],
            reserved: [0; 2],
        }
    }

    /// The entry of any read or write. Apart, because an entry that may still change does not go from registers to the
    /// ring.
    #[inline(never)]
    pub(super) fn varied(&mut self, io: &Io) -> entry::Transfer {
        let mut transfer = self.transfer(io);
        if self.transfer == Transfer::Vectored {
            (transfer.address, transfer.length) = (self.vector(io).addr() as u64, 1);
        }
        transfer.start.flags = self.next_flags().bits();
        if let Some(priority) = self.priorities.as_mut().and_then(|priorities| priorities.choose(io)) {
            transfer.start.priority = priority;
        }
        transfer
    }

    /// The entry of a sync.
    #[cold]
    pub(super) fn sync(&mut self, io: &Io) -> Entry {
        let file = Fd(self.files[io.target as usize]);
        let which = if io.operation == Operation::DataSync { FsyncFlags::DATASYNC } else { FsyncFlags::empty() };
        opcode::Fsync::new(file).flags(which).build().flags(self.next_flags()).user_data(u64::from(io.slot))
    }

    /// The entry of a trim; `None` if the kernel takes none.
    #[cold]
    pub(super) fn trim(&mut self, io: &Io) -> Option<Entry> {
        /// `_IO(0x12, 0)`, BLOCK_URING_CMD_DISCARD of linux/blkdev.h.
        const DISCARD: u64 = 0x1200;
        if !self.trims.taken[io.target as usize] {
            return None;
        }
        let flags = self.next_flags().bits();
        // The offset is where other entries have an address, and the length where they have nothing.
        let entry = entry::Transfer {
            start: entry::Start { operation: opcode::UringCmd16::CODE, flags, priority: 0 },
            file: self.files[io.target as usize],
            offset: DISCARD,
            address: io.offset,
            user_data: u64::from(io.slot),
            reserved: [u64::from(io.length), 0],
            ..entry::Transfer::default()
        };
        Some(entry.into())
    }

    /// The trim of this slot is queued.
    pub(super) fn trim_queued(&mut self, io: &Io) {
        self.trims.lengths[io.slot as usize] = io.length;
        self.trims.in_flight += 1;
    }

    /// True if a trim is queued or in flight.
    #[inline(always)]
    pub(super) fn has_trims(&self) -> bool {
        self.trims.in_flight > 0
    }

    /// Gives trims that succeeded their bytes.
    #[cold]
    #[inline(never)]
    pub(super) fn finish_trims(&mut self, done: &mut [Completion]) {
        for completion in done {
            let length = std::mem::take(&mut self.trims.lengths[completion.slot as usize]);
            if length > 0 {
                self.trims.in_flight -= 1;
                completion.result = if completion.result == 0 { i64::from(length) } else { completion.result };
            }
        }
    }

    /// Does a trim or sync as a plain call.
    #[cold]
    pub(super) fn carry_out(&self, io: &Io) -> Completion {
        Completion { slot: io.slot, result: call::without_data(self.descriptors[io.target as usize], io) }
    }

    /// Flags of the next entry.
    fn next_flags(&mut self) -> Flags {
        self.entries += 1;
        if self.force_async.is_some_and(|every| self.entries.is_multiple_of(every.get())) {
            return self.entry_flags | Flags::ASYNC;
        }
        self.entry_flags
    }

    /// Points the iovec of the slot to the memory of the I/O.
    #[inline]
    fn vector(&self, io: &Io) -> *const libc::iovec {
        let vector = self.vectors[io.slot as usize].get();
        // SAFETY: the iovec belongs to this slot, which has no I/O queued or in flight, so the kernel does not read it.
        unsafe { *vector = self.slots.vector(io) };
        vector
    }
}

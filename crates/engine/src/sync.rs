//! `sync`: lseek(2) unless the file position is right already, then read(2) or write(2).

use crate::call::{self, Transfer};
use crate::contract::{Completion, Engine, EngineError, Io, Operation, Setup, Slots, Submitted, descriptors};
use crate::psync::SYNCHRONOUS;
use measure::SystemClock;
use plan::{Capabilities, EngineSpec, KeepsFiles};
use std::os::fd::RawFd;

/// The engine that reads and writes at the file position.
#[derive(Debug)]
pub(crate) struct Sync {
    slots: Slots,
    descriptors: Box<[RawFd]>,
    positions: Positions,
}

/// File position of each target, so that a sequential I/O needs no lseek; `None` if it is unknown.
#[derive(Debug)]
pub(crate) struct Positions {
    by_target: Box<[Option<u64>]>,
}

impl Positions {
    /// All at `position`; unknown without one.
    pub(crate) fn all_at(position: Option<u64>, targets: usize) -> Self {
        Positions { by_target: vec![position; targets].into() }
    }

    /// Seeks to `io.offset` unless the file is there already; -errno if lseek fails.
    #[inline(always)]
    pub(crate) fn seek(&mut self, descriptor: RawFd, io: &Io) -> Result<(), i64> {
        if self.by_target[io.target as usize] == Some(io.offset) {
            return Ok(());
        }
        // SAFETY: lseek(2) takes no memory; a descriptor that is not open is an EBADF.
        let moved = unsafe { libc::lseek64(descriptor, call::signed(io.offset), libc::SEEK_SET) };
        if moved < 0 { Err(-i64::from(call::errno())) } else { Ok(()) }
    }

    /// Records the file position after an I/O.
    #[inline(always)]
    pub(crate) fn moved(&mut self, io: &Io, result: i64) {
        self.by_target[io.target as usize] = u64::try_from(result).ok().map(|bytes| io.offset + bytes);
    }
}

impl Engine for Sync {
    type Clock = SystemClock;

    const OWN_LOOP: bool = true;

    const SPEC: EngineSpec = EngineSpec {
        name: "sync",
        help: "lseek(2), then read(2) or write(2)",
        // It remembers the file position of each descriptor; each thread of an offloaded job has its own.
        capabilities: Capabilities { keeps_files: KeepsFiles::WhenOffloaded, ..SYNCHRONOUS },
        options: &[],
    };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        Ok(Sync {
            slots: Slots::new(&setup),
            descriptors: descriptors(setup.targets),
            positions: Positions::all_at(setup.job.position, setup.targets.len()),
        })
    }

    #[inline(always)]
    fn submit(&mut self, io: Io) -> Submitted {
        let descriptor = self.descriptors[io.target as usize];
        let result = match io.operation {
            Operation::Read | Operation::Write => match self.positions.seek(descriptor, &io) {
                Ok(()) => self.transfer(descriptor, &io),
                Err(result) => result,
            },
            _ => call::without_data(descriptor, &io),
        };
        Submitted::Done(Completion { slot: io.slot, result })
    }
}

impl Sync {
    #[inline(always)]
    fn transfer(&mut self, descriptor: RawFd, io: &Io) -> i64 {
        let transfer = Transfer { descriptor, address: self.slots.address(io), length: io.length as usize };
        let result = if io.operation == Operation::Read {
            // SAFETY: the slot's buffer is the worker's until the engine is dropped and nothing else uses it while
            // this I/O is in flight, that is until this call returns (contract of Setup and Io).
            unsafe { transfer.read() }
        } else {
            // SAFETY: as for the read.
            unsafe { transfer.write() }
        };
        self.positions.moved(io, result);
        result
    }
}

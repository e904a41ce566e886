//! `psync`: one pread(2) or pwrite(2) per I/O.

use crate::call::{self, Transfer};
use crate::contract::{Completion, Engine, EngineError, Io, Operation, Setup, Slots, Submitted, descriptors};
use measure::SystemClock;
use plan::{Capabilities, EngineSpec, Submission, Work};
use std::os::fd::RawFd;

/// Capabilities of synchronous engines on files.
pub(crate) const SYNCHRONOUS: Capabilities =
    Capabilities { trim: true, ..Capabilities::new(Submission::Synchronous, Work::Data) };

/// The pread(2) and pwrite(2) engine.
#[derive(Debug)]
pub(crate) struct Psync {
    slots: Slots,
    descriptors: Box<[RawFd]>,
}

impl Engine for Psync {
    type Clock = SystemClock;

    const OWN_LOOP: bool = true;

    const SPEC: EngineSpec =
        EngineSpec { name: "psync", help: "pread(2) and pwrite(2)", capabilities: SYNCHRONOUS, options: &[] };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        Ok(Psync { slots: Slots::new(&setup), descriptors: descriptors(setup.targets) })
    }

    #[inline(always)]
    fn submit(&mut self, io: Io) -> Submitted {
        let descriptor = self.descriptors[io.target as usize];
        let transfer = || Transfer { descriptor, address: self.slots.address(&io), length: io.length as usize };
        let result = match io.operation {
            // SAFETY: the slot's buffer is the worker's until the engine is dropped and nothing else uses it while
            // this I/O is in flight, that is until this call returns (contract of Setup and Io).
            Operation::Read => unsafe { transfer().read_at(io.offset) },
            // SAFETY: as for the read.
            Operation::Write => unsafe { transfer().write_at(io.offset) },
            _ => call::without_data(descriptor, &io),
        };
        Submitted::Done(Completion { slot: io.slot, result })
    }
}

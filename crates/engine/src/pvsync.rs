//! `pvsync`: one preadv(2) or pwritev(2) with one iovec per I/O.

use crate::call::{self, Transfer};
use crate::contract::{Completion, Engine, EngineError, Io, Operation, Setup, Slots, Submitted, descriptors};
use crate::psync::SYNCHRONOUS;
use measure::SystemClock;
use plan::EngineSpec;
use std::os::fd::RawFd;

/// The preadv(2) and pwritev(2) engine.
#[derive(Debug)]
pub(crate) struct Pvsync {
    slots: Slots,
    descriptors: Box<[RawFd]>,
}

impl Engine for Pvsync {
    type Clock = SystemClock;

    const SPEC: EngineSpec =
        EngineSpec { name: "pvsync", help: "preadv(2) and pwritev(2)", capabilities: SYNCHRONOUS, options: &[] };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        Ok(Pvsync { slots: Slots::new(&setup), descriptors: descriptors(setup.targets) })
    }

    #[inline(always)]
    fn submit(&mut self, io: Io) -> Submitted {
        let descriptor = self.descriptors[io.target as usize];
        let transfer = || Transfer { descriptor, address: self.slots.address(&io), length: io.length as usize };
        let result = match io.operation {
            // SAFETY: the slot's buffer is the worker's until the engine is dropped and nothing else uses it while
            // this I/O is in flight, that is until this call returns (contract of Setup and Io).
            Operation::Read => unsafe { transfer().read_vector_at(io.offset) },
            // SAFETY: as for the read.
            Operation::Write => unsafe { transfer().write_vector_at(io.offset) },
            _ => call::without_data(descriptor, &io),
        };
        Submitted::Done(Completion { slot: io.slot, result })
    }
}

//! `pvsync`: one preadv(2) or pwritev(2) per I/O, with a vector of one.

use crate::call;
use crate::contract::{Completion, Engine, EngineError, Io, Operation, Setup, Submitted};
use crate::psync::SYNCHRONOUS;
use crate::slots::{Slots, descriptors};
use job::EngineSpec;
use measure::SystemClock;
use std::os::fd::RawFd;

/// preadv and pwritev.
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

    #[inline]
    fn submit(&mut self, io: Io) -> Submitted {
        let descriptor = self.descriptors[io.target as usize];
        let offset = call::signed(io.offset);
        let result = match io.operation {
            Operation::Read => {
                let vector = self.slots.vector(&io);
                // SAFETY: the vector outlives the call; the slot's buffer is the worker's until the engine is dropped
                // and nothing else uses it while this I/O is in flight, that is until this call returns.
                call::finish(|| unsafe { libc::preadv64(descriptor, &raw const vector, 1, offset) })
            }
            Operation::Write => {
                let vector = self.slots.vector(&io);
                // SAFETY: as for the read.
                call::finish(|| unsafe { libc::pwritev64(descriptor, &raw const vector, 1, offset) })
            }
            _ => call::without_data(descriptor, &io),
        };
        Submitted::Done(Completion { slot: io.slot, result })
    }
}

//! `ftruncate`: ftruncate(2) to the offset of each write; no data moves.

use crate::call;
use crate::contract::{Completion, Engine, EngineError, Io, Operation, Setup, Submitted, descriptors};
use crate::falloc::ON_SPACE;
use measure::SystemClock;
use plan::EngineSpec;
use std::os::fd::RawFd;

/// The ftruncate(2) engine.
#[derive(Debug)]
pub(crate) struct Ftruncate {
    descriptors: Box<[RawFd]>,
}

impl Engine for Ftruncate {
    type Clock = SystemClock;

    const SPEC: EngineSpec = EngineSpec {
        name: "ftruncate",
        help: "ftruncate(2) to the offset of each write; it cannot read",
        capabilities: ON_SPACE,
        options: &[],
    };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        Ok(Ftruncate { descriptors: descriptors(setup.targets) })
    }

    #[inline]
    fn submit(&mut self, io: Io) -> Submitted {
        let descriptor = self.descriptors[io.target as usize];
        let result = match io.operation {
            Operation::Write => {
                let offset = call::signed(io.offset);
                // SAFETY: ftruncate(2) takes no memory; a descriptor that is not open is an EBADF.
                let result = call::finish(|| unsafe { libc::ftruncate64(descriptor, offset) as isize });
                if result == 0 { i64::from(io.length) } else { result }
            }
            Operation::Read | Operation::Trim => -i64::from(libc::EINVAL),
            Operation::Sync | Operation::DataSync => call::without_data(descriptor, &io),
        };
        Submitted::Done(Completion { slot: io.slot, result })
    }
}

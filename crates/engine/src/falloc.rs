//! `falloc`: fallocate(2) instead of reads, writes and trims; no data moves.

use crate::call;
use crate::contract::{Completion, Engine, EngineError, Io, Operation, Setup, Submitted, descriptors};
use measure::SystemClock;
use plan::{Capabilities, EngineSpec, Submission, Work};
use std::os::fd::RawFd;

/// Capabilities of engines that change the allocation of open files.
pub(crate) const ON_SPACE: Capabilities = Capabilities::new(Submission::Synchronous, Work::Allocation);

/// The fallocate(2) engine.
#[derive(Debug)]
pub(crate) struct Falloc {
    descriptors: Box<[RawFd]>,
}

impl Engine for Falloc {
    type Clock = SystemClock;

    const SPEC: EngineSpec = EngineSpec {
        name: "falloc",
        help: "fallocate(2): a read reserves within the size, a write reserves and extends, a trim punches a hole",
        capabilities: Capabilities { trim: true, ..ON_SPACE },
        options: &[],
    };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        Ok(Falloc { descriptors: descriptors(setup.targets) })
    }

    #[inline]
    fn submit(&mut self, io: Io) -> Submitted {
        let descriptor = self.descriptors[io.target as usize];
        let mode = match io.operation {
            Operation::Read => libc::FALLOC_FL_KEEP_SIZE,
            Operation::Write => 0,
            Operation::Trim => libc::FALLOC_FL_KEEP_SIZE | libc::FALLOC_FL_PUNCH_HOLE,
            Operation::Sync | Operation::DataSync => {
                let result = call::without_data(descriptor, &io);
                return Submitted::Done(Completion { slot: io.slot, result });
            }
        };
        let (offset, length) = (call::signed(io.offset), i64::from(io.length));
        // SAFETY: fallocate(2) takes no memory; a descriptor that is not open is an EBADF.
        let result = call::finish(|| unsafe { libc::fallocate64(descriptor, mode, offset, length) as isize });
        let result = if result == 0 { length } else { result };
        Submitted::Done(Completion { slot: io.slot, result })
    }
}

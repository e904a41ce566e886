//! `vsync`: merges adjacent I/Os into one readv(2) or writev(2).
//!
//! I/Os are merged as long as each starts where the previous one ended, in the same file and direction, up to the limit
//! of one call; any other I/O has to wait for a flush. At depth 1 there is nothing to merge: each I/O is a call and
//! completes in submit.

use crate::call;
use crate::contract::{Completion, Engine, EngineError, Io, Operation, Setup, Slots, Submitted, descriptors};
use crate::psync::SYNCHRONOUS;
use crate::sync::Positions;
use measure::SystemClock;
use plan::{Capabilities, EngineSpec, KeepsFiles, Submission};
use std::os::fd::RawFd;

/// Maximum number of iovecs per call (IOV_MAX).
const VECTORS_MAX: usize = 1024;

/// The readv(2) and writev(2) engine.
#[derive(Debug)]
pub(crate) struct Vsync {
    slots: Slots,
    descriptors: Box<[RawFd]>,
    depth: usize,
    positions: Positions,
    /// Adjacent I/Os that wait for a flush, and their iovecs.
    gathered: Vec<Io>,
    vectors: Vec<libc::iovec>,
    /// Completed and not yet reaped, in order.
    done: Vec<Completion>,
}

impl Engine for Vsync {
    type Clock = SystemClock;

    const SPEC: EngineSpec = EngineSpec {
        name: "vsync",
        help: "Gathers adjacent I/Os into one readv(2) or writev(2)",
        capabilities: Capabilities {
            submission: Submission::ByDepth,
            keeps_files: KeepsFiles::WhenOffloaded,
            ..SYNCHRONOUS
        },
        options: &[],
    };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        let depth = setup.depth as usize;
        let most = VECTORS_MAX.min(depth);
        Ok(Vsync {
            slots: Slots::new(&setup),
            descriptors: descriptors(setup.targets),
            depth,
            positions: Positions::all_at(setup.job.position, setup.targets.len()),
            gathered: Vec::with_capacity(most),
            vectors: Vec::with_capacity(most),
            done: Vec::with_capacity(depth),
        })
    }

    #[inline]
    fn submit(&mut self, io: Io) -> Submitted {
        let moves_data = matches!(io.operation, Operation::Read | Operation::Write);
        if let Some(last) = self.gathered.last() {
            let continues = moves_data
                && io.operation == last.operation
                && io.target == last.target
                && last.offset.checked_add(u64::from(last.length)) == Some(io.offset)
                && self.gathered.len() < VECTORS_MAX.min(self.depth);
            if !continues {
                return Submitted::Full;
            }
        }
        if !moves_data {
            let result = call::without_data(self.descriptors[io.target as usize], &io);
            return Submitted::Done(Completion { slot: io.slot, result });
        }
        self.vectors.push(self.slots.vector(&io));
        self.gathered.push(io);
        if self.depth == 1 {
            let result = self.transfer(&io, 0);
            self.forget_gathered();
            return Submitted::Done(Completion { slot: io.slot, result });
        }
        Submitted::Queued
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        let mut next = 0;
        while let Some(&first) = self.gathered.get(next) {
            let result = self.transfer(&first, next);
            next = self.settle(next, result);
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most 1024")]
        let count = self.gathered.len() as u32;
        self.forget_gathered();
        Ok(count)
    }

    #[inline]
    fn reap(&mut self, _min: u32, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        #[expect(clippy::cast_possible_truncation, reason = "at most the depth, a u32")]
        let count = max.min(self.done.len() as u32);
        done.extend(self.done.drain(..count as usize));
        Ok(count)
    }
}

impl Vsync {
    fn forget_gathered(&mut self) {
        self.gathered.clear();
        self.vectors.clear();
    }

    /// Makes one call for all merged I/Os from `first`, at index `start`, on.
    fn transfer(&mut self, first: &Io, start: usize) -> i64 {
        let descriptor = self.descriptors[first.target as usize];
        if let Err(result) = self.positions.seek(descriptor, first) {
            return result;
        }
        let vectors = &self.vectors[start..];
        #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "at most 1024")]
        let count = vectors.len() as libc::c_int;
        let result = if first.operation == Operation::Read {
            // SAFETY: the iovecs outlive the call; the slots' buffers are the worker's until the engine is dropped and
            // nothing else uses them while these I/Os are in flight, that is until they are reaped.
            call::finish(|| unsafe { libc::readv(descriptor, vectors.as_ptr(), count) })
        } else {
            // SAFETY: as for the read.
            call::finish(|| unsafe { libc::writev(descriptor, vectors.as_ptr(), count) })
        };
        self.positions.moved(first, result);
        result
    }

    /// Distributes the bytes of a call over the I/Os from `start` on and returns the index at which the next call
    /// begins. An error is the result of the first I/O; a short transfer ends with the I/O that it left incomplete.
    fn settle(&mut self, start: usize, result: i64) -> usize {
        let Ok(mut left) = u64::try_from(result) else {
            self.done.push(Completion { slot: self.gathered[start].slot, result });
            return start + 1;
        };
        for (index, io) in self.gathered.iter().enumerate().skip(start) {
            let moved = left.min(u64::from(io.length));
            self.done.push(Completion { slot: io.slot, result: moved.cast_signed() });
            left -= moved;
            if moved < u64::from(io.length) {
                return index + 1;
            }
        }
        self.gathered.len()
    }
}

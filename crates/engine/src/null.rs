//! `null`: completes I/Os without doing anything. Measures the overhead of the benchmark itself.

use crate::contract::{Completion, Engine, EngineError, Io, Setup, Submitted};
use measure::SystemClock;
use plan::{Capabilities, EngineSpec, Submission, Work};
use std::collections::VecDeque;

/// The engine that transfers nothing. At depth 1 an I/O completes in submit; above, it waits for flush and reap, as in
/// asynchronous engines.
#[derive(Debug)]
pub(crate) struct Null {
    depth: u32,
    queued: u32,
    accepted: VecDeque<Completion>,
}

impl Engine for Null {
    type Clock = SystemClock;

    const OWN_LOOP: bool = true;

    const SPEC: EngineSpec = EngineSpec {
        name: "null",
        help: "Moves no data and needs no files: shows what the tester itself costs",
        capabilities: Capabilities { trim: true, ..Capabilities::new(Submission::ByDepth, Work::Null) },
        options: &[],
    };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        Ok(Null { depth: setup.depth, queued: 0, accepted: VecDeque::with_capacity(setup.depth as usize) })
    }

    #[inline]
    fn submit(&mut self, io: Io) -> Submitted {
        let completion = Completion { slot: io.slot, result: i64::from(io.length) };
        if self.depth == 1 {
            return Submitted::Done(completion);
        }
        if self.accepted.len() == self.depth as usize {
            return Submitted::Full;
        }
        self.accepted.push_back(completion);
        self.queued += 1;
        Submitted::Queued
    }

    #[inline]
    fn flush(&mut self) -> Result<u32, EngineError> {
        Ok(std::mem::take(&mut self.queued))
    }

    #[inline]
    fn reap(&mut self, _min: u32, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        #[expect(clippy::cast_possible_truncation, reason = "the queue never holds more than the depth, a u32")]
        let flushed = self.accepted.len() as u32 - self.queued;
        let count = max.min(flushed);
        done.extend(self.accepted.drain(..count as usize));
        Ok(count)
    }
}

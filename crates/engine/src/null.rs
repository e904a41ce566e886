//! `null`: completes I/Os without doing anything. Measures the overhead of the benchmark itself.

use crate::contract::{Completion, Engine, EngineError, Io, Setup, Submitted};
use crate::turns::{SharedQueue, Tag, Wait};
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
        capabilities: Capabilities {
            trim: true,
            shares_queue: true,
            ..Capabilities::new(Submission::ByDepth, Work::Null)
        },
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

/// The queue of jobs that take turns: the call that enters the kernel of other engines completes all I/Os.
#[derive(Debug)]
pub(crate) struct SharedNull {
    queued: Vec<(Tag, i64)>,
    accepted: Vec<(Tag, i64)>,
}

impl SharedQueue for SharedNull {
    const SPEC: EngineSpec = Null::SPEC;
    type Requests = ();

    fn open<C>(setup: &Setup<'_, C>, jobs: u32) -> Result<Self, EngineError> {
        let room = setup.depth as usize * jobs as usize;
        Ok(SharedNull { queued: Vec::with_capacity(room), accepted: Vec::with_capacity(room) })
    }

    fn add<C>(&mut self, _setup: &Setup<'_, C>, _job: u32) -> Result<(), EngineError> {
        Ok(())
    }

    fn submit(&mut self, _requests: &mut (), job: u32, io: Io) -> Submitted {
        self.queued.push((Tag { job, slot: io.slot }, i64::from(io.length)));
        Submitted::Queued
    }

    fn is_busy(&self) -> bool {
        !self.queued.is_empty()
    }

    fn enter(&mut self, _wait: Wait) -> Result<u32, EngineError> {
        let count = self.queued.len();
        self.accepted.append(&mut self.queued);
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    fn take(&mut self, each: &mut dyn FnMut(Tag, i64)) {
        self.accepted.drain(..).for_each(|(tag, result)| each(tag, result));
    }

    fn note(&self, _requests: &()) -> Option<String> {
        None
    }

    fn priorities(_requests: &()) -> &[u16] {
        &[]
    }

    fn priority_of(_requests: &(), _slot: u32) -> usize {
        0
    }
}

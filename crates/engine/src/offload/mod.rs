//! `io_submit_mode=offload`: I/Os are carried out by threads, each with an engine of its own, so that the loop that
//! decides on them is not held up where submitting one blocks.
//!
//! Every slot has its thread, which does that slot's I/Os one after the other. Owns the threads and the two moments that
//! only they see: when an I/O reached its engine and when it was done. Leaves the I/O itself to the engine behind it.

mod pool;
mod share;

use crate::contract::{Completion, Engine, EngineError, Io, Setup, Submitted};
use crate::libaio::ASYNCHRONOUS;
use job::EngineSpec;
use measure::{Nanos, SystemClock};
use pool::{Done, Facts, Helper, Results};
use share::Share;
use std::sync::Arc;
use sys::usage::Usage;

const NAME: &str = "offload";

/// Threads, one for each slot.
#[derive(Debug)]
pub struct Offload {
    helpers: Vec<Helper>,
    results: Arc<Results>,
    /// Taken and not yet handed to a thread.
    queue: Vec<Io>,
    in_flight: u32,
    /// When the last I/O of each slot reached its engine, and when it was done.
    stamps: Box<[(Nanos, Nanos)]>,
    note: Option<String>,
    /// Given back after the threads have ended: fields are dropped in this order.
    _share: Share,
}

impl Engine for Offload {
    type Clock = SystemClock;

    const STAMPS: bool = true;

    const SPEC: EngineSpec = EngineSpec {
        name: NAME,
        help: "Threads that carry out I/Os with another engine",
        capabilities: ASYNCHRONOUS,
        options: &[],
    };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        let share = Share::take(setup.depth)?;
        let results = Arc::new(Results::new(setup.depth as usize));
        let facts = Arc::new(Facts::of(&setup));
        let mut helpers = Vec::with_capacity(setup.depth as usize);
        for slot in 0..setup.depth {
            helpers.push(Helper::start(slot, &facts, &results)?);
        }
        // All are started before the first is waited for.
        let mut note = None;
        for helper in &helpers {
            note = helper.opened()?;
        }
        Ok(Offload {
            helpers,
            results,
            queue: Vec::with_capacity(setup.depth as usize),
            in_flight: 0,
            stamps: vec![(Nanos::ZERO, Nanos::ZERO); setup.depth as usize].into(),
            note,
            _share: share,
        })
    }

    fn submit(&mut self, io: Io) -> Submitted {
        self.queue.push(io);
        Submitted::Queued
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        let mut taken = 0;
        for io in self.queue.drain(..) {
            self.helpers[io.slot as usize].order(io);
            taken += 1;
        }
        self.in_flight += taken;
        Ok(taken)
    }

    fn reap(&mut self, min: u32, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        let least = min.min(max).min(self.in_flight);
        self.take(least, max, None, done)
    }

    fn reap_within(&mut self, longest: Nanos, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        self.take(1.min(self.in_flight), max, Some(longest), done)
    }

    fn stamps(&self, slot: u32) -> Option<(Nanos, Nanos)> {
        Some(self.stamps[slot as usize])
    }

    fn helpers_usage(&self) -> Option<Usage> {
        let mut total = Usage::default();
        for used in self.helpers.iter().map(Helper::usage) {
            total.user_ns += used.user_ns;
            total.system_ns += used.system_ns;
            total.voluntary_switches += used.voluntary_switches;
            total.involuntary_switches += used.involuntary_switches;
            total.major_faults += used.major_faults;
            total.minor_faults += used.minor_faults;
        }
        Some(total)
    }

    fn note(&self) -> Option<String> {
        self.note.clone()
    }
}

impl Offload {
    fn take(
        &mut self,
        least: u32,
        most: u32,
        longest: Option<Nanos>,
        done: &mut Vec<Completion>,
    ) -> Result<u32, EngineError> {
        let stamps = &mut self.stamps;
        let count = self.results.take(least, most, longest, |Done { completion, begun, ended }| {
            stamps[completion.slot as usize] = (begun, ended);
            done.push(completion);
        })?;
        self.in_flight -= count;
        Ok(count)
    }
}

/// What the pool itself could not do.
pub(super) fn refused(operation: &'static str, message: String, errno: i32) -> EngineError {
    EngineError { engine: NAME, operation, message, errno }
}

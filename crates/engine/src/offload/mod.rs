//! `io_submit_mode=offload`: threads do the I/Os, each with its own instance of the engine, so that a submission that
//! blocks does not delay the worker loop.
//!
//! Each slot has one thread, which does the I/Os of that slot one after the other. This module owns the threads, and
//! takes the two times that only they can measure: when an I/O was submitted to its engine and when it completed. The
//! I/O itself is done by the engine of the job.

mod pool;

use crate::contract::{Completion, Engine, EngineError, Io, Setup, Submitted};
use crate::libaio::ASYNCHRONOUS;
use measure::{Nanos, SystemClock};
use plan::EngineSpec;
use pool::{Facts, Helper, Results, TimedCompletion};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use sys::processes::usage::Usage;

const NAME: &str = "offload";

/// A pool of threads, one per slot.
#[derive(Debug)]
pub struct Offload {
    helpers: Vec<Helper>,
    results: Arc<Results>,
    /// Accepted by `submit`, not yet passed to a thread.
    queue: Vec<Io>,
    in_flight: u32,
    /// Submission and completion time of the last I/O of each slot.
    stamps: Box<[(Nanos, Nanos)]>,
    note: Option<String>,
    /// Returned after the threads have ended: fields are dropped in this order.
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
        let engine = setup
            .job
            .offloads_to
            .ok_or_else(|| refused("options", "no engine was given to pass the I/Os to".to_owned(), libc::EINVAL))?;
        let facts = Arc::new(Facts::of(&setup, engine));
        let mut helpers = Vec::with_capacity(setup.depth as usize);
        for slot in 0..setup.depth {
            helpers.push(Helper::start(slot, &facts, &results)?);
        }
        // All threads start before the first is waited for.
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
        let count = self.results.take(least, most, longest, |TimedCompletion { completion, begun, ended }| {
            stamps[completion.slot as usize] = (begun, ended);
            done.push(completion);
        })?;
        self.in_flight -= count;
        Ok(count)
    }
}

/// Error of the pool itself.
pub(super) fn refused(operation: &'static str, message: String, errno: i32) -> EngineError {
    EngineError { engine: NAME, operation, message, errno }
}

/// Each thread has four mappings (its stack and its signal stack, each with a guard page), and the kernel limits a
/// process to 65,530 mappings (vm.max_map_count). Exceeding it kills the process instead of returning an error.
const MOST_THREADS: u32 = 12_288;

/// Count of threads of all pools in this process.
static THREADS: AtomicU32 = AtomicU32::new(0);

/// Threads reserved for one pool, released when it is dropped.
#[derive(Debug)]
struct Share {
    threads: u32,
}

impl Share {
    /// Reserves threads. Fails if all pools together would have too many threads.
    fn take(threads: u32) -> Result<Self, EngineError> {
        // Relaxed is enough: the counter orders no other memory.
        let all = THREADS.fetch_add(threads, Relaxed).saturating_add(threads);
        let share = Share { threads };
        if all > MOST_THREADS {
            let what = format!(
                "this makes {all} threads for the I/Os of one process; {MOST_THREADS} is the most, so use a lower \
                 iodepth, or leave out thread"
            );
            return Err(refused("thread", what, libc::EAGAIN));
        }
        Ok(share)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        THREADS.fetch_sub(self.threads, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pools_of_a_process_share_what_it_may_have() {
        // Pools of other tests use few threads, and release them.
        let first = Share::take(MOST_THREADS - 1000).unwrap();
        let error = Share::take(1001).unwrap_err();
        assert!(error.to_string().contains("12288 is the most"), "{error}");
        drop(first);
        Share::take(1001).unwrap();
    }
}

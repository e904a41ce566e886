//! What a worker is to an engine, in small: buffers, slots, a loop.

use engine::{Completion, Engine, EngineError, Io, JobFacts, Operation, Setup, Submitted, Target};
use plan::EngineOptions;
use plan::option::Value;
use std::alloc::Layout;

/// Bytes per slot: room for two blocks.
pub(crate) const STRIDE: usize = 8192;
/// Bytes per block.
pub(crate) const BLOCK: usize = 4096;

/// Page-aligned memory for the slots.
pub(crate) struct Buffers {
    start: *mut u8,
    layout: Layout,
}

impl Buffers {
    pub(crate) fn new(depth: u32) -> Self {
        let layout = Layout::from_size_align(depth as usize * STRIDE, BLOCK).unwrap();
        // SAFETY: the layout is not empty: the depth is at least 1.
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        assert!(!start.is_null());
        Buffers { start, layout }
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    /// The memory of a slot. Only while no I/O of it is in flight.
    pub(crate) fn slot(&mut self, slot: u32) -> &mut [u8] {
        // SAFETY: a slot lies within the allocation, which lives as long as self; the engine is done with it.
        unsafe { std::slice::from_raw_parts_mut(self.start.wrapping_add(slot as usize * STRIDE), STRIDE) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout; the tests drop the engine first.
        unsafe { std::alloc::dealloc(self.start, self.layout) }
    }
}

/// Options from pairs.
pub(crate) fn options(values: &[(&'static str, Value)]) -> EngineOptions {
    let mut options = EngineOptions::default();
    for (name, value) in values {
        options.set(name, value.clone());
    }
    options
}

/// An I/O on the first block of its slot's buffer.
pub(crate) fn io(operation: Operation, target: u32, offset: u64, length: usize) -> Io {
    Io { slot: 0, operation, target, offset, length: u32::try_from(length).unwrap(), buffer_offset: 0 }
}

/// An engine with its buffers, driven like a worker drives it.
pub(crate) struct Rig<E: Engine> {
    // Before the buffers: it is dropped first.
    pub(crate) engine: E,
    pub(crate) buffers: Buffers,
    pub(crate) depth: u32,
}

impl<E: Engine> Rig<E> {
    pub(crate) fn open(
        options: &EngineOptions,
        targets: &[Target],
        depth: u32,
        clock: E::Clock,
    ) -> Result<Self, EngineError> {
        Self::of_job(JobFacts::default(), options, targets, depth, clock)
    }

    pub(crate) fn of_job(
        facts: JobFacts<'_>,
        options: &EngineOptions,
        targets: &[Target],
        depth: u32,
        clock: E::Clock,
    ) -> Result<Self, EngineError> {
        let buffers = Buffers::new(depth);
        let job = JobFacts { name: "rig", ..facts };
        let setup = Setup { options, job, targets, depth, buffers: buffers.start(), buffer_stride: STRIDE, clock };
        Ok(Rig { engine: E::open(setup)?, buffers, depth })
    }

    /// Carries out all I/Os, as many at once as the depth allows, and returns their results in their own order.
    /// `before` may fill the slot's buffer for the I/O with this index, `after` look at it.
    pub(crate) fn run(
        &mut self,
        ios: &[Io],
        mut before: impl FnMut(usize, &mut [u8]),
        mut after: impl FnMut(usize, i64, &[u8]),
    ) -> Vec<i64> {
        let mut results = vec![i64::MIN; ios.len()];
        let mut free: Vec<u32> = (0..self.depth).rev().collect();
        let mut index_of = vec![usize::MAX; self.depth as usize];
        let mut done: Vec<Completion> = Vec::with_capacity(self.depth as usize);
        let mut next = 0;
        while next < ios.len() || free.len() < self.depth as usize {
            while next < ios.len() {
                let Some(slot) = free.pop() else { break };
                before(next, self.buffers.slot(slot));
                index_of[slot as usize] = next;
                match self.engine.submit(Io { slot, ..ios[next] }) {
                    Submitted::Done(completion) => done.push(completion),
                    Submitted::Queued => {}
                    Submitted::Full => {
                        free.push(slot);
                        break;
                    }
                }
                next += 1;
                if !done.is_empty() {
                    break;
                }
            }
            self.engine.flush().unwrap();
            if done.is_empty() {
                self.engine.reap(1, self.depth, &mut done).unwrap();
            }
            for completion in done.drain(..) {
                let index = index_of[completion.slot as usize];
                assert_eq!(results[index], i64::MIN, "I/O {index} completed twice");
                results[index] = completion.result;
                after(index, completion.result, self.buffers.slot(completion.slot));
                free.push(completion.slot);
            }
        }
        results
    }

    /// Carries out all I/Os and returns their results.
    pub(crate) fn results(&mut self, ios: &[Io]) -> Vec<i64> {
        self.run(ios, |_, _| (), |_, _, _| ())
    }
}

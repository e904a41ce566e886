//! Jobs that take turns on one thread and share one queue of the kernel.
//!
//! Each job is a coroutine with the same loop as a worker that has a thread to itself. Where that loop would wait - for
//! a completion, for a moment, at a gate - it ends its turn. When all jobs have had theirs, one call gives the I/Os of
//! all of them to the kernel and waits for the first completion or the first moment that is due. Nothing here knows
//! which I/O a job does next, or when.

mod lane;
#[cfg(test)]
mod tests;
mod thread;

use crate::contract::{EngineError, Io, Setup, Submitted};
use measure::Nanos;
use plan::EngineSpec;

pub(crate) use lane::Lane;
pub use thread::{pause_at_gate, take_turns};

/// The job and slot that an I/O of a shared queue belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) job: u32,
    pub(crate) slot: u32,
}

impl Tag {
    /// The tag as the 64 bits that the kernel returns with a completion.
    pub(crate) fn packed(self) -> u64 {
        u64::from(self.job) << 32 | u64::from(self.slot)
    }

    /// The tag in these 64 bits.
    #[expect(clippy::cast_possible_truncation, reason = "each half is a u32")]
    pub(crate) fn of(packed: u64) -> Tag {
        Tag { job: (packed >> 32) as u32, slot: packed as u32 }
    }
}

/// How long a call that enters the kernel waits for a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Not at all.
    No,
    /// Until there is one, at most this long.
    Within(Nanos),
    /// Until there is one.
    ForOne,
}

/// One queue of the kernel for the I/Os of several jobs.
pub(crate) trait SharedQueue: Sized + 'static {
    /// The engine whose jobs can share it.
    const SPEC: EngineSpec;
    /// Maker of the kernel's form of the I/Os of one job.
    type Requests: std::fmt::Debug;

    /// Opens the queue for `jobs` jobs like that of `setup`. Fails if the kernel refuses it.
    fn open<C>(setup: &Setup<'_, C>, jobs: u32) -> Result<Self, EngineError>;

    /// Adds the job with this number. Fails if its options contradict each other, or the kernel refuses to register its
    /// buffers or files.
    fn add<C>(&mut self, setup: &Setup<'_, C>, job: u32) -> Result<Self::Requests, EngineError>;

    /// Takes one I/O.
    fn submit(&mut self, requests: &mut Self::Requests, job: u32, io: Io) -> Submitted;

    /// True if I/Os are queued or in flight.
    fn is_busy(&self) -> bool;

    /// Gives all queued I/Os to the kernel and waits, in one call. Returns how many the kernel took, in the order in
    /// which they were queued. Fails if the queue itself fails.
    fn enter(&mut self, wait: Wait) -> Result<u32, EngineError>;

    /// Takes the completions that have arrived: whose they are, and their results.
    fn take(&mut self, each: &mut dyn FnMut(Tag, i64));

    /// Features of the queue for people; `None` if there is nothing to say.
    fn note(&self, requests: &Self::Requests) -> Option<String>;

    /// I/O priorities of a job, as in [`crate::Engine::priorities`].
    fn priorities(requests: &Self::Requests) -> &[u16];

    /// As [`crate::Engine::priority_of`].
    fn priority_of(requests: &Self::Requests, slot: u32) -> usize;
}

/// [`SharedQueue`] as far as the thread uses it, whatever the engine is.
trait Kernel {
    fn is_busy(&self) -> bool;
    fn enter(&mut self, wait: Wait) -> Result<u32, EngineError>;
    fn take(&mut self, each: &mut dyn FnMut(Tag, i64));
}

impl<Q: SharedQueue> Kernel for Q {
    fn is_busy(&self) -> bool {
        SharedQueue::is_busy(self)
    }

    fn enter(&mut self, wait: Wait) -> Result<u32, EngineError> {
        SharedQueue::enter(self, wait)
    }

    fn take(&mut self, each: &mut dyn FnMut(Tag, i64)) {
        SharedQueue::take(self, each);
    }
}

//! Jobs that take turns on one thread and share one queue of the kernel.
//!
//! Each job is a coroutine with the same loop as a worker that has a thread to itself. Where that loop would wait - for
//! a completion, for a moment, at a gate - it ends its turn. When all jobs have had theirs, one call gives the I/Os of
//! all of them to the kernel and waits for the first completion or the first moment that is due. Nothing here knows
//! which I/O a job does next, or when.

mod deadlines;
mod lane;
mod queue;
#[cfg(test)]
mod tests;
mod thread;

pub(crate) use lane::Lane;
pub(crate) use queue::{SharedQueue, Tag, Wait};
pub use thread::{pause_at_gate, take_turns};

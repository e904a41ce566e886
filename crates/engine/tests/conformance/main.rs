//! Every engine over the same script, on a file in memory and on a loop device with direct I/O; and what engines
//! promise beyond: batches, no allocation, a loud stand-in where io_uring is forbidden, exact virtual time.
//!
//! Needs root: the tests attach their own loop device. Without one they fail rather than skip.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by its panic")]

mod allocation;
mod batching;
mod forbidden;
mod null;
mod offloaded;
mod options;
mod place;
mod regimes;
mod rig;
mod rings;
mod sandbox;
mod script;
mod signals;
mod simulated;
mod waiting;
mod works;

//! The worker's loop, from its first I/O to its last, in parts: the I/Os in flight (`slots`), buffers, files, times,
//! checks of data that was read, constraints, and the record. `job_loop` combines them; each other file is one aspect
//! of the loop.
//!
//! Which I/O comes next is decided by the load, and how it reaches the kernel by the engine.

mod arrivals;
mod attention;
mod buffers;
mod calls;
mod checks;
mod constraints;
mod faults;
mod handling;
mod job_loop;
mod log;
mod pass;
mod pause;
mod queued;
mod search;
mod slots;
mod statistics;
mod synchronous;
mod timed_pass;
mod timing;
mod verify;
mod verify_reads;
mod verify_threads;
mod wear_out;
mod zone_steps;

pub(crate) use buffers::{Memory, SpareBuffers};
pub(crate) use job_loop::{DriveSetup, drive, is_synchronous};
pub(crate) use log::Logs;
pub(crate) use statistics::LatencyLimits;
pub(crate) use statistics::Statistics;
pub(crate) use verify::load_state as load_verify_state;

//! Replay: the I/O logs that a job reads, the files they refer to, and the path of their entries to the load.
//!
//! Before anything starts, every log is read once from start to end: errors in it are reported before the first I/O,
//! and the files, buffer sizes and directions of the job are derived from it. Memory use does not depend on the length
//! of a log.

mod log_contents;
mod player;
mod recorder;
mod resolve;
mod source;

pub(crate) use log_contents::ReplayLog;
pub(crate) use player::Player;
pub(crate) use recorder::Recorder;
pub use resolve::merge_traces;
pub(crate) use resolve::{Replays, resolve};

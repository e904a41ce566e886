//! Replay: the I/O logs that a job reads, the files they refer to, and the path of their entries to the load.
//!
//! Before anything starts, every log is read once from start to end: errors in it are reported before the first I/O,
//! and the files, buffer sizes and directions of the job are derived from it. Memory use does not depend on the length
//! of a log.

mod errors;
mod player;
mod recorder;
mod resolve;
mod source;
mod survey;
mod traces;

pub(crate) use player::Player;
pub(crate) use recorder::Recorder;
pub(crate) use resolve::{Replays, resolve};
pub(crate) use survey::Replayed;
pub use traces::merge_traces;

//! Plan to RunResult: lays out files, starts workers, drives them through their engines and collects what they found.
//!
//! Owns process and thread life, the worker's loop, files, limits and signals.
//! Leaves to others which I/O comes next (`load`), words and views: it prints nothing.

#![forbid(unsafe_code)]

mod drive;
mod environment;
mod error;
mod files;
mod observer;
mod replay;
mod result;
mod signals;
mod steady;
#[cfg(test)]
mod stream;
mod supervise;
mod tell;
mod worker;

pub use environment::start_clock;
pub use error::RunError;
pub use observer::{Observer, Progress, RunOptions, WorkerProgress, WorkerState};
pub use replay::merge_traces;
pub use supervise::{execute, execute_by};

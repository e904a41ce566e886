//! Plan to RunResult: lays out files, starts workers, drives them through their engines and collects what they found.
//!
//! Owns process and thread life, the worker's loop, the load and its pace, limits and signals.
//! Leaves words and views to others: it prints nothing.

#![forbid(unsafe_code)]

mod drive;
mod environment;
mod error;
mod files;
pub mod load;
mod observer;
mod result;
mod signals;
mod supervise;
pub mod verify;
mod worker;

pub use error::RunError;
pub use observer::{Observer, Progress, RunOptions, WorkerProgress, WorkerState};
pub use supervise::execute;

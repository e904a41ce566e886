//! Plan to RunResult: lays out files, starts workers, drives them through their engines and collects what they found.
//!
//! Owns process and thread life, the worker's loop, the load and its pace, limits and signals.
//! Leaves words and views to others: it prints nothing.

pub mod load;
mod observer;
pub mod verify;

pub use observer::{Observer, Progress, RunOptions, WorkerProgress, WorkerState};

//! From a Plan to a RunResult: lays out files, starts workers, runs their I/O through the engines and collects the
//! results.
//!
//! Owns the life of processes and threads, the worker's loop, files, limits and signals. Which I/O comes next is
//! decided by `load`; words and views are up to the caller: this crate prints nothing.

#![forbid(unsafe_code)]

mod calibration;
mod drive;
mod environment;
mod error;
mod files;
mod observer;
mod replay;
mod shared;
mod signals;
#[cfg(test)]
mod stream_tests;
mod supervise;
mod worker;

pub use calibration::PlanCalibration;
pub use environment::machine;
pub use error::RunError;
pub use observer::{
    Calibrating, Event, Monitoring, Observer, Progress, Request, RunOptions, Start, VirtualIntervals, WorkerProgress,
    WorkerState,
};
pub use replay::merge_traces;
pub use supervise::{Runner, calibrate, execute};

//! Counters to differences: what block devices did between two moments.
//!
//! Owns the arithmetic of the kernel's counters, wraps and re-plugged devices included, and which devices lie under
//! a set of files; the monitor that looks at them, and at processors and workers, beside a run. Leaves printing to others. Everything is read under a given root, so recorded trees replay.

#![forbid(unsafe_code)]

mod counters;
mod cpu;
mod listing;
mod process;
mod rates;
mod recorder;
mod stack;
mod targets;
mod traffic;
mod watch;

pub use counters::{DeviceCounters, FlushCounters, OperationCounters};
pub use cpu::{CpuCounters, cpu_count, uptime_centiseconds};
pub use listing::{Listed, Reading, diskstats, mapper_names, single, whole_devices, with_partitions};
pub use process::io_bytes;
pub use rates::device_activity;
pub use recorder::{Account, Recorder, WorkerSeen};
pub use targets::Target;
pub use traffic::{Traffic, TrafficWatch};
pub use watch::DeviceWatch;

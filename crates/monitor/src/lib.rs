//! Kernel counters → differences: activity of block devices, CPUs and workers between two points in time.
//!
//! Owns the arithmetic of the kernel's counters, including wraps and devices that were replugged; the search for the
//! devices under a set of files; the recorder that samples them during a run; and what each report of iostat contains.
//! Leaves printing to others.
//! All files are read below a given root, so that recorded trees of /proc and /sys can be replayed.

#![forbid(unsafe_code)]

mod contents;
pub mod counters;
mod cpu;
mod devices;
pub mod iostat;
mod layers;
mod listing;
mod machine;
mod recorder;
mod surroundings;
mod targets;
mod workers;

pub use contents::sample_contents;
pub use counters::device_activity;
pub use cpu::{CpuCounters, cpu_count, uptime_centiseconds};
pub use listing::{Listed, Reading, diskstats, single, whole_devices};
pub use recorder::{Pace, Recorder, RunRecording};
pub use surroundings::{EPOCH, Places};
pub use targets::Target;
pub use workers::{Account, WorkerSeen, io_bytes};

//! fio's terse output: one line of fields per job, separated by semicolons, in four versions.
//!
//! Owns the order and spelling of the fields. Latencies are in µs, bandwidth in KiB/s. The reader takes every version;
//! what a line does not state stays absent, see [`read`].

mod read;
mod reading;
mod write;

pub use read::{looks_like, read};
pub(crate) use reading::{describe, reading};
pub use write::write;

/// Percentiles a line has room for; unused places are filled.
const PERCENTILE_PLACES: usize = 20;
/// What stands in an unused place.
const UNUSED_PLACE: &str = "0%=0";
/// Fields between the last direction and the disks: CPU and faults, depths, µs bins, ms bins.
const TAIL_FIELDS: usize = 5 + 7 + 10 + 12;
/// Fields of one disk.
const DISK_FIELDS: usize = 9;

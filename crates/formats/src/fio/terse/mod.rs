//! fio's terse output: one line of fields per job, separated by semicolons, in four versions.
//!
//! Owns the order and format of the fields: latencies in µs, bandwidth in KiB/s. The reader accepts every version.

mod read;
mod write;

pub(crate) use read::{describe, looks_like, reading, result};
pub use write::write;

/// Percentile fields in a line; unused ones are filled with [`UNUSED_PLACE`].
const PERCENTILE_PLACES: usize = 20;
/// Content of an unused percentile field.
const UNUSED_PLACE: &str = "0%=0";
/// Fields between the last direction and the disks: CPU and faults, depths, µs bins, ms bins.
const TAIL_FIELDS: usize = 5 + 7 + 10 + 12;
const DISK_FIELDS: usize = 9;

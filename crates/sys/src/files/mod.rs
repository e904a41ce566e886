//! Files and file systems: calls that the standard library lacks, extents, mounts, the page cache, and output files.

pub mod extents;
pub mod inherited;
pub mod mounts;
pub mod operations;
pub mod output_file;
pub mod range_lock;
pub mod read_limited;
pub mod residency;
pub mod zonefs;

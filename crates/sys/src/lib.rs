//! The kernel made safe: memory, processes, signals, files, block devices and the host, one file each.
//!
//! Owns the system calls and the reading of /proc and /sys, always under a root that the caller gives.
//! Decides nothing: what to do with a fact is the business of the crates above. Depends on none of ours.

pub mod aside;
pub mod block;
pub mod blocked;
pub mod buffers;
pub mod bus_error;
pub mod cgroup;
pub mod claims;
pub mod device;
mod error;
pub mod extents;
pub mod file;
pub mod host;
pub mod iogroup;
mod mapping;
pub mod mounts;
pub mod nodes;
pub mod placement;
pub mod process;
pub mod range_lock;
pub mod residency;
mod shared;
pub mod signals;
pub mod standard;
mod text;
pub mod usage;

pub use error::SysError;
pub use shared::{RecordWriter, SharedBlocks, SharedRecords};

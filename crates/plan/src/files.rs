//! Files of a job: names, sizes and creation.

use super::FileHandling;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;
use std::path::PathBuf;

/// A number of bytes, which may be relative to the size of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// Bytes.
    Bytes(u64),
    /// Percent of the size of the file or device.
    Percent(u32),
}

/// Files of a job: names, sizes and creation.
#[derive(Clone, Debug, PartialEq, SmartDefault)]
pub struct FilePlan {
    /// Directories over which the clones of the job are distributed; empty for the current one.
    pub directories: Vec<PathBuf>,
    /// Files that all clones use; empty for generated names.
    pub names: Vec<PathBuf>,
    /// Number of files of each clone if `names` is empty.
    #[default(1)]
    pub count: u32,
    /// Total size of the region in all files; `None` for the files' own size.
    pub size: Option<Extent>,
    /// Amount of I/O, if it differs from `size`.
    pub io_size: Option<Extent>,
    /// Range in bytes from which the size of each file is drawn, instead of `size / count`.
    pub file_size: Option<(u64, u64)>,
    /// Start of the region in each file.
    #[default(Extent::Bytes(0))]
    pub offset: Extent,
    /// Increment of `offset` from each clone to the next.
    #[default(Extent::Bytes(0))]
    pub offset_increment: Extent,
    /// Open with O_DIRECT.
    pub direct: bool,
    /// Writes are complete or absent after a crash (RWF_ATOMIC).
    pub atomic: bool,
    /// Open with O_SYNC or O_DSYNC.
    #[default(SyncMode::None)]
    pub sync: SyncMode,
    /// Allocation of space when a file is created.
    #[default(Allocate::Native)]
    pub allocate: Allocate,
    /// Drop the page cache of the file before the job.
    #[default(true)]
    pub invalidate: bool,
    /// Read the file into the page cache before the job.
    pub pre_read: bool,
    /// Lay out the file in full before writing to it.
    pub overwrite: bool,
    /// Remove files at the end of the job.
    pub unlink: bool,
    /// Lay out the files, but do no I/O.
    pub create_only: bool,
    /// fsync files after layout.
    #[default(true)]
    pub create_fsync: bool,
    /// Advice about the access pattern (posix_fadvise(2)).
    #[default(AccessAdvice::ByLoad)]
    pub advice: AccessAdvice,
    /// Create files that do not exist.
    #[default(true)]
    pub may_create: bool,
    /// Allow writes to mounted block devices.
    pub may_write_mounted: bool,
    /// Block devices that may be overwritten although they contain data, by serial number, WWID or size in bytes.
    pub consent: Vec<String>,
    /// File selection, opening, locking and creation.
    pub handling: FileHandling,
}

/// Synchronous open flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// None.
    #[default]
    None,
    /// O_SYNC.
    Sync,
    /// O_DSYNC.
    DataSync,
}

/// Advice to the kernel about the access pattern of a file (posix_fadvise(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessAdvice {
    /// Random or sequential, according to the load.
    #[default]
    ByLoad,
    /// No advice.
    None,
    /// Sequential.
    Sequential,
    /// Random.
    Random,
    /// Data is accessed only once.
    NoReuse,
}

/// Allocation of space when a file is created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allocate {
    /// fallocate(2) if the file system supports it.
    #[default]
    Native,
    /// No allocation.
    None,
    /// posix_fallocate(3).
    Posix,
    /// fallocate(2) with FALLOC_FL_KEEP_SIZE.
    KeepSize,
    /// ftruncate(2).
    Truncate,
}

//! Files of a job: names, sizes and creation.

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
    /// Zones of the size that the zoned device has.
    Zones(u64),
}

/// Those who lay out the files of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LaidOutBy {
    /// This run alone: a file that is too short is recreated.
    #[default]
    ThisRun,
    /// Perhaps other members of its cluster at the same time: a file stays the one that they have open, and does not
    /// get shorter.
    Members,
}

/// One of several parts of equal size, each of another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Number of the part, from 0.
    pub number: u32,
    /// Number of parts.
    pub of: u32,
}

impl Part {
    /// The part of a region, in whole blocks; the last one has what is left at the end, too. Parts do not overlap, and
    /// together they are the region.
    pub fn within(self, start: u64, end: u64, block: u64) -> (u64, u64) {
        let (block, of) = (block.max(1), u64::from(self.of.max(1)));
        let blocks = end.saturating_sub(start) / block;
        let first_of = |number: u64| {
            // Without a product that could be too large.
            let blocks = blocks / of * number + (blocks % of * number) / of;
            start.saturating_add(blocks.saturating_mul(block))
        };
        let number = u64::from(self.number);
        let is_last = number + 1 >= of;
        (first_of(number), if is_last { end } else { first_of(number + 1) })
    }
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
    /// The part of the region that is this run's, if others have the other parts; `None` for all of it.
    pub part: Option<Part>,
    /// Those who lay out the files.
    pub laid_out_by: LaidOutBy,
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
    /// Block devices that may be overwritten although they contain data, by serial number, WWID or UUID.
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

/// File handling of a worker, in addition to [`FilePlan`](crate::FilePlan).
#[derive(Clone, Debug, PartialEq, SmartDefault)]
pub struct FileHandling {
    /// Selection of the file for the next I/O.
    pub service: FileService,
    /// Maximum number of open files; `None` for all.
    pub open_at_once: Option<u32>,
    /// Format of generated file names, with `$jobname`, `$jobnum` and `$filenum`; `None` for fio's default.
    pub name_format: Option<String>,
    /// Names of files in given directories begin with the client's address if a server runs the job.
    #[default(true)]
    pub unique_names: bool,
    /// Type of the files, if given; `None` to look it up.
    pub file_type: Option<FileType>,
    /// Directories of which all regular files are used, recursively.
    pub below: Vec<PathBuf>,
    /// Lock that workers take on a file.
    #[default(FileLock::None)]
    pub lock: FileLock,
    /// Files are laid out by the main process, one job after the other, before any worker starts.
    #[default(true)]
    pub laid_out_first: bool,
    /// Files are created when the job opens them, not laid out before.
    pub create_on_open: bool,
    /// Files are removed after each pass except the last, and created again.
    pub unlink_each_pass: bool,
    /// I/O scheduler of the block layer to set for the devices.
    pub scheduler: Option<String>,
    /// Expected lifetime of written data.
    pub write_hint: Option<WriteHint>,
    /// ENOSPC ends the job without an error (`fill_device`).
    pub fill: bool,
    /// Regions begin at the end of the file's data.
    pub append: bool,
    /// Alignment to which relative offsets are rounded up, in bytes; 0 for the smallest block size.
    pub offset_align: u64,
}

/// Selection of the file for the next I/O.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FileService {
    /// Round robin, with this many I/Os per turn.
    RoundRobin(u32),
    /// A random file that has I/O left, for this many I/Os.
    Random(u32),
    /// One file after the other, each to its end.
    Sequential,
    /// Zipf with this exponent, and the centre as a fraction of all files.
    Zipf(f64, Option<f64>),
    /// Pareto with this shape, and the centre.
    Pareto(f64, Option<f64>),
    /// Normal with this deviation in percent, and the centre.
    Normal(f64, Option<f64>),
}

impl Default for FileService {
    fn default() -> Self {
        FileService::RoundRobin(1)
    }
}

/// Type of a file, as given by `filetype` instead of looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// A regular file.
    Regular,
    /// A block device.
    Block,
    /// A character device.
    Character,
}

/// Lock that a worker takes on a file during I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileLock {
    /// None.
    #[default]
    None,
    /// Exclusive: one worker at a time.
    Exclusive,
    /// Many readers, or one writer.
    ReadWrite,
}

/// Expected lifetime of written data (fcntl(2), F_SET_RW_HINT).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum WriteHint {
    /// No particular lifetime.
    None = 1,
    /// Short.
    Short = 2,
    /// Medium.
    Medium = 3,
    /// Long.
    Long = 4,
    /// Extreme.
    Extreme = 5,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_whole_blocks_that_cover_the_region_once() {
        for (start, end, block, of) in
            [(0, 1 << 20, 4096, 3), (512, 10_000, 512, 4), (0, 4096, 4096, 2), (7, u64::MAX, 4096, 4096), (0, 10, 3, 1)]
        {
            let parts: Vec<(u64, u64)> = (0..of).map(|number| Part { number, of }.within(start, end, block)).collect();
            assert_eq!((parts[0].0, parts[parts.len() - 1].1), (start, end));
            for pair in parts.windows(2) {
                assert!(pair[0].1 == pair[1].0 && pair[0].0 <= pair[0].1, "{pair:?}");
                assert_eq!((pair[1].0 - start) % block, 0, "{pair:?}");
            }
            let blocks = |part: &(u64, u64)| (part.1 - part.0) / block;
            let (least, most) = (parts.iter().map(blocks).min().unwrap(), parts.iter().map(blocks).max().unwrap());
            assert!(most - least <= 1, "{parts:?}");
        }
    }
}

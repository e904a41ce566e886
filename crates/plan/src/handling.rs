//! File handling of a worker: selection, open files, locks, creation and write hints.

use smart_default::SmartDefault;
use std::path::PathBuf;

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

//! How a worker handles its files: which it takes next, how many are open, how they are locked, made and marked.

use std::path::PathBuf;

/// How a worker handles its files, beyond which and how large they are.
#[derive(Clone, Debug, PartialEq)]
pub struct FileHandling {
    /// How the next file is chosen.
    pub service: FileService,
    /// How many files are open at the same time; `None` for all.
    pub open_at_once: Option<u32>,
    /// How generated names are built, with `$jobname`, `$jobnum`, `$filenum`; `None` for fio's own form.
    pub name_format: Option<String>,
    /// What the files are, without looking; `None` looks.
    pub file_type: Option<FileType>,
    /// Every regular file below these directories is used.
    pub below: Vec<PathBuf>,
    /// Who may do I/O on a file at the same time.
    pub lock: FileLock,
    /// Files are laid out in the main process, one job after the other, before any worker starts.
    pub laid_out_first: bool,
    /// Files are made when the job opens them, not laid out before.
    pub create_on_open: bool,
    /// Files are removed after every pass but the last, and made anew.
    pub unlink_each_pass: bool,
    /// The block layer's scheduler that the devices are switched to.
    pub scheduler: Option<String>,
    /// How long written data is expected to live.
    pub write_hint: Option<WriteHint>,
    /// A full file system ends the job, and that is no error.
    pub fill: bool,
    /// Regions begin at the end of what a file holds.
    pub append: bool,
    /// What a relative offset is rounded up to; 0 for the smallest block.
    pub offset_align: u64,
}

impl Default for FileHandling {
    fn default() -> Self {
        FileHandling {
            service: FileService::default(),
            open_at_once: None,
            name_format: None,
            file_type: None,
            below: Vec::new(),
            lock: FileLock::None,
            laid_out_first: true,
            create_on_open: false,
            unlink_each_pass: false,
            scheduler: None,
            write_hint: None,
            fill: false,
            append: false,
            offset_align: 0,
        }
    }
}

/// How the next file is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FileService {
    /// One after the other, so many I/Os each.
    RoundRobin(u32),
    /// Any that has something left, for so many I/Os.
    Random(u32),
    /// Each to its end before the next.
    Sequential,
    /// Zipf with this exponent, and the centre as a share of all files.
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

/// What a path leads to, said rather than looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// A regular file.
    Regular,
    /// A block device.
    Block,
    /// A character device.
    Character,
}

/// Who may do I/O on a file at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileLock {
    /// Everybody.
    #[default]
    None,
    /// One worker.
    Exclusive,
    /// Many workers that read, or one that writes.
    ReadWrite,
}

/// How long written data is expected to live (fcntl(2), F_SET_RW_HINT).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum WriteHint {
    /// No particular life time.
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

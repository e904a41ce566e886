//! Which files, how large, and how they come to be.

use super::FileHandling;
use std::path::PathBuf;

/// An amount that may be relative to a file's real size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// So many bytes.
    Bytes(u64),
    /// So many hundredths of the file's or device's real size.
    Percent(u32),
}

/// Which files, how large, and how they come to be.
#[derive(Clone, Debug, PartialEq)]
pub struct FilePlan {
    /// Directories over which clones are spread; empty for the current one.
    pub directories: Vec<PathBuf>,
    /// Files shared by all clones; empty means generated names.
    pub names: Vec<PathBuf>,
    /// How many files each clone makes when `names` is empty.
    pub count: u32,
    /// Size of the region of all files together; `None` takes the files as they are.
    pub size: Option<Extent>,
    /// Amount of I/O, where it differs from `size`.
    pub io_size: Option<Extent>,
    /// Size per file, drawn from this range, instead of `size / count`.
    pub file_size: Option<(u64, u64)>,
    /// Where the region starts in each file.
    pub offset: Extent,
    /// How much later it starts for each next clone.
    pub offset_increment: Extent,
    /// Open with O_DIRECT.
    pub direct: bool,
    /// Writes are whole or not there at all after a crash (RWF_ATOMIC).
    pub atomic: bool,
    /// Open with O_SYNC or O_DSYNC.
    pub sync: SyncMode,
    /// How space is reserved when a file is made.
    pub allocate: Allocate,
    /// Drop the page cache of the file before the job.
    pub invalidate: bool,
    /// Read the file into the page cache before the job.
    pub pre_read: bool,
    /// Lay out the file in full before writing to it.
    pub overwrite: bool,
    /// Remove files at the end of the job.
    pub unlink: bool,
    /// Only lay out the files.
    pub create_only: bool,
    /// Flush files after layout.
    pub create_fsync: bool,
    /// What the kernel is told of the order in which the file is used.
    pub advice: AccessAdvice,
    /// Make files that do not exist.
    pub may_create: bool,
    /// Write to block devices that are mounted.
    pub may_write_mounted: bool,
    /// The block devices that may be overwritten although they hold data, by serial number, WWID or size in bytes.
    pub consent: Vec<String>,
    /// How files are chosen, opened, locked and made.
    pub handling: FileHandling,
}

/// O_SYNC behaviour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// Neither.
    #[default]
    None,
    /// O_SYNC.
    Sync,
    /// O_DSYNC.
    DataSync,
}

/// What the kernel is told of the order in which a file is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessAdvice {
    /// What the load is: random or sequential.
    #[default]
    ByLoad,
    /// Nothing.
    None,
    /// Sequential.
    Sequential,
    /// Random.
    Random,
    /// Used once only.
    NoReuse,
}

/// How space is reserved when a file is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allocate {
    /// fallocate where the file system has it, else nothing.
    #[default]
    Native,
    /// Nothing.
    None,
    /// posix_fallocate.
    Posix,
    /// fallocate with FALLOC_FL_KEEP_SIZE.
    KeepSize,
    /// ftruncate.
    Truncate,
}

impl Default for FilePlan {
    fn default() -> Self {
        FilePlan {
            directories: Vec::new(),
            names: Vec::new(),
            count: 1,
            size: None,
            io_size: None,
            file_size: None,
            offset: Extent::Bytes(0),
            offset_increment: Extent::Bytes(0),
            direct: false,
            atomic: false,
            sync: SyncMode::None,
            allocate: Allocate::Native,
            invalidate: true,
            pre_read: false,
            overwrite: false,
            unlink: false,
            create_only: false,
            create_fsync: true,
            advice: AccessAdvice::ByLoad,
            may_create: true,
            may_write_mounted: false,
            consent: Vec::new(),
            handling: FileHandling::default(),
        }
    }
}

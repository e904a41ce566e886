//! Contents and memory of the I/O buffers.

use smart_default::SmartDefault;
use std::path::PathBuf;

/// Contents and memory of the I/O buffers.
#[derive(Clone, Debug, PartialEq, SmartDefault)]
pub struct BufferPlan {
    /// Data that they are filled with.
    #[default(Fill::Random)]
    pub fill: Fill,
    /// Fill the buffer again before each write.
    pub refill: bool,
    /// Change some bytes of each 512 before each write, so that storage cannot deduplicate the data.
    #[default(true)]
    pub scramble: bool,
    /// Percentage of bytes that compress to nothing, 0–100, in chunks of `compress_chunk`.
    pub compress_percent: u8,
    /// Size in bytes of the chunks to which `compress_percent` applies.
    #[default(512)]
    pub compress_chunk: u32,
    /// Percentage of buffers that repeat an earlier one, 0–100.
    pub dedupe_percent: u8,
    /// Earlier buffers that are repeated; `None` for the previous one.
    pub working_set: Option<WorkingSet>,
    /// Contents computed from the position in the file, instead of all of the above.
    pub placed: Option<Box<PlacedBytes>>,
    /// Kind of memory.
    #[default(Memory::Malloc)]
    pub memory: Memory,
    /// Alignment in bytes, beyond a page; 0 for a page.
    pub align: u32,
    /// Size of a huge page in bytes, if `memory` uses them.
    #[default(2 << 20)]
    pub huge_page: u64,
}

/// Contents computed from the position in the file, so that readers can check them.
///
/// A record has up to five parts, in this order: bytes that all records of all files of a set share, bytes that all
/// records of this file share, bytes that the other files of the set have at the same position, bytes that occur
/// nowhere else, and zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlacedBytes {
    /// Seed of the bytes of this file.
    pub own: u64,
    /// Seed of the bytes that all files of the set share.
    pub set: u64,
    /// Size of a record in bytes.
    pub record: u32,
    /// Bytes of a record that are the same in all records of the set.
    pub everywhere: u32,
    /// Bytes of a record that are the same in all records of this file.
    pub within: u32,
    /// Bytes of a record that other files have at the same position.
    pub across: u32,
    /// Zero bytes at the end of a record.
    pub zeros: u32,
    /// Percentage of 4-byte words that are zero, anywhere in the record.
    pub zero_words_percent: u8,
    /// Bytes that readers check.
    pub check: PlacedCheck,
}

/// Bytes that are checked when such data is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlacedCheck {
    /// All of them.
    #[default]
    All,
    /// None.
    None,
}

/// The buffers that are repeated: the first unique ones of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkingSet {
    /// Their number, in percent of the blocks in the job's size.
    pub percent: u8,
    /// All jobs with this setting share one set.
    pub shared: bool,
}

/// Data that buffers are filled with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Fill {
    /// Random bytes.
    #[default]
    Random,
    /// Zeros.
    Zero,
    /// These bytes, repeated.
    Pattern(Vec<u8>),
}

/// Memory that buffers are allocated from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// Private anonymous pages.
    #[default]
    Malloc,
    /// A System V shared memory segment; huge pages if true.
    Shm(bool),
    /// A private mapping, of a file if given; huge pages if true.
    Mmap(bool, Option<PathBuf>),
    /// A shared mapping of a file or of anonymous memory.
    MmapShared(Option<PathBuf>),
}

//! What buffers hold and where they live.

use std::path::PathBuf;

/// What buffers hold and where they live.
#[derive(Clone, Debug, PartialEq)]
pub struct BufferPlan {
    /// What is in them.
    pub fill: Fill,
    /// Fill anew before every write.
    pub refill: bool,
    /// Change a little in every 512 bytes before every write, to defeat deduplication.
    pub scramble: bool,
    /// Share of bytes that compress to nothing, 0–100, in chunks of `compress_chunk`.
    pub compress_percent: u8,
    /// Size of the pieces within which `compress_percent` holds.
    pub compress_chunk: u32,
    /// Share of buffers that repeat an earlier one, 0–100.
    pub dedupe_percent: u8,
    /// Which earlier buffers are repeated; `None` for the one before.
    pub working_set: Option<WorkingSet>,
    /// Bytes that follow from their place take the place of all of these.
    pub placed: Option<Box<PlacedBytes>>,
    /// Which memory.
    pub memory: Memory,
    /// Alignment beyond a page; 0 for a page.
    pub align: u32,
    /// Size of a huge page, where `memory` wants them.
    pub huge_page: u64,
}

/// Bytes that follow from where in the file they are: whoever reads them back knows what they must be.
///
/// A record has up to five parts, in this order: one that all records of all files of a set have, one that all records of
/// this file have, one that the other files of the set have at the same place, one that is nowhere else, and zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlacedBytes {
    /// What the bytes of this file are drawn from.
    pub own: u64,
    /// What the bytes of all files of a set are drawn from.
    pub set: u64,
    /// Bytes of a record.
    pub record: u32,
    /// Bytes of a record that all records of the set have.
    pub everywhere: u32,
    /// Bytes of a record that all records of this file have.
    pub within: u32,
    /// Bytes of a record that other files have at the same place.
    pub across: u32,
    /// Bytes of a record, its last, that are zero.
    pub zeros: u32,
    /// Percent of words of four bytes that are zero, wherever they are.
    pub zero_words_percent: u8,
    /// Whether readers look at all of them.
    pub check: PlacedCheck,
}

/// Whether bytes that follow from their place are looked at when they are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlacedCheck {
    /// They are.
    #[default]
    All,
    /// Nobody does.
    None,
}

/// The buffers that are repeated: the first unique ones of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkingSet {
    /// How many, as hundredths of the blocks of the job's size.
    pub percent: u8,
    /// All jobs that want it draw from one set.
    pub shared: bool,
}

/// What buffers hold.
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

/// Which memory buffers come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// Private anonymous pages.
    #[default]
    Malloc,
    /// A System V shared memory segment, huge pages if true.
    Shm(bool),
    /// mmap, huge pages if true, of a file if given.
    Mmap(bool, Option<PathBuf>),
    /// Shared mmap of a file or of anonymous memory.
    MmapShared(Option<PathBuf>),
}

impl Default for BufferPlan {
    fn default() -> Self {
        BufferPlan {
            fill: Fill::Random,
            refill: false,
            scramble: true,
            compress_percent: 0,
            compress_chunk: 512,
            dedupe_percent: 0,
            working_set: None,
            placed: None,
            memory: Memory::Malloc,
            align: 0,
            huge_page: 2 << 20,
        }
    }
}

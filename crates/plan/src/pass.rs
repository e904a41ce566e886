//! A benchmark that times whole passes over a file, such as iozone: steps around the timed part, and order of the
//! records.

use measure::Nanos;
use std::sync::Arc;

/// One timed pass over the records of a file. fio jobs do not use it: other parts of their plan have these settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PassPlan {
    /// Open mode of the file.
    pub access: Access,
    /// Creation of the file before it is opened.
    pub creation: Creation,
    /// Permissions of a new file.
    pub mode: u32,
    /// Flush the file before the timed part.
    pub flush_before: bool,
    /// Flush the file after the timed part; `LoadPlan::end_fsync` flushes inside.
    pub flush_after: bool,
    /// Include close(2) of the file in the timed part.
    pub close_inside: bool,
    /// Read the first record once before the timed part.
    pub prime: bool,
    /// Hold a lock of the whole file (fcntl(2)) around the pass.
    pub lock: bool,
    /// Delay from the start barrier to the first I/O.
    pub start_gap: Nanos,
    /// Effect on the other workers when the first worker finishes.
    pub race: Race,
    /// Bytes at the start of each page of a record, checked by reads.
    pub marks: Option<Marks>,
    /// Order of the records.
    pub order: RecordOrder,
    /// Bytes of memory that are accessed before each record, to evict other data from the CPU caches.
    pub purge_bytes: Option<usize>,
    /// Additional work per record, if any.
    pub extras: Option<Box<RecordExtras>>,
    /// Bytes at the start of the buffer to write to the start of the file before the timed part, with write(2) for
    /// every engine; 0 for none.
    pub touch_bytes: u32,
    /// Advice for madvise(2) on a mapped file.
    pub map_advice: Option<MapAdvice>,
}

/// Additional work for each record of a pass. Such passes are rare and use a separate loop, with one record in flight.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordExtras {
    /// Lock the bytes of the record during its I/O (fcntl(2)).
    pub locks: bool,
    /// Rotate the memory of the records through an area of this many bytes; 0 for a single buffer.
    pub area_bytes: usize,
    /// Additional reads at other offsets.
    pub extra_reads: Option<ExtraReads>,
    /// Compute before each record for the time given in the list.
    pub computes: bool,
}

/// Additional reads between the records. Their bytes do not count, but their time is part of the pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtraReads {
    /// They precede every Nth record, beginning with the first.
    pub every: u64,
    /// Number of reads at a time, at offsets one page apart from the start of the file.
    pub count: u32,
    /// Size of each in bytes.
    pub bytes: u32,
}

/// Advice for madvise(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapAdvice {
    /// MADV_NORMAL.
    Normal,
    /// MADV_RANDOM.
    Random,
    /// MADV_SEQUENTIAL.
    Sequential,
    /// MADV_DONTNEED.
    DontNeed,
    /// MADV_WILLNEED.
    WillNeed,
}

/// Open mode of the file of a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// As the load requires.
    #[default]
    ByMix,
    /// Read and write, for any load.
    Both,
}

/// Creation of the file before it is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Creation {
    /// It must exist.
    #[default]
    MustExist,
    /// It is created if it does not exist.
    IfMissing,
    /// It is removed and created again.
    Replace,
    /// It is created if it does not exist, and truncated to zero if it does.
    Truncate,
}

/// Effect on the other workers when the first one finishes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Race {
    /// None.
    #[default]
    None,
    /// They stop at once.
    Stop,
    /// They record their progress and continue.
    Mark,
}

/// Bytes at the start of each page of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// Value of the bytes.
    pub byte: u8,
    /// Number of such bytes per page.
    pub bytes: usize,
    /// Page size in bytes.
    pub page: usize,
}

/// Order of the records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RecordOrder {
    /// As the load defines it.
    #[default]
    ByLoad,
    /// Each record once, in iozone's shuffled order.
    Shuffled,
    /// From the last record to the first.
    Backward,
    /// The first record, repeatedly.
    Same,
    /// With a stride of this many records, in rounds.
    Strided(u64),
    /// As in this list; no record is longer than the job's block size.
    Listed(Arc<[Listed]>),
}

/// A record of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Offset in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub length: u32,
    /// Time to compute before its I/O.
    pub compute: Nanos,
}

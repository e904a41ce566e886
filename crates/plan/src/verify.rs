//! Verification: write data, read it back and compare.

/// Verification: write data, read it back and compare.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VerifyPlan {
    /// Method.
    pub method: VerifyMethod,
    /// Run the verify phase.
    pub check: bool,
    /// Offset of the header in its block, in bytes.
    pub offset: u32,
    /// Bytes per header; `None` for one header per block.
    pub interval: Option<u32>,
    /// Pattern of the payload; empty for random data.
    pub pattern: Pattern,
    /// Bytes after which the pattern, with the offset it contains, starts again; `None` for once per I/O.
    pub pattern_interval: Option<u32>,
    /// Number of written blocks after which verification starts; `None` to verify at the end.
    pub backlog: Option<u64>,
    /// Number of blocks that are verified then; `None` for as many as were written.
    pub backlog_batch: Option<u64>,
    /// Writes that are verified.
    pub policy: VerifyPolicy,
    /// The first mismatch ends the job, regardless of ignored errors.
    pub fatal: bool,
    /// On a mismatch, write the data that was read and the expected data to files.
    pub dump: bool,
    /// Write nothing: verify the data of an earlier run.
    pub only: bool,
    /// Generate the sequence of writes again instead of remembering it.
    pub replay: bool,
    /// Number of verify threads; 0 verifies in the worker.
    pub threads: u32,
    /// CPUs of these threads; empty for all.
    pub thread_cpus: Vec<u32>,
    /// Headers must contain the number of the write, if it is known.
    pub sequence: bool,
    /// Headers must contain the seed of the write, if it is known.
    pub seed: bool,
    /// Format of headers and state files that are written.
    pub format: VerifyFormat,
    /// The device compares: the buffer of a read that verifies holds what was written.
    pub compares: bool,
    /// Save a state file with the progress of the writes.
    pub state_save: bool,
    /// Verify only the writes that a state file lists.
    pub state_load: bool,
    /// Trim some of the written blocks.
    pub trim: Option<TrimPlan>,
}

/// Trims of written blocks before they are verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrimPlan {
    /// Percentage of written blocks that are trimmed, 1–100.
    pub percent: u8,
    /// Number of blocks selected for trimming after which they are trimmed.
    pub backlog: u64,
    /// Number of blocks that are trimmed then; `None` for as many.
    pub batch: Option<u64>,
    /// Trimmed blocks must read as zeros.
    pub zero: bool,
}

/// A pattern that may contain the offset of the data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// The bytes, with zeros in place of offsets.
    pub bytes: Vec<u8>,
    /// Positions of 8-byte little-endian offsets in the bytes.
    pub offsets: Vec<usize>,
}

impl Pattern {
    /// True if there is no pattern.
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// Writes that are verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VerifyPolicy {
    /// All that completed without an error.
    #[default]
    Completed,
    /// Those followed by a flush of their file.
    Synced,
}

/// Format of headers and state files, by the version of fio that reads them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VerifyFormat {
    /// 48-byte headers and state files of version 7: fio 3.42.
    #[default]
    Fio3_42,
    /// 40-byte headers and state files of version 3: fio 3.33.
    Fio3_33,
}

/// Verification method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VerifyMethod {
    /// A header with a digest of the payload.
    Digest(Digest),
    /// Only the header.
    Meta,
    /// The pattern, without a header.
    Pattern,
    /// The pattern after a header.
    PatternHeader,
    /// Read back without comparison.
    #[default]
    Null,
}

/// Digests that fio supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the algorithms' own")]
pub enum Digest {
    Md5,
    Crc7,
    Crc16,
    Crc32,
    Crc32c,
    Crc64,
    Sha1,
    Sha256,
    Sha512,
    Sha3_224,
    Sha3_256,
    Sha3_384,
    Sha3_512,
    XxHash,
}

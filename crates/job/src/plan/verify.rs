//! Write, then read back and compare.

/// Write, then read back and compare.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VerifyPlan {
    /// The check.
    pub method: VerifyMethod,
    /// Run the check phase.
    pub check: bool,
    /// Where the header lies in its block; 0 in front.
    pub offset: u32,
    /// Bytes per header; `None` for one per block.
    pub interval: Option<u32>,
    /// Pattern of the payload; empty for random data.
    pub pattern: Pattern,
    /// The pattern starts anew, with the offset it shows, every so many bytes; `None` for once per I/O.
    pub pattern_interval: Option<u32>,
    /// Check so many blocks after as many were written, instead of at the end.
    pub backlog: Option<u64>,
    /// How many blocks are then checked; `None` for as many as were written.
    pub backlog_batch: Option<u64>,
    /// Which writes are checked.
    pub policy: VerifyPolicy,
    /// The first mismatch ends the job, whatever is forgiven otherwise.
    pub fatal: bool,
    /// Leave files with what was read and what should have been.
    pub dump: bool,
    /// Write nothing: an earlier run did.
    pub only: bool,
    /// Go through the sequence of writes again rather than remember it.
    pub replay: bool,
    /// Threads that check; 0 checks where the read came back.
    pub threads: u32,
    /// The CPUs of these threads; empty for all.
    pub thread_cpus: Vec<u32>,
    /// Headers must hold the number of the write, where it is known.
    pub sequence: bool,
    /// Headers must hold the seed of the write, where it is known.
    pub seed: bool,
    /// The layout of headers and state files that are written.
    pub format: VerifyFormat,
    /// Leave a file that says how far the writes came.
    pub state_save: bool,
    /// Check only what such a file says was written.
    pub state_load: bool,
    /// Trim some of the written blocks.
    pub trim: Option<TrimPlan>,
}

/// Written blocks that are trimmed before they are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrimPlan {
    /// Share of written blocks, 1–100.
    pub percent: u8,
    /// Trim after so many blocks that are to be trimmed were written.
    pub backlog: u64,
    /// How many are then trimmed; `None` for as many.
    pub batch: Option<u64>,
    /// Trimmed blocks must read as zeros.
    pub zero: bool,
}

/// A pattern, some of whose places hold the offset of the data it fills.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// The bytes; zeros where an offset belongs.
    pub bytes: Vec<u8>,
    /// Where eight bytes hold the offset, lowest byte first.
    pub offsets: Vec<usize>,
}

impl Pattern {
    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// Which writes are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VerifyPolicy {
    /// All that came back without an error.
    #[default]
    Completed,
    /// Those that a flush of their file has followed.
    Synced,
}

/// The layout of headers and state files, by the version of fio that reads them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VerifyFormat {
    /// 48 bytes of header, state files of version 7: fio 3.42.
    #[default]
    Fio3_42,
    /// 40 bytes of header, state files of version 3: fio 3.33.
    Fio3_33,
}

/// How blocks are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VerifyMethod {
    /// A header with a digest over the payload.
    Digest(Digest),
    /// Only the header.
    Meta,
    /// The pattern, without a header.
    Pattern,
    /// The pattern behind a header.
    PatternHeader,
    /// Read back, compare nothing.
    #[default]
    Null,
}

/// The digests that fio knows.
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

//! Write, then read back and compare.

/// Write, then read back and compare.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifyPlan {
    /// The check.
    pub method: VerifyMethod,
    /// Run the check phase.
    pub check: bool,
    /// Bytes per header; `None` for one per block.
    pub interval: Option<u32>,
    /// Pattern of the payload.
    pub pattern: Vec<u8>,
    /// Check so many blocks after as many were written, instead of at the end.
    pub backlog: Option<u64>,
}

/// How blocks are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

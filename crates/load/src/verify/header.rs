//! The 48 bytes in front of every verified block, laid out as fio 3.42 does: little endian,
//! magic u16, version u8, type u8, length u32, seed u64, offset u64, seconds u32, nanoseconds u32, write number u64,
//! worker u16, padding u16, and the CRC-32C of the 44 bytes before it.

use super::{Expected, Fault, digest};
use job::plan::{Digest, VerifyMethod};

/// Bytes of the header.
pub(super) const HEADER: usize = 48;
const MAGIC: u16 = 0xacca;
const VERSION: u8 = 0x81;

/// What a block says of itself.
pub(super) struct Header {
    pub(super) method: VerifyMethod,
    pub(super) length: u32,
    pub(super) seed: u64,
    pub(super) offset: u64,
    pub(super) seconds: u32,
    pub(super) nanoseconds: u32,
    pub(super) sequence: u64,
    pub(super) worker: u16,
}

impl Header {
    pub(super) fn to_bytes(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[0..2].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[2] = VERSION;
        bytes[3] = method_number(self.method);
        bytes[4..8].copy_from_slice(&self.length.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.seed.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.seconds.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.nanoseconds.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[40..42].copy_from_slice(&self.worker.to_le_bytes());
        let checksum = digest::crc32c(&bytes[..44]);
        bytes[44..48].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }
}

/// Judges a header, in the order in which a wrong block is best explained: is it one of ours at all, of the right kind
/// and size, whole, from this place, from this write.
pub(super) fn check(bytes: &[u8], method: VerifyMethod, length: u64, expected: Expected) -> Result<(), Fault> {
    let number = |range: std::ops::Range<usize>| {
        bytes[range].iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte))
    };
    let must = |field: &'static str, found: u64, expected: u64| {
        if found == expected { Ok(()) } else { Err(Fault::Header { field, found, expected }) }
    };
    must("magic", number(0..2), u64::from(MAGIC))?;
    must("version", number(2..3), u64::from(VERSION))?;
    must("type", number(3..4), u64::from(method_number(method)))?;
    must("length", number(4..8), length)?;
    must("header checksum", number(44..48), u64::from(digest::crc32c(&bytes[..44])))?;
    must("offset", number(16..24), expected.offset)?;
    match expected.sequence {
        Some(sequence) => must("sequence", number(32..40), sequence),
        None => Ok(()),
    }
}

/// The kinds and their numbers on disk.
const METHODS: [(VerifyMethod, u8, &str); 17] = [
    (VerifyMethod::Meta, 1, "meta"),
    (VerifyMethod::Digest(Digest::Md5), 2, "md5"),
    (VerifyMethod::Digest(Digest::Crc64), 3, "crc64"),
    (VerifyMethod::Digest(Digest::Crc32), 4, "crc32"),
    (VerifyMethod::Digest(Digest::Crc32c), 5, "crc32c"),
    (VerifyMethod::Digest(Digest::Crc16), 7, "crc16"),
    (VerifyMethod::Digest(Digest::Crc7), 8, "crc7"),
    (VerifyMethod::Digest(Digest::Sha256), 9, "sha256"),
    (VerifyMethod::Digest(Digest::Sha512), 10, "sha512"),
    (VerifyMethod::Digest(Digest::Sha3_224), 11, "sha3-224"),
    (VerifyMethod::Digest(Digest::Sha3_256), 12, "sha3-256"),
    (VerifyMethod::Digest(Digest::Sha3_384), 13, "sha3-384"),
    (VerifyMethod::Digest(Digest::Sha3_512), 14, "sha3-512"),
    (VerifyMethod::Digest(Digest::XxHash), 15, "xxhash"),
    (VerifyMethod::Digest(Digest::Sha1), 16, "sha1"),
    (VerifyMethod::PatternHeader, 17, "pattern_hdr"),
    (VerifyMethod::Pattern, 18, "pattern"),
];

fn method_number(method: VerifyMethod) -> u8 {
    METHODS.iter().find(|row| row.0 == method).map_or(0, |row| row.1)
}

/// The word for a method, as in `verify=`.
pub(super) fn method_word(method: VerifyMethod) -> &'static str {
    METHODS.iter().find(|row| row.0 == method).map_or("null", |row| row.2)
}

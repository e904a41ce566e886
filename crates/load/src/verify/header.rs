//! The header at the start of every verified block, in little endian, in one of two formats.
//!
//! fio 3.42, 48 bytes: magic u16, version u8, type u8, length u32, seed u64, offset u64, seconds u32, nanoseconds u32,
//! write number u64, worker u16, padding u16, and the CRC-32C of the 44 bytes before it. fio 3.33, 40 bytes: magic u16,
//! type u16, the same fields up to the nanoseconds, worker u16, write number u16, and the CRC-32C of the 36 bytes
//! before it. The version distinguishes the two: it is larger than any type. fio numbers writes from 0, plumb from 1.

use super::{Expected, Fault, digest};
use plan::{Digest, VerifyFormat, VerifyMethod};

/// Bytes of the longer header.
pub(super) const LONGEST: usize = 48;
const MAGIC: u16 = 0xacca;
const VERSION: u8 = 0x81;

/// Bytes of the header in this format.
pub(super) const fn length(format: VerifyFormat) -> usize {
    match format {
        VerifyFormat::Fio3_42 => LONGEST,
        VerifyFormat::Fio3_33 => 40,
    }
}

/// The fields of a header.
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
    /// Writes the header to the start of a block.
    pub(super) fn write(&self, format: VerifyFormat, block: &mut [u8]) {
        let bytes = &mut block[..length(format)];
        bytes[0..2].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.length.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.seed.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.seconds.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.nanoseconds.to_le_bytes());
        let number = self.sequence.wrapping_sub(1).to_le_bytes();
        match format {
            VerifyFormat::Fio3_42 => {
                (bytes[2], bytes[3]) = (VERSION, method_number(self.method));
                bytes[32..40].copy_from_slice(&number);
                bytes[40..42].copy_from_slice(&self.worker.to_le_bytes());
                bytes[42..44].fill(0);
            }
            VerifyFormat::Fio3_33 => {
                (bytes[2], bytes[3]) = (method_number(self.method), 0);
                bytes[32..34].copy_from_slice(&self.worker.to_le_bytes());
                bytes[34..36].copy_from_slice(&number[..2]);
            }
        }
        let (before, checksum) = bytes.split_at_mut(length(format) - 4);
        checksum.copy_from_slice(&digest::crc32c(before).to_le_bytes());
    }
}

/// The format of the header at the start of `block`; `format` if it cannot be recognised.
pub(super) fn format_of(block: &[u8], format: VerifyFormat) -> VerifyFormat {
    match block {
        [0xca, 0xac, VERSION, ..] => VerifyFormat::Fio3_42,
        [0xca, 0xac, method, 0, ..] if METHODS.iter().any(|row| row.1 == *method) => VerifyFormat::Fio3_33,
        _ => format,
    }
}

/// The seed in a block's header.
pub(super) fn seed_of(block: &[u8]) -> u64 {
    number(&block[8..16])
}

/// The number of the write in a block's header; `None` where the format has room for its last digits alone.
pub(super) fn sequence_of(block: &[u8], format: VerifyFormat) -> Option<u64> {
    match format {
        VerifyFormat::Fio3_42 => Some(number(&block[32..40]).wrapping_add(1)),
        VerifyFormat::Fio3_33 => None,
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte))
}

/// Checks a header in fio's order: magic, version, length, seed, offset, number of the write, checksum. The type comes
/// last: if only that is wrong, the block was written with another method; a damaged one fails by the checksum.
pub(super) fn check(
    block: &[u8],
    format: VerifyFormat,
    method: VerifyMethod,
    expected: Expected,
    seed: Option<u64>,
) -> Result<(), Fault> {
    let must = |field: &'static str, found: u64, expected: u64| {
        if found == expected { Ok(()) } else { Err(Fault::Header { field, found, expected }) }
    };
    let kind = u64::from(method_number(method));
    let end = length(format) - 4;
    must("magic", number(&block[0..2]), u64::from(MAGIC))?;
    let found_kind = match format {
        VerifyFormat::Fio3_42 => {
            must("version", number(&block[2..3]), u64::from(VERSION))?;
            number(&block[3..4])
        }
        VerifyFormat::Fio3_33 => number(&block[2..4]),
    };
    must("length", number(&block[4..8]), block.len() as u64)?;
    if let Some(seed) = seed {
        must("rand_seed", seed_of(block), seed)?;
    }
    must("offset", number(&block[16..24]), expected.offset)?;
    if let Some(sequence) = expected.sequence {
        let wanted = sequence.wrapping_sub(1);
        match format {
            VerifyFormat::Fio3_42 => must("numberio", number(&block[32..40]), wanted)?,
            VerifyFormat::Fio3_33 => must("numberio", number(&block[34..36]), wanted & 0xffff)?,
        }
    }
    must("crc", number(&block[end..end + 4]), u64::from(digest::crc32c(&block[..end])))?;
    must("type", found_kind, kind)
}

/// The verify methods, their numbers on disk, and their names.
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

/// The name of a method, as in `verify=`.
pub(super) fn method_word(method: VerifyMethod) -> &'static str {
    METHODS.iter().find(|row| row.0 == method).map_or("null", |row| row.2)
}

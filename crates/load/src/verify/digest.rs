//! The digests of the verify options, each as fio stores it on disk.
//!
//! The parameters were determined from blocks that fio 3.33 wrote with a known payload: crc32 is the unreflected
//! polynomial with initial value zero, sha1 is stored as five words in host order, the seed of xxhash is 1. fio's
//! sha256 takes 64 bytes: the last byte of each word of a SHA-256 whose length was appended in little endian, then the
//! rest of the last block that was hashed. Its sha512 takes 128 bytes and is not a digest: it holds the first and the
//! last bytes of the payload, and detects no damage between them. plumb uses SHA-512, unless blocks are to be read by
//! fio.

use crc::{Algorithm, CRC_16_ARC, Crc, Table};
use md5::Md5;
use plan::Digest;
use sha1::Sha1;
use sha2::Sha512;
use sha3::{Digest as _, Sha3_224, Sha3_256, Sha3_384, Sha3_512};

/// The longest digest, in bytes.
pub(super) const LONGEST: usize = 128;
/// Block sizes of SHA-256 and of SHA-512.
const BLOCK_256: usize = 64;
const BLOCK_512: usize = 128;

/// Width and polynomial as in the catalogue of CRC algorithms; fio starts from zero and inverts nothing.
const CRC_7: Algorithm<u8> =
    Algorithm { width: 7, poly: 0x09, init: 0, refin: false, refout: false, xorout: 0, check: 0x75, residue: 0 };
const CRC_32: Algorithm<u32> = Algorithm {
    width: 32,
    poly: 0x04c1_1db7,
    init: 0,
    refin: false,
    refout: false,
    xorout: 0,
    check: 0x89a1_897f,
    residue: 0,
};
const CRC_64: Algorithm<u64> = Algorithm {
    width: 64,
    poly: 0xad93_d235_94c9_35a9,
    init: 0,
    refin: true,
    refout: true,
    xorout: 0,
    check: 0xe9c6_d914_c4b8_d9ca,
    residue: 0,
};

static CRC_7_TABLE: Crc<u8> = Crc::<u8>::new(&CRC_7);
static CRC_16_TABLE: Crc<u16, Table<16>> = Crc::<u16, Table<16>>::new(&CRC_16_ARC);
static CRC_32_TABLE: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32);
static CRC_64_TABLE: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64);

/// Bytes of a digest after the header.
pub(super) const fn length(digest: Digest) -> usize {
    match digest {
        Digest::Crc7 => 1,
        Digest::Crc16 => 2,
        Digest::Crc32 | Digest::Crc32c | Digest::XxHash => 4,
        Digest::Crc64 => 8,
        Digest::Md5 => 16,
        Digest::Sha1 => 20,
        Digest::Sha3_224 => 28,
        Digest::Sha3_256 => 32,
        Digest::Sha3_384 => 48,
        Digest::Sha3_512 => 64,
        Digest::Sha256 => BLOCK_256,
        Digest::Sha512 => BLOCK_512,
    }
}

/// The digest of `payload`; only the first [`length`] bytes are used.
pub(super) fn of(digest: Digest, payload: &[u8]) -> [u8; LONGEST] {
    let mut out = [0; LONGEST];
    let mut put = |bytes: &[u8]| out[..bytes.len()].copy_from_slice(bytes);
    match digest {
        Digest::Crc7 => put(&[CRC_7_TABLE.checksum(payload)]),
        Digest::Crc16 => put(&CRC_16_TABLE.checksum(payload).to_le_bytes()),
        Digest::Crc32 => put(&CRC_32_TABLE.checksum(payload).to_le_bytes()),
        Digest::Crc32c => put(&crc32c(payload).to_le_bytes()),
        Digest::Crc64 => put(&CRC_64_TABLE.checksum(payload).to_le_bytes()),
        Digest::XxHash => put(&xxhash_rust::xxh32::xxh32(payload, 1).to_le_bytes()),
        Digest::Md5 => put(&Md5::digest(payload)),
        Digest::Sha1 => {
            let mut words = Sha1::digest(payload);
            words.chunks_exact_mut(4).for_each(<[u8]>::reverse);
            put(&words);
        }
        Digest::Sha256 => put(&sha256(payload)),
        Digest::Sha512 => put(&Sha512::digest(payload)),
        Digest::Sha3_224 => put(&Sha3_224::digest(payload)),
        Digest::Sha3_256 => put(&Sha3_256::digest(payload)),
        Digest::Sha3_384 => put(&Sha3_384::digest(payload)),
        Digest::Sha3_512 => put(&Sha3_512::digest(payload)),
    }
    out
}

/// The bytes that fio stores for sha256.
fn sha256(payload: &[u8]) -> [u8; BLOCK_256] {
    let mut state =
        [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];
    let mut compress = |block: &[u8; BLOCK_256]| sha2::compress256(&mut state, &[(*block).into()]);
    let (blocks, rest) = payload.as_chunks::<BLOCK_256>();
    blocks.iter().for_each(&mut compress);
    let mut last = [0; BLOCK_256];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x80;
    let length = BLOCK_256 - 8;
    if rest.len() >= length {
        compress(&last);
        last = [0; BLOCK_256];
    }
    last[length..].copy_from_slice(&(payload.len() as u64 * 8).to_le_bytes());
    compress(&last);
    for (byte, word) in last.iter_mut().zip(state) {
        *byte = word.to_be_bytes()[3];
    }
    last
}

/// The bytes that fio stores for sha512: its buffer, which held the first block and then the rest that fills no block.
/// `None` for payloads shorter than a block.
pub(super) fn fio_sha512(payload: &[u8]) -> Option<[u8; BLOCK_512]> {
    let (blocks, rest) = payload.as_chunks::<BLOCK_512>();
    let mut kept = *blocks.first()?;
    kept[..rest.len()].copy_from_slice(rest);
    Some(kept)
}

/// CRC-32C with initial value all ones, without the final inversion.
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    !crc32c::crc32c(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The payload of a 4 KiB block that fio 3.33 wrote with verify_pattern=0xdeadbeef and a header of `header` bytes.
    fn payload(header: usize) -> Vec<u8> {
        [0xde, 0xad, 0xbe, 0xef].into_iter().cycle().take(4096).skip(header).collect()
    }

    #[test]
    fn digests_equal_those_fio_wrote() {
        let cases: [(Digest, &[u8]); 7] = [
            (Digest::Crc7, &[0x0c]),
            (Digest::Crc16, &[0x2f, 0xfc]),
            (Digest::Crc32, &[0x5a, 0xca, 0x10, 0xd4]),
            (Digest::Crc32c, &[0xc1, 0x0d, 0xd6, 0x1a]),
            (Digest::Crc64, &[0x98, 0x71, 0x37, 0xa3, 0x9e, 0xd4, 0x5c, 0xe1]),
            (Digest::XxHash, &[0x2d, 0xd6, 0xb4, 0x00]),
            (
                Digest::Sha1,
                &[
                    0x02, 0x39, 0x9e, 0x9f, 0xe7, 0x6f, 0xb2, 0xbe, 0x33, 0xc3, 0x19, 0xbc, 0x70, 0xec, 0x7e, 0xa8,
                    0xb4, 0x10, 0xbe, 0x85,
                ],
            ),
        ];
        for (digest, expected) in cases {
            let ours = of(digest, &payload(40 + length(digest)));
            assert_eq!(&ours[..length(digest)], expected, "{digest:?}");
        }
    }

    #[test]
    fn sha256_is_what_fio_stores_where_the_rest_is_short() {
        // The rest of the payload is 24 bytes: 8 bytes of digest over them, 16 left, the end mark, zeros, the length in
        // bits.
        let mut expected = vec![0xf9, 0x06, 0x3f, 0x9b, 0x5d, 0x03, 0x44, 0xae];
        expected.extend([0xde, 0xad, 0xbe, 0xef].repeat(4));
        expected.push(0x80);
        expected.resize(56, 0);
        expected.extend([0xc0, 0x7c, 0, 0, 0, 0, 0, 0]);
        assert_eq!(of(Digest::Sha256, &payload(104))[..64], expected);
    }

    #[test]
    fn every_digest_changes_with_one_bit() {
        let mut text = payload(0);
        let all = [
            Digest::Md5,
            Digest::Crc7,
            Digest::Crc16,
            Digest::Crc32,
            Digest::Crc32c,
            Digest::Crc64,
            Digest::Sha1,
            Digest::Sha256,
            Digest::Sha512,
            Digest::Sha3_224,
            Digest::Sha3_256,
            Digest::Sha3_384,
            Digest::Sha3_512,
            Digest::XxHash,
        ];
        let before = all.map(|digest| of(digest, &text));
        text[2000] ^= 4;
        for (digest, before) in all.into_iter().zip(before) {
            assert_ne!(of(digest, &text), before, "{digest:?}");
        }
    }
}

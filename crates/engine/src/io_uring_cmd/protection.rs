//! Protection information of logical blocks, with a guard of 16 bits: guard, application tag and reference tag.

use crc::{CRC_16_T10_DIF, Crc, Table};

const GUARD: Crc<u16, Table<16>> = Crc::<u16, Table<16>>::new(&CRC_16_T10_DIF);

/// Bits of dword 12: the device makes and takes away protection information; it checks guard, application tag and
/// reference tag.
pub(super) const ACT: u32 = 1 << 29;
pub(super) const CHECK_GUARD: u32 = 1 << 28;
pub(super) const CHECK_APPLICATION: u32 = 1 << 27;
pub(super) const CHECK_REFERENCE: u32 = 1 << 26;

/// Kind and place of the protection information of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Protection {
    /// Type 1 to 3. In type 3 the reference tag has no meaning.
    pub(super) kind: u8,
    /// At the beginning of the metadata; otherwise at the end.
    pub(super) first: bool,
}

/// Tags that a job gives, and which fields it has checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tags {
    /// Bits of dword 12.
    pub(super) checks: u32,
    pub(super) application: u16,
    /// Bits of the application tag that are checked.
    pub(super) mask: u16,
}

impl Protection {
    /// Size in bytes.
    pub(super) const BYTES: u32 = 8;

    /// The reference tag of a block.
    #[expect(clippy::cast_possible_truncation, reason = "it is the lower half of the block's number")]
    pub(super) fn reference(self, block: u64) -> u32 {
        if self.kind == 3 { 0 } else { block as u32 }
    }

    /// Writes the protection information of a block into its metadata.
    pub(super) fn sign(self, tags: Tags, block: u64, data: &[u8], metadata: &mut [u8]) {
        let at = self.place(metadata);
        let guard = guard(data, &metadata[..at]);
        let tuple = &mut metadata[at..at + 8];
        tuple[..2].copy_from_slice(&guard.to_be_bytes());
        tuple[2..4].copy_from_slice(&tags.application.to_be_bytes());
        tuple[4..].copy_from_slice(&self.reference(block).to_be_bytes());
    }

    /// True if a block that was read has what the job has checked. An application tag of all ones says that the block
    /// is not protected.
    pub(super) fn holds(self, tags: Tags, block: u64, data: &[u8], metadata: &[u8]) -> bool {
        let at = self.place(metadata);
        let tuple = &metadata[at..at + 8];
        let application = u16::from_be_bytes([tuple[2], tuple[3]]);
        let reference = u32::from_be_bytes([tuple[4], tuple[5], tuple[6], tuple[7]]);
        if application == u16::MAX && (self.kind != 3 || reference == u32::MAX) {
            return true;
        }
        let wrong = [
            (CHECK_GUARD, tuple[..2] != guard(data, &metadata[..at]).to_be_bytes()),
            (CHECK_APPLICATION, (application ^ tags.application) & tags.mask != 0),
            (CHECK_REFERENCE, self.kind != 3 && reference != self.reference(block)),
        ];
        !wrong.into_iter().any(|(check, wrong)| wrong && tags.checks & check != 0)
    }

    fn place(self, metadata: &[u8]) -> usize {
        if self.first { 0 } else { metadata.len() - 8 }
    }
}

/// The guard covers the data, and the metadata before it.
fn guard(data: &[u8], before: &[u8]) -> u16 {
    let mut digest = GUARD.digest();
    digest.update(data);
    digest.update(before);
    digest.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Tags =
        Tags { checks: CHECK_GUARD | CHECK_APPLICATION | CHECK_REFERENCE, application: 0x1234, mask: 0xff00 };

    #[test]
    fn a_signed_block_holds_and_each_change_is_found() {
        for protection in [Protection { kind: 1, first: true }, Protection { kind: 2, first: false }] {
            let (mut data, mut metadata) = ([7_u8; 512], [5_u8; 16]);
            protection.sign(ALL, 0x1_0000_0003, &data, &mut metadata);
            assert!(protection.holds(ALL, 3, &data, &metadata), "the upper half is not in the tag");
            assert!(!protection.holds(ALL, 4, &data, &metadata));
            assert!(protection.holds(Tags { application: 0x12ff, ..ALL }, 3, &data, &metadata), "masked");
            assert!(!protection.holds(Tags { application: 0x1334, ..ALL }, 3, &data, &metadata));
            data[100] = 8;
            assert!(!protection.holds(ALL, 3, &data, &metadata));
            assert!(protection.holds(Tags { checks: CHECK_REFERENCE, ..ALL }, 3, &data, &metadata));
            metadata.fill(0xff);
            assert!(protection.holds(ALL, 3, &data, &metadata), "not protected");
        }
    }

    #[test]
    fn the_guard_is_that_of_t10() {
        // Annex of SBC: 32 bytes of zeros, and of ones.
        assert_eq!(guard(&[0; 32], &[]), 0);
        assert_eq!(guard(&[0xff; 32], &[]), 0xa293);
        assert_eq!(guard(b"1234", b"56789"), 0xd0db, "the check value of CRC-16/T10-DIF");
    }

    #[test]
    fn the_guard_covers_metadata_before_it_and_none_behind() {
        let (data, mut metadata) = ([0_u8; 512], [0_u8; 64]);
        for (first, holds) in [(true, true), (false, false)] {
            let protection = Protection { kind: 1, first };
            protection.sign(ALL, 0, &data, &mut metadata);
            metadata[20] ^= 1;
            assert_eq!(protection.holds(ALL, 0, &data, &metadata), holds);
        }
    }
}

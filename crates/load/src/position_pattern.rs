//! Data that is determined by the position in a file, and its check.

use measure::split_mix;
use plan::PlacedBytes;

/// Bytes that are generated together.
const WORD: usize = 8;

/// A byte that differs from the data of its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// The value that was read.
    pub found: u8,
    /// The value that was expected.
    pub expected: u8,
}

/// The word at a position of a file.
fn word(plan: &PlacedBytes, position: u64) -> u64 {
    let record = u64::from(plan.record.max(1));
    let inside = position % record;
    let everywhere = u64::from(plan.everywhere);
    let within = everywhere + u64::from(plan.within);
    let across = within + u64::from(plan.across);
    let drawn = |from: u64, position: u64| split_mix(split_mix(from) ^ position);
    let word = match inside {
        // A separate stream (the inverted seed): a position in a record is also a position in the first record of a
        // file.
        _ if inside < everywhere => drawn(!plan.set, inside),
        _ if inside < within => drawn(!plan.own, inside),
        _ if inside < across => drawn(plan.set, position),
        _ if inside < record.saturating_sub(u64::from(plan.zeros)) => drawn(plan.own, position),
        _ => 0,
    };
    with_zeros(word, plan.zero_words_percent)
}

/// Sets this percentage of half words to zero.
fn with_zeros(word: u64, percent: u8) -> u64 {
    if percent == 0 {
        return word;
    }
    let drawn = split_mix(word);
    let keeps = |drawn: u64, half: u64| if drawn % 100 < u64::from(percent) { 0 } else { half };
    keeps(drawn & 0xffff_ffff, 0xffff_ffff) & word | keeps(drawn >> 32, 0xffff_ffff_0000_0000) & word
}

/// Fills a buffer with the data of `offset`.
pub(super) fn fill(plan: &PlacedBytes, offset: u64, buffer: &mut [u8]) {
    for (position, bytes) in (offset..).step_by(WORD).zip(buffer.chunks_mut(WORD)) {
        bytes.copy_from_slice(&word(plan, position).to_le_bytes()[..bytes.len()]);
    }
}

/// The first byte of data read from `offset` that differs from the data of its position.
pub(super) fn first_mismatch(plan: &PlacedBytes, offset: u64, buffer: &[u8]) -> Option<Mismatch> {
    for (position, bytes) in (offset..).step_by(WORD).zip(buffer.chunks(WORD)) {
        let expected = word(plan, position).to_le_bytes();
        if *bytes != expected[..bytes.len()] {
            let found = (position..).zip(bytes.iter().zip(expected)).find(|(_, (found, expected))| *found != expected);
            return found.map(|(offset, (&found, expected))| Mismatch { offset, found, expected });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: usize = 4096;

    fn file(plan: PlacedBytes) -> Vec<u8> {
        let mut bytes = vec![0; 8 * RECORD];
        for (offset, record) in (0..).step_by(RECORD).zip(bytes.chunks_mut(RECORD)) {
            fill(&plan, offset, record);
        }
        bytes
    }

    fn records(bytes: &[u8], from: usize, to: usize) -> Vec<&[u8]> {
        bytes.chunks(RECORD).map(|record| &record[from..to]).collect()
    }

    #[test]
    fn each_part_of_a_record_is_where_it_should_be_and_nowhere_else() {
        let plan = PlacedBytes {
            own: 1,
            set: 9,
            record: 4096,
            everywhere: 1024,
            within: 512,
            across: 512,
            zeros: 1024,
            ..PlacedBytes::default()
        };
        let (first, second) = (file(plan), file(PlacedBytes { own: 2, ..plan }));
        let same = |from, to| records(&first, from, to).iter().zip(records(&second, from, to)).all(|(a, b)| *a == b);
        let alike = |from, to| records(&first, from, to).windows(2).all(|pair| pair[0] == pair[1]);
        assert!(same(0, 1024) && alike(0, 1024));
        assert!(!same(1024, 1536) && alike(1024, 1536));
        assert!(same(1536, 2048) && !alike(1536, 2048));
        assert!(!same(2048, 3072) && !alike(2048, 3072));
        assert!(first.chunks(RECORD).all(|record| record[3072..].iter().all(|&byte| byte == 0)));
    }

    #[test]
    fn words_are_zero_as_the_percentage_says() {
        let plan = PlacedBytes { record: 4096, zero_words_percent: 40, ..PlacedBytes::default() };
        let zeros = file(plan).chunks(4).filter(|word| *word == [0; 4]).count();
        assert!(zeros.abs_diff(8192 * 40 / 100) < 200, "{zeros} of 8192");
    }

    #[test]
    fn every_byte_that_is_not_as_written_is_found() {
        let plan = PlacedBytes { own: 5, record: 4096, ..PlacedBytes::default() };
        let mut bytes = file(plan);
        assert_eq!(first_mismatch(&plan, 0, &bytes), None);
        assert_eq!(first_mismatch(&plan, 8192, &bytes[8192..8192 + 100]), None, "any length will do");
        bytes[9001] ^= 1;
        let found = first_mismatch(&plan, 0, &bytes).unwrap();
        assert_eq!((found.offset, found.found), (9001, bytes[9001]));
        assert_eq!(found.expected, found.found ^ 1);
        assert!(first_mismatch(&plan, 4096, &bytes[..4096]).is_some(), "a record that lies elsewhere");
    }
}

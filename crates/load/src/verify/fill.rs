//! The payload of blocks: data generated from a seed with fio's generator, or a pattern.

use super::Fault;
use plan::Pattern;

/// Multiplier from one group of four words to the next.
const STEP: u64 = 0x61c8_8646_80b5_83eb;
/// The words of a group are one word times these.
const TIMES: [u64; 4] = [1, 2, 3, 5];

/// Fills a block with the data of a seed.
pub(super) fn fill_random(block: &mut [u8], seed: u64) {
    let mut word = seed;
    let (groups, rest) = block.as_chunks_mut::<32>();
    for group in groups {
        for (bytes, times) in group.as_chunks_mut::<8>().0.iter_mut().zip(TIMES) {
            *bytes = word.wrapping_mul(times).to_le_bytes();
        }
        word = word.wrapping_mul(STEP);
    }
    for (bytes, times) in rest.chunks_mut(8).zip(TIMES) {
        bytes.copy_from_slice(&word.wrapping_mul(times).to_le_bytes()[..bytes.len()]);
    }
}

/// A pattern as it is placed in one I/O.
#[derive(Clone, Copy, Debug)]
pub(super) struct Laid<'a> {
    pattern: &'a Pattern,
    /// Offset of the I/O in the file, in bytes.
    offset: u64,
    /// The pattern restarts after this number of bytes.
    interval: usize,
}

impl<'a> Laid<'a> {
    pub(super) fn new(pattern: &'a Pattern, interval: Option<u32>, offset: u64) -> Self {
        Laid { pattern, offset, interval: interval.map_or(usize::MAX, |bytes| bytes as usize) }
    }

    /// Fills a whole I/O.
    pub(super) fn fill(&self, buffer: &mut [u8]) {
        let mut offset = self.offset;
        for part in buffer.chunks_mut(self.interval.min(buffer.len()).max(1)) {
            self.fill_part(part, offset);
            offset += part.len() as u64;
        }
    }

    /// Writes the pattern once, then copies what is there, doubling the length each time.
    fn fill_part(&self, part: &mut [u8], offset: u64) {
        let mut done = self.pattern.bytes.len().min(part.len());
        for (at, byte) in part[..done].iter_mut().enumerate() {
            *byte = self.byte(at, offset);
        }
        while done < part.len() {
            let more = done.min(part.len() - done);
            part.copy_within(..more, done);
            done += more;
        }
    }

    /// The byte at position `at` of a part that begins at file offset `offset`.
    fn byte(&self, at: usize, offset: u64) -> u8 {
        let at = at % self.pattern.bytes.len();
        let held = self.pattern.offsets.iter().find(|&&start| (start..start + 8).contains(&at));
        held.map_or(self.pattern.bytes[at], |start| offset.to_le_bytes()[at - start])
    }

    /// The byte at position `at` of the I/O.
    fn byte_of_io(&self, at: usize) -> u8 {
        let start = at / self.interval * self.interval;
        self.byte(at - start, self.offset + start as u64)
    }

    /// Compares the data of an I/O from position `start` on.
    pub(super) fn compare(&self, data: &[u8], start: usize) -> Result<(), Fault> {
        let period = self.pattern.bytes.len();
        let mut at = 0;
        while at < data.len() {
            let left_of_part = self.interval - (start + at) % self.interval;
            let part = &data[at..data.len().min(at.saturating_add(left_of_part))];
            let once = period.min(part.len());
            let wrong = (0..once).find(|&index| part[index] != self.byte_of_io(start + at + index));
            // If the first period is correct and the rest repeats it, the whole part is correct.
            if wrong.is_some() || part[once..] != part[..part.len() - once] {
                return Err(self.first_difference(part, start + at));
            }
            at += part.len();
        }
        Ok(())
    }

    #[cold]
    fn first_difference(&self, part: &[u8], start: usize) -> Fault {
        let wrong = (0..part.len()).find(|&index| part[index] != self.byte_of_io(start + index)).unwrap_or(0);
        Fault::Pattern { at: start + wrong, found: part[wrong], expected: self.byte_of_io(start + wrong) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_grows_from_a_seed_as_fio_lets_it_grow() {
        // Seed and words of a block that fio 3.33 wrote; its header covers the first 40 bytes.
        let mut block = [0; 96];
        fill_random(&mut block, 0x00a4_cc01_c509_543c);
        let words: Vec<u64> = block[40..].as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        let expected = [
            0xb1eb_2f24_682e_0e28,
            0x0ae0_c6b6_9c45_153c,
            0xbccb_f5db_0473_2364,
            0x020c_b327_9ae6_bb5c,
            0x0419_664f_35cd_76b8,
            0x0626_1976_d0b4_3214,
            0x0a3f_7fc6_0681_a8cc,
        ];
        assert_eq!(words, expected);
    }

    #[test]
    fn a_rest_is_the_beginning_of_what_would_follow() {
        let mut long = [0; 64];
        fill_random(&mut long, 77);
        for length in 0..64 {
            let mut short = vec![0; length];
            fill_random(&mut short, 77);
            assert_eq!(short, long[..length]);
        }
    }

    #[test]
    fn an_offset_in_a_pattern_is_that_of_the_io_or_of_its_part() {
        let pattern = Pattern { bytes: [vec![0xaa], vec![0; 8]].concat(), offsets: vec![1] };
        let mut whole = [0; 36];
        Laid::new(&pattern, None, 0x1234).fill(&mut whole);
        let one = [0xaa, 0x34, 0x12, 0, 0, 0, 0, 0, 0];
        assert_eq!(whole.to_vec(), one.repeat(4));
        let mut parts = [0; 24];
        Laid::new(&pattern, Some(12), 0x1000).fill(&mut parts);
        assert_eq!(parts[..12], [0xaa, 0, 0x10, 0, 0, 0, 0, 0, 0, 0xaa, 0, 0x10]);
        assert_eq!(parts[12..], [0xaa, 0x0c, 0x10, 0, 0, 0, 0, 0, 0, 0xaa, 0x0c, 0x10]);
    }

    #[test]
    fn every_changed_byte_of_a_pattern_is_found_where_it_is() {
        let pattern = Pattern { bytes: b"abc12345678".to_vec(), offsets: vec![3] };
        for interval in [None, Some(16), Some(7), Some(100)] {
            let laid = Laid::new(&pattern, interval, 0x0807_0605_0403_0201);
            let mut buffer = [0; 50];
            laid.fill(&mut buffer);
            for start in [0, 5, 16, 23] {
                assert_eq!(laid.compare(&buffer[start..], start), Ok(()), "{interval:?} from {start}");
                for at in start..50 {
                    let mut wrong = buffer;
                    wrong[at] ^= 0x80;
                    let found = laid.compare(&wrong[start..], start).unwrap_err();
                    let expected = Fault::Pattern { at, found: wrong[at], expected: buffer[at] };
                    assert_eq!(found, expected, "{interval:?} from {start}");
                }
            }
        }
    }
}

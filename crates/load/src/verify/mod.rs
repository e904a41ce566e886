//! Verification: the content of blocks that are written, and their check when they are read back.
//!
//! Owns the block format and the comparison. Which blocks are read back, and when, is decided by the load.

mod digest;
mod fault;
mod header;
pub mod state;
#[cfg(test)]
mod tests;

use header::Header;
use measure::{Nanos, split_mix};
use plan::{Digest, Pattern, VerifyFormat, VerifyMethod, VerifyPlan};

pub use fault::{Fault, Mismatch};

/// Writes and checks blocks according to a job's verify options.
#[derive(Clone, Debug)]
pub struct Verifier {
    plan: VerifyPlan,
    worker: u16,
    seed: u64,
}

/// The expected header fields of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Number of the write; `None` if the reader cannot know it.
    pub sequence: Option<u64>,
}

/// A block within an I/O: one header and the data that it covers.
#[derive(Clone, Copy, Debug)]
struct Piece<'a> {
    /// Start position in the I/O.
    start: usize,
    /// The pattern as placed in the I/O; `None` for random data.
    laid: Option<Laid<'a>>,
    expected: Expected,
}

/// The digest of these bytes as a header would hold it, followed by zeros.
pub fn digest_of(digest: Digest, payload: &[u8]) -> [u8; digest::LONGEST] {
    digest::of(digest, payload)
}

impl Verifier {
    /// A verifier for worker number `worker`; `seed` determines the random payload.
    pub fn new(plan: &VerifyPlan, worker: u32, seed: u64) -> Self {
        // The header has 16 bits for the worker, as in fio.
        Verifier { plan: plan.clone(), worker: u16::try_from(worker & 0xffff).unwrap_or(0), seed }
    }

    /// The smallest block that has room for this plan's header and digest, in bytes.
    pub fn smallest_block(plan: &VerifyPlan) -> usize {
        if !has_header(plan) {
            return 1;
        }
        plan.offset as usize + front(plan.method, plan.format)
    }

    /// Bytes of header and digest, which `verify_offset` swaps with others: it must not be less than this.
    pub fn front(plan: &VerifyPlan) -> usize {
        if has_header(plan) { front(plan.method, plan.format) } else { 0 }
    }

    /// Fills a buffer that is about to be written at `offset` as write number `sequence`.
    pub fn seal(&self, buffer: &mut [u8], offset: u64, sequence: u64, now: Nanos) {
        if let Some(laid) = self.laid(offset) {
            laid.fill(buffer);
        }
        let mut start = 0;
        while start < buffer.len() {
            let length = self.piece(buffer.len() - start);
            self.seal_block(&mut buffer[start..start + length], offset + start as u64, sequence, now);
            start += length;
        }
    }

    /// Checks a buffer that was read back.
    ///
    /// # Errors
    /// The first block in it that does not hold what was written.
    pub fn check(&self, buffer: &mut [u8], expected: Expected) -> Result<(), Mismatch> {
        let mut first = Ok(());
        self.check_each(buffer, expected, &mut |mismatch, _| {
            if first.is_ok() {
                first = Err(mismatch);
            }
        });
        first
    }

    /// Checks a buffer that was read back; calls `tell` for each block that does not hold what was written, with its
    /// bytes.
    pub fn check_each(&self, buffer: &mut [u8], expected: Expected, tell: &mut dyn FnMut(Mismatch, &[u8])) {
        let laid = self.laid(expected.offset);
        let mut start = 0;
        while start < buffer.len() {
            let length = self.piece(buffer.len() - start);
            let block = &mut buffer[start..start + length];
            let at = expected.offset + start as u64;
            let piece = Piece { start, laid, expected: Expected { offset: at, ..expected } };
            if let Err(fault) = self.check_block(block, piece) {
                tell(Mismatch { offset: at, length: length as u64, fault }, block);
            }
            start += length;
        }
    }

    /// The expected data of a block with a mismatch, as far as it is known: from the seed in its header, or from the
    /// number of the write.
    pub fn regenerate(&self, read: &[u8], request_offset: u64, expected: Expected) -> Vec<u8> {
        let mut block = read.to_vec();
        let start = usize::try_from(expected.offset - request_offset).unwrap_or(0);
        if let Some(laid) = self.laid(request_offset) {
            let mut whole = vec![0; start + block.len()];
            laid.fill(&mut whole);
            block.copy_from_slice(&whole[start..]);
        }
        if !has_header(&self.plan) {
            return block;
        }
        let format = header::format_of(read.get(self.plan.offset as usize..).unwrap_or(read), self.plan.format);
        let front = front(self.plan.method, format);
        if block.len() < front + self.plan.offset as usize {
            return block;
        }
        let mut held = read.to_vec();
        self.exchange(&mut held, front);
        let known = expected.sequence.map(|sequence| self.seed_of(expected.offset, sequence));
        if self.laid(0).is_none() {
            fill_random(&mut block, known.unwrap_or_else(|| header::seed_of(&held)));
        }
        block[..front].copy_from_slice(&held[..front]);
        self.put_digest(&mut block, format);
        self.exchange(&mut block, front);
        block
    }

    /// Length of the next block with a header, with `left` bytes remaining. A remainder too small for a header is part
    /// of the block before it.
    fn piece(&self, left: usize) -> usize {
        let interval = self.plan.interval.map_or(left, |interval| interval as usize).max(1);
        if left < interval.saturating_add(Self::smallest_block(&self.plan)) { left } else { interval }
    }

    fn laid(&self, offset: u64) -> Option<Laid<'_>> {
        let pattern = &self.plan.pattern;
        (!pattern.is_empty()).then(|| Laid::new(pattern, self.plan.pattern_interval, offset))
    }

    /// The seed of a block's data. It is odd, because the data are its multiples.
    fn seed_of(&self, offset: u64, sequence: u64) -> u64 {
        split_mix(self.seed ^ offset.rotate_left(17) ^ sequence) | 1
    }

    fn seal_block(&self, block: &mut [u8], offset: u64, sequence: u64, now: Nanos) {
        let seed = self.seed_of(offset, sequence);
        if self.plan.pattern.is_empty() {
            fill_random(block, seed);
        }
        if !has_header(&self.plan) || block.len() < Self::smallest_block(&self.plan) {
            return;
        }
        let header = Header {
            method: self.plan.method,
            length: u32::try_from(block.len()).unwrap_or(u32::MAX),
            seed,
            offset,
            seconds: u32::try_from(now.get() / Nanos::SECOND.get()).unwrap_or(u32::MAX),
            nanoseconds: u32::try_from(now.get() % Nanos::SECOND.get()).unwrap_or(0),
            sequence,
            worker: self.worker,
        };
        header.write(self.plan.format, block);
        self.put_digest(block, self.plan.format);
        self.exchange(block, front(self.plan.method, self.plan.format));
    }

    /// Writes the digest of the payload after a block's header.
    fn put_digest(&self, block: &mut [u8], format: VerifyFormat) {
        let VerifyMethod::Digest(digest) = self.plan.method else { return };
        let (place, payload) = block.split_at_mut(front(self.plan.method, format));
        let place = &mut place[header::length(format)..];
        let for_fio = digest == Digest::Sha512 && format == VerifyFormat::Fio3_33;
        let kept = if for_fio { digest::fio_sha512(payload) } else { None };
        place.copy_from_slice(&kept.unwrap_or_else(|| digest::of(digest, payload))[..digest::length(digest)]);
    }

    /// Swaps the bytes at the start with those where the header is to be (`verify_offset`). Doing it twice restores the
    /// block.
    fn exchange(&self, block: &mut [u8], front: usize) {
        let at = self.plan.offset as usize;
        if at >= front && block.len() >= at + front {
            let (head, rest) = block.split_at_mut(at);
            head[..front].swap_with_slice(&mut rest[..front]);
        }
    }

    fn check_block(&self, block: &mut [u8], piece: Piece<'_>) -> Result<(), Fault> {
        match (self.plan.method, piece.laid) {
            (VerifyMethod::Null, _) | (VerifyMethod::Pattern, None) => return Ok(()),
            (VerifyMethod::Pattern, Some(laid)) => return laid.compare(block, piece.start),
            _ => {}
        }
        let at = self.plan.offset as usize;
        let format = header::format_of(block.get(at..).unwrap_or_default(), self.plan.format);
        let front = front(self.plan.method, format);
        if block.len() < at + front {
            let expected = (at + front) as u64;
            return Err(Fault::Header { field: "length", found: block.len() as u64, expected });
        }
        self.exchange(block, front);
        let judged = self.check_sealed(block, piece, format, front);
        if judged.is_err() {
            self.exchange(block, front);
        }
        judged
    }

    /// Checks a block whose header is at its start.
    fn check_sealed(&self, block: &[u8], piece: Piece<'_>, format: VerifyFormat, front: usize) -> Result<(), Fault> {
        let Expected { offset, sequence } = piece.expected;
        // A reader that cannot know the number of the write takes that of the header, if it is there in full.
        let written = || sequence.or_else(|| header::sequence_of(block, format));
        let seed = if self.plan.seed { written().map(|sequence| self.seed_of(offset, sequence)) } else { None };
        let numbered = Expected { sequence: sequence.filter(|_| self.plan.sequence), offset };
        header::check(block, format, self.plan.method, numbered, seed)?;
        let payload = &block[front..];
        match (self.plan.method, piece.laid) {
            (VerifyMethod::Digest(digest), _) => {
                let stored = &block[header::length(format)..front];
                let computed = digest::of(digest, payload);
                let computed = &computed[..digest::length(digest)];
                if stored == computed
                    || (digest == Digest::Sha512 && digest::fio_sha512(payload).is_some_and(|kept| stored == kept))
                {
                    return Ok(());
                }
                let name = header::method_word(self.plan.method);
                Err(Fault::Digest { name, stored: fault::hex(stored), computed: fault::hex(computed) })
            }
            (_, Some(laid)) => laid.compare(payload, piece.start + front),
            _ => Ok(()),
        }
    }
}

const fn has_header(plan: &VerifyPlan) -> bool {
    !matches!(plan.method, VerifyMethod::Pattern | VerifyMethod::Null)
}

/// Bytes of header and digest.
const fn front(method: VerifyMethod, format: VerifyFormat) -> usize {
    header::length(format)
        + match method {
            VerifyMethod::Digest(digest) => digest::length(digest),
            _ => 0,
        }
}

/// Multiplier from one group of four words to the next.
const STEP: u64 = 0x61c8_8646_80b5_83eb;
/// The words of a group are one word times these.
const TIMES: [u64; 4] = [1, 2, 3, 5];

/// Fills a block with the data of a seed.
fn fill_random(block: &mut [u8], seed: u64) {
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
struct Laid<'a> {
    pattern: &'a Pattern,
    /// Offset of the I/O in the file, in bytes.
    offset: u64,
    /// The pattern restarts after this number of bytes.
    interval: usize,
}

impl<'a> Laid<'a> {
    fn new(pattern: &'a Pattern, interval: Option<u32>, offset: u64) -> Self {
        Laid { pattern, offset, interval: interval.map_or(usize::MAX, |bytes| bytes as usize) }
    }

    /// Fills a whole I/O.
    fn fill(&self, buffer: &mut [u8]) {
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
    fn compare(&self, data: &[u8], start: usize) -> Result<(), Fault> {
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
mod fill_tests {
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

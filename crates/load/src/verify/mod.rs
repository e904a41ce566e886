//! Verification: what is put into blocks before they are written, and how they are judged when they are read back.
//!
//! Owns the block format and the comparison. Which blocks are read back, and when, is the load's business.

mod digest;
mod fault;
mod fill;
mod header;
pub mod state;

pub use fault::{Fault, Mismatch};

use fill::Laid;
use header::Header;
use job::plan::{Digest, VerifyFormat, VerifyMethod, VerifyPlan};
use measure::Nanos;

/// Writes and judges blocks by one job's verify options.
#[derive(Clone, Debug)]
pub struct Verifier {
    plan: VerifyPlan,
    worker: u16,
    seed: u64,
}

/// What a block must say of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Where it was written, in bytes.
    pub offset: u64,
    /// The how-manieth write it was; `None` when the reader cannot know.
    pub sequence: Option<u64>,
}

/// A block within an I/O: one header and what it covers.
#[derive(Clone, Copy, Debug)]
struct Piece<'a> {
    /// Where it begins in the I/O.
    start: usize,
    /// The pattern as it lies in the I/O; `None` for random data.
    laid: Option<Laid<'a>>,
    expected: Expected,
}

/// The digest that a header would hold of these bytes, and zeros behind it.
pub fn digest_of(digest: Digest, payload: &[u8]) -> [u8; digest::LONGEST] {
    digest::of(digest, payload)
}

impl Verifier {
    /// A verifier for worker number `worker`; `seed` decides the random payload.
    pub fn new(plan: &VerifyPlan, worker: u32, seed: u64) -> Self {
        // The header has 16 bits for the worker, as fio's has.
        Verifier { plan: plan.clone(), worker: u16::try_from(worker & 0xffff).unwrap_or(0), seed }
    }

    /// The smallest block that can carry this plan's header and digest, in bytes.
    pub fn smallest_block(plan: &VerifyPlan) -> usize {
        if !has_header(plan) {
            return 1;
        }
        plan.offset as usize + front(plan.method, plan.format)
    }

    /// The bytes in front of the payload that `verify_offset` exchanges with others: it must not be less.
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

    /// Judges a buffer that was read back.
    ///
    /// # Errors
    /// The first block in it that is not what was written.
    pub fn check(&self, buffer: &mut [u8], expected: Expected) -> Result<(), Mismatch> {
        let mut first = Ok(());
        self.check_each(buffer, expected, &mut |mismatch, _| {
            if first.is_ok() {
                first = Err(mismatch);
            }
        });
        first
    }

    /// Judges a buffer that was read back; `tell` hears of each block that is not what was written, with its bytes.
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

    /// What a block that was found wrong should hold, so far as it can be known: by the seed in its header, or by the
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
            fill::fill_random(&mut block, known.unwrap_or_else(|| header::seed_of(&held)));
        }
        block[..front].copy_from_slice(&held[..front]);
        self.put_digest(&mut block, format);
        self.exchange(&mut block, front);
        block
    }

    /// How long the next piece with a header of its own is, with `left` bytes to go. A rest that could not hold a
    /// header belongs to the piece before it.
    fn piece(&self, left: usize) -> usize {
        let interval = self.plan.interval.map_or(left, |interval| interval as usize).max(1);
        if left < interval.saturating_add(Self::smallest_block(&self.plan)) { left } else { interval }
    }

    fn laid(&self, offset: u64) -> Option<Laid<'_>> {
        let pattern = &self.plan.pattern;
        (!pattern.is_empty()).then(|| Laid::new(pattern, self.plan.pattern_interval, offset))
    }

    /// The seed of a block's data. Odd, because the data are its multiples.
    fn seed_of(&self, offset: u64, sequence: u64) -> u64 {
        mix(self.seed ^ offset.rotate_left(17) ^ sequence) | 1
    }

    fn seal_block(&self, block: &mut [u8], offset: u64, sequence: u64, now: Nanos) {
        let seed = self.seed_of(offset, sequence);
        if self.plan.pattern.is_empty() {
            fill::fill_random(block, seed);
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

    /// Puts the digest of its payload behind a block's header.
    fn put_digest(&self, block: &mut [u8], format: VerifyFormat) {
        let VerifyMethod::Digest(digest) = self.plan.method else { return };
        let (place, payload) = block.split_at_mut(front(self.plan.method, format));
        let place = &mut place[header::length(format)..];
        let for_fio = digest == Digest::Sha512 && format == VerifyFormat::Fio3_33;
        let kept = if for_fio { digest::fio_sha512(payload) } else { None };
        place.copy_from_slice(&kept.unwrap_or_else(|| digest::of(digest, payload))[..digest::length(digest)]);
    }

    /// Exchanges the bytes in front with those where the header is to lie; twice is as before.
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

    /// Judges a block whose header is in front.
    fn check_sealed(&self, block: &[u8], piece: Piece<'_>, format: VerifyFormat, front: usize) -> Result<(), Fault> {
        let Expected { offset, sequence } = piece.expected;
        let seed = sequence.filter(|_| self.plan.seed).map(|sequence| self.seed_of(offset, sequence));
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

/// One round of splitmix64: neighbouring inputs give unrelated outputs.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests;

//! Verification: the content of blocks that are written, and their check when they are read back.
//!
//! Owns the block format and the comparison. Which blocks are read back, and when, is decided by the load.

mod digest;
mod fault;
mod fill;
mod header;
pub mod state;

pub use fault::{Fault, Mismatch};

use fill::Laid;
use header::Header;
use measure::{Nanos, split_mix};
use plan::{Digest, VerifyFormat, VerifyMethod, VerifyPlan};

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
            fill::fill_random(&mut block, known.unwrap_or_else(|| header::seed_of(&held)));
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

#[cfg(test)]
mod tests;

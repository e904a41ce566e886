//! Verification: what is put into blocks before they are written, and how they are judged when they are read back.
//!
//! Owns the block format and the comparison. Which blocks are read back, and when, is the load's business.

mod digest;
mod header;

use header::{HEADER, Header};
use job::plan::{VerifyMethod, VerifyPlan};
use measure::Nanos;
use std::fmt;

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

/// A block that is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Where in the file, in bytes.
    pub offset: u64,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A field of the header does not hold what it must.
    Header {
        /// Name of the field.
        field: &'static str,
        /// What it holds.
        found: u64,
        /// What it must hold.
        expected: u64,
    },
    /// The digest over the payload does not agree with the header's.
    Digest {
        /// Name of the digest.
        name: &'static str,
        /// As stored, in hex.
        stored: String,
        /// As computed from what was read, in hex.
        computed: String,
    },
    /// A byte differs from the pattern.
    Pattern {
        /// Where in the block.
        at: usize,
        /// What was read.
        found: u8,
        /// What was written.
        expected: u8,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = self.offset;
        match &self.fault {
            Fault::Header { field, found, expected } => {
                write!(f, "verify: bad header at offset {offset}: its {field} is {found:#x}, not {expected:#x}")
            }
            Fault::Digest { name, stored, computed } => {
                write!(f, "{name}: verify failed at offset {offset}: {stored} is stored, {computed} computed")
            }
            Fault::Pattern { at, found, expected } => {
                write!(
                    f,
                    "pattern: verify failed at offset {offset}: byte {at} is {found:#04x}, expected {expected:#04x}"
                )
            }
        }
    }
}

impl Verifier {
    /// A verifier for worker number `worker`; `seed` decides the random payload.
    pub fn new(plan: &VerifyPlan, worker: u32, seed: u64) -> Self {
        // The header has 16 bits for the worker, as fio's has.
        Verifier { plan: plan.clone(), worker: u16::try_from(worker & 0xffff).unwrap_or(0), seed }
    }

    /// The smallest block that can carry this plan's header and digest, in bytes.
    pub fn smallest_block(plan: &VerifyPlan) -> usize {
        match plan.method {
            VerifyMethod::Digest(digest) => HEADER + digest::length(digest),
            VerifyMethod::Meta | VerifyMethod::PatternHeader => HEADER,
            VerifyMethod::Pattern | VerifyMethod::Null => 1,
        }
    }

    /// Fills a buffer that is about to be written at `offset` as write number `sequence`.
    pub fn seal(&self, buffer: &mut [u8], offset: u64, sequence: u64, now: Nanos) {
        let (mut rest, mut at) = (buffer, offset);
        while !rest.is_empty() {
            let length = self.piece(rest.len());
            let (block, after) = rest.split_at_mut(length);
            self.seal_block(block, at, sequence, now);
            (rest, at) = (after, at + length as u64);
        }
    }

    /// Judges a buffer that was read back.
    ///
    /// # Errors
    /// The first block in it that is not what was written.
    pub fn check(&self, buffer: &[u8], expected: Expected) -> Result<(), Mismatch> {
        let (mut rest, mut at) = (buffer, expected.offset);
        while !rest.is_empty() {
            let length = self.piece(rest.len());
            let (block, after) = rest.split_at(length);
            self.check_block(block, Expected { offset: at, ..expected })
                .map_err(|fault| Mismatch { offset: at, fault })?;
            (rest, at) = (after, at + length as u64);
        }
        Ok(())
    }

    /// How long the next piece with a header of its own is, with `left` bytes to go. A rest that could not hold a
    /// header belongs to the piece before it.
    fn piece(&self, left: usize) -> usize {
        let interval = self.plan.interval.map_or(left, |interval| interval as usize).max(1);
        if left < interval.saturating_add(Self::smallest_block(&self.plan)) { left } else { interval }
    }

    fn seal_block(&self, block: &mut [u8], offset: u64, sequence: u64, now: Nanos) {
        let seed = mix(self.seed ^ offset.rotate_left(17) ^ sequence);
        let start = match self.plan.method {
            VerifyMethod::Pattern | VerifyMethod::Null => 0,
            _ => Self::smallest_block(&self.plan).min(block.len()),
        };
        if self.plan.pattern.is_empty() {
            fill_random(&mut block[start..], seed);
        } else {
            fill_pattern(&mut block[start..], &self.plan.pattern, start);
        }
        if matches!(self.plan.method, VerifyMethod::Pattern | VerifyMethod::Null) || block.len() < start {
            return;
        }
        let length = u32::try_from(block.len()).unwrap_or(u32::MAX);
        let header = Header {
            method: self.plan.method,
            length,
            seed,
            offset,
            seconds: u32::try_from(now.get() / Nanos::SECOND.get()).unwrap_or(u32::MAX),
            nanoseconds: u32::try_from(now.get() % Nanos::SECOND.get()).unwrap_or(0),
            sequence,
            worker: self.worker,
        };
        if let VerifyMethod::Digest(digest) = self.plan.method {
            let computed = digest::of(digest, &block[start..]);
            block[HEADER..start].copy_from_slice(&computed[..digest::length(digest)]);
        }
        block[..HEADER].copy_from_slice(&header.to_bytes());
    }

    fn check_block(&self, block: &[u8], expected: Expected) -> Result<(), Fault> {
        match self.plan.method {
            VerifyMethod::Null => return Ok(()),
            VerifyMethod::Pattern => return compare_pattern(block, &self.plan.pattern, 0),
            _ => {}
        }
        let start = Self::smallest_block(&self.plan);
        if block.len() < start {
            return Err(Fault::Header { field: "length", found: block.len() as u64, expected: start as u64 });
        }
        header::check(&block[..HEADER], self.plan.method, block.len() as u64, expected)?;
        match self.plan.method {
            VerifyMethod::Digest(digest) => {
                let computed = digest::of(digest, &block[start..]);
                let (stored, computed) = (&block[HEADER..start], &computed[..digest::length(digest)]);
                if stored == computed {
                    return Ok(());
                }
                let name = header::method_word(self.plan.method);
                Err(Fault::Digest { name, stored: hex(stored), computed: hex(computed) })
            }
            VerifyMethod::PatternHeader => compare_pattern(&block[start..], &self.plan.pattern, start),
            _ => Ok(()),
        }
    }
}

/// One round of splitmix64: neighbouring inputs give unrelated outputs.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

fn fill_random(payload: &mut [u8], seed: u64) {
    let mut state = seed;
    for chunk in payload.chunks_mut(8) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        chunk.copy_from_slice(&mix(state).to_le_bytes()[..chunk.len()]);
    }
}

/// Lays the pattern down in phase with the start of its block, so that a header only hides what it covers.
fn fill_pattern(payload: &mut [u8], pattern: &[u8], skipped: usize) {
    for (byte, wanted) in payload.iter_mut().zip(pattern.iter().cycle().skip(skipped % pattern.len().max(1))) {
        *byte = *wanted;
    }
}

fn compare_pattern(payload: &[u8], pattern: &[u8], skipped: usize) -> Result<(), Fault> {
    let wanted = pattern.iter().cycle().skip(skipped % pattern.len().max(1));
    match payload.iter().zip(wanted).position(|(found, wanted)| found != wanted) {
        None => Ok(()),
        Some(at) => Err(Fault::Pattern {
            at: at + skipped,
            found: payload[at],
            expected: pattern[(at + skipped) % pattern.len()],
        }),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        use fmt::Write;
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use job::plan::Digest;

    fn plan(method: VerifyMethod, interval: Option<u32>) -> VerifyPlan {
        VerifyPlan { method, check: true, interval, pattern: vec![0xca, 0xfe, 0x01], backlog: None }
    }

    const METHODS: [VerifyMethod; 6] = [
        VerifyMethod::Digest(Digest::Crc32c),
        VerifyMethod::Digest(Digest::Sha512),
        VerifyMethod::Digest(Digest::Crc7),
        VerifyMethod::Meta,
        VerifyMethod::Pattern,
        VerifyMethod::PatternHeader,
    ];

    fn sealed(method: VerifyMethod, interval: Option<u32>) -> (Verifier, Vec<u8>) {
        let verifier = Verifier::new(&plan(method, interval), 3, 99);
        let mut buffer = vec![0; 4096];
        verifier.seal(&mut buffer, 8192, 7, Nanos(1_500_000_000));
        (verifier, buffer)
    }

    #[test]
    fn what_was_sealed_passes() {
        for method in METHODS {
            // 4090 leaves 6 bytes over, 1000 leaves 96, 8192 is more than there is.
            for interval in [None, Some(512), Some(4090), Some(1000), Some(8192)] {
                let (verifier, buffer) = sealed(method, interval);
                let expected = Expected { offset: 8192, sequence: Some(7) };
                assert_eq!(verifier.check(&buffer, expected), Ok(()), "{method:?} {interval:?}");
            }
        }
    }

    #[test]
    fn a_changed_payload_byte_is_named_with_its_block() {
        for method in METHODS.into_iter().filter(|method| *method != VerifyMethod::Meta) {
            let (verifier, mut buffer) = sealed(method, Some(1024));
            buffer[2048 + 700] ^= 0x10;
            let mismatch = verifier.check(&buffer, Expected { offset: 8192, sequence: Some(7) }).unwrap_err();
            assert_eq!(mismatch.offset, 8192 + 2048, "{method:?}");
        }
    }

    #[test]
    fn a_rest_too_short_for_a_header_is_checked_with_the_piece_before_it() {
        let (verifier, mut buffer) = sealed(VerifyMethod::Digest(Digest::Crc32c), Some(4090));
        buffer[4095] ^= 1;
        assert!(verifier.check(&buffer, Expected { offset: 8192, sequence: Some(7) }).is_err());
    }

    #[test]
    fn a_block_from_elsewhere_or_from_an_earlier_write_fails_by_its_header() {
        for method in METHODS.into_iter().filter(|method| *method != VerifyMethod::Pattern) {
            let (verifier, buffer) = sealed(method, None);
            let field = |expected| match verifier.check(&buffer, expected) {
                Err(Mismatch { fault: Fault::Header { field, .. }, .. }) => field,
                other => panic!("{method:?}: {other:?}"),
            };
            assert_eq!(field(Expected { offset: 4096, sequence: Some(7) }), "offset");
            assert_eq!(field(Expected { offset: 8192, sequence: Some(8) }), "sequence");
        }
    }

    #[test]
    fn a_torn_header_fails_by_its_own_checksum() {
        let (verifier, mut buffer) = sealed(VerifyMethod::Meta, None);
        buffer[25] ^= 1;
        let mismatch = verifier.check(&buffer, Expected { offset: 8192, sequence: Some(7) }).unwrap_err();
        assert!(matches!(mismatch.fault, Fault::Header { field: "header checksum", .. }), "{mismatch}");
    }

    #[test]
    fn random_payload_depends_on_offset_and_write() {
        let mut random = plan(VerifyMethod::Digest(Digest::Md5), None);
        random.pattern.clear();
        let verifier = Verifier::new(&random, 1, 5);
        let payload = |offset, sequence| {
            let mut buffer = vec![0; 512];
            verifier.seal(&mut buffer, offset, sequence, Nanos::ZERO);
            buffer.split_off(64)
        };
        assert_ne!(payload(0, 1), payload(512, 1));
        assert_ne!(payload(0, 1), payload(0, 2));
        assert_eq!(payload(0, 1), payload(0, 1));
    }
}

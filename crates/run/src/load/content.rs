//! What write buffers hold: random words, zeros or a pattern, as compressible and as repetitive as the plan says.

use super::Request;
use super::random::{Purpose, Random, stream_seed};
use job::plan::{BufferPlan, Fill};
use measure::Nanos;

/// Scrambling changes one place in every so many bytes: the smallest piece that deduplication looks at.
const SECTOR: usize = 512;

/// Fills a worker's buffers.
#[derive(Debug)]
pub struct Content {
    fill: Fill,
    work: Work,
    random: Random,
    /// Percent of each piece that compresses to nothing.
    compress_percent: usize,
    /// Percent of pieces that repeat the one before.
    dedupe_percent: u64,
    /// Bytes per piece.
    piece: usize,
    repeats: Random,
    /// The seed of the piece before.
    last_piece: u64,
}

/// What each write asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Nothing,
    Scramble,
    Refill,
}

impl Content {
    /// Prepares the generators; `seed` and `number` are the worker's.
    pub fn new(plan: &BufferPlan, seed: u64, number: u32) -> Content {
        let work = match plan {
            BufferPlan { refill: true, fill: Fill::Random, .. } => Work::Refill,
            BufferPlan { scramble: true, .. } => Work::Scramble,
            _ => Work::Nothing,
        };
        Content {
            fill: plan.fill.clone(),
            work,
            random: Random::new(stream_seed(seed, number, Purpose::Content)),
            compress_percent: usize::from(plan.compress_percent.min(100)),
            dedupe_percent: u64::from(plan.dedupe_percent),
            piece: usize::try_from(plan.compress_chunk).unwrap_or(usize::MAX).max(SECTOR),
            repeats: Random::new(stream_seed(seed, number, Purpose::Repeat)),
            last_piece: 0,
        }
    }

    /// Whether [`Content::before_write`] never has anything to do.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.work == Work::Nothing
    }

    /// Fills a slot's buffer before the first I/O.
    pub fn prepare_start(&mut self, buffer: &mut [u8]) {
        if self.fill == Fill::Random && (self.compress_percent > 0 || self.dedupe_percent > 0) {
            self.fill_pieces(buffer);
        } else {
            match &self.fill {
                Fill::Random => fill_random(&mut self.random, buffer),
                Fill::Zero => buffer.fill(0),
                Fill::Pattern(pattern) => fill_pattern(pattern, buffer),
            }
        }
    }

    /// Makes the buffer of a write ready; `buffer` is as long as the request.
    #[inline]
    pub fn before_write(&mut self, buffer: &mut [u8], request: &Request, now: Nanos) {
        match self.work {
            Work::Nothing => {}
            Work::Scramble => scramble(buffer, request.offset, now),
            Work::Refill => self.prepare_start(buffer),
        }
    }

    /// Random bytes, then zeros, in every piece; some pieces repeat the one before.
    fn fill_pieces(&mut self, buffer: &mut [u8]) {
        for piece in buffer.chunks_mut(self.piece) {
            let repeat = self.repeats.below(100) < self.dedupe_percent;
            if !repeat || self.last_piece == 0 {
                self.last_piece = self.random.word();
            }
            let random = piece.len() - piece.len() * self.compress_percent / 100;
            let (random, rest) = piece.split_at_mut(random);
            fill_random(&mut Random::new(self.last_piece), random);
            rest.fill(0);
        }
    }
}

/// Writes the offset and the time into every sector: 8 and 16 bytes, so that no two writes are alike.
#[inline]
fn scramble(buffer: &mut [u8], offset: u64, now: Nanos) {
    let time = now.get();
    let mut at = offset;
    for sector in buffer.chunks_exact_mut(SECTOR) {
        sector[..8].copy_from_slice(&at.to_le_bytes());
        sector[8..16].copy_from_slice(&(time / 1_000_000_000).to_le_bytes());
        sector[16..24].copy_from_slice(&(time % 1_000_000_000).to_le_bytes());
        at += SECTOR as u64;
    }
}

fn fill_random(random: &mut Random, buffer: &mut [u8]) {
    let mut words = buffer.chunks_exact_mut(8);
    for word in &mut words {
        word.copy_from_slice(&random.word().to_le_bytes());
    }
    let rest = words.into_remainder();
    let last = random.word().to_le_bytes();
    rest.copy_from_slice(&last[..rest.len()]);
}

fn fill_pattern(pattern: &[u8], buffer: &mut [u8]) {
    if pattern.is_empty() {
        return buffer.fill(0);
    }
    for piece in buffer.chunks_mut(pattern.len()) {
        piece.copy_from_slice(&pattern[..piece.len()]);
    }
}

//! Random numbers for all decisions of a load, and the seeds that make these decisions independent.
//!
//! Offsets use separate generators (`tausworthe`, `lfsr`) because the job selects them; everything else uses this one.

use measure::split_mix;
use rand::TryRng;
use rand_distr::{Distribution, Exp1};
use std::convert::Infallible;

/// The use of a random stream. Streams of different purposes are not correlated.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    Offset = 1,
    Permutation,
    Size,
    Mix,
    Sequential,
    Gap,
    Content,
    Repeat,
    File,
    WorkingSet,
    Trim,
}

impl Purpose {
    /// All purposes.
    pub(super) const ALL: [Purpose; 11] = [
        Purpose::Offset,
        Purpose::Permutation,
        Purpose::Size,
        Purpose::Mix,
        Purpose::Sequential,
        Purpose::Gap,
        Purpose::Content,
        Purpose::Repeat,
        Purpose::File,
        Purpose::WorkingSet,
        Purpose::Trim,
    ];
}

/// The seed of one stream of one worker.
pub(super) const fn stream_seed(seed: u64, number: u32, purpose: Purpose) -> u64 {
    split_mix(split_mix(split_mix(seed) ^ (number as u64)) ^ (purpose as u64))
}

/// The wyrand generator (Wang Yi, public domain): one multiplication per 64 bits.
#[derive(Clone, Debug)]
pub(super) struct Random {
    state: u64,
}

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Random { state: seed }
    }

    #[inline]
    pub(super) fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0xa076_1d64_78bd_642f);
        let product = u128::from(self.state) * u128::from(self.state ^ 0xe703_7ed1_a0b4_28db);
        high(product) ^ low(product)
    }

    /// A number in `0..bound`; the bias is below `bound / 2^64`.
    #[inline]
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        scale(self.word(), bound)
    }

    /// A number in `0.0..1.0`, never 1.
    #[inline]
    pub(super) fn unit(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let numerator = (self.word() >> 11) as f64;
        numerator * (1.0 / (1u64 << 53) as f64)
    }

    /// A number in `0.0..=1.0`, never 0: its logarithm is finite.
    #[inline]
    pub(super) fn positive_unit(&mut self) -> f64 {
        1.0 - self.unit()
    }

    /// An exponential amount with mean 1, by the ziggurat: without a logarithm for 99 of 100.
    #[inline]
    pub(super) fn exponential(&mut self) -> f64 {
        Exp1.sample(self)
    }
}

/// For distributions of the library.
impl TryRng for Random {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|word| (word >> 32) as u32)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.word())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&self.word().to_le_bytes()[..part.len()]);
        }
        Ok(())
    }
}

/// Maps a 64-bit word to `0..bound` without a division (Lemire 2019).
#[inline]
pub(super) fn scale(word: u64, bound: u64) -> u64 {
    high(u128::from(word) * u128::from(bound))
}

#[inline]
const fn high(product: u128) -> u64 {
    (product >> 64) as u64
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is asked for")]
const fn low(product: u128) -> u64 {
    product as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_below_a_bound_are_even_within_four_sigma() {
        let mut random = Random::new(7);
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[usize::try_from(random.below(10)).unwrap()] += 1;
        }
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 380), "{counts:?}");
    }

    #[test]
    fn streams_of_different_purposes_share_no_words() {
        let mut first = Random::new(stream_seed(1, 1, Purpose::Offset));
        let mut second = Random::new(stream_seed(1, 1, Purpose::Mix));
        let words: std::collections::HashSet<u64> = (0..1000).map(|_| first.word()).collect();
        assert!((0..1000).all(|_| !words.contains(&second.word())));
    }
}

//! Random numbers for all decisions of a load, and the seeds that make these decisions independent.
//!
//! Offsets use separate generators ([`Tausworthe`], `lfsr`) because the job selects them; everything else uses
//! [`Random`]. Sources: P. L'Ecuyer, "Maximally equidistributed combined Tausworthe generators" (Math. Comp. 65, 1996)
//! for taus88 and "Tables of maximally equidistributed combined LFSR generators" (Math. Comp. 68, 1999) for LFSR258.

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

/// Draws block numbers.
#[derive(Clone, Debug)]
pub(super) enum Tausworthe {
    /// taus88: three components, 32 bits per draw, period 2^88.
    Bits32([u32; 3]),
    /// LFSR258: five components, 64 bits per draw, period 2^258.
    Bits64([u64; 5]),
}

impl Tausworthe {
    /// The 32-bit generator; `seed` is spread over its components.
    pub(super) fn bits32(seed: u64) -> Self {
        // Each component needs a bit above its lowest ones, or it stays zero forever.
        let word = |index: u64| u32::try_from(split_mix(seed.wrapping_add(index)) >> 32).unwrap_or(u32::MAX) | 0x100;
        Tausworthe::Bits32([word(1), word(2), word(3)])
    }

    /// The 64-bit generator.
    pub(super) fn bits64(seed: u64) -> Self {
        let word = |index: u64| split_mix(seed.wrapping_add(index)) | (1 << 32);
        Tausworthe::Bits64([word(1), word(2), word(3), word(4), word(5)])
    }

    /// A number in `0..bound`; for the 32-bit generator `bound` is at most 2^32.
    #[inline(always)]
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        match self {
            Tausworthe::Bits32(state) => (u64::from(step32(state)) * bound) >> 32,
            Tausworthe::Bits64(state) => scale(step64(state), bound),
        }
    }
}

#[inline(always)]
fn step32(state: &mut [u32; 3]) -> u32 {
    let [a, b, c] = state;
    *a = ((*a & 0xffff_fffe) << 12) ^ (((*a << 13) ^ *a) >> 19);
    *b = ((*b & 0xffff_fff8) << 4) ^ (((*b << 2) ^ *b) >> 25);
    *c = ((*c & 0xffff_fff0) << 17) ^ (((*c << 3) ^ *c) >> 11);
    *a ^ *b ^ *c
}

#[inline(never)]
fn step64(state: &mut [u64; 5]) -> u64 {
    let [a, b, c, d, e] = state;
    *a = ((*a & 0xffff_ffff_ffff_fffe) << 10) ^ (((*a << 1) ^ *a) >> 53);
    *b = ((*b & 0xffff_ffff_ffff_fe00) << 5) ^ (((*b << 24) ^ *b) >> 50);
    *c = ((*c & 0xffff_ffff_ffff_f000) << 29) ^ (((*c << 3) ^ *c) >> 23);
    *d = ((*d & 0xffff_ffff_fffe_0000) << 23) ^ (((*d << 5) ^ *d) >> 24);
    *e = ((*e & 0xffff_ffff_ff80_0000) << 8) ^ (((*e << 3) ^ *e) >> 33);
    *a ^ *b ^ *c ^ *d ^ *e
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

#[cfg(test)]
mod tausworthe_tests {
    use super::*;

    fn check_even(mut generator: Tausworthe, bound: u64) {
        let mut counts = [0u32; 16];
        for _ in 0..160_000 {
            let block = generator.below(bound);
            assert!(block < bound);
            counts[usize::try_from(u128::from(block) * 16 / u128::from(bound)).unwrap()] += 1;
        }
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 400), "{counts:?}");
    }

    #[test]
    fn draws_are_even_within_four_sigma() {
        check_even(Tausworthe::bits32(1), 1000 * 16);
        check_even(Tausworthe::bits32(2), 1 << 32);
        check_even(Tausworthe::bits64(3), 1 << 40);
    }
}

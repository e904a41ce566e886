//! A linear-feedback shift register: each period visits every block once, and all periods have the same order.

use measure::split_mix;

/// Lower coefficients of a primitive polynomial for each degree from 2 on: a register with such a polynomial visits
/// every state except 0.
const POLYNOMIALS: [u64; 55] = [
    0x3,
    0x3,
    0x3,
    0x5,
    0x3,
    0x3,
    0x87,
    0x11,
    0x9,
    0x5,
    0x107,
    0x27,
    0x1007,
    0x3,
    0x100b,
    0x9,
    0x81,
    0x27,
    0x9,
    0x5,
    0x3,
    0x21,
    0x87,
    0x9,
    0x47,
    0x27,
    0x9,
    0x5,
    0x80_0007,
    0x9,
    0x40_0007,
    0x2001,
    0x800_0007,
    0x5,
    0x801,
    0x207,
    0x200b,
    0x11,
    0x8_0000_0007,
    0x9,
    0x2000_0007,
    0x1007,
    0x40_0000_000b,
    0x1b,
    0x20b,
    0x21,
    0x1000_000b,
    0x201,
    0x1_0007,
    0x1000_0007,
    0x9,
    0x47,
    0x2_0007,
    0x100_0001,
    0x400_0000_0007,
];

/// The largest number of blocks of a register.
pub(super) const BLOCKS_MAX: u64 = 1 << 56;

/// A register over the blocks `0..blocks`. Its states are block numbers. Block 0, which is never a state of the
/// register, is appended at the end of each period.
#[derive(Clone, Debug)]
pub(super) struct Lfsr {
    last: u64,
    feedback: u64,
    first: u64,
    state: u64,
    blocks: u64,
    left: u64,
}

impl Lfsr {
    /// A register for `blocks` blocks, at most [`BLOCKS_MAX`]; `seed` selects the start of its cycle.
    pub(super) fn new(blocks: u64, seed: u64) -> Self {
        let last = blocks.saturating_sub(1).max(1);
        let degree = (64 - last.leading_zeros()).max(2);
        let lower = POLYNOMIALS[usize::try_from(degree - 2).unwrap_or(usize::MAX).min(POLYNOMIALS.len() - 1)];
        let first = split_mix(seed) % last + 1;
        Lfsr { last, feedback: ((1 << degree) | lower) >> 1, first, state: first, blocks, left: blocks }
    }

    /// The next block; `None` at the end of each period.
    #[inline]
    pub(super) fn next_block(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        if self.left == 0 {
            return Some(0);
        }
        let block = self.state;
        // States larger than the last block are skipped. The degree is the smallest that holds all blocks, so on
        // average less than every second state is skipped.
        loop {
            self.state = (self.state >> 1) ^ ((self.state & 1).wrapping_neg() & self.feedback);
            if self.state <= self.last {
                return Some(block);
            }
        }
    }

    /// Starts the same period again.
    pub(super) fn restart(&mut self) {
        self.state = self.first;
        self.left = self.blocks;
    }
}

/// A permutation of `0..blocks`. Applied to 0, 1, 2, …, it visits every block exactly once.
///
/// It works on the smallest power of two that holds `blocks`, with steps that are invertible (add, multiply by an odd
/// number, xor with the value's own upper bits), and is applied again while the result is outside the range (cycle
/// walking): less than two applications on average, one if `blocks` is a power of two. Four rounds with shifts of a
/// third of the bits are the fewest whose successive distances pass a chi-square test for every key tried; three rounds
/// do not pass.
#[derive(Clone, Debug)]
pub(super) struct Permutation {
    blocks: u64,
    mask: u64,
    shift: u32,
    add: u64,
    factors: [u64; 4],
}

impl Permutation {
    /// # Panics
    /// Never; with no blocks it maps 0 to 0.
    pub(super) fn new(blocks: u64, key: u64) -> Self {
        let bits = 64 - blocks.saturating_sub(1).leading_zeros();
        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        // Multipliers must be odd to be invertible; those that are 5 mod 8 mix the low bits best.
        let factor = |index: u64| (split_mix(key.wrapping_add(index)) & !7) | 5;
        Permutation {
            blocks: blocks.max(1),
            mask,
            shift: bits.div_ceil(3).max(1),
            add: split_mix(key),
            factors: [factor(1), factor(2), factor(3), factor(4)],
        }
    }

    /// The block at position `rank`, which must be less than the number of blocks.
    #[inline]
    pub(super) fn at(&self, rank: u64) -> u64 {
        let mut block = self.turn(rank);
        // Cycle walking terminates: the permutation of the larger range has cycles only, and the one through `rank`
        // returns to it, so it contains a value inside.
        while block >= self.blocks {
            block = self.turn(block);
        }
        block
    }

    #[inline]
    fn turn(&self, value: u64) -> u64 {
        let mut x = value.wrapping_add(self.add) & self.mask;
        for factor in self.factors {
            x = x.wrapping_mul(factor) & self.mask;
            x ^= x >> self.shift;
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_turn_visits_every_block_once(blocks in 1u64..5000, seed: u64) {
            let mut register = Lfsr::new(blocks, seed);
            let first: Vec<u64> = std::iter::from_fn(|| register.next_block()).collect();
            let mut sorted = first.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..blocks).collect::<Vec<_>>());
            register.restart();
            prop_assert_eq!(std::iter::from_fn(|| register.next_block()).collect::<Vec<_>>(), first);
        }
    }

    #[test]
    fn every_polynomial_is_primitive() {
        for (degree, lower) in (2u32..).zip(POLYNOMIALS) {
            let order = (1u64 << degree) - 1;
            assert_eq!(power_of_x(order, degree, lower), 1, "degree {degree}");
            for prime in prime_factors(order) {
                assert!(prime == order || power_of_x(order / prime, degree, lower) != 1, "degree {degree}");
            }
        }
    }

    fn power_of_x(exponent: u64, degree: u32, lower: u64) -> u64 {
        let (mut result, mut base, mut exponent) = (1, 2, exponent);
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = product(result, base, degree, lower);
            }
            base = product(base, base, degree, lower);
            exponent >>= 1;
        }
        result
    }

    fn product(a: u64, b: u64, degree: u32, lower: u64) -> u64 {
        let (mut a, mut b, mut result) = (a, b, 0);
        while b > 0 {
            if b & 1 == 1 {
                result ^= a;
            }
            b >>= 1;
            a <<= 1;
            if a >> degree & 1 == 1 {
                a ^= (1 << degree) | lower;
            }
        }
        result
    }

    fn prime_factors(number: u64) -> Vec<u64> {
        let (mut rest, mut candidate, mut primes) = (number, 3, Vec::new());
        while candidate * candidate <= rest {
            if rest % candidate == 0 {
                primes.push(candidate);
                rest /= candidate;
            } else {
                candidate += 2;
            }
        }
        if rest > 1 {
            primes.push(rest);
        }
        primes
    }
}

#[cfg(test)]
mod permutation_tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_block_comes_exactly_once(blocks in 1u64..5000, key: u64) {
            let permutation = Permutation::new(blocks, key);
            let mut seen = vec![false; usize::try_from(blocks).unwrap()];
            for rank in 0..blocks {
                let block = usize::try_from(permutation.at(rank)).unwrap();
                prop_assert!(!seen[block]);
                seen[block] = true;
            }
        }
    }

    #[test]
    fn neighbours_in_time_are_far_apart_in_space() {
        const BLOCKS: u64 = 1 << 16;
        for key in 0..16 {
            let permutation = Permutation::new(BLOCKS, key);
            let mut distances = [0u32; 16];
            for rank in 1..BLOCKS {
                let distance = permutation.at(rank).wrapping_sub(permutation.at(rank - 1)) % BLOCKS;
                distances[usize::try_from(distance * 16 / BLOCKS).unwrap()] += 1;
            }
            // Independent draws would put 4096 ± 62 in each sixteenth.
            assert!(distances.iter().all(|&count| count.abs_diff(4096) < 410), "key {key}: {distances:?}");
        }
    }

    #[test]
    fn huge_regions_stay_inside() {
        let permutation = Permutation::new((1 << 63) + 12345, 9);
        assert!((0..1000).all(|rank| permutation.at(rank) < (1 << 63) + 12345));
    }
}

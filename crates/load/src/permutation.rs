//! Every block once, in an order that looks random, without a map: a keyed bijection on block numbers.

use super::random::mix;

/// A permutation of `0..blocks`. Applying it to 0, 1, 2, … visits every block exactly once.
///
/// It works on the smallest power of two that holds `blocks` with steps that can be undone (add, multiply by an odd
/// number, xor with the own upper bits) and applies itself again while the result lies outside (cycle walking):
/// below two applications on average, one where `blocks` is a power of two. Four rounds with shifts of a third of the
/// bits are the fewest whose successive distances pass a chi-square test for every key tried; three do not.
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
    /// Never; a permutation of no blocks maps 0 to 0.
    pub(super) fn new(blocks: u64, key: u64) -> Self {
        let bits = 64 - blocks.saturating_sub(1).leading_zeros();
        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        // Multipliers need to be odd to be bijections, and 5 mod 8 mixes the low bits best.
        let factor = |index: u64| (mix(key.wrapping_add(index)) & !7) | 5;
        Permutation {
            blocks: blocks.max(1),
            mask,
            shift: bits.div_ceil(3).max(1),
            add: mix(key),
            factors: [factor(1), factor(2), factor(3), factor(4)],
        }
    }

    /// The block in place `rank`, which is below the number of blocks.
    #[inline]
    pub(super) fn at(&self, rank: u64) -> u64 {
        let mut block = self.turn(rank);
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
            // Independent draws put 4096 ± 62 in each sixteenth.
            assert!(distances.iter().all(|&count| count.abs_diff(4096) < 410), "key {key}: {distances:?}");
        }
    }

    #[test]
    fn huge_regions_stay_inside() {
        let permutation = Permutation::new((1 << 63) + 12345, 9);
        assert!((0..1000).all(|rank| permutation.at(rank) < (1 << 63) + 12345));
    }
}

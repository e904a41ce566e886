//! Locality: the hit ratio of a cache that keeps what was used last, for all its sizes at once, from a sample of blocks.
//!
//! A block is followed if a hash of its place says so, and distances are multiplied by the rate of the sample. What the
//! sample has too many or too few of is counted as hits at the least distance.
//! Source: Waldspurger et al., Efficient MRC construction with SHARDS, FAST'15.

use measure::float;
use model::TraceIo;
use plan::Operation;
use rustc_hash::FxHashMap;

/// Bytes of a block.
const BLOCK: u64 = 4096;
/// Blocks of one I/O that are looked at, at most.
const MOST_BLOCKS: u64 = 1 << 16;
/// Sizes of caches that are compared.
const SIZES: u32 = 8;

/// The blocks of a read or write, each with the number of its target.
pub(super) fn blocks(io: &TraceIo) -> impl Iterator<Item = u64> + use<> {
    let moves = matches!(io.operation, Operation::Read | Operation::Write);
    let (offset, target) = (io.offset.filter(|_| moves), u64::from(io.target) << 44);
    let first = offset.unwrap_or_default() / BLOCK;
    let end = offset.map_or(first, |offset| offset.saturating_add(io.bytes).div_ceil(BLOCK));
    (first..end.min(first.saturating_add(MOST_BLOCKS))).map(move |block| block ^ target)
}

/// A number that looks random for each block (the finalizer of SplitMix64).
fn hash(block: u64) -> u64 {
    let mixed = (block ^ (block >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Blocks in the order of their last use.
#[derive(Clone, Debug)]
pub(super) struct Stack {
    sample: u64,
    /// Place of the last use of each block.
    last: FxHashMap<u64, usize>,
    /// 1 for each place that is the last use of a block, as a tree of sums.
    tree: Vec<u32>,
    next: usize,
    /// Uses whose block was used before, by the binary digits of the number of blocks in between.
    hits: [f64; 65],
    touched: u64,
    followed: u64,
}

impl Stack {
    pub(super) fn new(sample: u64) -> Self {
        let (last, tree) = (FxHashMap::default(), vec![0; 1 << 12]);
        Stack { sample, last, tree, next: 0, hits: [0.0; 65], touched: 0, followed: 0 }
    }

    pub(super) fn add(&mut self, io: &TraceIo) {
        for block in blocks(io) {
            self.touched += 1;
            if self.sample == 1 || hash(block).is_multiple_of(self.sample) {
                self.touch(block);
            }
        }
    }

    fn touch(&mut self, block: u64) {
        if self.next == self.tree.len() - 1 {
            self.compact();
        }
        self.followed += 1;
        let place = self.next;
        self.next += 1;
        if let Some(before) = self.last.insert(block, place) {
            let between = self.last.len() as u64 - self.sum(before + 1);
            let distance = (between + 1) * self.sample;
            self.hits[(u64::BITS - (distance - 1).leading_zeros()) as usize] += 1.0;
            self.change(before, u32::MAX);
        }
        self.change(place, 1);
    }

    /// Adds 1, or takes it away.
    fn change(&mut self, place: usize, by: u32) {
        let mut at = place + 1;
        while at < self.tree.len() {
            self.tree[at] = self.tree[at].wrapping_add(by);
            at += at & at.wrapping_neg();
        }
    }

    /// The sum of the first places.
    fn sum(&self, places: usize) -> u64 {
        let (mut at, mut sum) = (places, 0);
        while at > 0 {
            sum += u64::from(self.tree[at]);
            at &= at - 1;
        }
        sum
    }

    /// Gives the blocks places without holes, and room for as many again.
    fn compact(&mut self) {
        let mut order: Vec<(usize, u64)> = self.last.iter().map(|(block, place)| (*place, *block)).collect();
        order.sort_unstable();
        self.tree = vec![0; (2 * order.len()).max(1 << 12)];
        self.next = order.len();
        for (place, (_, block)) in order.into_iter().enumerate() {
            self.last.insert(block, place);
            self.change(place, 1);
        }
    }

    /// Number of different blocks, as the sample has it.
    fn footprint(&self) -> u64 {
        self.last.len() as u64 * self.sample
    }

    /// Share of uses that a cache of 2^digits blocks answers.
    fn hit_ratio(&self, digits: u32) -> f64 {
        let expected = float(self.touched) / float(self.sample);
        let hits: f64 = self.hits[..=digits as usize].iter().sum();
        ((hits + expected - float(self.followed)) / expected).clamp(0.0, 1.0)
    }
}

/// Mean difference of the hit ratios at eight sizes, from the footprint of the original downwards; `None` if there are no
/// blocks.
pub(super) fn distance(original: &Stack, a: &Stack, b: &Stack) -> Option<f64> {
    let largest = u64::BITS - original.footprint().saturating_sub(1).leading_zeros();
    let sizes = largest.saturating_sub(SIZES - 1)..=largest;
    let count = f64::from(largest.min(SIZES - 1) + 1);
    let sum: f64 = sizes.map(|digits| f64::abs(a.hit_ratio(digits) - b.hit_ratio(digits))).sum();
    (a.touched > 0 && b.touched > 0).then_some(sum / count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Nanos;

    fn of(sample: u64, blocks: impl Iterator<Item = u64>) -> Stack {
        let mut stack = Stack::new(sample);
        for block in blocks {
            let (begin, operation, offset) = (Nanos::ZERO, Operation::Read, Some(block * BLOCK));
            stack.add(&TraceIo { begin, operation, offset, bytes: BLOCK, target: 0, latency: None, thread: None });
        }
        stack
    }

    #[test]
    fn a_loop_hits_in_a_cache_that_holds_it_and_in_no_smaller_one() {
        let stack = of(1, (0..100).flat_map(|_| 0..1024));
        assert!(stack.hit_ratio(9) < 1e-9, "{}", stack.hit_ratio(9));
        assert!((stack.hit_ratio(10) - 0.99).abs() < 1e-9, "{}", stack.hit_ratio(10));
        assert_eq!(stack.footprint(), 1024);
    }

    #[test]
    fn distances_are_those_of_a_search_through_all_uses() {
        let uses: Vec<u64> = (0..30_000_u64).map(|at| hash(at) % (1 + hash(at + 7) % 500)).collect();
        let stack = of(1, uses.iter().copied());
        let mut hits = [0.0; 65];
        let mut recent: Vec<u64> = Vec::new();
        for block in uses {
            if let Some(at) = recent.iter().position(|known| *known == block) {
                recent.remove(at);
                hits[(u64::BITS - (at as u64).leading_zeros()) as usize] += 1.0;
            }
            recent.insert(0, block);
        }
        assert_eq!(stack.hits, hits);
    }

    #[test]
    fn one_block_of_100_has_nearly_the_same_ratios() {
        let uses = || (0..2_000_000_u64).map(|at| hash(at) % (1 + hash(at + 7) % 200_000));
        let (whole, sample) = (of(1, uses()), of(100, uses()));
        let distance = distance(&whole, &whole, &sample).unwrap();
        assert!(distance < 0.04, "{distance}");
    }
}

//! The random map: which blocks of a region were used in this pass.

/// A bit per block, above it a bit per full word, and so on: a tree with 64 branches per node. The next free block is
/// found in at most two steps per level, however full the map is.
#[derive(Clone, Debug)]
pub(super) struct BlockMap {
    blocks: u64,
    free: u64,
    /// `levels[0]` has a bit per block, each next level a bit per word of the one below. A set bit means used.
    levels: Vec<Vec<u64>>,
}

impl BlockMap {
    /// A map of free blocks; `None` if it does not fit into memory.
    pub(super) fn new(blocks: u64) -> Option<Self> {
        let mut levels = Vec::new();
        let mut bits = blocks;
        loop {
            let words = bits.div_ceil(64).max(1);
            let room = usize::try_from(words).ok()?;
            let mut level: Vec<u64> = Vec::new();
            level.try_reserve_exact(room).ok()?;
            level.resize(room, 0);
            levels.push(level);
            if words == 1 {
                break;
            }
            bits = words;
        }
        let mut map = BlockMap { blocks, free: blocks, levels };
        map.close_tails();
        Some(map)
    }

    /// Frees every block.
    pub(super) fn clear(&mut self) {
        self.levels.iter_mut().for_each(|level| level.fill(0));
        self.free = self.blocks;
        self.close_tails();
    }

    /// True if no block is free.
    pub(super) const fn is_full(&self) -> bool {
        self.free == 0
    }

    /// The first free block at or after `block`, continuing at 0 after the last one; `None` if the map is full.
    pub(super) fn next_free(&self, block: u64) -> Option<u64> {
        if self.is_full() {
            return None;
        }
        self.free_from(block).or_else(|| self.free_from(0))
    }

    /// The number of consecutive free blocks from `block` on, at most `most`.
    pub(super) fn free_run(&self, block: u64, most: u64) -> u64 {
        let end = (block + most).min(self.blocks);
        let mut bit = block;
        while bit < end {
            let taken = self.levels[0][word(bit)] >> (bit % 64);
            let run = u64::from(taken.trailing_zeros()).min(64 - bit % 64);
            bit += run;
            if run == 0 || !bit.is_multiple_of(64) {
                break;
            }
        }
        bit.min(end) - block
    }

    /// Marks `count` blocks from `block` on as used; some may be used already.
    pub(super) fn take(&mut self, block: u64, count: u64) {
        let end = (block + count).min(self.blocks);
        let mut bit = block;
        while bit < end {
            let next = (bit / 64 * 64 + 64).min(end);
            let mask = (u64::MAX >> (64 - (next - bit))) << (bit % 64);
            let bits = &mut self.levels[0][word(bit)];
            self.free -= u64::from((mask & !*bits).count_ones());
            *bits |= mask;
            if *bits == u64::MAX {
                self.set(1, bit / 64);
            }
            bit = next;
        }
    }

    /// Sets a bit of a level; if its word is full then, sets the bit of that word in the next level, and so on.
    fn set(&mut self, level: usize, bit: u64) {
        let mut bit = bit;
        for words in self.levels.iter_mut().skip(level) {
            words[word(bit)] |= 1 << (bit % 64);
            if words[word(bit)] != u64::MAX {
                return;
            }
            bit /= 64;
        }
    }

    fn free_from(&self, block: u64) -> Option<u64> {
        let mut bit = block;
        let mut level = 0;
        // Go up until a word has a free bit at or after this position.
        loop {
            let words = self.levels.get(level)?;
            let open = if word(bit) < words.len() { !words[word(bit)] & (u64::MAX << (bit % 64)) } else { 0 };
            if open != 0 {
                bit = bit / 64 * 64 + u64::from(open.trailing_zeros());
                break;
            }
            bit = bit / 64 + 1;
            level += 1;
        }
        // Then go down again to the first free bit below it.
        while level > 0 {
            level -= 1;
            bit *= 64;
            bit += u64::from((!self.levels[level][word(bit)]).trailing_zeros());
        }
        Some(bit)
    }

    /// Marks bits beyond the end of a level as used.
    fn close_tails(&mut self) {
        let mut bits = self.blocks;
        for level in 0..self.levels.len() {
            let words = self.levels[level].len() as u64;
            for bit in bits..words * 64 {
                self.set(level, bit);
            }
            bits = words;
        }
    }
}

/// Index of the word that holds a bit.
const fn word(bit: u64) -> usize {
    (bit / 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_map_agrees_with_a_plain_list(blocks in 1u64..10_000, takes in prop::collection::vec((any::<u64>(), 1u64..200), 1..100)) {
            let mut map = BlockMap::new(blocks).unwrap();
            let mut plain = vec![false; usize::try_from(blocks).unwrap()];
            for (start, count) in takes {
                let start = start % blocks;
                let wrapped = (start..blocks).chain(0..start).find(|&b| !plain[usize::try_from(b).unwrap()]);
                prop_assert_eq!(map.next_free(start), wrapped);
                let run = (start..blocks.min(start + count)).take_while(|&b| !plain[usize::try_from(b).unwrap()]).count();
                prop_assert_eq!(map.free_run(start, count), run as u64);
                map.take(start, count);
                (start..blocks.min(start + count)).for_each(|b| plain[usize::try_from(b).unwrap()] = true);
                prop_assert_eq!(map.next_free(0).is_none(), plain.iter().all(|&taken| taken));
            }
            map.clear();
            prop_assert_eq!(map.free_run(0, blocks), blocks);
        }
    }

    #[test]
    fn a_large_map_fills_to_the_last_block() {
        let mut map = BlockMap::new(300_000).unwrap();
        let mut block = 0;
        let mut taken = 0;
        while let Some(free) = map.next_free(block) {
            map.take(free, 1);
            taken += 1;
            block = (free + 77_777) % 300_000;
        }
        assert_eq!(taken, 300_000);
    }
}

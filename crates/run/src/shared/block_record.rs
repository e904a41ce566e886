//! The block lifetimes of a worker (`block_error_percentiles`), in the fixed layout of the shared record.

use model::BlockLives;
use zerocopy::FromBytes;

/// The block lifetimes that a worker leaves in its record.
#[derive(Clone, Debug, FromBytes)]
#[repr(C)]
pub(crate) struct BlockRecord {
    present: u64,
    /// Number of blocks per state: unwritten, trimmed, written, trim failed, write failed.
    states: [u64; 5],
    count: u64,
    /// Pairs: trims until a failure, and the number of blocks that failed after that many.
    lifetimes: [[u64; 2]; BlockRecord::ROOM],
}

impl BlockRecord {
    /// Largest number of different lifetimes. If more occur, neighbours are merged under the longer lifetime.
    const ROOM: usize = 1024;

    /// Stores the lifetimes.
    pub(crate) fn keep(&mut self, found: &BlockLives) {
        self.present = 1;
        self.states = found.states().map(|(_, count)| count);
        let all: Vec<(u32, u64)> = found.lifetimes.iter().map(|(&trims, &count)| (trims, count)).collect();
        let together = all.len().div_ceil(Self::ROOM).max(1);
        self.count = 0;
        for (slot, neighbours) in self.lifetimes.iter_mut().zip(all.chunks(together)) {
            let longest = neighbours.last().map_or(0, |&(trims, _)| trims);
            *slot = [u64::from(longest), neighbours.iter().map(|&(_, count)| count).sum()];
            self.count += 1;
        }
    }

    /// The stored lifetimes; `None` if none were stored.
    pub(crate) fn found(&self) -> Option<BlockLives> {
        let [unwritten, trimmed, written, trim_failures, write_failures] = self.states;
        let kept = self.lifetimes.iter().take(usize::try_from(self.count).unwrap_or(Self::ROOM));
        let lifetimes = kept.map(|&[trims, count]| (u32::try_from(trims).unwrap_or(u32::MAX), count)).collect();
        let found = BlockLives { unwritten, trimmed, written, trim_failures, write_failures, lifetimes };
        (self.present != 0).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_again() {
        let mut record = BlockRecord::new_zeroed_box();
        assert_eq!(record.found(), None);
        let lives = BlockLives {
            unwritten: 2,
            trimmed: 1,
            written: 1,
            trim_failures: 1,
            write_failures: 1,
            lifetimes: [(0, 1), (3, 1)].into(),
        };
        record.keep(&lives);
        assert_eq!(record.found(), Some(lives));
    }

    #[test]
    fn lifetimes_beyond_the_room_are_shared_by_neighbours() {
        let mut record = BlockRecord::new_zeroed_box();
        record.keep(&BlockLives { lifetimes: (1..=3000).map(|trims| (trims, 2)).collect(), ..BlockLives::default() });
        let found = record.found().expect("it was kept");
        assert_eq!((found.lifetimes.len(), found.lifetimes.values().sum::<u64>()), (1000, 6000));
        assert_eq!(found.lifetimes.first_key_value(), Some((&3, &6)));
    }

    impl BlockRecord {
        fn new_zeroed_box() -> Box<BlockRecord> {
            Box::new(BlockRecord { present: 0, states: [0; 5], count: 0, lifetimes: [[0; 2]; BlockRecord::ROOM] })
        }
    }
}

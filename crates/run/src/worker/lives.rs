//! What becomes of each block of a job that trims (`block_error_percentiles`).
//!
//! Sees I/Os as a witness of the load, so the loop of a job without it does not know of it. A block is as large as the
//! smallest trim. What is issued counts as done until it is told to have failed; a block that failed stays failed.

use super::WorkerSetup;
use crate::files::refusal;
use engine::Operation;
use load::{RecordFailure, Region, Request, Witness};
use measure::{Direction, Nanos};
use model::{BlockLives, JobError};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use zerocopy::FromBytes;

/// The last thing that happened to a block. Its number is in the upper three bits of the block's word, where 0 is a
/// block that nothing happened to; the trims so far are in the others.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
enum State {
    Trimmed = 1,
    Written,
    TrimFailed,
    WriteFailed,
}

const SHIFT: u32 = 29;
const MOST_TRIMS: u32 = (1 << SHIFT) - 1;
/// A GiB of words.
const MOST_BLOCKS: u64 = 1 << 28;

/// The blocks of a worker's file, while it runs and afterwards. One writes at a time: a load and a store do.
#[derive(Debug)]
pub(super) struct Blocks {
    begin: u64,
    block: u64,
    words: Box<[AtomicU32]>,
}

impl Blocks {
    /// The blocks of a worker, where they are wanted; untouched.
    ///
    /// # Errors
    /// When the job has several files, or too many blocks.
    pub(super) fn of(setup: &WorkerSetup<'_>) -> Result<Option<Arc<Blocks>>, JobError> {
        let job = setup.plan.job;
        if !job.record.block_lives || !job.load.mix.contains(Direction::Trim) {
            return Ok(None);
        }
        let wrong = |what: String| Err(refusal(libc::EINVAL, "block_error_percentiles", what));
        let [file] = setup.files else {
            let count = setup.files.len();
            return wrong(format!("job `{}`: it looks at the blocks of one file, and the job has {count}", job.name));
        };
        let block = u64::from(job.load.block_size.trim.smallest());
        let region = file.region;
        if region.bytes() / block >= MOST_BLOCKS {
            let bytes = region.bytes();
            return wrong(format!("job `{}`: {bytes} bytes in blocks of {block}: make size smaller", job.name));
        }
        Ok(Some(Arc::new(Blocks::untouched(region, block))))
    }

    fn untouched(region: Region, block: u64) -> Blocks {
        let count = region.bytes().div_ceil(block);
        let words = (0..count).map(|_| AtomicU32::new(0)).collect();
        Blocks { begin: region.start, block, words }
    }

    /// The blocks that an I/O touches.
    fn touched(&self, request: &Request) -> &[AtomicU32] {
        let from = request.offset.saturating_sub(self.begin) / self.block;
        let last = (request.offset + u64::from(request.length.max(1)) - 1).saturating_sub(self.begin) / self.block;
        let range: RangeInclusive<usize> =
            usize::try_from(from).unwrap_or(usize::MAX)..=usize::try_from(last).unwrap_or(usize::MAX);
        self.words.get(range).unwrap_or_default()
    }

    fn issued(&self, request: &Request) {
        let (state, trims) = match request.operation {
            Operation::Trim => (State::Trimmed, 1),
            Operation::Write => (State::Written, 0),
            Operation::Read | Operation::Sync | Operation::DataSync => return,
        };
        for word in self.touched(request) {
            let now = word.load(Relaxed);
            if now >> SHIFT < State::TrimFailed as u32 {
                let trims = (now & MOST_TRIMS).saturating_add(trims).min(MOST_TRIMS);
                word.store((state as u32) << SHIFT | trims, Relaxed);
            }
        }
    }

    fn failed(&self, request: &Request) {
        let state = match request.operation {
            Operation::Trim => State::TrimFailed,
            Operation::Write => State::WriteFailed,
            Operation::Read | Operation::Sync | Operation::DataSync => return,
        };
        for word in self.touched(request) {
            let now = word.load(Relaxed);
            if now >> SHIFT < State::TrimFailed as u32 {
                word.store((state as u32) << SHIFT | now & MOST_TRIMS, Relaxed);
            }
        }
    }

    /// What became of all of them.
    pub(super) fn found(&self) -> BlockLives {
        let mut states = [0; 5];
        let mut lifetimes = BTreeMap::new();
        for word in &self.words {
            let word = word.load(Relaxed);
            states[(word >> SHIFT).min(4) as usize] += 1;
            if word >> SHIFT >= State::TrimFailed as u32 {
                *lifetimes.entry(word & MOST_TRIMS).or_default() += 1;
            }
        }
        let [unwritten, trimmed, written, trim_failures, write_failures] = states;
        BlockLives { unwritten, trimmed, written, trim_failures, write_failures, lifetimes }
    }
}

/// Who watches the blocks, beside whoever else watches the I/Os.
#[derive(Debug)]
pub(super) struct Watching {
    blocks: Arc<Blocks>,
    beside: Option<Box<dyn Witness>>,
}

impl Watching {
    pub(super) fn new(blocks: &Arc<Blocks>, beside: Option<Box<dyn Witness>>) -> Watching {
        Watching { blocks: Arc::clone(blocks), beside }
    }

    fn pass_on(&mut self, tell: impl FnOnce(&mut dyn Witness)) {
        if let Some(beside) = &mut self.beside {
            tell(beside.as_mut());
        }
    }
}

impl Witness for Watching {
    fn begin(&mut self, now: Nanos) {
        self.pass_on(|beside| beside.begin(now));
    }

    fn issued(&mut self, now: Nanos, request: &Request) {
        self.blocks.issued(request);
        self.pass_on(|beside| beside.issued(now, request));
    }

    fn reviewed(&mut self, now: Nanos, request: &Request) {
        self.pass_on(|beside| beside.reviewed(now, request));
    }

    fn completed(&mut self, request: &Request) {
        self.pass_on(|beside| beside.completed(request));
    }

    fn failed(&mut self, request: &Request) {
        self.blocks.failed(request);
        self.pass_on(|beside| beside.failed(request));
    }

    fn waits(&mut self, now: Nanos, until: Nanos) {
        self.pass_on(|beside| beside.waits(now, until));
    }

    fn told(&mut self, text: &str) {
        self.pass_on(|beside| beside.told(text));
    }

    fn finish(&mut self, now: Nanos) -> Result<(), RecordFailure> {
        self.beside.as_mut().map_or(Ok(()), |beside| beside.finish(now))
    }
}

/// What a worker leaves of its blocks.
#[derive(Clone, Debug, FromBytes)]
#[repr(C)]
pub(crate) struct BlockRecord {
    present: u64,
    /// Unwritten, trimmed, written, trims that failed, writes that failed.
    states: [u64; 5],
    count: u64,
    /// Trims until a failure, and blocks that failed after so many.
    lifetimes: [[u64; 2]; BlockRecord::ROOM],
}

impl BlockRecord {
    /// Where more different lifetimes than this were seen, neighbours share the longer of theirs.
    const ROOM: usize = 1024;

    /// Keeps what became of them.
    pub(super) fn keep(&mut self, found: &BlockLives) {
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

    /// What was kept; `None` where nothing was.
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
    fn a_block_lives_until_its_first_failure() {
        let region = Region { start: 8192, end: 8192 + 5 * 4096 + 1, reach: load::Reach::Whole };
        let blocks = Blocks::untouched(region, 4096);
        let io = |operation, offset, length| Request { operation, target: 0, offset, length };
        // The first is trimmed three times, the last time in vain, and nothing that follows revives it.
        for _ in 0..3 {
            blocks.issued(&io(Operation::Trim, 8192, 4096));
        }
        blocks.failed(&io(Operation::Trim, 8192, 4096));
        blocks.issued(&io(Operation::Trim, 8192, 4096));
        blocks.issued(&io(Operation::Write, 8192, 4096));
        // Two at once are trimmed, one of them is written since; half of a block is a block.
        blocks.issued(&io(Operation::Trim, 12_288, 8192));
        blocks.issued(&io(Operation::Write, 16_384, 512));
        blocks.issued(&io(Operation::Read, 20_480, 4096));
        blocks.issued(&io(Operation::Write, 24_576, 4096));
        blocks.failed(&io(Operation::Write, 24_576, 4096));
        blocks.issued(&io(Operation::Write, 1 << 40, 4096));
        let found = blocks.found();
        assert_eq!(found.states().map(|(_, count)| count), [2, 1, 1, 1, 1]);
        assert_eq!(found.lifetimes, [(0, 1), (3, 1)].into());
        let mut record = BlockRecord::new_zeroed_box();
        assert_eq!(record.found(), None);
        record.keep(&found);
        assert_eq!(record.found(), Some(found));
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

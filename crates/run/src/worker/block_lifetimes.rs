//! Tracks the state of each block of a job that trims (`block_error_percentiles`).
//!
//! It observes I/Os as a witness of the load, so the loop has no code for it. A block has the size of the smallest
//! trim. An I/O counts as successful from its submission until it is reported as failed; a block that failed once stays
//! failed.

use super::WorkerSetup;
use crate::error::refusal;
use load::{RecordFailure, Region, Request, Witness};
use measure::{Direction, Nanos};
use model::{BlockLives, JobError};
use plan::Operation;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The last operation on a block. It is in the upper three bits of the block's word, where 0 means no operation yet;
/// the lower 29 bits count its trims.
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
/// Limit of the number of blocks: 1 GiB of words.
const MOST_BLOCKS: u64 = 1 << 28;

/// The blocks of a worker's file. There is one writer at a time, so a load and a store are enough.
#[derive(Debug)]
pub(super) struct Blocks {
    begin: u64,
    block: u64,
    words: Box<[AtomicU32]>,
}

impl Blocks {
    /// The blocks of a worker, if the job tracks them, in their initial state. Fails if the job has several files, or
    /// too many blocks.
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

    /// The states and lifetimes of all blocks.
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

/// A witness that tracks blocks.
#[derive(Debug)]
pub(super) struct BlockTracker(pub(super) Arc<Blocks>);

impl Witness for BlockTracker {
    fn begin(&mut self, _now: Nanos) {}

    fn issued(&mut self, _now: Nanos, request: &Request) {
        self.0.issued(request);
    }

    fn failed(&mut self, request: &Request) {
        self.0.failed(request);
    }

    fn finish(&mut self, _now: Nanos) -> Result<(), RecordFailure> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_lives_until_its_first_failure() {
        let region = Region { start: 8192, end: 8192 + 5 * 4096 + 1, reach: load::Reach::Whole };
        let blocks = Blocks::untouched(region, 4096);
        let io = |operation, offset, length| Request::new(operation, 0, offset, length);
        // The first block is trimmed three times, the last time with an error; later operations do not change it.
        for _ in 0..3 {
            blocks.issued(&io(Operation::Trim, 8192, 4096));
        }
        blocks.failed(&io(Operation::Trim, 8192, 4096));
        blocks.issued(&io(Operation::Trim, 8192, 4096));
        blocks.issued(&io(Operation::Write, 8192, 4096));
        // Two blocks are trimmed by one I/O and one of them is written afterwards; a part of a block counts as a block.
        blocks.issued(&io(Operation::Trim, 12_288, 8192));
        blocks.issued(&io(Operation::Write, 16_384, 512));
        blocks.issued(&io(Operation::Read, 20_480, 4096));
        blocks.issued(&io(Operation::Write, 24_576, 4096));
        blocks.failed(&io(Operation::Write, 24_576, 4096));
        blocks.issued(&io(Operation::Write, 1 << 40, 4096));
        let found = blocks.found();
        assert_eq!(found.states().map(|(_, count)| count), [2, 1, 1, 1, 1]);
        assert_eq!(found.lifetimes, [(0, 1), (3, 1)].into());
    }
}

//! What was written and is to be read back: the second half of a job that verifies.
//!
//! Blocks come back in the order in which they were written, or by offset where a block may be written twice: then only
//! its last write can be judged.

use super::Request;
use engine::Operation;
use job::plan::{Distribution, JobPlan, Mix, Step};
use measure::Direction;
use std::collections::{BTreeMap, VecDeque};

/// The memory of a job that verifies.
#[derive(Debug)]
pub(super) struct Review {
    written: Written,
    /// How many writes were issued so far; the last one's sequence number.
    writes: u64,
    /// Read back after so many writes; `None` at the end of the pass.
    backlog: Option<u64>,
    stage: Stage,
}

/// One block that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    target: u32,
    offset: u64,
    length: u32,
    sequence: u64,
}

#[derive(Debug)]
enum Written {
    /// No block is written twice in a pass.
    InOrder(VecDeque<Block>),
    /// By target and offset; a write forgets what it covers.
    Latest(BTreeMap<(u32, u64), Block>),
}

/// Where a review is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Blocks are being written.
    Off,
    /// So many blocks are still to be read back.
    Left(u64),
}

/// What a review wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// No review is on and none is due.
    None,
    /// Let writes land, then ask again.
    Begin,
    /// Read this block back; it was write number `.1`.
    Read(Request, u64),
    /// All blocks that were due are issued: let them come back, then go on writing.
    End,
}

impl Review {
    /// The review of a job; `None` where nothing is read back.
    pub(super) fn new(job: &JobPlan) -> Option<Review> {
        let plan = job.verify.as_ref().filter(|plan| plan.check)?;
        if job.load.mix == Mix::Only(Direction::Read) || !job.load.mix.contains(Direction::Write) {
            return None;
        }
        let mapped = job.load.cover_all && job.load.distribution == Distribution::Uniform;
        let all_random = job.load.percent_random.write >= 100;
        let once = job.load.step == Step::Plain && (!job.load.random || (mapped && all_random));
        let written = if once && job.files.io_size.is_none() && !job.limits.time_based {
            Written::InOrder(VecDeque::new())
        } else {
            Written::Latest(BTreeMap::new())
        };
        Some(Review { written, writes: 0, backlog: plan.backlog.filter(|&blocks| blocks > 0), stage: Stage::Off })
    }

    /// Remembers a write that was issued.
    pub(super) fn wrote(&mut self, request: &Request) {
        self.writes += 1;
        self.written.remember(Block {
            target: request.target,
            offset: request.offset,
            length: request.length,
            sequence: self.writes,
        });
    }

    /// What the review wants while blocks are still being written.
    pub(super) fn step(&mut self) -> Turn {
        match self.stage {
            Stage::Off if self.backlog.is_some_and(|blocks| self.written.len() >= blocks) => self.begin(),
            Stage::Off => Turn::None,
            Stage::Left(0) => {
                self.stage = Stage::Off;
                Turn::End
            }
            Stage::Left(left) => match self.written.pop() {
                Some(block) => {
                    self.stage = Stage::Left(left - 1);
                    let Block { target, offset, length, sequence } = block;
                    Turn::Read(Request { operation: Operation::Read, target, offset, length }, sequence)
                }
                None => {
                    self.stage = Stage::Off;
                    Turn::End
                }
            },
        }
    }

    /// The pass is over: all that was written is due.
    pub(super) fn finish(&mut self) -> Turn {
        if self.stage == Stage::Off && self.written.len() > 0 { self.begin() } else { self.step() }
    }

    fn begin(&mut self) -> Turn {
        self.stage = Stage::Left(self.written.len());
        Turn::Begin
    }
}

impl Written {
    fn len(&self) -> u64 {
        (match self {
            Written::InOrder(blocks) => blocks.len(),
            Written::Latest(blocks) => blocks.len(),
        }) as u64
    }

    fn remember(&mut self, block: Block) {
        match self {
            Written::InOrder(blocks) => blocks.push_back(block),
            Written::Latest(blocks) => {
                let end = block.offset + u64::from(block.length);
                // What is remembered never overlaps, so what this block covers ends right before it or goes on from there.
                while let Some((&key, old)) = blocks.range(..(block.target, end)).next_back()
                    && old.target == block.target
                    && old.offset + u64::from(old.length) > block.offset
                {
                    blocks.remove(&key);
                }
                blocks.insert((block.target, block.offset), block);
            }
        }
    }

    fn pop(&mut self) -> Option<Block> {
        match self {
            Written::InOrder(blocks) => blocks.pop_front(),
            Written::Latest(blocks) => blocks.pop_first().map(|(_, block)| block),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(offset: u64, length: u32, sequence: u64) -> Block {
        Block { target: 0, offset, length, sequence }
    }

    fn all(mut written: Written) -> Vec<Block> {
        std::iter::from_fn(|| written.pop()).collect()
    }

    #[test]
    fn only_the_last_write_of_a_place_is_remembered() {
        let mut written = Written::Latest(BTreeMap::new());
        for (sequence, (offset, length)) in (1..).zip([(0, 4), (8, 4), (4, 4), (16, 8), (2, 8), (20, 1)]) {
            written.remember(block(offset, length, sequence));
        }
        assert_eq!(all(written), [block(2, 8, 5), block(20, 1, 6)]);
    }

    #[test]
    fn a_write_to_one_target_forgets_nothing_of_another() {
        let mut written = Written::Latest(BTreeMap::new());
        written.remember(Block { target: 0, ..block(0, 8, 1) });
        written.remember(Block { target: 1, ..block(0, 8, 2) });
        assert_eq!(written.len(), 2);
    }

    #[test]
    fn loads_that_write_a_place_twice_are_judged_by_their_last_write() {
        let keeps_the_last = |change: fn(&mut JobPlan)| {
            let mut job = super::super::tests::job();
            job.load.mix = Mix::Only(Direction::Write);
            (job.load.random, job.load.cover_all) = (true, true);
            let method = job::plan::VerifyMethod::Meta;
            let pattern = Vec::new();
            job.verify = Some(job::plan::VerifyPlan { method, check: true, interval: None, pattern, backlog: None });
            change(&mut job);
            matches!(Review::new(&job).unwrap().written, Written::Latest(_))
        };
        assert!(!keeps_the_last(|_| ()));
        assert!(keeps_the_last(|job| job.load.step = Step::Run(4)));
        assert!(keeps_the_last(|job| job.load.percent_random.write = 50));
        assert!(keeps_the_last(|job| (job.load.random, job.load.step) = (false, Step::Skip(4096))));
        assert!(keeps_the_last(|job| job.load.cover_all = false));
    }

    #[test]
    fn a_backlog_is_read_back_when_it_is_full_and_the_rest_at_the_end() {
        let written = Written::InOrder(VecDeque::new());
        let mut review = Review { written, writes: 0, backlog: Some(2), stage: Stage::Off };
        let write = |offset| Request { operation: Operation::Write, target: 0, offset, length: 4 };
        let read = |offset, sequence| Turn::Read(Request { operation: Operation::Read, ..write(offset) }, sequence);
        review.wrote(&write(0));
        assert_eq!(review.step(), Turn::None);
        review.wrote(&write(4));
        let steps: Vec<Turn> = (0..5).map(|_| review.step()).collect();
        assert_eq!(steps, [Turn::Begin, read(0, 1), read(4, 2), Turn::End, Turn::None]);
        review.wrote(&write(8));
        let steps: Vec<Turn> = (0..4).map(|_| review.finish()).collect();
        assert_eq!(steps, [Turn::Begin, read(8, 3), Turn::End, Turn::None]);
    }
}

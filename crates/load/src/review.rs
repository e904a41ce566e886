//! The blocks that were written and are to be read back: the second half of a job that verifies.
//!
//! Blocks are read back in the order in which they were written, or by offset if a block may be written twice: then
//! only its last write can be checked. Some of them may be trimmed before.

use super::next_offset::single_size;
use super::random::{Purpose, Random, stream_seed};
use super::verify::state::State;
use super::{Expects, Load, Next, Request};
use measure::{Direction, Nanos};
use plan::{
    Distribution, FilePlan, FileService, JobPlan, LoadPlan, Mix, Operation, Step, TrimPlan, VerifyPlan, VerifyPolicy,
    ZonePlan,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;

/// The verify state of a job.
#[derive(Debug)]
pub(super) struct Review {
    reads: Reads,
    written: WrittenBlocks,
    /// Number of writes issued so far, which is the sequence number of the last one.
    writes: u64,
    /// Number of writes after which blocks are read back (`verify_backlog`); `None` for the end of the pass.
    backlog: Option<u64>,
    /// Number of blocks that are then read back (`verify_backlog_batch`); `None` for all.
    batch: Option<u64>,
    stage: ReviewState,
    /// Writes in flight, in a job that reads blocks back among its writes.
    among: Option<InFlight>,
    unflushed: Option<Unflushed>,
    trims: Option<Trims>,
    /// The writes that an earlier run completed, from its state file.
    known: Option<State>,
}

/// Reading back of blocks. A job with `do_verify=0` and `trim_backlog` only trims them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    Back,
    Nothing,
}

/// Writes in flight. A block can be read back once its write has completed, with other writes still in flight: nothing
/// has to wait for a backlog. All that is left at the end of a pass is read back apart from writes.
#[derive(Clone, Debug, Default)]
struct InFlight {
    blocks: Vec<Block>,
    /// True if nothing is in flight any more.
    settled: bool,
    /// True from the end of a pass until its blocks have been read back.
    at_end: bool,
}

/// One block that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    file: u32,
    offset: u64,
    length: u32,
    expects: Expects,
}

impl Block {
    fn read(self) -> Request {
        let Block { file, offset, length, .. } = self;
        Request::new(Operation::Read, file, offset, length)
    }
}

#[derive(Debug)]
pub(super) enum WrittenBlocks {
    /// No block is written twice in a pass: a queue.
    InOrder(VecDeque<Block>),
    /// By file and offset; a write removes the blocks that it overlaps.
    Latest(BTreeMap<(u32, u64), Block>),
    /// Not stored: a copy of the load generates the sequence of writes again.
    Replayed(Box<Replay>),
}

/// A copy of the load that generates the written blocks again.
#[derive(Debug)]
pub(super) struct Replay {
    load: Load,
    /// Number of writes that are to be read back.
    left: u64,
    /// Number of writes that were generated.
    writes: u64,
    /// Writes that failed; rare, and therefore stored.
    failed: Vec<Request>,
}

/// Blocks that are checked only after their file was synced.
#[derive(Clone, Debug)]
struct Unflushed {
    blocks: VecDeque<Block>,
    /// True if the end of the job syncs.
    at_end: bool,
}

/// Blocks that are to be trimmed before they are read back.
#[derive(Clone, Debug)]
struct Trims {
    plan: TrimPlan,
    draws: Random,
    chosen: VecDeque<(u32, u64, u32)>,
    /// Number of writes since the last trims.
    since: u64,
    /// Number of them that are due now.
    due: u64,
}

/// The state of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReviewState {
    /// Blocks are being written.
    Off,
    /// Blocks are being written, and this number of blocks of a batch larger than its backlog is still to be read back.
    Owing(u64),
    /// This number of blocks is still to be read back.
    Left(u64),
}

/// The next step of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// No blocks are due.
    None,
    /// Let writes complete, then ask again.
    Begin,
    /// Read this block back; it must have this content.
    Read(Request, Expects),
    /// All blocks that were due are issued: let the reads complete, then continue to write.
    End,
    /// Let writes complete; the next steps are trims.
    Settle,
    /// Trim this block.
    Trim(Request),
}

impl Review {
    /// The review of a job; `None` if nothing is read back.
    pub(super) fn new(job: &JobPlan, seed: u64) -> Option<Review> {
        let plan = job.verify.as_ref().filter(|plan| plan.check || plan.trim.is_some())?;
        if job.load.mix == Mix::Only(Direction::Read) || !job.load.mix.contains(Direction::Write) {
            return None;
        }
        let in_order = writes_once(job) && plan.trim.is_none();
        let at_end = job.load.end_fsync || job.load.fsync_on_close;
        let unflushed = Unflushed { blocks: VecDeque::new(), at_end };
        Some(Review {
            reads: if plan.check { Reads::Back } else { Reads::Nothing },
            written: if in_order {
                WrittenBlocks::InOrder(VecDeque::new())
            } else {
                WrittenBlocks::Latest(BTreeMap::new())
            },
            writes: 0,
            backlog: plan.backlog.filter(|&blocks| blocks > 0),
            batch: plan.backlog_batch,
            stage: ReviewState::Off,
            among: reads_among_writes(job, plan).then(InFlight::default),
            unflushed: (plan.policy == VerifyPolicy::Synced).then_some(unflushed),
            trims: plan.trim.map(|plan| Trims {
                plan,
                draws: Random::new(stream_seed(seed, 0, Purpose::Trim)),
                chosen: VecDeque::new(),
                since: 0,
                due: 0,
            }),
            known: None,
        })
    }

    /// True if the sequence of writes can be generated a second time instead of being stored: no block is written
    /// twice, and nothing except for the sequence decides what is read back.
    pub(super) fn may_replay(job: &JobPlan) -> bool {
        let plain = |plan: &VerifyPlan| {
            plan.replay && plan.backlog.is_none() && plan.trim.is_none() && plan.policy == VerifyPolicy::Completed
        };
        // Where a write goes in a zone depends on the other jobs.
        let in_zones = matches!(job.load.zones, ZonePlan::Zoned(_));
        job.verify.as_ref().is_some_and(plain) && writes_once(job) && !in_zones
    }

    /// Counts writes from now on; `load` generates them again.
    pub(super) fn replay(&mut self, load: Load) {
        self.written = WrittenBlocks::Replayed(Box::new(Replay { load, left: 0, writes: 0, failed: Vec::new() }));
    }

    /// Restricts verification to the writes that `state` reports as complete. Which of them were synced, it has taken
    /// into account, and this run need not sync again.
    pub(super) fn resume(&mut self, state: State) {
        self.unflushed = None;
        self.known = Some(state);
    }

    /// True if the write with this number, from 0, is among those that may be verified: an earlier run's state ends
    /// with the last write that it knows of.
    pub(super) fn looks_back_to(&self, number: u64) -> bool {
        self.known.as_ref().is_none_or(|state| number < state.writes)
    }

    /// Stores a write that was issued.
    pub(super) fn wrote(&mut self, request: &Request) {
        self.writes += 1;
        let number = self.writes;
        if self.known.as_ref().is_some_and(|state| !state.has(number - 1)) {
            return;
        }
        let &Request { file, offset, length, .. } = request;
        if let Some(trims) = &mut self.trims {
            trims.since += 1;
            if trims.draws.below(100) < u64::from(trims.plan.percent) {
                trims.chosen.push_back((file, offset, length));
            }
        }
        let block = Block { file, offset, length, expects: Expects::Write(number) };
        match (&mut self.unflushed, &mut self.among) {
            (Some(unflushed), _) => unflushed.blocks.push_back(block),
            (None, Some(in_flight)) => {
                self.written.overwritten(&block);
                in_flight.blocks.push(block);
            }
            (None, None) => self.written.remember(block),
        }
    }

    /// A write completed in full.
    pub(super) fn completed(&mut self, request: &Request) {
        if let Some(block) = self.among.as_mut().and_then(|in_flight| in_flight.take(request)) {
            self.written.remember(block);
        }
    }

    /// True if blocks are read back while others are written, so that both take all the time.
    pub(super) const fn is_among_writes(&self) -> bool {
        self.among.is_some()
    }

    /// True if a block may be written again while it is read back or written: then one has to wait for the other.
    pub(super) const fn may_overlap(&self) -> bool {
        self.is_among_writes() && matches!(self.written, WrittenBlocks::Latest(_))
    }

    /// Removes a write that failed: there is nothing to read back.
    #[cold]
    pub(super) fn failed(&mut self, request: &Request) {
        let place = (request.file, request.offset);
        if let Some(unflushed) = &mut self.unflushed {
            unflushed.blocks.retain(|block| (block.file, block.offset) != place);
        }
        if self.among.as_mut().and_then(|in_flight| in_flight.take(request)).is_none() {
            self.written.forget(request);
        }
    }

    /// The writes of this file up to number `last` are durable.
    pub(super) fn flushed(&mut self, file: u32, last: u64) {
        let Some(unflushed) = &mut self.unflushed else { return };
        let reached = |block: &Block| block.file == file && block.expects.is_up_to(last);
        unflushed.blocks.retain(|block| {
            let flushed = reached(block);
            if flushed {
                self.written.remember(*block);
            }
            !flushed
        });
    }

    /// The next step while blocks are still being written.
    pub(super) fn step(&mut self) -> Turn {
        loop {
            let turn = self.step_apart();
            let waits = matches!(turn, Turn::Begin | Turn::End);
            if !waits || self.among.as_ref().is_none_or(|in_flight| in_flight.at_end) {
                return turn;
            }
        }
    }

    fn step_apart(&mut self) -> Turn {
        match self.stage {
            ReviewState::Off
                if self.backlog.is_some_and(|blocks| self.written.len() >= blocks) && self.reads == Reads::Back =>
            {
                self.begin(self.batch.unwrap_or(self.written.len()))
            }
            ReviewState::Owing(left) if self.written.len() > 0 => self.begin(left),
            ReviewState::Off | ReviewState::Owing(_) => self.trim(),
            ReviewState::Left(0) => {
                self.forget_trims();
                self.stage = ReviewState::Off;
                Turn::End
            }
            ReviewState::Left(left) => match self.written.pop() {
                Some(block) => {
                    self.stage = ReviewState::Left(left - 1);
                    Turn::Read(block.read(), block.expects)
                }
                None => {
                    self.stage = if self.batch.is_some() { ReviewState::Owing(left) } else { ReviewState::Off };
                    Turn::End
                }
            },
        }
    }

    /// The next step at the end of a pass: all blocks that were written are due.
    pub(super) fn finish(&mut self) -> Turn {
        if self.reads == Reads::Nothing {
            return Turn::None;
        }
        if let Some(unflushed) = &mut self.unflushed {
            let left = std::mem::take(&mut unflushed.blocks);
            if unflushed.at_end {
                left.into_iter().for_each(|block| self.written.remember(block));
            }
        }
        if matches!(self.stage, ReviewState::Left(_)) {
            let turn = self.step();
            if turn != Turn::None {
                return turn;
            }
        }
        if let Some(in_flight) = &mut self.among {
            if !in_flight.blocks.is_empty() && !std::mem::replace(&mut in_flight.settled, true) {
                return Turn::Settle;
            }
            in_flight.settled = false;
            in_flight.blocks.drain(..).for_each(|block| self.written.remember(block));
            in_flight.at_end = self.written.len() > 0;
        }
        if self.written.len() > 0 { self.begin(self.written.len()) } else { Turn::None }
    }

    fn begin(&mut self, blocks: u64) -> Turn {
        if let Some(trims) = &mut self.trims {
            trims.since = 0;
        }
        self.stage = ReviewState::Left(blocks);
        Turn::Begin
    }

    /// True if blocks wait to be trimmed: a number of I/Os ends the job once they are.
    pub(super) fn has_to_trim(&self) -> bool {
        self.trims.as_ref().is_some_and(|trims| !trims.chosen.is_empty())
    }

    /// Forgets the blocks selected for trimming that were read back before.
    fn forget_trims(&mut self) {
        if let Some(trims) = &mut self.trims {
            trims.chosen.retain(|&(file, offset, _)| self.written.has(file, offset));
        }
    }

    /// Trims the blocks selected for it if enough were written since the last trims.
    fn trim(&mut self) -> Turn {
        let Some(trims) = &mut self.trims else { return Turn::None };
        let waiting = trims.chosen.len() as u64;
        if trims.due == 0 {
            if trims.since < trims.plan.backlog {
                return Turn::None;
            }
            trims.since = 0;
            trims.due = trims.plan.batch.unwrap_or(waiting).min(waiting);
            return if trims.due == 0 { Turn::None } else { Turn::Settle };
        }
        trims.due -= 1;
        let expects = if trims.plan.zero { Expects::Zeros } else { Expects::Anything };
        while let Some((file, offset, length)) = trims.chosen.pop_front() {
            if self.written.trimmed(file, offset, length, expects) {
                return Turn::Trim(Request::new(Operation::Trim, file, offset, length));
            }
        }
        trims.due = 0;
        Turn::None
    }
}

/// True if blocks are read back among the writes of a job. Not where their data have to leave the page cache before,
/// nor where a log, trims or a second name of a file decide what a block holds.
fn reads_among_writes(job: &JobPlan, plan: &VerifyPlan) -> bool {
    let backlog = plan.backlog.is_some_and(|blocks| blocks > 0);
    let all_open = job.files.handling.open_at_once.is_none();
    let known = job.replay.is_none() && plan.trim.is_none() && has_one_name_each(&job.files);
    backlog
        && all_open
        && known
        && plan.check
        && !plan.only
        && job.files.direct
        && plan.policy == VerifyPolicy::Completed
}

impl InFlight {
    /// Takes out the block of a write that has ended.
    fn take(&mut self, request: &Request) -> Option<Block> {
        let place = (request.file, request.offset);
        let at = self.blocks.iter().position(|block| (block.file, block.offset) == place)?;
        Some(self.blocks.remove(at))
    }
}

/// True if no block is written twice before it is read back: in a pass, or in all of them if the last counts.
fn writes_once(job: &JobPlan) -> bool {
    let verify = job.verify.as_ref();
    let only_the_last = verify.is_some_and(|plan| plan.only) || job.load.mix == Mix::Only(Direction::Read);
    let goes_on = job.files.io_size.is_some() || job.limits.time_based || job.replay.is_some();
    comes_once(&job.load) && files_come_once(&job.files) && !goes_on && !(only_the_last && job.limits.loops > 1)
}

/// True if no block of a file comes twice in a pass.
fn comes_once(load: &LoadPlan) -> bool {
    let mapped = load.cover_all && load.distribution == Distribution::Uniform && load.sprandom.is_none();
    // A map that finds no memory is left out (`softrandommap`); blocks of one size need none.
    let certain = !load.soft_map || single_size(load).is_some();
    let all_random = load.percent_random.read.min(load.percent_random.write) >= 100;
    let wraps = matches!(load.zones, ZonePlan::Strided(_)) || matches!(load.distribution, Distribution::Sequence(_));
    load.step == Step::Plain && !wraps && (!load.random || (mapped && certain && all_random))
}

/// True if no file starts over in a pass, and none is there twice.
fn files_come_once(files: &FilePlan) -> bool {
    let in_turn = match files.handling.service {
        FileService::RoundRobin(_) | FileService::Random(_) | FileService::Sequential => true,
        FileService::Zipf(..) | FileService::Pareto(..) | FileService::Normal(..) => false,
    };
    in_turn && has_one_name_each(files)
}

fn has_one_name_each(files: &FilePlan) -> bool {
    let names: BTreeSet<&PathBuf> = files.names.iter().collect();
    names.len() == files.names.len()
}

/// The numbers of the writes that the reads of a job must find, which goes through the sequence of the job that wrote.
#[derive(Debug)]
pub(super) enum Numbers {
    /// The number of the read: no block was written twice.
    InTurn,
    /// The last write of each block.
    Latest {
        blocks: WrittenBlocks,
        /// A copy of the load, which has issued nothing yet.
        sequence: Box<Load>,
    },
    /// Unknown, because it depends on more than the sequence how much was written: the number in the header of each
    /// block is taken.
    OfHeader,
}

impl Numbers {
    /// The numbers of a job; `sequence` makes a copy of its load that waits for nothing.
    pub(super) fn of(job: &JobPlan, sequence: impl FnOnce() -> Load) -> Numbers {
        let by_chance = job.limits.time_based || job.replay.is_some() || matches!(job.load.zones, ZonePlan::Zoned(_));
        // The passes of a job with a random map depend on whether it verified.
        let by_verify = job.files.io_size.is_some() && job.load.random && job.load.cover_all;
        match writes_once(job) {
            _ if by_chance || by_verify => Numbers::OfHeader,
            true => Numbers::InTurn,
            false => {
                let sequence = Box::new(sequence());
                Numbers::Latest { blocks: latest(&sequence, |_| true), sequence }
            }
        }
    }

    /// Leaves out the writes that did not complete.
    pub(super) fn resume(&mut self, state: &State) {
        if let Numbers::Latest { blocks, sequence } = self {
            *blocks = latest(sequence, |number| state.has(number));
        }
    }

    /// Content that the read with this number, from 1, must find; `None` if the block alone can tell.
    pub(super) fn expected(&self, read: &Request, number: u64) -> Option<Expects> {
        match self {
            Numbers::InTurn => Some(Expects::Write(number)),
            Numbers::Latest { blocks: WrittenBlocks::Latest(blocks), .. } => {
                let block = blocks.get(&(read.file, read.offset)).filter(|block| block.length == read.length);
                block.map(|block| block.expects)
            }
            Numbers::Latest { .. } | Numbers::OfHeader => None,
        }
    }
}

/// The last of the I/Os of a load at each place, without those whose number, from 0, is not to be kept.
fn latest(load: &Load, keep: impl Fn(u64) -> bool) -> WrittenBlocks {
    let mut load = load.again();
    let mut blocks = WrittenBlocks::Latest(BTreeMap::new());
    let mut number = 0;
    loop {
        match load.choose(Nanos::ZERO) {
            Next::Issue(Request { operation: Operation::Read, file, offset, length, .. }) => {
                number += 1;
                if keep(number - 1) {
                    blocks.remember(Block { file, offset, length, expects: Expects::Write(number) });
                }
            }
            Next::Stop => return blocks,
            _ => {}
        }
    }
}

impl Replay {
    /// The next write of the sequence that did not fail.
    fn next(&mut self) -> Option<Block> {
        while self.left > 0 {
            // Not `next`, which also looks for a target that has the file open.
            match self.load.choose(Nanos::ZERO) {
                Next::Issue(request) if request.operation == Operation::Write => {
                    self.left -= 1;
                    self.writes += 1;
                    if let Some(at) = self.failed.iter().position(|failed| failed.is(&request)) {
                        self.failed.swap_remove(at);
                        continue;
                    }
                    let Request { file, offset, length, .. } = request;
                    return Some(Block { file, offset, length, expects: Expects::Write(self.writes) });
                }
                Next::Stop => self.left = 0,
                _ => {}
            }
        }
        None
    }
}

impl WrittenBlocks {
    fn len(&self) -> u64 {
        match self {
            WrittenBlocks::InOrder(blocks) => blocks.len() as u64,
            WrittenBlocks::Latest(blocks) => blocks.len() as u64,
            WrittenBlocks::Replayed(replay) => replay.left,
        }
    }

    fn remember(&mut self, block: Block) {
        match self {
            WrittenBlocks::Replayed(replay) => replay.left += 1,
            WrittenBlocks::InOrder(blocks) => blocks.push_back(block),
            WrittenBlocks::Latest(_) => {
                self.overwritten(&block);
                if let WrittenBlocks::Latest(blocks) = self {
                    blocks.insert((block.file, block.offset), block);
                }
            }
        }
    }

    /// Removes the blocks that `block` overlaps; there are none where each is written once.
    fn overwritten(&mut self, block: &Block) {
        let WrittenBlocks::Latest(blocks) = self else { return };
        let end = block.offset + u64::from(block.length);
        // Stored blocks never overlap, so the ones that this block covers are adjacent in the map, ending before `end`.
        while let Some((&key, old)) = blocks.range(..(block.file, end)).next_back()
            && old.file == block.file
            && old.offset + u64::from(old.length) > block.offset
        {
            blocks.remove(&key);
        }
    }

    fn forget(&mut self, request: &Request) {
        match self {
            WrittenBlocks::InOrder(blocks) => {
                let place = (request.file, request.offset);
                if let Some(at) = blocks.iter().rposition(|block| (block.file, block.offset) == place) {
                    blocks.remove(at);
                }
            }
            WrittenBlocks::Latest(blocks) => drop(blocks.remove(&(request.file, request.offset))),
            WrittenBlocks::Replayed(replay) => replay.failed.push(*request),
        }
    }

    /// True if a block begins there.
    fn has(&self, file: u32, offset: u64) -> bool {
        matches!(self, WrittenBlocks::Latest(blocks) if blocks.contains_key(&(file, offset)))
    }

    /// Marks a block that is about to be trimmed; false if it was overwritten since.
    fn trimmed(&mut self, file: u32, offset: u64, length: u32, expects: Expects) -> bool {
        match self {
            WrittenBlocks::Latest(blocks) => match blocks.get_mut(&(file, offset)) {
                Some(block) if block.length == length => {
                    block.expects = expects;
                    true
                }
                _ => false,
            },
            WrittenBlocks::InOrder(_) | WrittenBlocks::Replayed(_) => false,
        }
    }

    fn pop(&mut self) -> Option<Block> {
        match self {
            WrittenBlocks::InOrder(blocks) => blocks.pop_front(),
            WrittenBlocks::Latest(blocks) => blocks.pop_first().map(|(_, block)| block),
            WrittenBlocks::Replayed(replay) => replay.next(),
        }
    }
}

#[cfg(test)]
#[path = "review_tests.rs"]
mod tests;

//! The load: which I/O comes next, and when. Pure decisions, testable without a disk.
//!
//! The worker's loop asks [`Load::next`] "what next, at this time?", carries it out and tells the load of completions.
//! How many I/Os are in flight and how they are batched is the loop's business, not the load's; so are the syncs at the
//! end of a job and at the closing of files, and dropping caches. The load says when. It also says what is in the
//! blocks and whether what was read back is what was written.

#![forbid(unsafe_code)]

pub mod content;
mod decide;
mod detour;
mod distribution;
mod lfsr;
mod limits;
mod map;
mod pace;
mod permutation;
mod placed;
mod places;
mod random;
mod replay;
mod review;
mod service;
mod sizes;
mod tausworthe;
mod think;
pub mod verify;
mod walk;
mod zones;

#[cfg(test)]
mod tests;

pub use decide::Load;
pub use placed::Misplaced;
pub use replay::{RecordFailure, Recorded, Recording, Witness};

use engine::Operation;
use job::plan::JobPlan;
use measure::{Direction, Nanos};

/// The part of one target that a worker uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// How it lies in its target.
    pub reach: Reach,
}

/// How a region lies in its target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// From the first byte to the last.
    #[default]
    Whole,
    /// Some of it.
    Part,
}

impl Region {
    /// How many bytes it holds.
    pub const fn bytes(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// An I/O that the load wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What it does.
    pub operation: Operation,
    /// Index into the targets.
    pub target: u32,
    /// Where in the file, in bytes.
    pub offset: u64,
    /// How many bytes.
    pub length: u32,
}

impl Request {
    /// The direction whose numbers this I/O belongs to; `None` for syncs.
    pub const fn direction(&self) -> Option<Direction> {
        match self.operation {
            Operation::Read => Some(Direction::Read),
            Operation::Write => Some(Direction::Write),
            Operation::Trim => Some(Direction::Trim),
            Operation::Sync | Operation::DataSync => None,
        }
    }
}

/// What a worker is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Issue this I/O now.
    Issue(Request),
    /// Nothing before this moment (rate, the times of a replay): reap what completes meanwhile, then ask again.
    Wait(Nanos),
    /// Let everything in flight complete, sleep (or spin, the second part) until this moment, then ask again:
    /// think time.
    Think {
        /// When the pause ends.
        until: Nanos,
        /// From when on the rest of the pause is spent burning CPU.
        spin_from: Nanos,
    },
    /// Let everything in flight complete, then ask again.
    Drain,
    /// This target starts over: drop its pages from the cache (the plan wants caches dropped), then ask again.
    DropCache(u32),
    /// Let everything in flight complete, then put the file with this number into this target's place: fewer files are
    /// open than the job has.
    Open {
        /// The target that is exchanged.
        target: u32,
        /// The file's number among the job's files.
        file: u32,
    },
    /// sync_file_range of what was written to this target since the last.
    SyncRange {
        /// The target.
        target: u32,
        /// First byte.
        offset: u64,
        /// How many bytes.
        length: u64,
    },
    /// Let everything in flight complete and reach the device, then ask again: what was written is read back from here.
    BeginReview,
    /// Read this block back and judge it.
    Review {
        /// The read.
        request: Request,
        /// What it must hold.
        expects: Expects,
    },
    /// Let everything in flight complete, then ask again: the blocks that were due are read back.
    EndReview,
    /// Nothing more to do.
    Stop,
}

/// What a block must hold that is read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expects {
    /// What this write left, counted from 1.
    Write(u64),
    /// Zeros: it was trimmed.
    Zeros,
    /// It was trimmed, and the device may return what it likes.
    Anything,
}

impl Expects {
    /// Whether it is a write no later than this one.
    const fn is_up_to(self, number: u64) -> bool {
        matches!(self, Expects::Write(write) if write <= number)
    }
}

/// What a load is made from.
#[derive(Clone, Copy, Debug)]
pub struct LoadSetup<'a> {
    /// The job.
    pub job: &'a JobPlan,
    /// The worker's number over the whole run, from 1; part of its seed.
    pub number: u32,
    /// What the worker uses of each target.
    pub regions: &'a [Region],
    /// Takes the seed's place when the plan has none.
    pub system_seed: u64,
}

/// Why there can be no load.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// There is nothing to do I/O on.
    #[error("job `{job}` ({origin}): there is no file to do I/O on; name one with filename= or give size=")]
    NoTargets {
        /// The job's name.
        job: String,
        /// Where it was written.
        origin: String,
    },
    /// No memory for the random map.
    #[error(
        "job `{job}` ({origin}): there is no memory for a random map of {blocks} blocks; \
         use norandommap, softrandommap=1, or one block size"
    )]
    NoMap {
        /// The job's name.
        job: String,
        /// Where it was written.
        origin: String,
        /// How many blocks it would hold.
        blocks: u64,
    },
    /// No region holds a single block.
    #[error(
        "job `{job}` ({origin}): a block of {block} bytes fits into no file's region, the largest has {largest} bytes; \
         use a smaller bs= or a larger size="
    )]
    RegionTooSmall {
        /// The job's name.
        job: String,
        /// Where it was written.
        origin: String,
        /// Smallest block size of the job.
        block: u32,
        /// Bytes of the largest region.
        largest: u64,
    },
}

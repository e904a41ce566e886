//! The load: which I/O comes next, and when. Pure decisions, testable without a disk.
//!
//! The worker's loop asks [`Load::next`] "what next, at this time?", carries it out and tells the load of completions.
//! How many I/Os are in flight and how they are batched is the loop's business, not the load's.

use engine::Operation;
use measure::{Direction, Nanos};

/// The part of one target that a worker uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
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
    /// Nothing before this moment (rate): reap what completes meanwhile, then ask again.
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
    /// Nothing more to do.
    Stop,
}

//! The load: which I/O comes next, and when. Pure decisions, testable without a disk.
//!
//! The worker's loop asks [`Load::next`] "what next, at this time?", carries it out and tells the load of completions.
//! How many I/Os are in flight and how they are batched is the loop's business, not the load's.

pub mod content;

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
    /// This target starts over: drop its pages from the cache (the plan wants caches dropped), then ask again.
    DropCache(u32),
    /// Nothing more to do.
    Stop,
}

/// What a load is made from.
#[derive(Clone, Copy, Debug)]
pub struct LoadSetup<'a> {
    /// The job.
    pub job: &'a JobPlan,
    /// The worker's number over the whole run, from 1; part of its seed.
    pub number: u32,
    /// The clone of the job, from 0.
    pub clone: u32,
    /// What the worker uses of each target.
    pub regions: &'a [Region],
    /// Real sizes of the targets in bytes, for percentages; as many as `regions`.
    pub target_sizes: &'a [u64],
    /// Takes the seed's place when the plan has none.
    pub system_seed: u64,
}

/// Why there can be no load.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// There is nothing to do I/O on.
    #[error("job `{job}`: no file to do I/O on; give filename=, directory= or size=")]
    NoTargets {
        /// The job's name.
        job: String,
    },
    /// No region holds a single block.
    #[error("job `{job}`: block size {block_size} is larger than every file's region ({largest} bytes at most)")]
    RegionTooSmall {
        /// The job's name.
        job: String,
        /// Smallest block size of the job.
        block_size: u32,
        /// Bytes of the largest region.
        largest: u64,
    },
}

/// One worker's load.
#[derive(Debug)]
pub struct Load {
    regions: Vec<Region>,
    operation: Operation,
    length: u32,
    position: u64,
    stopped: bool,
}

impl Load {
    /// Prepares everything; the only place that allocates.
    ///
    /// # Errors
    /// When there is nothing to do I/O on.
    pub fn new(setup: &LoadSetup<'_>) -> Result<Load, LoadError> {
        let first = setup.regions.first().ok_or_else(|| LoadError::NoTargets { job: setup.job.name.clone() })?;
        Ok(Load {
            position: first.start,
            regions: setup.regions.to_vec(),
            operation: Operation::Read,
            length: setup.job.load.block_size.read.largest(),
            stopped: false,
        })
    }

    /// Starts the epoch: runtime and rates count from here, or from [`Load::ramp_over`] where the plan has a ramp.
    pub fn begin(&mut self, now: Nanos) {
        let _ = now;
    }

    /// What to do at `now`. An [`Next::Issue`] counts as issued.
    #[inline]
    pub fn next(&mut self, now: Nanos) -> Next {
        let _ = now;
        if self.stopped || self.position + u64::from(self.length) > self.regions[0].end {
            return Next::Stop;
        }
        let offset = self.position;
        self.position += u64::from(self.length);
        Next::Issue(Request { operation: self.operation, target: 0, offset, length: self.length })
    }

    /// An I/O came back, well or not. Think time counts these.
    #[inline]
    pub fn completed(&mut self, request: &Request) {
        let _ = request;
    }

    /// The device or file ended earlier than its region (a read of zero bytes): no more I/O to this target in this pass.
    pub fn target_ended(&mut self, target: u32) {
        let _ = target;
    }

    /// The ramp is over: runtime, rates and limits count from here.
    pub fn ramp_over(&mut self, now: Nanos) {
        let _ = now;
    }

    /// From now on [`Load::next`] says [`Next::Stop`].
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Passes over the data that are over: grows at the end of each loop, with the [`Next::Drain`] that ends it.
    pub fn passes(&self) -> u64 {
        0
    }
}

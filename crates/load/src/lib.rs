//! The load: decides which I/O comes next, and when. Pure functions of the plan, a seed and the time; testable without
//! a disk.
//!
//! The worker's loop calls [`Load::next`] with the current time, performs the step that it returns, and reports
//! completions to the load. The number of I/Os in flight and their batching are up to the loop, as are the syncs at the
//! end of a job and at close, and dropping caches: the load only decides when. The load also generates the content of
//! blocks (`content`, `verify`) and checks data that was read back.

#![forbid(unsafe_code)]

pub mod content;
mod decide;
mod device_zones;
mod distribution;
mod lfsr;
mod limits;
mod map;
mod next_file;
mod next_offset;
mod pace;
mod random;
mod replay;
mod review;
mod shared_zones;
mod sizes;
mod sprandom;
mod syncs;
pub mod verify;
mod verify_resume;
mod walk;
mod windows;
mod zone_locks;
mod zones;

#[cfg(test)]
mod tests;

pub use content::Mismatch;
pub use decide::Load;
pub use next_offset::draws_wide;
pub use replay::{RecordFailure, Recording, TimedRequest, Witness};
pub use shared_zones::{DeviceZone, SharedWords, SharedZones, WriteOrder, ZoneKind, ZonedDevice};

use measure::{Direction, Nanos};
use plan::{JobPlan, Operation};
use std::num::NonZeroU64;

/// The part of a target that a worker uses, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First byte.
    pub start: u64,
    /// End offset: one past the last byte.
    pub end: u64,
    /// Whole target or a part.
    pub reach: Reach,
}

/// The part of its target that a region covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// The whole target.
    #[default]
    Whole,
    /// A part of it.
    Part,
}

impl Region {
    /// Size in bytes.
    pub const fn bytes(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// An I/O of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Read, write, trim or sync.
    pub operation: Operation,
    /// Number of the file among the job's files.
    pub file: u32,
    /// The target that has the file: of the same number, unless fewer files are open than the job has.
    pub target: u32,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub length: u32,
    /// Moment at which it was due, in a direction with a rate. It is issued then or later, never before.
    pub due: Option<Due>,
}

/// A moment at which an I/O was due. One more than its nanoseconds is stored, so that an absent one takes no room of
/// itself in a [`Request`], which is copied for every I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due(NonZeroU64);

impl Due {
    /// This moment.
    pub const fn at(moment: Nanos) -> Self {
        Due(NonZeroU64::MIN.saturating_add(moment.get()))
    }

    /// The moment.
    #[inline]
    pub const fn moment(self) -> Nanos {
        Nanos(self.0.get() - 1)
    }
}

impl Request {
    /// An I/O that no rate applies to, on the target of the file's number.
    #[inline]
    pub const fn new(operation: Operation, file: u32, offset: u64, length: u32) -> Self {
        Request { operation, file, target: file, offset, length, due: None }
    }

    /// A sync of the file that a target has.
    pub const fn on_target(operation: Operation, file: u32, target: u32) -> Self {
        Request { target, ..Request::new(operation, file, 0, 0) }
    }

    /// True if this is the I/O that was issued as `issued`, for which a target may have been found since.
    pub fn is(&self, issued: &Request) -> bool {
        Request { target: issued.target, ..*self } == *issued
    }

    /// A copy for or from a call that is not inlined. Such a call takes or leaves it in memory; without the copy the
    /// I/O would be there on every path, not only on the one with the call. `black_box` hides from the compiler that
    /// both are equal.
    #[inline(always)]
    #[must_use]
    pub fn rebuilt(&self) -> Self {
        Request { length: std::hint::black_box(self.length), ..*self }
    }

    /// The direction under which this I/O is counted; `None` for syncs.
    pub const fn direction(&self) -> Option<Direction> {
        self.operation.direction()
    }
}

/// The next step of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Issue this I/O now.
    Issue(Request),
    /// No I/O is due before this time (rate, replay): reap completions meanwhile, then call again.
    Wait(Nanos),
    /// Think time: let everything in flight complete, sleep (then spin) until this time, then call again.
    Think {
        /// End of the pause.
        until: Nanos,
        /// Time from which on the worker spins instead of sleeping.
        spin_from: Nanos,
    },
    /// Let everything in flight complete, then call again.
    Drain,
    /// A new pass over this target starts: drop its pages from the cache (the plan asks for it), then call again.
    DropCache(u32),
    /// Let everything in flight complete, then open this file in place of the target's current one: fewer files are
    /// open than the job has.
    Open {
        /// The target whose file is replaced.
        target: u32,
        /// Number of the file among the job's files.
        file: u32,
    },
    /// Call sync_file_range(2) on the range written to a file since the last sync.
    SyncRange {
        /// The sync: file, target, and first byte.
        request: Request,
        /// Length in bytes, which a request has no room for.
        length: u64,
    },
    /// Let everything in flight complete and reach the device, then call again: written data is read back from here on.
    BeginReview,
    /// Read this block back and verify it.
    Review {
        /// The read.
        request: Request,
        /// The content that it must have.
        expects: Expects,
    },
    /// Let everything in flight complete, then call again: the blocks that were due have been read back.
    EndReview,
    /// Act on a zone, then pass the result to [`Load::zone_done`]. I/Os in flight go on.
    Zone {
        /// File, target, and first byte of the zone. An action that counts as a trim has its direction and length.
        request: Request,
        /// Size of the zone, which a request may have no room for.
        length: u64,
        /// The action.
        action: ZoneAction,
    },
    /// The load has ended.
    Stop,
}

/// An action on all of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneAction {
    /// Reset it, so that it is written from its start.
    Reset,
    /// Make it full: less than a block is left of it.
    Finish,
    /// Ask the device for its write pointer.
    Report,
    /// Reset it for the job: a trim.
    Trim,
    /// Nothing: a trim of an emulated zone, which has been set back.
    SetBack,
}

impl ZoneAction {
    /// True if it is an I/O of the job.
    pub const fn is_trim(self) -> bool {
        matches!(self, ZoneAction::Trim | ZoneAction::SetBack)
    }
}

/// The expected content of a block that is read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expects {
    /// The data of this write, numbered from 1.
    Write(u64),
    /// Zeros: the block was trimmed.
    Zeros,
    /// Unknown: the block was trimmed, and the device may return any data.
    Anything,
}

impl Expects {
    /// True if it is the data of a write up to this number.
    const fn is_up_to(self, number: u64) -> bool {
        matches!(self, Expects::Write(write) if write <= number)
    }
}

/// The inputs of a load.
#[derive(Clone, Copy, Debug)]
pub struct LoadSetup<'a> {
    /// The job.
    pub job: &'a JobPlan,
    /// The worker's number over the whole run, from 1; part of its seeds.
    pub number: u32,
    /// The region of each target that the worker uses.
    pub regions: &'a [Region],
    /// The zones of each target, as all workers of the run see them (`zonemode=zbd`). A target without is the worker's
    /// alone.
    pub zones: &'a [Option<SharedZones>],
    /// Seed to use if the plan has none.
    pub system_seed: u64,
}

/// A load that cannot be prepared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("job `{job}` ({origin}): {what}")]
pub struct LoadError {
    /// Name of the job.
    pub job: String,
    /// File and line of the job.
    pub origin: String,
    /// The reason, and a setting that would work.
    pub what: String,
}

impl LoadSetup<'_> {
    /// The error of this load.
    fn error(&self, what: impl Into<String>) -> LoadError {
        LoadError { job: self.job.name.clone(), origin: self.job.origin.clone(), what: what.into() }
    }
}

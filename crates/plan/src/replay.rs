//! Replay of recorded I/Os: the logs to read, and changes to their I/Os.

use measure::PerDirection;
use smart_default::SmartDefault;
use std::path::PathBuf;

/// Replay of recorded I/Os.
#[derive(Clone, Debug, PartialEq, SmartDefault)]
pub struct ReplayPlan {
    /// The logs, assigned to the clones in turn; `-` is standard input.
    pub logs: Vec<PathBuf>,
    /// Amount of the log to keep in memory.
    #[default(Hold::Ahead)]
    pub hold: Hold,
    /// Timing of the I/Os.
    #[default(Timing::Percent(100))]
    pub timing: Timing,
    /// A file or device for all I/Os, instead of the recorded ones.
    pub redirect: Option<PathBuf>,
    /// Alignment to which offsets are rounded down, in bytes; a power of two.
    #[default(1)]
    pub align: u64,
    /// Divisor of offsets.
    #[default(1)]
    pub scale: u64,
    /// I/Os to omit.
    pub skip: Skip,
    /// Merge of several traces before the replay.
    pub merge: Option<MergePlan>,
}

/// Amount of the log to keep in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hold {
    /// As much as a fixed limit allows, read before the first I/O.
    #[default]
    Ahead,
    /// A small part at a time.
    Pieces,
}

/// Timing of replayed I/Os.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// As fast as possible, without the recorded intervals.
    None,
    /// At this percentage of the recorded speed.
    Percent(u32),
}

/// I/Os that a replay omits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skip {
    /// Reads, writes, trims.
    pub moves: PerDirection<bool>,
    /// fsync and fdatasync.
    pub syncs: bool,
}

/// Merge of several traces into one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MergePlan {
    /// File for the merged trace.
    pub file: PathBuf,
    /// Time scale of each trace in percent; 100 for traces that the list does not cover.
    pub scalars: Vec<f64>,
    /// Number of repetitions of each trace; 1 for traces that the list does not cover.
    pub rounds: Vec<u64>,
}

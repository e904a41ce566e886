//! Recorded I/Os instead of drawn ones: which records, and what is changed in them.

use measure::PerDirection;
use std::path::PathBuf;

/// Recorded I/Os that are to be done again.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayPlan {
    /// The records, one for each clone in turn; `-` is standard input.
    pub logs: Vec<PathBuf>,
    /// How much of a record is held in memory.
    pub hold: Hold,
    /// When the I/Os are done.
    pub timing: Timing,
    /// One file or device for all of them.
    pub redirect: Option<PathBuf>,
    /// Offsets are rounded down to multiples of this; a power of two.
    pub align: u64,
    /// Offsets are divided by this.
    pub scale: u64,
    /// What is left out.
    pub skip: Skip,
    /// Several traces become one before anything is replayed.
    pub merge: Option<MergePlan>,
}

/// How much of a record is held in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hold {
    /// As much as fits into a fixed share, read before the first I/O.
    #[default]
    Ahead,
    /// A small piece at a time.
    Pieces,
}

/// When recorded I/Os are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// As soon as the ones before let them.
    None,
    /// At so many percent of the recorded speed.
    Percent(u32),
}

/// What is left out of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skip {
    /// Reads, writes, trims.
    pub moves: PerDirection<bool>,
    /// fsync and fdatasync.
    pub syncs: bool,
}

/// Several traces into one.
#[derive(Clone, Debug, PartialEq)]
pub struct MergePlan {
    /// Where the merged trace goes.
    pub file: PathBuf,
    /// The times of each trace in percent of those recorded; 100 for those beyond the list.
    pub scalars: Vec<f64>,
    /// How often each trace is repeated; once for those beyond the list.
    pub rounds: Vec<u64>,
}

impl Default for ReplayPlan {
    fn default() -> Self {
        ReplayPlan {
            logs: Vec::new(),
            hold: Hold::Ahead,
            timing: Timing::Percent(100),
            redirect: None,
            align: 1,
            scale: 1,
            skip: Skip::default(),
            merge: None,
        }
    }
}

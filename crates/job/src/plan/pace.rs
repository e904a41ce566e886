//! How many I/Os at once, and how fast.

use super::FlowPlan;
use measure::{BytesPerSecond, Nanos, PerDirection};

/// How many I/Os at once, and how they are submitted and reaped. Every field is at least what its comment says;
/// the words' special cases (0 means depth) are resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DepthPlan {
    /// In flight at most; at least 1.
    pub depth: u32,
    /// Submitted in one go; 1 to `depth`.
    pub batch: u32,
    /// Reaped in one go at least; 0 polls without waiting.
    pub reap_min: u32,
    /// Reaped in one go at most; at least `reap_min`.
    pub reap_max: u32,
    /// Once full, drain to this many before filling again; 1 to `depth`.
    pub low: u32,
    /// Hold back an I/O that overlaps one in flight.
    pub serialises_overlap: bool,
    /// Threads carry the I/Os out, one for each that may be in flight.
    pub offload: bool,
}

/// How fast.
#[derive(Clone, Debug, PartialEq)]
pub struct PacePlan {
    /// Bytes per second; excludes `iops`.
    pub rate: PerDirection<Option<BytesPerSecond>>,
    /// I/Os per second; excludes `rate`.
    pub iops: PerDirection<Option<u64>>,
    /// Draw gaps from an exponential distribution instead of keeping them equal.
    pub poisson: bool,
    /// Pause after every `think_blocks` blocks.
    pub think: Nanos,
    /// How much of the pause is spent burning CPU.
    pub think_spin: Nanos,
    /// Blocks between pauses; at least 1.
    pub think_blocks: u64,
    /// Do not catch up for time lost in pauses.
    pub rate_ignores_think: bool,
    /// Which blocks `think_blocks` counts.
    pub think_counts: ThinkCount,
    /// Pause also after so much time of I/O; zero for never.
    pub think_io_time: Nanos,
    /// Turns of an empty loop before each pause.
    pub think_cycles: u32,
    /// Fail below so many bytes per second.
    pub least_rate: PerDirection<Option<BytesPerSecond>>,
    /// Fail below so many I/Os per second.
    pub least_iops: PerDirection<Option<u64>>,
    /// The time over which these two are averaged.
    pub rate_cycle: Nanos,
    /// The job's place in a flow.
    pub flow: Option<FlowPlan>,
}

/// Which blocks a pause waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThinkCount {
    /// Those that came back.
    #[default]
    Completed,
    /// Those that were issued.
    Issued,
}

impl Default for DepthPlan {
    fn default() -> Self {
        DepthPlan { depth: 1, batch: 1, reap_min: 1, reap_max: 1, low: 1, serialises_overlap: false, offload: false }
    }
}

impl Default for PacePlan {
    fn default() -> Self {
        PacePlan {
            rate: PerDirection::default(),
            iops: PerDirection::default(),
            poisson: false,
            think: Nanos::ZERO,
            think_spin: Nanos::ZERO,
            think_blocks: 1,
            rate_ignores_think: false,
            think_counts: ThinkCount::Completed,
            think_io_time: Nanos::ZERO,
            think_cycles: 0,
            least_rate: PerDirection::default(),
            least_iops: PerDirection::default(),
            rate_cycle: Nanos::SECOND,
            flow: None,
        }
    }
}

//! How many I/Os at once, and how fast.

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
}

impl Default for DepthPlan {
    fn default() -> Self {
        DepthPlan { depth: 1, batch: 1, reap_min: 1, reap_max: 1, low: 1 }
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
        }
    }
}

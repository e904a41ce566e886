//! I/O depth and I/O rate.

use measure::{BytesPerSecond, Direction, Nanos, PerDirection};
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

/// I/O depth, and batches of submission and reaping. Special values of the options (0 for the depth) are resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SmartDefault)]
pub struct DepthPlan {
    /// Maximum number of I/Os in flight; at least 1.
    #[default(1)]
    pub depth: u32,
    /// The depth of the job file, if `depth` is 1 because the engine is synchronous.
    pub capped_from: Option<u32>,
    /// Maximum number of I/Os per submission; 1 to `depth`.
    #[default(1)]
    pub batch: u32,
    /// Minimum number of completions per reap; 0 polls without waiting.
    #[default(1)]
    pub reap_min: u32,
    /// Maximum number of completions per reap; at least `reap_min`.
    #[default(1)]
    pub reap_max: u32,
    /// A full queue is drained to this number before it is filled again; 1 to `depth`.
    #[default(1)]
    pub low: u32,
    /// Delay an I/O that overlaps one in flight.
    pub serialises_overlap: bool,
    /// Threads do the I/Os, one per I/O in flight (`io_submit_mode=offload`).
    pub offload: bool,
}

/// Rate limits and pauses.
#[derive(Clone, Debug, PartialEq, SmartDefault)]
pub struct PacePlan {
    /// Bytes per second; excludes `iops`.
    pub rate: PerDirection<Option<BytesPerSecond>>,
    /// I/Os per second; excludes `rate`.
    pub iops: PerDirection<Option<u64>>,
    /// I/Os per second over time, in place of `rate` and `iops`; empty for none. The first step is at 0 s, the last has
    /// a rate above 0. Reads and writes of a mix share it as they share the I/Os.
    pub profile: Vec<RateStep>,
    /// Draw the intervals between I/Os from an exponential distribution instead of keeping them equal.
    pub poisson: bool,
    /// Pause after every `think_blocks` blocks.
    pub think: Nanos,
    /// Part of the pause that is spent burning CPU.
    pub think_spin: Nanos,
    /// Blocks between pauses; at least 1.
    #[default(1)]
    pub think_blocks: u64,
    /// Do not catch up for time lost in pauses.
    pub rate_ignores_think: bool,
    /// Blocks that count towards `think_blocks`.
    #[default(ThinkCount::Completed)]
    pub think_counts: ThinkCount,
    /// Pause also after this time of I/O; zero for never.
    pub think_io_time: Nanos,
    /// Iterations of an empty loop before each pause.
    pub think_cycles: u32,
    /// Fail below this rate in bytes per second.
    pub least_rate: PerDirection<Option<BytesPerSecond>>,
    /// Fail below this rate in I/Os per second.
    pub least_iops: PerDirection<Option<u64>>,
    /// Time over which these two rates are averaged.
    #[default(Nanos::SECOND)]
    pub rate_cycle: Nanos,
    /// Share of the job in a flow, if it has one.
    pub flow: Option<FlowPlan>,
}

/// A step of a rate that changes over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateStep {
    /// Start, counted from the start of the job's I/O and again from the end of its ramp.
    pub from: Nanos,
    /// I/Os per second of each worker from then on; 0 for a pause.
    pub iops: u64,
}

impl PacePlan {
    /// True if a direction has a rate limit: its I/Os are due at moments that do not depend on earlier completions.
    pub fn has_rate(&self) -> bool {
        let limited = |direction| {
            self.rate[direction].is_some_and(|rate| rate.get() > 0) || self.iops[direction].is_some_and(|iops| iops > 0)
        };
        !self.profile.is_empty() || Direction::ALL.into_iter().any(limited)
    }
}

/// Blocks that count towards a pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThinkCount {
    /// Completed ones.
    #[default]
    Completed,
    /// Issued ones.
    Issued,
}

impl DepthPlan {
    /// The depth of the job file, for reports.
    pub fn asked(&self) -> u32 {
        self.capped_from.unwrap_or(self.depth)
    }
}

/// Latency limits and targets of a job.
#[derive(Clone, Debug, PartialEq, SmartDefault)]
pub struct LatencyPlan {
    /// The job ends with ETIMEDOUT after an I/O with a longer total latency; `None` for no limit.
    pub most: PerDirection<Option<Nanos>>,
    /// Search for the depth at which I/Os meet this total latency; `None` for no search.
    pub target: Option<Nanos>,
    /// Duration of each step of the search.
    pub window: Nanos,
    /// Percentage of I/Os that must meet the target.
    #[default(100.0)]
    pub percentile: f64,
    /// Continue the search until the job ends, instead of ending the job when a depth is found.
    pub keep_running: bool,
}

impl LatencyPlan {
    /// True if the latency of each I/O must be checked.
    pub fn judges(&self) -> bool {
        self.target.is_some() || self.most.iter().any(|(_, most)| most.is_some())
    }
}

/// Detection of a steady state.
#[derive(Clone, Copy, Debug, PartialEq, SmartDefault)]
pub struct SteadyPlan {
    /// Measure that must be steady.
    #[default(SteadyMeasure::Iops)]
    pub measure: SteadyMeasure,
    /// Statistic that is compared with the limit.
    #[default(SteadyCriterion::Slope)]
    pub criterion: SteadyCriterion,
    /// Limit, in the unit of the measure or in percent of its mean.
    #[default(0.01)]
    pub limit: f64,
    /// True if the limit is a percentage.
    #[default(true)]
    pub relative: bool,
    /// Window in which the measure must be steady; a multiple of `interval`.
    pub duration: Nanos,
    /// Time before the first window.
    pub ramp: Nanos,
    /// Sampling interval.
    #[default(Nanos::SECOND)]
    pub interval: Nanos,
}

/// Measure that must be steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteadyMeasure {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean completion latency.
    Latency,
}

/// Statistic of the samples in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteadyCriterion {
    /// Largest deviation of a sample from the mean.
    Deviation,
    /// Slope of the line fitted through the samples.
    Slope,
}

impl SteadyPlan {
    /// Maximum number of intervals in a window.
    pub const MOST_INTERVALS: u64 = 4096;

    /// Number of intervals in a window.
    pub fn intervals(&self) -> usize {
        usize::try_from(self.duration.get() / self.interval.get().max(1)).unwrap_or(usize::MAX)
    }

    /// Text of the option: `iops_slope:0.300000%`.
    pub fn words(&self) -> String {
        let percent = if self.relative { "%" } else { "" };
        format!("{}:{:.6}{percent}", self.name(), self.limit)
    }

    /// First part of that text, before the colon.
    pub const fn name(&self) -> &'static str {
        match (self.measure, self.criterion) {
            (SteadyMeasure::Iops, SteadyCriterion::Deviation) => "iops",
            (SteadyMeasure::Iops, SteadyCriterion::Slope) => "iops_slope",
            (SteadyMeasure::Bandwidth, SteadyCriterion::Deviation) => "bw",
            (SteadyMeasure::Bandwidth, SteadyCriterion::Slope) => "bw_slope",
            (SteadyMeasure::Latency, SteadyCriterion::Deviation) => "lat",
            (SteadyMeasure::Latency, SteadyCriterion::Slope) => "lat_slope",
        }
    }
}

/// Share of a job in a flow: jobs of one flow do I/Os in the ratio of their weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowPlan {
    /// ID of the flow.
    pub id: u32,
    /// Weight of the job.
    pub weight: u32,
    /// Interval at which a job that is ahead of its share checks again.
    pub pause: Nanos,
}

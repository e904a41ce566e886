//! Control of a job by its measurements: latency targets, steady state, flows.

use measure::{Nanos, PerDirection};
use smart_default::SmartDefault;

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

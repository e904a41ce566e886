//! What steers a job by what it measures: latency targets, steady state, shares of a flow.

use measure::{Nanos, PerDirection};

/// Latencies that a job is to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyPlan {
    /// The job ends with ETIMEDOUT at an I/O whose total latency is longer; `None` for no limit.
    pub most: PerDirection<Option<Nanos>>,
    /// The depth is searched at which I/Os keep this total latency; `None` searches none.
    pub target: Option<Nanos>,
    /// How long each step of that search lasts.
    pub window: Nanos,
    /// The share of I/Os that must keep the target, in percent.
    pub percentile: f64,
    /// Go on searching until the job ends, rather than end it with what was found.
    pub keep_running: bool,
}

impl Default for LatencyPlan {
    fn default() -> Self {
        LatencyPlan {
            most: PerDirection::default(),
            target: None,
            window: Nanos::ZERO,
            percentile: 100.0,
            keep_running: false,
        }
    }
}

impl LatencyPlan {
    /// Whether every I/O's latency has to be looked at.
    pub fn judges(&self) -> bool {
        self.target.is_some() || self.most.iter().any(|(_, most)| most.is_some())
    }
}

/// When the numbers of a job have settled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyPlan {
    /// What must settle.
    pub measure: SteadyMeasure,
    /// How.
    pub criterion: SteadyCriterion,
    /// The limit: of the measure's own unit, or in percent of its mean.
    pub limit: f64,
    /// Whether the limit is a percentage.
    pub relative: bool,
    /// The window in which it must have settled; a multiple of `interval`.
    pub duration: Nanos,
    /// How long to wait before the first window.
    pub ramp: Nanos,
    /// From one look to the next.
    pub interval: Nanos,
}

/// What must settle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SteadyMeasure {
    /// I/Os per second.
    #[default]
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean completion latency.
    Latency,
}

/// How numbers are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SteadyCriterion {
    /// The largest distance of one of them from their mean.
    Deviation,
    /// The slope of the line through them.
    #[default]
    Slope,
}

impl SteadyPlan {
    /// The most intervals a window may have.
    pub const MOST_INTERVALS: u64 = 4096;

    /// Intervals in a window.
    pub fn intervals(&self) -> usize {
        usize::try_from(self.duration.get() / self.interval.get().max(1)).unwrap_or(usize::MAX)
    }

    /// The words of the option: `iops_slope:0.300000%`.
    pub fn words(&self) -> String {
        let percent = if self.relative { "%" } else { "" };
        format!("{}:{:.6}{percent}", self.name(), self.limit)
    }

    /// The first of these words.
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

/// A job's place in a flow: jobs of one flow do I/Os in the ratio of their weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowPlan {
    /// Which flow.
    pub id: u32,
    /// The weight.
    pub weight: u32,
    /// How long a job that is ahead of its share waits before it looks again.
    pub pause: Nanos,
}

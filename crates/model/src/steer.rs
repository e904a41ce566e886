//! What steered a job: the latency it was to keep, and whether its numbers settled.

use measure::Nanos;
use serde::{Deserialize, Serialize};

/// The latency a job was to keep, and the depth at which it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyGoal {
    /// The total latency to keep; `None` where none was asked for.
    pub target: Option<Nanos>,
    /// How long each step of the search lasted.
    pub window: Nanos,
    /// Share of I/Os that had to keep it, in percent; `None` means all.
    pub percentile: Option<f64>,
    /// The depth in use at the end of the search; `None` where there was no search.
    pub depth: Option<u32>,
}

/// Whether a job's numbers settled, and what they were.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SteadyResult {
    /// The criterion's name: `iops`, `bw_slope`.
    pub name: String,
    /// Its limit.
    pub limit: f64,
    /// Whether limit and criterion are percentages of the mean.
    pub relative: bool,
    /// The window.
    pub duration: Nanos,
    /// Whether they settled.
    pub attained: bool,
    /// The largest distance from the mean, or the slope, in percent of the mean where `relative`.
    pub criterion: f64,
    /// The largest distance from the mean; 0 where the slope was judged.
    pub max_deviation: f64,
    /// The slope per interval; 0 where the distance was judged.
    pub slope: f64,
    /// Bytes per second in each interval of the last window, oldest first.
    pub bandwidth: Vec<u64>,
    /// I/Os per second.
    pub iops: Vec<u64>,
    /// Mean completion latencies in nanoseconds; empty unless they were judged.
    pub latency_ns: Vec<u64>,
}

impl SteadyResult {
    /// The mean of samples, in whole units; 0 without any.
    pub fn mean(samples: &[u64]) -> u64 {
        let sum: u128 = samples.iter().map(|&sample| u128::from(sample)).sum();
        let count = u128::try_from(samples.len()).unwrap_or(1).max(1);
        u64::try_from(sum / count).unwrap_or(u64::MAX)
    }

    /// Whether a slope was judged.
    pub fn judges_slope(&self) -> bool {
        self.name.ends_with("_slope")
    }
}

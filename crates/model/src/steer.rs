//! Control of a job by its measurements: latency target and steady state.

use measure::Nanos;
use serde::{Deserialize, Serialize};

/// Latency target of a job, and the depth that met it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyGoal {
    /// Maximum total latency; `None` if there was no target.
    pub target: Option<Nanos>,
    /// Duration of each step of the search.
    pub window: Nanos,
    /// Percentage of I/Os that had to meet the target; `None` means all.
    pub percentile: Option<f64>,
    /// Depth at the end of the search; `None` if there was no search.
    pub depth: Option<u32>,
}

/// Result of steady state detection, with its samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SteadyResult {
    /// Name of the criterion, such as `iops` or `bw_slope`.
    pub name: String,
    /// Limit of the criterion.
    pub limit: f64,
    /// True if limit and criterion are percentages of the mean.
    pub relative: bool,
    /// Length of the window.
    pub duration: Nanos,
    /// Time between two samples; 0 if it is not known.
    #[serde(default)]
    pub interval: Nanos,
    /// True if the steady state was reached.
    pub attained: bool,
    /// Largest deviation from the mean, or slope; in percent of the mean if `relative`.
    pub criterion: f64,
    /// Largest deviation from the mean; 0 if the criterion is the slope.
    pub max_deviation: f64,
    /// Slope per interval; 0 if the criterion is the deviation.
    pub slope: f64,
    /// Bytes per second in each interval of the last window, oldest first.
    pub bandwidth: Vec<u64>,
    /// I/Os per second in the same intervals.
    pub iops: Vec<u64>,
    /// Mean completion latencies in nanoseconds; empty unless the criterion is the latency.
    pub latency_ns: Vec<u64>,
}

impl SteadyResult {
    /// Mean of the samples in whole units; 0 if there are none.
    pub fn mean(samples: &[u64]) -> u64 {
        let sum: u128 = samples.iter().map(|&sample| u128::from(sample)).sum();
        let count = u128::try_from(samples.len()).unwrap_or(1).max(1);
        u64::try_from(sum / count).unwrap_or(u64::MAX)
    }

    /// The same as fio reports it: a window that is not full has samples of 0, and no criterion.
    pub fn in_fios_terms(&self) -> SteadyResult {
        let entries = self.duration.get().checked_div(self.interval.get()).unwrap_or(0);
        let (full, entries) = (self.iops.len() as u64 >= entries, usize::try_from(entries).unwrap_or(0));
        let mut found = self.clone();
        if full {
            return found;
        }
        found.bandwidth.resize(entries, 0);
        found.iops.resize(entries, 0);
        let latencies = if self.name.starts_with("lat") { entries } else { 0 };
        found.latency_ns.resize(latencies, 0);
        (found.criterion, found.max_deviation, found.slope) = (0.0, 0.0, 0.0);
        found
    }

    /// True if the criterion is a slope.
    pub fn judges_slope(&self) -> bool {
        self.name.ends_with("_slope")
    }
}

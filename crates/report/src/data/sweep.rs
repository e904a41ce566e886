//! Data of the three-panel chart: one workload at increasing load.

use serde::{Deserialize, Serialize};

/// One workload at several load levels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// For example `ssd · random read 8 KiB · 1–64 users`.
    pub title: String,
    /// Sentences under the title.
    pub sentences: Vec<String>,
    /// Reason for which the numbers are not credible, if any: drawn in red, and scaling is not graded.
    pub flag: Option<String>,
    /// Name of the axis: `users`, `depth`, `block size`, or the name of an option.
    pub load: String,
    /// The latency target in nanoseconds, if one was asked for.
    pub target_ns: Option<f64>,
    /// Levels in ascending order.
    pub levels: Vec<Level>,
    /// Footnotes.
    pub notes: Vec<String>,
}

/// One load level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// For example `8 users`.
    pub label: String,
    /// The load as a number, for example 8; a place in the order if the value is a word.
    pub load: f64,
    /// The value, if it is a word: `io_uring`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub word: Option<String>,
    /// Mean latency in nanoseconds.
    pub average_ns: f64,
    /// 95th percentile in nanoseconds, if known.
    pub p95_ns: Option<f64>,
    /// 99th percentile in nanoseconds.
    pub p99_ns: Option<f64>,
    /// 99.99th percentile in nanoseconds.
    pub p9999_ns: Option<f64>,
    /// Maximum latency in nanoseconds.
    pub max_ns: Option<f64>,
    /// Latency distribution; ascending, the shares sum to at most 1.
    pub bins: Vec<Bin>,
    /// Throughput in bytes per second.
    pub rate: f64,
    /// I/Os per second.
    pub iops: f64,
    /// Change from this level to the next; `None` for the last level, or if the numbers are not credible.
    pub step: Option<Step>,
    /// Number of busy users, if IOPS × latency contradicts the requested number (Little's law).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_work: Option<AtWork>,
    /// The rounds, if there were several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Rounds>,
}

/// Rounds of one level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rounds {
    /// Their number.
    pub count: usize,
    /// Lower end of the 95 % interval of the mean IOPS.
    pub low_iops: f64,
    /// Upper end of the interval.
    pub high_iops: f64,
}

impl Rounds {
    /// The interval over these IOPS; `None` with fewer than two rounds.
    pub(super) fn of(rounds: &[f64]) -> Option<Rounds> {
        let found = analysis::interval(rounds)?;
        Some(Rounds { count: rounds.len(), low_iops: found.low.max(0.0), high_iops: found.high })
    }
}

/// Busy and requested number of users.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtWork {
    /// Busy users: IOPS × mean latency.
    pub busy: f64,
    /// Requested users: users × depth.
    pub asked: f64,
}

/// One latency bucket.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// Lower edge in nanoseconds; 0 for the first bucket.
    pub from_ns: f64,
    /// Upper edge in nanoseconds.
    pub to_ns: f64,
    /// Fraction of all I/Os.
    pub share: f64,
}

/// Change from one load level to the next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Ratio of the loads: next level ÷ this level.
    pub load_ratio: f64,
    /// Ratio of the throughputs: next level ÷ this level.
    pub rate_ratio: f64,
    /// (latency ratio − 1) ÷ (load ratio − 1): 0 if latency stays flat, 1 if the added load only queues. `None` if the
    /// levels are block sizes.
    pub queueing: Option<f64>,
}

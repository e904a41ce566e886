//! The data of the three-panel picture: one workload over rising load.

use serde::{Deserialize, Serialize};

/// One workload at several levels of load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// `ssd · random read 8 KiB · 1–64 users`.
    pub title: String,
    /// The plain sentences under the title.
    pub sentences: Vec<String>,
    /// Why the numbers cannot be believed, where they cannot: drawn in red, and no scaling verdict then.
    pub flag: Option<String>,
    /// What the levels count, in the plural: `users`, or `I/Os in flight`.
    pub load: String,
    /// The latency to stay under, in nanoseconds.
    pub target_ns: f64,
    /// Ascending.
    pub levels: Vec<Level>,
    /// What a reader should know, in small type below.
    pub notes: Vec<String>,
}

/// One level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// `8 users`.
    pub label: String,
    /// 8.
    pub load: f64,
    /// Mean latency in nanoseconds.
    pub average_ns: f64,
    /// Percentiles where known.
    pub p95_ns: Option<f64>,
    /// 99 %.
    pub p99_ns: Option<f64>,
    /// 99.99 %.
    pub p9999_ns: Option<f64>,
    /// The slowest.
    pub max_ns: Option<f64>,
    /// Where the I/Os fell; ascending, their shares sum to at most 1.
    pub bins: Vec<Bin>,
    /// Bytes per second.
    pub rate: f64,
    /// I/Os per second.
    pub iops: f64,
    /// From this level to the next; none at the last, or where the numbers are not to be believed.
    pub step: Option<Step>,
    /// How many were at work, where IOPS × latency contradicts the number asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_work: Option<AtWork>,
}

/// How many were at work, and how many should have been.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtWork {
    /// IOPS × mean latency.
    pub busy: f64,
    /// Users × depth.
    pub asked: f64,
}

/// Latencies from one edge to the next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// Lower edge in nanoseconds; 0 for everything below `to_ns`.
    pub from_ns: f64,
    /// Upper edge in nanoseconds.
    pub to_ns: f64,
    /// Share of all I/Os.
    pub share: f64,
}

/// What more load brought.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Load there ÷ here.
    pub load_ratio: f64,
    /// Bytes per second there ÷ here.
    pub rate_ratio: f64,
    /// (latency ratio − 1) ÷ (load ratio − 1): 0 stays flat, 1 means that what was added only waits. None where the
    /// levels are no load, but block sizes.
    pub queueing: Option<f64>,
}

//! The data of the report card: one row per workload.

use super::Bin;
use serde::{Deserialize, Serialize};

/// A report card.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// `ssd: storage report card`.
    pub title: String,
    /// The verdict, two plain sentences.
    pub sentences: Vec<String>,
    /// One per workload.
    pub rows: Vec<Row>,
    /// Thresholds, and what is not known.
    pub notes: Vec<String>,
}

/// One workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// `Index lookups`.
    pub workload: String,
    /// `random read 8 KiB`.
    pub detail: String,
    /// `16 users → 32 users`.
    pub load: String,
    /// Where the I/Os fell.
    pub bins: Vec<Bin>,
    /// The grade bands over latency, ascending.
    pub bands: Vec<Band>,
    /// The letter of the 95th percentile, large; then mean and 99th percentile.
    pub p95: Option<Mark>,
    /// Of the mean.
    pub average: Option<Mark>,
    /// Of the 99th percentile.
    pub p99: Option<Mark>,
    /// Bytes per second.
    pub rate: f64,
    /// I/Os per second.
    pub iops: f64,
    /// What more load brings; none where there is only one level.
    pub scaling: Option<Scaling>,
}

/// A grade and the latency that earned it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// `A+` to `D`.
    pub letter: String,
    /// Latency in nanoseconds.
    pub ns: f64,
}

/// The latencies that earn a letter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// `A+` to `D`.
    pub letter: String,
    /// Inclusive upper bound in nanoseconds; none for the last.
    pub to_ns: Option<f64>,
}

/// What more load brings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// `A+` to `D`, or `?`.
    pub letter: String,
    /// Share of the added load that only queued.
    pub queueing: f64,
    /// Load there ÷ here.
    pub load_ratio: f64,
    /// Bytes per second there ÷ here.
    pub rate_ratio: f64,
    /// Why the letter is `?`: `not graded: only 5 of 8 users busy`.
    pub reason: Option<String>,
    /// What the levels count: `users`.
    pub load: String,
}

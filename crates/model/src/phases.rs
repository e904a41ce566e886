//! Phases of a run: stretches of time in which its rate was of one kind.

use measure::Nanos;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Kinds of phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseKind {
    /// A flat rate until credits are spent; the flat rate after it is that at which they return.
    Burst,
    /// Writes into a fast cache until it is full.
    WriteCache,
    /// Slower since a limit holds it back, as a counter of that limit shows.
    Throttled,
    /// The rate falls again and again, in a rhythm.
    Dips,
    /// The rate approaches its end.
    Settling,
    /// The rate stays within 5 %, its error included.
    Settled,
    /// The rate changes by more than 5 %, and nothing shows where it ends.
    Drifting,
    /// Too short or too noisy for an answer.
    CannotTell,
}

impl PhaseKind {
    /// Name for use in a sentence.
    pub fn title(self) -> &'static str {
        match self {
            PhaseKind::Burst => "burst",
            PhaseKind::WriteCache => "write cache",
            PhaseKind::Throttled => "throttled",
            PhaseKind::Dips => "dips",
            PhaseKind::Settling => "settling",
            PhaseKind::Settled => "settled",
            PhaseKind::Drifting => "drifting",
            PhaseKind::CannotTell => "cannot tell",
        }
    }
}

/// A phase of a run.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Its begin, since the monitoring started.
    pub from: Nanos,
    /// Its end.
    pub until: Nanos,
    /// Kind.
    pub kind: PhaseKind,
    /// Mean I/Os per second.
    pub iops: f64,
    /// Lower end of the interval of that mean, 95 %; `None` below 15 intervals.
    pub iops_low: Option<f64>,
    /// Upper end.
    pub iops_high: Option<f64>,
    /// Mean bytes per second.
    pub bytes_per_second: f64,
    /// Median latency; `None` if no latencies were sampled.
    pub p50: Option<Nanos>,
    /// 99th percentile of latency; `None` without 100 slower I/Os.
    pub p99: Option<Nanos>,
    /// Standard deviation of the intervals' rates, divided by their mean.
    pub variation: f64,
    /// Bytes of the run before the phase.
    pub bytes_before: u64,
    /// Explanation in one sentence.
    pub sentence: String,
    /// Supporting numbers, with units in their names.
    pub evidence: Vec<(String, f64)>,
}

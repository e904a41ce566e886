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
    /// Volumes for which a provider publishes this rate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub like: Vec<Like>,
    /// Supporting numbers, with units in their names.
    pub evidence: Vec<(String, f64)>,
}

/// A volume for which a provider publishes a rate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Like {
    /// For example `EBS gp2 of 100 GiB`.
    pub name: String,
    /// The public page that states it.
    pub source: String,
    /// Month in which the page was read, `2026-11`.
    pub read: String,
}

/// Event that ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// A change of its rate.
    Change,
    /// A rate that is settled.
    Settled,
}

/// How a run ended that waited for a change of its rate, or for a settled rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UntilRegime {
    /// Awaited event.
    pub until: Until,
    /// True if that came, and ended the run.
    pub reached: bool,
    /// Length of the samples until then.
    pub after: Nanos,
    /// Why it ended, in one sentence.
    pub sentence: String,
}

/// The rate of a run whose phases differ by more than 10 %: that of its last settled phase, otherwise of its last one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lasting {
    /// Begin of the phase, since the monitoring started.
    pub from: Nanos,
    /// Its end.
    pub until: Nanos,
    /// Its kind.
    pub kind: PhaseKind,
    /// I/Os per second in it.
    pub iops: f64,
    /// Bytes per second in it.
    pub bytes_per_second: f64,
    /// Median latency in it; `None` if no latencies were sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50: Option<Nanos>,
    /// 99th percentile of latency in it; `None` without 100 slower I/Os.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99: Option<Nanos>,
    /// I/Os per second of all phases together.
    pub average_iops: f64,
    /// The rate of the phase first, the average last, in one sentence.
    pub sentence: String,
}

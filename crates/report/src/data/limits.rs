//! Data of an answer: the numbers of rounds against their limits.

use serde::{Deserialize, Serialize};

/// The rounds of `plumb ask`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// For example `etcd · /var/lib/etcd`.
    pub title: String,
    /// Sentences under the title.
    pub sentences: Vec<String>,
    /// The rules, in their order.
    pub rules: Vec<LimitedRule>,
    /// Footnotes.
    pub notes: Vec<String>,
}

/// A limit with its rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitedRule {
    /// `wal: sync p99 below 10 ms`.
    pub label: String,
    /// The answer of all rounds: `yes`, `no` or `cannot tell`.
    pub answer: String,
    /// True if the answer to the question does not depend on it.
    pub is_advice: bool,
    /// The rounds, in their order.
    pub rounds: Vec<LimitedRound>,
}

/// One round of a rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitedRound {
    /// The number with its unit: `120 µs`.
    pub value: String,
    /// How many times better than the limit: 2 for half of the latency, or twice the rate. `None` if it is not known.
    pub times: Option<f64>,
    /// Worse end of its 95 % interval; `None` without an interval.
    pub low: Option<f64>,
    /// Better end.
    pub high: Option<f64>,
    /// Its answer.
    pub answer: String,
}

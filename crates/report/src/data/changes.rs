//! Data of a comparison: each number's change with its interval.

use super::Unit;
use analysis::compare::Verdict;
use serde::{Deserialize, Serialize};

/// The changes of all numbers of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    /// For example `before.json → after.json`.
    pub title: String,
    /// Sentences under the title.
    pub sentences: Vec<String>,
    /// Largest change that counts as the same, as a share: 0.05.
    pub tolerance: f64,
    /// The tests, in their order.
    pub tests: Vec<ChangedTest>,
    /// Footnotes.
    pub notes: Vec<String>,
}

/// A test with its numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChangedTest {
    /// `random reads 8K ×16`.
    pub label: String,
    /// `5 and 5 runs`.
    pub runs: String,
    /// The numbers.
    pub rows: Vec<NumberChange>,
}

/// One number of both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NumberChange {
    /// `IOPS`, `p99`.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// Mean of the old runs; `None` if it is not known.
    pub old: Option<f64>,
    /// Mean of the new runs.
    pub new: Option<f64>,
    /// The change as a share: −0.116.
    pub change: Option<f64>,
    /// Lower end of its 95 % interval; `None` without an interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
}

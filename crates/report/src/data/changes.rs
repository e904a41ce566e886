//! Data of a comparison: each number's change with its interval.

use super::Unit;
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
    pub verdict: Outcome,
}

/// Verdict on a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The whole interval is within the tolerance.
    Same,
    /// It changed for the better, beyond the tolerance.
    Better,
    /// It changed for the worse, beyond the tolerance.
    Worse,
    /// It changed, by less than the tolerance.
    Slight,
    /// Neither can be said.
    #[default]
    CannotTell,
}

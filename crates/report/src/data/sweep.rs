//! Data of the three-panel chart: one workload at increasing load.

use analysis::Level;
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

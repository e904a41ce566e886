//! Data of the latency distribution chart with a percentile axis.

use measure::Histogram;
use serde::{Deserialize, Serialize};

/// One or more overlaid distributions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cdf {
    /// For example `before and after · random read 8 KiB`.
    pub title: String,
    /// Sentences under the title.
    pub sentences: Vec<String>,
    /// The latency target in nanoseconds.
    pub target_ns: Option<f64>,
    /// One per result; the legend shows and hides them.
    pub systems: Vec<Distribution>,
    /// Footnotes.
    pub notes: Vec<String>,
}

/// One distribution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Name in the legend.
    pub name: String,
    /// (percent, nanoseconds), ascending: this percentage of the I/Os had at most this latency.
    pub points: Vec<(f64, f64)>,
}

/// The percentages drawn, if there are enough samples.
const PERCENTS: [f64; 31] = [
    0.0, 1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 75.0, 80.0, 85.0, 90.0, 92.5, 95.0, 96.0, 97.0, 98.0,
    98.5, 99.0, 99.3, 99.5, 99.7, 99.8, 99.9, 99.95, 99.97, 99.99, 99.995, 99.999,
];

impl Distribution {
    /// Builds a distribution from a histogram, without percentages that fewer than a hundred slower I/Os support.
    pub fn of(name: &str, histogram: &Histogram) -> Distribution {
        let known: Vec<f64> =
            PERCENTS.into_iter().filter(|&percent| histogram.total() >= analysis::samples_needed(percent)).collect();
        let found = histogram.percentiles(&known).unwrap_or_default();
        Distribution {
            name: name.to_owned(),
            points: known.into_iter().zip(found.iter().map(|ns| ns.as_f64())).collect(),
        }
    }
}

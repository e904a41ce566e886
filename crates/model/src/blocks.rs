//! State of a job's blocks (`block_error_percentiles`), and how to merge that of two workers.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// State of the blocks of a job that trims. A block has the size of one trim. A failed block stays failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockLives {
    /// Neither written nor trimmed.
    pub unwritten: u64,
    /// Trimmed by the last I/O.
    pub trimmed: u64,
    /// Written by the last I/O.
    pub written: u64,
    /// Failed in a trim.
    pub trim_failures: u64,
    /// Failed in a write.
    pub write_failures: u64,
    /// Failed blocks by the number of their trims before the failure.
    pub lifetimes: BTreeMap<u32, u64>,
}

impl BlockLives {
    /// Counts by state, with fio's names and in its order.
    pub fn states(&self) -> [(&'static str, u64); 5] {
        [
            ("unwritten", self.unwritten),
            ("trimmed", self.trimmed),
            ("written", self.written),
            ("trim failure", self.trim_failures),
            ("write failure", self.write_failures),
        ]
    }

    /// True if no blocks were tracked.
    pub fn is_empty(&self) -> bool {
        self.states().iter().all(|(_, count)| *count == 0)
    }

    /// For each percentage, the number of trims within which that share of the failed blocks had failed, if any.
    ///
    /// Source: as fio's latency percentiles, the first value at which the running sum reaches the share.
    pub fn percentiles(&self, percents: &[f64]) -> Option<Vec<u32>> {
        let all: u64 = self.lifetimes.values().copied().fold(0, u64::saturating_add);
        let (&last, _) = self.lifetimes.last_key_value()?;
        let rank = |percent: f64| {
            let (wanted, mut sum) = (percent / 100.0 * all as f64, 0_u64);
            let reached = self.lifetimes.iter().find(|(_, count)| {
                sum = sum.saturating_add(**count);
                sum as f64 >= wanted
            });
            reached.map_or(last, |(&trims, _)| trims)
        };
        Some(percents.iter().map(|&percent| rank(percent)).collect())
    }

    /// Adds the blocks of another worker.
    pub fn merge(&mut self, other: &BlockLives) {
        self.unwritten = self.unwritten.saturating_add(other.unwritten);
        self.trimmed = self.trimmed.saturating_add(other.trimmed);
        self.written = self.written.saturating_add(other.written);
        self.trim_failures = self.trim_failures.saturating_add(other.trim_failures);
        self.write_failures = self.write_failures.saturating_add(other.write_failures);
        for (&trims, count) in &other.lifetimes {
            let known = self.lifetimes.entry(trims).or_default();
            *known = known.saturating_add(*count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_are_ranked_over_the_blocks_of_all_workers() {
        let of = |lifetimes: &[(u32, u64)]| BlockLives {
            trim_failures: lifetimes.iter().map(|(_, count)| count).sum(),
            lifetimes: lifetimes.iter().copied().collect(),
            ..BlockLives::default()
        };
        let mut all = of(&[(1, 1), (3, 4)]);
        all.merge(&of(&[(3, 2), (700, 3)]));
        assert_eq!((all.trim_failures, all.is_empty()), (10, false));
        assert_eq!(all.percentiles(&[1.0, 10.0, 11.0, 70.0, 71.0, 100.0]), Some(vec![1, 1, 3, 3, 700, 700]));
        assert_eq!(BlockLives::default().percentiles(&[50.0]), None);
    }
}

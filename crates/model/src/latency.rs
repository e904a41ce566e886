//! Latency counts of an interval: a histogram that is coarse enough to keep one for every half second of a run.
//!
//! The counts of intervals can be added, so the percentiles of merged intervals are exact to the bucket.

use measure::{BUCKETS, Histogram, Nanos};
use serde::{Deserialize, Serialize};

/// Number of [`Histogram`] buckets per bucket of this type, which leaves 16 per power of two.
const TOGETHER: usize = 4;

/// Number of buckets of [`LatencyCounts`].
pub const LATENCY_BUCKETS: usize = BUCKETS / TOGETHER;

/// Latency counts as (bucket, count) of the non-empty buckets, ascending.
///
/// Bucket `n` covers the buckets `4n` to `4n + 3` of [`Histogram`]: 4 ns each below 128 ns, and 16 per power of two
/// above. The value of a bucket is within 1/32 of the latency.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LatencyCounts(Vec<(u16, u64)>);

impl LatencyCounts {
    /// Counts of `now` that are not in `then`; all of `now`, if the histogram was cleared in between (end of a ramp).
    pub fn gained(now: &Histogram, then: &Histogram) -> LatencyCounts {
        let mut counts = [0; LATENCY_BUCKETS];
        LatencyCounts::add_gain(now, then, &mut counts);
        LatencyCounts::of(&counts)
    }

    /// The same, added to counts of all buckets; allocates nothing.
    pub fn add_gain(now: &Histogram, then: &Histogram, counts: &mut [u64; LATENCY_BUCKETS]) {
        let cleared = now.total() < then.total();
        let groups = now.counts().chunks(TOGETHER).zip(then.counts().chunks(TOGETHER));
        for ((now, then), count) in groups.zip(counts) {
            let gains = now.iter().zip(then).map(|(now, then)| now.saturating_sub(if cleared { 0 } else { *then }));
            *count = gains.fold(*count, u64::saturating_add);
        }
    }

    /// From the counts of all buckets.
    pub fn of(counts: &[u64; LATENCY_BUCKETS]) -> LatencyCounts {
        let some = counts.iter().copied().zip(0_u16..).filter(|&(count, _)| count > 0);
        LatencyCounts(some.map(|(count, bucket)| (bucket, count)).collect())
    }

    /// Adds the counts of another interval.
    pub fn add(&mut self, more: &LatencyCounts) {
        for &(bucket, count) in &more.0 {
            match self.0.binary_search_by_key(&bucket, |&(known, _)| known) {
                Ok(at) => self.0[at].1 = self.0[at].1.saturating_add(count),
                Err(at) => self.0.insert(at, (bucket, count)),
            }
        }
    }

    /// True if nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of latencies counted.
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum: u64, &(_, count)| sum.saturating_add(count))
    }

    /// The mean, with each latency as the middle of its bucket; `None` if nothing was counted.
    pub fn mean(&self) -> Option<f64> {
        let total = self.total() as f64;
        let sum = self.0.iter().map(|&(bucket, count)| middle(bucket).as_f64() * count as f64).sum::<f64>();
        (total > 0.0).then(|| sum / total)
    }

    /// Number of latencies in buckets above that of `value`, a bucket's middle as of [`Self::percentile`].
    pub fn slower_than(&self, value: Nanos) -> u64 {
        let slower = self.0.iter().filter(|(bucket, _)| middle(*bucket) > value);
        slower.fold(0, |sum: u64, &(_, count)| sum.saturating_add(count))
    }

    /// The latency that `percent` % of all do not exceed, as the middle of its bucket; `None` if nothing was counted.
    pub fn percentile(&self, percent: f64) -> Option<Nanos> {
        let total = self.total() as f64;
        let mut sum = 0.0;
        let reached = |&&(_, count): &&(u16, u64)| {
            sum += count as f64;
            sum >= total * percent / 100.0
        };
        let (bucket, _) = self.0.iter().find(reached).or(self.0.last())?;
        Some(middle(*bucket))
    }
}

fn middle(bucket: u16) -> Nanos {
    let first = (usize::from(bucket) * TOGETHER).min(BUCKETS - TOGETHER);
    let (low, _) = Histogram::bucket_edges(first);
    let (_, high) = Histogram::bucket_edges(first + TOGETHER - 1);
    Nanos(low.get() + (high.get() - low.get()) / 2)
}

/// For serde: true if no direction has counts.
pub(crate) fn none(counts: &[LatencyCounts; 3]) -> bool {
    counts.iter().all(LatencyCounts::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(latencies: &[(u64, u64)]) -> Histogram {
        let mut histogram = Histogram::new();
        latencies.iter().for_each(|&(ns, count)| histogram.record_many(Nanos(ns), count));
        histogram
    }

    #[test]
    fn a_percentile_is_that_of_the_histogram_to_a_32nd() {
        let counted = of(&[(80_000, 950), (400_000, 49), (9_000_000_000, 1)]);
        let coarse = LatencyCounts::gained(&counted, &Histogram::new());
        assert_eq!(coarse.total(), 1000);
        for (percent, exact) in [(50.0, 80e3), (95.0, 80e3), (99.0, 400e3), (99.95, 9e9), (100.0, 9e9)] {
            let found = coarse.percentile(percent).unwrap().as_f64();
            assert!((found / exact - 1.0).abs() <= 1.0 / 32.0, "{percent}: {found}");
        }
        assert_eq!(LatencyCounts::default().percentile(50.0), None);
        let slower = [95.0, 99.0, 100.0].map(|percent| coarse.slower_than(coarse.percentile(percent).unwrap()));
        assert_eq!(slower, [50, 1, 0]);
    }

    #[test]
    fn intervals_add_up_to_the_run_from_the_end_of_the_ramp() {
        let (early, late) = (of(&[(100, 5), (1000, 5)]), of(&[(100, 5), (1000, 9), (70_000, 1)]));
        let mut sum = LatencyCounts::gained(&early, &Histogram::new());
        sum.add(&LatencyCounts::gained(&late, &early));
        assert_eq!(sum, LatencyCounts::gained(&late, &Histogram::new()));
        let again = of(&[(1000, 2)]);
        assert_eq!(LatencyCounts::gained(&again, &late), LatencyCounts::gained(&again, &Histogram::new()));
    }

    #[test]
    fn a_bucket_that_no_histogram_has_is_the_last_one() {
        let hostile: LatencyCounts = serde_json::from_str("[[65535,18446744073709551615],[65535,9]]").unwrap();
        assert!(hostile.percentile(99.0).unwrap() < Nanos(1 << 40));
        assert_eq!(hostile.total(), u64::MAX);
    }
}

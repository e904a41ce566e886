//! Latency histogram: log-linear, 64 buckets per power of two, the layout of fio up to 17 s, extended to 2^40 ns.

use crate::Nanos;
use zerocopy::FromBytes;

/// Sub-buckets per power of two, as a power of two.
const SUB_BITS: u32 = 6;
const SUB_BUCKETS: usize = 1 << SUB_BITS;
/// The largest exponent held apart: 2^40 ns is 18 minutes; what is longer goes to the last bucket.
const MAX_EXPONENT: u32 = 40;
/// Groups of 64 buckets: values below 128 are exact and fill two groups, then one group per power of two.
const GROUPS: usize = (MAX_EXPONENT - SUB_BITS + 1) as usize;
/// Number of buckets.
pub const BUCKETS: usize = GROUPS * SUB_BUCKETS;

/// Counts of latencies. Error of a value read back is below 1/128.
///
/// Fixed layout without pointers: 17,920 bytes. Two histograms merge by adding counts.
#[derive(Clone, Debug, PartialEq, Eq, FromBytes)]
#[repr(C)]
pub struct Histogram {
    counts: [u64; BUCKETS],
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram.
    pub const fn new() -> Self {
        Histogram { counts: [0; BUCKETS] }
    }

    /// Counts one latency.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        self.counts[bucket_of(latency)] += 1;
    }

    /// Counts `count` equal latencies, for readers of foreign histograms.
    pub fn record_many(&mut self, latency: Nanos, count: u64) {
        self.counts[bucket_of(latency)] += count;
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// How many latencies were counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The non-empty buckets as (index, count), ascending.
    pub fn iter(&self) -> impl Iterator<Item = (usize, u64)> {
        self.counts.iter().copied().enumerate().filter(|&(_, count)| count > 0)
    }

    /// All counts, in bucket order.
    pub fn counts(&self) -> &[u64; BUCKETS] {
        &self.counts
    }

    /// Adds `count` to the bucket with index `bucket`; `false` when there is no such bucket.
    pub fn add_to_bucket(&mut self, bucket: usize, count: u64) -> bool {
        match self.counts.get_mut(bucket) {
            Some(slot) => {
                *slot += count;
                true
            }
            None => false,
        }
    }

    /// The percentiles asked for, in one pass: for each `percent` the value of the first bucket at which the
    /// running sum reaches `percent` % of all, as fio defines it.
    ///
    /// `percents` must ascend. `None` when nothing was counted.
    #[expect(clippy::cast_precision_loss, reason = "counts beyond 2^53 do not occur in a run")]
    pub fn percentiles(&self, percents: &[f64]) -> Option<Vec<Nanos>> {
        let total = self.total();
        if total == 0 {
            return None;
        }
        let mut found = Vec::with_capacity(percents.len());
        let mut wanted = percents.iter().peekable();
        let mut sum = 0;
        let mut last = 0;
        for (bucket, count) in self.iter() {
            sum += count;
            last = bucket;
            while wanted.next_if(|&&percent| sum as f64 >= percent / 100.0 * total as f64).is_some() {
                found.push(value_of(bucket));
            }
        }
        found.extend(wanted.map(|_| value_of(last)));
        Some(found)
    }

    /// One percentile; `None` when nothing was counted.
    pub fn percentile(&self, percent: f64) -> Option<Nanos> {
        self.percentiles(&[percent])?.first().copied()
    }

    /// The value that stands for bucket `bucket`: exact below 128 ns, else the middle of the bucket.
    pub fn bucket_value(bucket: usize) -> Nanos {
        value_of(bucket)
    }

    /// The half-open range of latencies that bucket `bucket` counts.
    pub fn bucket_edges(bucket: usize) -> (Nanos, Nanos) {
        let group = bucket / SUB_BUCKETS;
        if group < 2 {
            return (Nanos(bucket as u64), Nanos(bucket as u64 + 1));
        }
        let width = 1u64 << (group - 1);
        let low = (SUB_BUCKETS + bucket % SUB_BUCKETS) as u64 * width;
        (Nanos(low), Nanos(low + width))
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "a bucket index is below 2^12")]
fn bucket_of(latency: Nanos) -> usize {
    let value = latency.get();
    // Below 2^7 every value has its own bucket; `| 64` keeps the shift at zero there without a branch.
    let exponent = 63 - (value | SUB_BUCKETS as u64).leading_zeros();
    let shift = exponent - SUB_BITS;
    let bucket = ((shift as usize) << SUB_BITS) + (value >> shift) as usize;
    bucket.min(BUCKETS - 1)
}

fn value_of(bucket: usize) -> Nanos {
    let (low, high) = Histogram::bucket_edges(bucket);
    Nanos(low.get() + (high.get() - low.get()) / 2)
}

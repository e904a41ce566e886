//! Latency histogram: log-linear with 64 buckets per power of two. The layout is fio's up to 17 s, extended to 2^40 ns.

use crate::Nanos;
use zerocopy::FromBytes;

/// Sub-buckets per power of two, as an exponent of two.
const SUB_BITS: u32 = 6;
const SUB_BUCKETS: usize = 1 << SUB_BITS;
/// Largest exponent with separate buckets: 2^40 ns is 18 minutes; longer latencies count in the last bucket.
const MAX_EXPONENT: u32 = 40;
/// Groups of 64 buckets: values below 128 are exact and fill two groups; then there is one group per power of two.
const GROUPS: usize = (MAX_EXPONENT - SUB_BITS + 1) as usize;
/// Number of buckets.
pub const BUCKETS: usize = GROUPS * SUB_BUCKETS;

/// Counts of latencies. The value of a bucket is within 1/128 of the latency.
///
/// A fixed layout of 17,920 bytes without pointers. Histograms are merged by adding their counts.
///
/// ```
/// use measure::{Histogram, Nanos};
///
/// let (mut first, mut second) = (Histogram::new(), Histogram::new());
/// first.record_many(Nanos::from_micros(80), 99);
/// second.record(Nanos::from_secs(20));
/// first.merge(&second);
/// assert_eq!(first.total(), 100);
/// let found = first.percentiles(&[50.0, 100.0]).expect("it is not empty");
/// assert!(found[0].get().abs_diff(80_000) <= 80_000 / 128 && found[1] > Nanos::from_secs(19));
/// ```
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
    /// Creates an empty histogram.
    pub const fn new() -> Self {
        Histogram { counts: [0; BUCKETS] }
    }

    /// Counts one latency.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        let slot = &mut self.counts[bucket_of(latency)];
        // Counts that are one more each time never come to the end of 64 bits.
        *slot = slot.wrapping_add(1);
    }

    /// Counts `count` I/Os of the same latency.
    #[inline]
    pub fn record_many(&mut self, latency: Nanos, count: u64) {
        let slot = &mut self.counts[bucket_of(latency)];
        *slot = slot.saturating_add(count);
    }

    /// Counts many latencies, given in nanoseconds.
    pub fn record_all(&mut self, latencies: &[u64]) {
        for &latency in latencies {
            self.record(Nanos(latency));
        }
    }

    /// Counts two latencies of each of many I/Os, `first` here and `second` in `other`. The same bucket again and again
    /// waits for its own store each time; of two histograms one counts meanwhile.
    pub fn record_both(&mut self, first: &[u64], other: &mut Histogram, second: &[u64]) {
        debug_assert_eq!(first.len(), second.len(), "two latencies of each I/O");
        for (&first, &second) in first.iter().zip(second) {
            self.record(Nanos(first));
            other.record(Nanos(second));
        }
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        let expected = if cfg!(debug_assertions) { self.total().saturating_add(other.total()) } else { 0 };
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine = mine.saturating_add(*theirs);
        }
        debug_assert_eq!(self.total(), expected, "a merge counts each latency once");
    }

    /// Resets all counts to zero.
    pub fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// Number of latencies counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |total: u64, &count| total.saturating_add(count))
    }

    /// Returns the non-empty buckets as (index, count), ascending.
    pub fn iter(&self) -> impl Iterator<Item = (usize, u64)> {
        self.counts.iter().copied().enumerate().filter(|&(_, count)| count > 0)
    }

    /// All counts, in bucket order.
    pub fn counts(&self) -> &[u64; BUCKETS] {
        &self.counts
    }

    /// Adds `count` to the bucket with index `bucket`; `false` if there is no such bucket.
    pub fn add_to_bucket(&mut self, bucket: usize, count: u64) -> bool {
        match self.counts.get_mut(bucket) {
            Some(slot) => {
                *slot = slot.saturating_add(count);
                true
            }
            None => false,
        }
    }

    /// Several percentiles in one pass: for each, the first bucket at which the sum reaches it, as in fio.
    ///
    /// `percents` must be in ascending order. Returns `None` if nothing was counted.
    pub fn percentiles(&self, percents: &[f64]) -> Option<Vec<Nanos>> {
        let total = self.total();
        if total == 0 {
            return None;
        }
        let mut found = Vec::with_capacity(percents.len());
        let mut wanted = percents.iter().peekable();
        let mut sum: u64 = 0;
        let mut last = 0;
        for (bucket, count) in self.iter() {
            sum = sum.saturating_add(count);
            last = bucket;
            while wanted.next_if(|&&percent| sum >= rank(percent, total)).is_some() {
                found.push(value_of(bucket));
            }
        }
        found.extend(wanted.map(|_| value_of(last)));
        Some(found)
    }

    /// Computes one percentile; `None` if nothing was counted.
    pub fn percentile(&self, percent: f64) -> Option<Nanos> {
        self.percentiles(&[percent])?.first().copied()
    }

    /// Representative value of bucket `bucket`: exact below 128 ns, otherwise the middle of the bucket.
    pub fn bucket_value(bucket: usize) -> Nanos {
        value_of(bucket)
    }

    /// Half-open range of the latencies in bucket `bucket`.
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
    // Below 2^7 every value has its own bucket; `| 64` makes the shift zero for these without a branch.
    let exponent = 63 - (value | SUB_BUCKETS as u64).leading_zeros();
    let shift = exponent - SUB_BITS;
    let bucket = ((shift as usize) << SUB_BITS) + (value >> shift) as usize;
    bucket.min(BUCKETS - 1)
}

/// Rank of a percentile: `percent` ÷ 100 × `total`, rounded up, computed without rounding error.
///
/// As in fio: 99.2 % of 125 has rank 125, not 124, because the double nearest to 99.2 is slightly larger.
fn rank(percent: f64, total: u64) -> u64 {
    if percent.is_nan() || percent <= 0.0 {
        return 0;
    }
    let bits = percent.min(100.0).to_bits();
    let exponent = bits >> 52;
    if exponent == 0 {
        // Zero or subnormal: no count reaches this.
        return 0;
    }
    // `percent` is `mantissa` × 2^(`exponent` − 1075), and the exponent of 100 is 1029.
    let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
    let hundredths = (u128::from(mantissa) * u128::from(total)).div_ceil(100);
    let halvings = 1075 - exponent;
    let rank = if halvings < 128 { hundredths.div_ceil(1 << halvings) } else { hundredths.min(1) };
    u64::try_from(rank).unwrap_or(u64::MAX)
}

fn value_of(bucket: usize) -> Nanos {
    let (low, high) = Histogram::bucket_edges(bucket);
    Nanos(low.get() + (high.get() - low.get()) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Latencies of all magnitudes, equally likely.
    fn latency() -> impl Strategy<Value = Nanos> {
        (0u32..64, any::<u64>()).prop_map(|(shift, bits)| Nanos(bits >> shift))
    }

    fn of(latencies: &[Nanos]) -> Histogram {
        let mut histogram = Histogram::new();
        latencies.iter().for_each(|&latency| histogram.record(latency));
        histogram
    }

    fn sum(histograms: &[&Histogram]) -> Histogram {
        let mut sum = Histogram::new();
        histograms.iter().for_each(|histogram| sum.merge(histogram));
        sum
    }

    #[test]
    fn values_below_128_are_exact_and_the_layout_has_no_gap() {
        for value in 0..128 {
            let bucket = bucket_of(Nanos(value));
            assert_eq!((bucket as u64, value_of(bucket)), (value, Nanos(value)));
        }
        for bucket in 1..BUCKETS {
            assert_eq!(Histogram::bucket_edges(bucket - 1).1, Histogram::bucket_edges(bucket).0, "{bucket}");
        }
        assert_eq!(Histogram::bucket_edges(BUCKETS - 1).1, Nanos(1 << MAX_EXPONENT));
    }

    #[test]
    fn the_first_29_groups_end_at_17_seconds() {
        assert_eq!(Histogram::bucket_edges(29 * SUB_BUCKETS - 1).1, Nanos(1 << 34));
    }

    #[test]
    fn what_is_longer_than_the_range_goes_to_the_last_bucket() {
        for latency in [Nanos(1 << 40), Nanos(1 << 50), Nanos::MAX] {
            assert_eq!(bucket_of(latency), BUCKETS - 1);
        }
        assert_eq!(bucket_of(Nanos((1 << 40) - 1)), BUCKETS - 1);
    }

    #[test]
    fn an_empty_histogram_has_no_percentile() {
        assert_eq!(Histogram::new().percentile(50.0), None);
        assert_eq!(Histogram::new().percentiles(&[]), None);
    }

    #[test]
    fn percentiles_of_a_hundred_values_are_those_values() {
        let histogram = of(&(1..=100).map(Nanos).collect::<Vec<_>>());
        let found = histogram.percentiles(&[0.0, 1.0, 50.0, 99.0, 99.1, 100.0]).unwrap();
        assert_eq!(found, [1, 1, 50, 99, 100, 100].map(Nanos));
    }

    #[test]
    fn ranks_are_those_seen_in_fios_output() {
        for (percent, total, expected) in [
            (0.0, 10, 0),
            (1.0, 1, 1),
            (50.0, 0, 0),
            (50.0, 3, 2),
            (50.0, 4, 2),
            (99.2, 125, 125),
            (6.4, 125, 9),
            (99.9, 1000, 1000),
            (98.9, 2000, 1979),
            (99.5, 200, 199),
            (60.0, 200, 120),
            (60.0, 820, 492),
            (60.0, 100, 60),
            (100.0, u64::MAX, u64::MAX),
            (150.0, 10, 10),
            (-1.0, 10, 0),
            (-0.0, 10, 0),
            (f64::MIN_POSITIVE, 10, 1),
            (f64::NAN, 10, 0),
        ] {
            assert_eq!(rank(percent, total), expected, "{percent} % of {total}");
        }
    }

    #[test]
    fn a_bucket_that_does_not_exist_takes_nothing() {
        let mut histogram = Histogram::new();
        assert!(!histogram.add_to_bucket(BUCKETS, 1));
        assert!(histogram.add_to_bucket(BUCKETS - 1, 3));
        assert_eq!((histogram.total(), histogram.iter().collect::<Vec<_>>()), (3, vec![(BUCKETS - 1, 3)]));
        histogram.clear();
        assert_eq!(histogram, Histogram::new());
    }

    #[test]
    fn fresh_shared_memory_is_an_empty_histogram() {
        use zerocopy::FromZeros;
        assert_eq!(Histogram::new_zeroed(), Histogram::new());
    }

    proptest! {
        #[test]
        fn a_bucket_holds_its_latency_and_its_value_is_close(latency in latency()) {
            let bucket = bucket_of(latency);
            let (low, high) = Histogram::bucket_edges(bucket);
            prop_assert!(low <= latency && (latency < high || bucket == BUCKETS - 1));
            let value = value_of(bucket);
            prop_assert!(low <= value && value < high);
            if latency < high {
                let off = value.get().abs_diff(latency.get());
                prop_assert!(off * 128 <= latency.get(), "{latency:?} is read back as {value:?}");
            }
        }

        #[test]
        fn longer_latencies_never_have_lower_buckets(one in latency(), other in latency()) {
            prop_assert_eq!(one.cmp(&other).is_le(), one <= other);
            prop_assert!(bucket_of(one.min(other)) <= bucket_of(one.max(other)));
        }

        #[test]
        fn merging_is_associative_and_equals_the_whole(parts in prop::collection::vec(prop::collection::vec(latency(), 0..50), 3)) {
            let [a, b, c] = &parts.iter().map(|part| of(part)).collect::<Vec<_>>()[..] else { unreachable!() };
            let whole = of(&parts.concat());
            prop_assert_eq!(&sum(&[&sum(&[a, b]), c]), &whole);
            prop_assert_eq!(&sum(&[a, &sum(&[b, c])]), &whole);
            prop_assert_eq!(&sum(&[c, b, a]), &whole);
            prop_assert_eq!(whole.total(), parts.concat().len() as u64);
        }

        #[test]
        fn percentiles_are_the_sorted_latencies_to_their_bucket(
            mut latencies in prop::collection::vec(latency(), 1..200), mut percents in prop::collection::vec(0.0..=100.0, 1..9),
        ) {
            percents.sort_by(f64::total_cmp);
            latencies.sort_unstable();
            let found = of(&latencies).percentiles(&percents).unwrap();
            for (&percent, value) in percents.iter().zip(found) {
                let at = usize::try_from(rank(percent, latencies.len() as u64)).unwrap().max(1);
                prop_assert_eq!(value, value_of(bucket_of(latencies[at - 1])), "{} %", percent);
            }
        }

        #[test]
        fn ranks_are_within_one_of_the_share_and_never_fall(percent in 0.0..=100.0, total in 0u64..1 << 50) {
            let share = percent / 100.0 * total as f64;
            let found = rank(percent, total);
            prop_assert!((found as f64 - share).abs() <= 1.0 + share * 1e-15, "{} {}", found, share);
            prop_assert!(found <= total && found <= rank(percent, total + 1));
            prop_assert!(found <= rank((percent + 0.01).min(100.0), total));
        }
    }
}

//! Exact running moments of a stream of latencies: integers only, so merging is associative to the last bit.

use crate::Nanos;
use zerocopy::FromBytes;

/// Count, minimum, maximum, mean and standard deviation of a stream of nanosecond values.
///
/// The sum and the sum of squares are integers: no rounding per sample, no division per I/O, and the merge of two
/// halves is exactly the whole. 2^48 values of up to 2^40 ns fit.
/// All bytes zero is the empty state, with which shared memory starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes)]
#[repr(C)]
pub struct Moments {
    count: u64,
    /// Bitwise complement of the minimum, so that zero means no value yet.
    minimum_complement: u64,
    maximum: u64,
    sum: u128,
    sum_of_squares: u128,
}

impl Default for Moments {
    fn default() -> Self {
        Self::new()
    }
}

impl Moments {
    /// Creates empty moments.
    pub const fn new() -> Self {
        Moments { count: 0, minimum_complement: 0, maximum: 0, sum: 0, sum_of_squares: 0 }
    }

    /// Adds one value.
    #[inline]
    pub fn record(&mut self, value: Nanos) {
        self.record_many(value, 1);
    }

    /// Adds `count` equal values, at least one.
    #[inline]
    pub fn record_many(&mut self, value: Nanos, count: u64) {
        let value = value.get();
        self.count += count;
        self.minimum_complement = self.minimum_complement.max(!value);
        self.maximum = self.maximum.max(value);
        self.sum += u128::from(value) * u128::from(count);
        // Overflows only after 2^48 values of 18 minutes each; a saturating addition would cost 1 ns per I/O.
        let squares = (u128::from(value) * u128::from(value)).wrapping_mul(u128::from(count));
        self.sum_of_squares = self.sum_of_squares.wrapping_add(squares);
    }

    /// Adds many values faster than one by one: each batch is summed in 64 bits, as distances from its first value, and
    /// only the sums of the batches are added in 128 bits.
    pub fn record_all(&mut self, values: &[u64]) {
        /// The sum of the squares of this many distances below 2^29 ns (half a second) fits into 64 bits.
        const FITTING: usize = 64;
        for batch in values.chunks(FITTING) {
            let base = batch[0];
            let (mut low, mut high, mut sum, mut squares) = (base, base, 0u64, 0u64);
            for &value in batch {
                (low, high) = (low.min(value), high.max(value));
                let distance = value.wrapping_sub(base);
                sum = sum.wrapping_add(distance);
                squares = squares.wrapping_add(distance.wrapping_mul(distance));
            }
            if (high - low) >> 29 != 0 {
                batch.iter().for_each(|&value| self.record(Nanos(value)));
                continue;
            }
            let (count, base, sum) =
                (batch.len() as u64, u128::from(base), i128::from(sum.cast_signed()).cast_unsigned());
            self.count += count;
            self.minimum_complement = self.minimum_complement.max(!low);
            self.maximum = self.maximum.max(high);
            // (b + d)^2 = b^2 + 2bd + d^2, modulo 2^128 also for distances below zero.
            let all = base.wrapping_mul(u128::from(count));
            self.sum = self.sum.wrapping_add(all.wrapping_add(sum));
            let products = base.wrapping_mul(all.wrapping_add(sum.wrapping_mul(2)));
            self.sum_of_squares = self.sum_of_squares.wrapping_add(products.wrapping_add(u128::from(squares)));
        }
    }

    /// Adds all values of `other`. Saturates, because either may come from a damaged file.
    pub fn merge(&mut self, other: &Moments) {
        self.count = self.count.saturating_add(other.count);
        self.minimum_complement = self.minimum_complement.max(other.minimum_complement);
        self.maximum = self.maximum.max(other.maximum);
        self.sum = self.sum.saturating_add(other.sum);
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
    }

    /// Number of values.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The smallest value; `None` if there are none.
    pub const fn minimum(&self) -> Option<Nanos> {
        if self.count == 0 { None } else { Some(Nanos(!self.minimum_complement)) }
    }

    /// The largest value; `None` if there are none.
    pub const fn maximum(&self) -> Option<Nanos> {
        if self.count == 0 { None } else { Some(Nanos(self.maximum)) }
    }

    /// Mean in nanoseconds; `None` if there are no values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Sample standard deviation (divisor n − 1) in nanoseconds; 0 for one value, `None` for none.
    pub fn deviation(&self) -> Option<f64> {
        if self.count < 2 {
            return (self.count == 1).then_some(0.0);
        }
        // Σ(x−m)² with m = q + r/n, q the integer part of the mean: Σx² − q(2Σx − nq) − r²/n, without cancellation.
        let count = u128::from(self.count);
        let (whole, rest) = (self.sum / count, self.sum % count);
        let about_whole = self.sum_of_squares.saturating_sub(whole.saturating_mul(self.sum.saturating_add(rest)));
        let about_mean = about_whole as f64 - rest as f64 * rest as f64 / count as f64;
        Some((about_mean.max(0.0) / (count - 1) as f64).sqrt())
    }

    /// Sum of all values in nanoseconds.
    pub const fn sum(&self) -> u128 {
        self.sum
    }

    /// The raw fields (count, minimum, maximum, sum, sum of squares), for the native result file.
    pub const fn parts(&self) -> (u64, u64, u64, u128, u128) {
        (self.count, !self.minimum_complement, self.maximum, self.sum, self.sum_of_squares)
    }

    /// Rebuilds moments from [`Moments::parts`].
    pub const fn from_parts(count: u64, minimum: u64, maximum: u64, sum: u128, sum_of_squares: u128) -> Self {
        Moments { count, minimum_complement: !minimum, maximum, sum, sum_of_squares }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Moments {
        let mut moments = Moments::new();
        values.iter().for_each(|&value| moments.record(Nanos(value)));
        moments
    }

    /// Sum of the squared deviations from the mean × n², exactly: Σ(n·x − Σx)².
    fn scaled_squares(values: &[u64]) -> u128 {
        let (count, sum) = (values.len() as u128, values.iter().map(|&value| u128::from(value)).sum::<u128>());
        values.iter().map(|&value| (u128::from(value) * count).abs_diff(sum).pow(2)).sum()
    }

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() <= 1e-12 * one.abs().max(other.abs())
    }

    #[test]
    fn nothing_seen_is_nothing_said() {
        let moments = Moments::new();
        assert_eq!(
            (moments.minimum(), moments.maximum(), moments.mean(), moments.deviation()),
            (None, None, None, None)
        );
        assert_eq!(Moments::default(), moments);
    }

    #[test]
    fn fresh_shared_memory_is_empty_moments() {
        use zerocopy::FromZeros;
        let mut zeroed = Moments::new_zeroed();
        assert_eq!(zeroed, Moments::new());
        zeroed.record(Nanos(5));
        assert_eq!((zeroed.minimum(), zeroed.maximum()), (Some(Nanos(5)), Some(Nanos(5))));
    }

    #[test]
    fn one_value_has_no_deviation_and_two_have_the_known_one() {
        assert_eq!(of(&[7]).deviation(), Some(0.0));
        assert!(close(of(&[10, 14]).deviation().unwrap(), 8f64.sqrt()));
    }

    #[test]
    fn a_small_deviation_on_a_large_mean_is_not_lost() {
        // 2^40 ± 1: in floating point, the sums of squares would have cancelled out.
        let mut moments = Moments::new();
        for index in 0..1_000_000u64 {
            moments.record(Nanos((1 << 40) + index % 2 * 2));
        }
        assert_eq!(moments.mean(), Some(((1u64 << 40) + 1) as f64));
        let expected = (1_000_000f64 / 999_999.0).sqrt();
        assert!(close(moments.deviation().unwrap(), expected), "{:?}", moments.deviation());
    }

    #[test]
    fn a_batch_counts_like_its_values_around_the_limit_of_its_sums() {
        for top in [1, 1000, (1 << 29) - 1, 1 << 29, u64::MAX >> 24] {
            for length in [0, 1, 63, 64, 65, 200] {
                for step in [1, 5, (1 << 29) / 6, 1 << 29] {
                    let values: Vec<u64> = (0..length).map(|index| (top + index * step) % (7 * step + top)).collect();
                    let mut batch = Moments::new();
                    batch.record_all(&values);
                    assert_eq!(batch, of(&values), "{length} values from {top} in steps of {step}");
                }
            }
        }
    }

    #[test]
    fn parts_rebuild_the_moments() {
        for moments in [Moments::new(), of(&[0]), of(&[3, 9, 1 << 39])] {
            let (count, minimum, maximum, sum, squares) = moments.parts();
            assert_eq!(Moments::from_parts(count, minimum, maximum, sum, squares), moments);
        }
        assert_eq!(Moments::new().parts(), (0, u64::MAX, 0, 0, 0));
    }

    #[test]
    fn equal_values_counted_together_are_those_counted_one_by_one() {
        for (value, count) in [(0, 3), (777, 1), (5_000_000_000, 8), (1 << 40, 1000)] {
            let (mut together, mut apart) = (Moments::new(), Moments::new());
            together.record_many(Nanos(value), count);
            (0..count).for_each(|_| apart.record(Nanos(value)));
            assert_eq!(together, apart, "{count} times {value}");
        }
    }

    proptest! {
        #[test]
        fn moments_agree_with_exact_arithmetic(values in prop::collection::vec(0u64..1 << 40, 2..60)) {
            let moments = of(&values);
            let count = values.len() as u128;
            prop_assert_eq!(moments.count(), values.len() as u64);
            prop_assert_eq!(moments.minimum(), values.iter().min().map(|&value| Nanos(value)));
            prop_assert_eq!(moments.maximum(), values.iter().max().map(|&value| Nanos(value)));
            prop_assert_eq!(moments.sum(), values.iter().map(|&value| u128::from(value)).sum::<u128>());
            let expected = (scaled_squares(&values) as f64 / (count * count) as f64 / (count - 1) as f64).sqrt();
            prop_assert!(close(moments.deviation().unwrap(), expected), "{:?} {}", moments.deviation(), expected);
        }

        #[test]
        fn merging_parts_equals_the_whole_to_the_last_bit(
            parts in prop::collection::vec(prop::collection::vec(0u64..1 << 40, 0..20), 3),
        ) {
            let [a, b, c] = parts.iter().map(|part| of(part)).collect::<Vec<_>>()[..] else { unreachable!() };
            let (mut left, mut right, mut tail) = (a, a, b);
            left.merge(&b);
            left.merge(&c);
            tail.merge(&c);
            right.merge(&tail);
            prop_assert_eq!(left, of(&parts.concat()));
            prop_assert_eq!(right, left);
        }
    }
}

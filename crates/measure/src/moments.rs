//! Exact running moments of a stream of latencies: integers only, so merging is associative to the last bit.

use crate::Nanos;
use zerocopy::FromBytes;

/// Count, minimum, maximum, mean and standard deviation of a stream of nanosecond values.
///
/// Keeps the sum and the sum of squares as integers: no rounding per sample, no division per I/O, and the merge
/// of two halves equals the whole exactly. Values up to 2^40 ns leave room for 2^48 of them.
/// All bytes zero is the empty one, the state in which shared memory starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes)]
#[repr(C)]
pub struct Moments {
    count: u64,
    /// The complement of the minimum, so that zero means none yet.
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
    /// No samples yet.
    pub const fn new() -> Self {
        Moments { count: 0, minimum_complement: 0, maximum: 0, sum: 0, sum_of_squares: 0 }
    }

    /// Adds one value.
    #[inline]
    pub fn record(&mut self, value: Nanos) {
        let value = value.get();
        self.count += 1;
        self.minimum_complement = self.minimum_complement.max(!value);
        self.maximum = self.maximum.max(value);
        self.sum += u128::from(value);
        self.sum_of_squares = self.sum_of_squares.saturating_add(u128::from(value) * u128::from(value));
    }

    /// Adds all values that `other` has seen.
    pub fn merge(&mut self, other: &Moments) {
        self.count += other.count;
        self.minimum_complement = self.minimum_complement.max(other.minimum_complement);
        self.maximum = self.maximum.max(other.maximum);
        self.sum += other.sum;
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
    }

    /// How many values were seen.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The smallest value; `None` before the first.
    pub const fn minimum(&self) -> Option<Nanos> {
        if self.count == 0 { None } else { Some(Nanos(!self.minimum_complement)) }
    }

    /// The largest value; `None` before the first.
    pub const fn maximum(&self) -> Option<Nanos> {
        if self.count == 0 { None } else { Some(Nanos(self.maximum)) }
    }

    /// The mean in nanoseconds; `None` before the first value.
    #[expect(clippy::cast_precision_loss, reason = "the mean of up to 2^53 is exact enough")]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The sample standard deviation (divisor n − 1) in nanoseconds; 0 for one value, `None` before the first.
    #[expect(clippy::cast_precision_loss, reason = "the squares about the mean are exact integers until here")]
    pub fn deviation(&self) -> Option<f64> {
        if self.count < 2 {
            return (self.count == 1).then_some(0.0);
        }
        // Σ(x−m)² with m = q + r/n, q the whole part of the mean: Σx² − q(2Σx − nq) − r²/n, without cancellation.
        let count = u128::from(self.count);
        let (whole, rest) = (self.sum / count, self.sum % count);
        let about_whole = self.sum_of_squares.saturating_sub(whole.saturating_mul(self.sum + rest));
        let about_mean = about_whole as f64 - rest as f64 * rest as f64 / count as f64;
        Some((about_mean.max(0.0) / (count - 1) as f64).sqrt())
    }

    /// The sum of all values, in nanoseconds.
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

//! Units as types: nanoseconds, bytes, bytes per second. The types prevent mixing up MiB and MB.

use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use zerocopy::FromBytes;

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, FromBytes)]
        #[serde(transparent)]
        #[repr(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// Zero.
            pub const ZERO: Self = Self(0);
            /// The largest value.
            pub const MAX: Self = Self(u64::MAX);

            /// The number, in the unit of the type.
            #[inline]
            pub const fn get(self) -> u64 {
                self.0
            }

            /// Difference, or zero if it would be negative.
            #[inline]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }

            /// Sum, or the largest value on overflow.
            #[inline]
            pub const fn saturating_add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }

            /// True if it is zero.
            #[inline]
            pub const fn is_zero(self) -> bool {
                self.0 == 0
            }

            /// Converts to a float, for ratios.
            #[inline]
            pub const fn as_f64(self) -> f64 {
                float(self.0)
            }
        }

        impl Add for $name {
            type Output = Self;
            #[inline]
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }
        impl AddAssign for $name {
            #[inline]
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }
        impl Sub for $name {
            type Output = Self;
            #[inline]
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
        impl SubAssign for $name {
            #[inline]
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }
        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
                values.fold(Self::ZERO, Self::saturating_add)
            }
        }
    };
}

/// Converts a count to a float, exact up to 2^53, for ratios.
#[inline]
pub const fn float(count: u64) -> f64 {
    count as f64
}

quantity! {
    /// A duration, or a time on the run's clock, in nanoseconds.
    ///
    /// ```
    /// use measure::{Bytes, BytesPerSecond, Nanos};
    ///
    /// let elapsed = Nanos::from_millis(1500);
    /// assert_eq!(elapsed + Nanos::MILLISECOND, Nanos(1_501_000_000));
    /// assert_eq!(Nanos::ZERO.saturating_sub(elapsed), Nanos::ZERO);
    /// assert_eq!(BytesPerSecond::over(Bytes(3 << 20), elapsed), Some(BytesPerSecond(2 << 20)));
    /// ```
    Nanos
}
quantity! {
    /// An amount of data in bytes.
    Bytes
}
quantity! {
    /// A data rate in bytes per second.
    BytesPerSecond
}

impl Nanos {
    /// One second.
    pub const SECOND: Nanos = Nanos(1_000_000_000);
    /// One millisecond.
    pub const MILLISECOND: Nanos = Nanos(1_000_000);
    /// One microsecond.
    pub const MICROSECOND: Nanos = Nanos(1_000);

    /// Converts from seconds; saturates.
    pub const fn from_secs(seconds: u64) -> Self {
        Nanos(seconds.saturating_mul(1_000_000_000))
    }

    /// Converts from milliseconds; saturates.
    pub const fn from_millis(milliseconds: u64) -> Self {
        Nanos(milliseconds.saturating_mul(1_000_000))
    }

    /// Converts from microseconds; saturates.
    pub const fn from_micros(microseconds: u64) -> Self {
        Nanos(microseconds.saturating_mul(1_000))
    }

    /// Converts from seconds; 0 for what is negative or not a number, saturates.
    ///
    /// ```
    /// use measure::Nanos;
    ///
    /// assert_eq!(Nanos::from_secs_f64(0.0015), Nanos::from_micros(1500));
    /// assert_eq!(Nanos::from_secs_f64(-1.0), Nanos::ZERO);
    /// assert_eq!(Nanos::from_secs_f64(1e30), Nanos::MAX);
    /// ```
    pub fn from_secs_f64(seconds: f64) -> Self {
        let positive = if seconds > 0.0 { seconds } else { 0.0 };
        let time = std::time::Duration::try_from_secs_f64(positive).unwrap_or(std::time::Duration::MAX);
        Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Converts to seconds as a float.
    pub const fn as_secs_f64(self) -> f64 {
        self.as_f64() / 1e9
    }

    /// Whole milliseconds, rounded up, as fio reports runtimes.
    pub const fn as_millis_ceil(self) -> u64 {
        self.0.div_ceil(1_000_000)
    }

    /// Converts to the type of the standard library.
    pub const fn as_duration(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0)
    }
}

impl BytesPerSecond {
    /// The rate of `amount` in `elapsed`; `None` if no time has passed.
    #[expect(clippy::cast_possible_truncation, reason = "saturated just before")]
    pub const fn over(amount: Bytes, elapsed: Nanos) -> Option<Self> {
        if elapsed.0 == 0 {
            return None;
        }
        let per_second = amount.0 as u128 * 1_000_000_000 / elapsed.0 as u128;
        Some(BytesPerSecond(if per_second > u64::MAX as u128 { u64::MAX } else { per_second as u64 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_convert_and_saturate() {
        assert_eq!(Nanos::from_secs(2), Nanos::from_millis(2000));
        assert_eq!(Nanos::from_millis(3), Nanos::from_micros(3000));
        assert_eq!(Nanos::from_secs(u64::MAX), Nanos::MAX);
        assert_eq!((Nanos(1).saturating_sub(Nanos(2)), Nanos::MAX.saturating_add(Nanos(1))), (Nanos::ZERO, Nanos::MAX));
        assert_eq!([Nanos::MAX, Nanos(1)].into_iter().sum::<Nanos>(), Nanos::MAX);
        assert_eq!(Nanos::from_millis(1500).as_duration(), std::time::Duration::from_millis(1500));
        assert_eq!(Nanos::from_millis(1500).as_secs_f64(), 1.5);
    }

    #[test]
    fn milliseconds_are_rounded_up() {
        for (ns, ms) in [(0, 0), (1, 1), (1_000_000, 1), (1_000_001, 2)] {
            assert_eq!(Nanos(ns).as_millis_ceil(), ms, "{ns}");
        }
    }

    #[test]
    fn a_rate_is_bytes_over_seconds_and_nothing_over_no_time() {
        let check = |bytes, ns| BytesPerSecond::over(Bytes(bytes), Nanos(ns)).map(BytesPerSecond::get);
        assert_eq!(check(1 << 20, 500_000_000), Some(2 << 20));
        assert_eq!(check(1000, 3_000_000_000), Some(333));
        assert_eq!(check(u64::MAX, 1), Some(u64::MAX));
        assert_eq!(check(1, 0), None);
    }

    #[test]
    fn quantities_are_plain_numbers_in_json() {
        assert_eq!(serde_json::to_string(&Bytes(7)).unwrap(), "7");
        assert_eq!(serde_json::from_str::<Nanos>("9").unwrap(), Nanos(9));
    }
}

//! Interval samples: bandwidth and IOPS every 500 ms, and their statistics.

use crate::Nanos;
use serde::{Deserialize, Serialize};
use zerocopy::FromBytes;

/// Minimum, maximum, mean and deviation of interval samples (Welford's algorithm).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, FromBytes)]
#[repr(C)]
pub struct SampleStatistics {
    /// Number of samples.
    pub count: u64,
    /// Smallest sample; valid only if `count > 0`.
    pub minimum: u64,
    /// Largest sample; valid only if `count > 0`.
    pub maximum: u64,
    /// Mean of the samples.
    pub mean: f64,
    /// Sum of squared deviations from the mean.
    pub squares: f64,
}

impl SampleStatistics {
    /// Adds one sample.
    pub fn record(&mut self, sample: u64) {
        self.minimum = if self.count == 0 { sample } else { self.minimum.min(sample) };
        self.maximum = self.maximum.max(sample);
        self.count += 1;
        let delta = sample as f64 - self.mean;
        self.mean += delta / self.count as f64;
        self.squares += delta * (sample as f64 - self.mean);
    }

    /// Sample standard deviation (divisor n − 1); 0 for fewer than two samples.
    pub fn deviation(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.squares / (self.count - 1) as f64).sqrt() }
    }

    /// Combines two jobs that ran at the same time: a group's rate is the sum of rates, so all fields are added.
    pub fn add_concurrent(&mut self, other: &SampleStatistics) {
        self.count = self.count.saturating_add(other.count);
        self.minimum = self.minimum.saturating_add(other.minimum);
        self.maximum = self.maximum.saturating_add(other.maximum);
        self.mean += other.mean;
        self.squares += other.squares;
    }
}

/// Converts growing totals to one rate sample per interval: bytes to KiB/s and I/Os to IOPS.
///
/// The worker calls it at completions, so it needs no thread and works in virtual time.
#[derive(Clone, Copy, Debug, FromBytes)]
#[repr(C)]
pub struct IntervalSampler {
    interval: Nanos,
    started: Nanos,
    next: Nanos,
    bytes_before: u64,
    ios_before: u64,
}

/// Rates of one interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntervalRates {
    /// Bandwidth in KiB/s.
    pub kib_per_second: u64,
    /// I/Os per second.
    pub iops: u64,
    /// End of the interval, on the run's clock.
    pub ended: Nanos,
}

impl IntervalSampler {
    /// Creates a sampler whose first interval starts at `now`.
    pub fn new(interval: Nanos, now: Nanos) -> Self {
        IntervalSampler { interval, started: now, next: now.saturating_add(interval), bytes_before: 0, ios_before: 0 }
    }

    /// True if the interval is over at `now`: a single comparison, for the worker loop.
    #[inline]
    pub fn due(&self, now: Nanos) -> bool {
        now >= self.next
    }

    /// End of the current interval.
    pub fn next_due(&self) -> Nanos {
        self.next
    }

    /// Ends all idle intervals that are over before `until`: the totals have not changed since the last was closed.
    pub fn skip_idle(&mut self, until: Nanos) {
        let behind = until.saturating_sub(self.next).get();
        if behind > 0 {
            let whole = (behind - 1) / self.interval.get().max(1);
            self.started = self.next.saturating_add(Nanos(whole.saturating_mul(self.interval.get())));
            self.next = self.started.saturating_add(self.interval);
        }
    }

    /// Closes the interval at `now` with the current totals. Returns `None` if there was no I/O in it.
    pub fn close(&mut self, now: Nanos, bytes: u64, ios: u64) -> Option<IntervalRates> {
        let elapsed = now.saturating_sub(self.started);
        if elapsed.is_zero() {
            return None;
        }
        let done = (bytes.saturating_sub(self.bytes_before), ios.saturating_sub(self.ios_before));
        self.started = now;
        self.next = now.saturating_add(self.interval);
        (self.bytes_before, self.ios_before) = (bytes, ios);
        let per_second = |amount: u64| {
            let rate = u128::from(amount) * u128::from(Nanos::SECOND.get()) / u128::from(elapsed.get());
            u64::try_from(rate).unwrap_or(u64::MAX)
        };
        (done.0 > 0 || done.1 > 0).then(|| IntervalRates {
            kib_per_second: per_second(done.0) / 1024,
            iops: per_second(done.1),
            ended: now,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(samples: &[u64]) -> SampleStatistics {
        let mut statistics = SampleStatistics::default();
        samples.iter().for_each(|&sample| statistics.record(sample));
        statistics
    }

    #[test]
    fn statistics_of_samples_are_those_of_the_textbook() {
        let found = of(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!((found.count, found.minimum, found.maximum, found.mean), (8, 2, 9, 5.0));
        assert!((found.deviation() - (32f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!((of(&[3]).deviation(), of(&[]).deviation()), (0.0, 0.0));
        assert_eq!(of(&[7, 3]).minimum, 3);
    }

    #[test]
    fn jobs_side_by_side_add_up() {
        let mut group = of(&[100, 300]);
        group.add_concurrent(&of(&[50, 70, 90]));
        assert_eq!((group.count, group.minimum, group.maximum, group.mean), (5, 150, 390, 270.0));
        let mut alone = SampleStatistics::default();
        alone.add_concurrent(&of(&[1, 2]));
        assert_eq!(alone, of(&[1, 2]));
    }

    #[test]
    fn an_interval_gives_its_rates_and_the_next_starts_at_its_end() {
        let mut sampler = IntervalSampler::new(Nanos::from_millis(500), Nanos::from_secs(1));
        assert!(!sampler.due(Nanos(1_499_999_999)) && sampler.due(Nanos::from_millis(1500)));
        let first = sampler.close(Nanos::from_millis(1500), 4 << 20, 1024);
        let ended = Nanos::from_millis(1500);
        assert_eq!(first, Some(IntervalRates { kib_per_second: 8192, iops: 2048, ended }));
        // 10 ms late: the rate is computed with the time that actually passed.
        assert!(!sampler.due(Nanos::from_millis(1999)) && sampler.due(Nanos::from_millis(2000)));
        let second = sampler.close(Nanos::from_millis(2010), (4 << 20) + 522_240, 1024 + 51).unwrap();
        assert_eq!((second.kib_per_second, second.iops), (1000, 100));
        assert!(!sampler.due(Nanos::from_millis(2509)) && sampler.due(Nanos::from_millis(2510)));
    }

    #[test]
    fn an_empty_interval_has_no_sample_but_ends() {
        let mut sampler = IntervalSampler::new(Nanos::from_millis(500), Nanos::ZERO);
        assert_eq!(sampler.close(Nanos::from_millis(500), 0, 0), None);
        assert_eq!(sampler.close(Nanos::from_millis(500), 10, 1), None);
        let next = sampler.close(Nanos::from_millis(1000), 1 << 20, 1).unwrap();
        assert_eq!((next.kib_per_second, next.iops), (2048, 2));
    }

    #[test]
    fn idle_intervals_end_in_one_step_where_they_would_one_by_one() {
        let interval = Nanos(500);
        for until in [0, 499, 500, 501, 999, 1000, 1001, 5000, 5001] {
            let mut one_by_one = IntervalSampler::new(interval, Nanos::ZERO);
            while one_by_one.next_due() < Nanos(until) {
                assert_eq!(one_by_one.close(one_by_one.next_due(), 0, 0), None);
            }
            let mut at_once = IntervalSampler::new(interval, Nanos::ZERO);
            at_once.skip_idle(Nanos(until));
            assert_eq!((at_once.started, at_once.next), (one_by_one.started, one_by_one.next), "until {until}");
        }
        let mut far = IntervalSampler::new(interval, Nanos::ZERO);
        far.skip_idle(Nanos::MAX);
        assert!(far.next_due() >= Nanos(u64::MAX - 500));
    }

    #[test]
    fn totals_that_overflow_a_rate_saturate() {
        let mut sampler = IntervalSampler::new(Nanos(1), Nanos::ZERO);
        assert_eq!(sampler.close(Nanos(1), u64::MAX, u64::MAX).unwrap().iops, u64::MAX);
    }
}

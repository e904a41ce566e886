//! Interval samples: bandwidth and IOPS every 500 ms, and the statistics over them.

use crate::Nanos;
use serde::{Deserialize, Serialize};
use zerocopy::FromBytes;

/// Minimum, maximum, mean and deviation over interval samples (Welford's recurrence).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, FromBytes)]
#[repr(C)]
pub struct SampleStatistics {
    /// How many samples.
    pub count: u64,
    /// The smallest sample; meaningful only when `count > 0`.
    pub minimum: u64,
    /// The largest sample; meaningful only when `count > 0`.
    pub maximum: u64,
    /// The mean of the samples.
    pub mean: f64,
    /// The sum of squares about the mean.
    pub squares: f64,
}

impl SampleStatistics {
    /// Adds one sample.
    #[expect(clippy::cast_precision_loss, reason = "samples are KiB/s or IOPS, far below 2^53")]
    pub fn record(&mut self, sample: u64) {
        self.minimum = if self.count == 0 { sample } else { self.minimum.min(sample) };
        self.maximum = self.maximum.max(sample);
        self.count += 1;
        let delta = sample as f64 - self.mean;
        self.mean += delta / self.count as f64;
        self.squares += delta * (sample as f64 - self.mean);
    }

    /// The sample standard deviation (divisor n − 1); 0 with fewer than two samples.
    #[expect(clippy::cast_precision_loss, reason = "a count of samples")]
    pub fn deviation(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.squares / (self.count - 1) as f64).sqrt() }
    }

    /// Combines two jobs that ran side by side: rates of a group are sums, so everything is added.
    pub fn add_concurrent(&mut self, other: &SampleStatistics) {
        self.count += other.count;
        self.minimum += other.minimum;
        self.maximum += other.maximum;
        self.mean += other.mean;
        self.squares += other.squares;
    }
}

/// Turns growing totals into one rate sample per interval: bytes → KiB/s and I/Os → IOPS.
///
/// Driven by the worker at its completions, so it needs no thread and works in virtual time.
#[derive(Clone, Copy, Debug, FromBytes)]
#[repr(C)]
pub struct IntervalSampler {
    interval: Nanos,
    started: Nanos,
    next: Nanos,
    bytes_before: u64,
    ios_before: u64,
}

/// One interval's rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntervalRates {
    /// Bandwidth in KiB/s.
    pub kib_per_second: u64,
    /// I/Os per second.
    pub iops: u64,
    /// When the interval ended, on the run's clock.
    pub ended: Nanos,
}

impl IntervalSampler {
    /// A sampler whose first interval begins at `now`.
    pub fn new(interval: Nanos, now: Nanos) -> Self {
        IntervalSampler { interval, started: now, next: now.saturating_add(interval), bytes_before: 0, ios_before: 0 }
    }

    /// Whether the interval is over at `now`: one comparison, for the worker's loop.
    #[inline]
    pub fn due(&self, now: Nanos) -> bool {
        now >= self.next
    }

    /// Closes the interval at `now` with the totals so far; `None` when nothing was done in it.
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

//! Minimum number of samples for a reliable percentile.

use crate::LatencyStatistics;
use measure::Nanos;

/// Number of samples that the percentile `percent` needs, 100 ÷ (1 − p): a hundred of them are above it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "percentiles below 100 keep it far below 2^53"
)]
pub fn samples_needed(percent: f64) -> u64 {
    let beyond = (1.0 - percent / 100.0).max(1e-9);
    // Subtracting a tenth of a sample absorbs the binary error of 1 − 0.999.
    (100.0 / beyond - 0.1).ceil() as u64
}

/// The percentile, if there are enough samples; `None` otherwise.
pub fn percentile_as_fact(latency: &LatencyStatistics, percent: f64) -> Option<Nanos> {
    let histogram = latency.histogram.as_ref()?;
    let settled = histogram.total() >= samples_needed(percent);
    let value = settled.then(|| histogram.percentile(percent))??;
    // The middle of a histogram bucket may be above the maximum latency.
    Some(latency.moments.maximum().map_or(value, |maximum| value.min(maximum)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{Histogram, Moments};

    fn latencies(count: u64) -> LatencyStatistics {
        let mut histogram = Histogram::new();
        histogram.record_many(Nanos(100), count);
        LatencyStatistics { moments: Moments::new(), histogram: Some(Box::new(histogram)) }
    }

    #[test]
    fn a_hundred_samples_must_lie_beyond_a_percentile() {
        for (percent, needed) in [(50.0, 200), (90.0, 1_000), (95.0, 2_000), (99.0, 10_000), (99.9, 100_000)] {
            assert_eq!(samples_needed(percent), needed, "p{percent}");
            assert_eq!(percentile_as_fact(&latencies(needed - 1), percent), None, "p{percent}");
            assert_eq!(percentile_as_fact(&latencies(needed), percent), Some(Nanos(100)), "p{percent}");
        }
    }

    #[test]
    fn no_percentile_is_above_the_maximum() {
        let mut seen = LatencyStatistics::default();
        let histogram = seen.histogram.insert(Box::new(Histogram::new()));
        histogram.record_many(Nanos(850_000), 10_000);
        seen.moments.record(Nanos(850_000));
        assert!(seen.histogram.as_ref().unwrap().percentile(99.0) != Some(Nanos(850_000)));
        assert!(percentile_as_fact(&seen, 99.0) <= Some(Nanos(850_000)));
    }

    #[test]
    fn without_a_histogram_there_is_no_percentile() {
        let bare = LatencyStatistics { moments: Moments::new(), histogram: None };
        assert_eq!(percentile_as_fact(&bare, 50.0), None);
    }
}

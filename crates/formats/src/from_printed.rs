//! Printed values → counts: means to sums, percentages to counts, percentiles to histograms.

use measure::{Histogram, Moments, Nanos, SampleStatistics};
use model::StatedRates;

/// Upper bound of counts, sizes and times; larger values of a report are clamped, so that sums do not overflow.
pub(crate) const LARGEST: u64 = 1 << 53;
/// Longest run time that is accepted: two years.
const LONGEST_MS: u64 = 1 << 36;

/// Rounds to the nearest whole number; 0 for negative ones.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates, as wanted")]
pub(crate) fn rounded(value: f64) -> u64 {
    value.round() as u64
}

/// Converts milliseconds to a time, at most two years; 0 for negative ones.
pub(crate) fn milliseconds(value: f64) -> Nanos {
    Nanos::from_millis(rounded(value).min(LONGEST_MS))
}

/// The rates that a report states, if any.
pub(crate) fn stated(bytes_per_second: Option<f64>, iops: Option<f64>) -> Option<StatedRates> {
    let printed = |rate: Option<f64>| rate.filter(|rate| rate.is_finite() && *rate >= 0.0);
    let rates = StatedRates { bytes_per_second: printed(bytes_per_second), iops: printed(iops) };
    (rates != StatedRates::default()).then_some(rates)
}

/// Converts a percentage of a time to a time.
pub(crate) fn share_of(whole: Nanos, percent: f64) -> Nanos {
    Nanos(rounded(whole.as_f64() * percent / 100.0).min(LARGEST))
}

/// Rebuilds samples from the printed (minimum, maximum) and (mean, deviation).
pub(crate) fn samples(count: u64, bounds: [u64; 2], [mean, deviation]: [f64; 2]) -> SampleStatistics {
    SampleStatistics {
        count,
        minimum: bounds[0],
        maximum: bounds[1],
        mean,
        squares: deviation * deviation * count.saturating_sub(1) as f64,
    }
}

/// The coarsest histogram of `count` latencies that yields these percentiles (percent, ns), its largest at `most`.
pub(crate) fn histogram_of_percentiles(percentiles: &[(f64, u64)], count: u64, most: u64) -> Box<Histogram> {
    let mut histogram = Box::new(Histogram::new());
    let mut below = 0;
    for &(percent, latency) in percentiles {
        // A percentile is the smallest latency that this share of the I/Os does not exceed, so its rank rounds up.
        let reached = rounded((percent / 100.0 * count as f64).ceil()).clamp(below, count);
        histogram.record_many(Nanos(latency), reached - below);
        below = reached;
    }
    let last = percentiles.last().map_or(most, |&(_, latency)| latency.max(most));
    histogram.record_many(Nanos(last), count - below);
    histogram
}

/// The histogram with these bins (ns, count).
pub(crate) fn histogram_of_bins(bins: &[(f64, f64)]) -> Box<Histogram> {
    let mut histogram = Box::new(Histogram::new());
    let mut room = LARGEST;
    for &(latency, count) in bins {
        let count = rounded(count).min(room);
        room -= count;
        histogram.record_many(Nanos(rounded(latency)), count);
    }
    histogram
}

/// Sums that yield the printed mean and deviation: the inverse of [`Moments::mean`]. `count` is not 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturating")]
pub(crate) fn moments(count: u64, bounds: [u64; 2], [mean, deviation]: [f64; 2]) -> Moments {
    let wide = u128::from(count);
    let sum = (mean * count as f64).round() as u128;
    // Mostly in integers, because in floats a small deviation would be lost next to the large square of the mean:
    // with sum = whole · count + rest, sum² ÷ count = whole · (sum + rest) + rest² ÷ count.
    let (whole, rest) = (sum / wide, sum % wide);
    let about_mean = deviation * deviation * (count - 1) as f64 + rest as f64 * rest as f64 / count as f64;
    let squares = whole.saturating_mul(sum.saturating_add(rest)).saturating_add(about_mean.round() as u128);
    Moments::from_parts(count, bounds[0], bounds[1], sum, squares)
}

/// Converts percentages to counts out of `total`.
///
/// A printed share of `least` means any value above 0 up to it: such bins share the rest equally, at least 1 each.
pub(crate) fn counts<const BINS: usize>(stated: &[f64; BINS], total: u64, least: f64) -> [u64; BINS] {
    let mut counts = [0; BINS];
    let mut floored = Vec::new();
    for (bin, &share) in stated.iter().enumerate() {
        if share > 0.0 && share <= least {
            floored.push(bin);
        } else {
            counts[bin] = rounded(share * total as f64 / 100.0).min(LARGEST);
        }
    }
    let rest = total.saturating_sub(counts.iter().sum());
    // A bin printed as `least` holds at most this count, otherwise its printed share would be larger.
    let most = rounded((total as f64 * least / 100.0).floor());
    for &bin in &floored {
        counts[bin] = (rest / floored.len() as u64).clamp(1, most.max(1));
    }
    counts
}

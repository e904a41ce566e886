//! Effect of more load: queueing, busy users, the knee.
//!
//! Source: Little's law; Kleinrock's power (rate ÷ latency) for the knee.

use crate::checks::{LEAST_BUSY_SHARE, MOST_BUSY_SHARE};

/// Fraction of the added load that only queued: (latency ratio − 1) ÷ (load ratio − 1). 0 if latency stays flat, 1 if
/// it grows in proportion to the load. `None` if the load did not grow or there is no latency to compare.
pub fn queueing(latency_ratio: f64, load_ratio: f64) -> Option<f64> {
    let share = crate::report_card::queueing(latency_ratio, load_ratio);
    (load_ratio > 1.0 && latency_ratio > 0.0 && share.is_finite()).then_some(share)
}

/// Number of busy users, if it contradicts the requested number.
///
/// In a closed loop, IOPS × mean latency is the number of busy users (Little's law). `None` if it matches.
pub fn contradiction(iops: f64, mean_ns: f64, asked: f64) -> Option<f64> {
    let busy = iops * mean_ns / 1e9;
    let fits = (LEAST_BUSY_SHARE..=MOST_BUSY_SHARE).contains(&(busy / asked));
    (asked > 0.0 && busy.is_finite() && !fits).then_some(busy)
}

/// The level beyond which more load adds more latency than throughput: the maximum of rate ÷ latency.
///
/// Takes (rate, latency) of each level; of equal levels, the first one is chosen. `None` with fewer than three levels,
/// which cannot show a bend.
pub fn knee(levels: &[(f64, f64)]) -> Option<usize> {
    let power = |&(rate, latency): &(f64, f64)| if latency > 0.0 { rate / latency } else { 0.0 };
    let best = levels.iter().map(power).fold(0.0, f64::max);
    (levels.len() >= 3 && best > 0.0).then(|| levels.iter().position(|level| power(level) >= best))?
}

/// Minimum factor that counts as growth.
const GROWTH: f64 = 1.05;
/// Number of further levels without growth that end a sweep: a single one may be an outlier.
const PROOFS: usize = 2;

/// Index of the level at which a rate stops growing: the first one that the two following levels do not exceed by 5 %.
/// `None` if it still grows, or there are too few levels. Levels must be in ascending order of load.
pub fn growth_ends(rates: &[f64]) -> Option<usize> {
    let stops = |&at: &usize| rates[at] > 0.0 && rates[at + 1..].iter().all(|rate| *rate < rates[at] * GROWTH);
    (0..rates.len().saturating_sub(PROOFS)).find(stops)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_latency_has_no_queueing_latency_in_step_is_all_queueing() {
        assert_eq!(queueing(1.0, 8.0), Some(0.0));
        assert_eq!(queueing(8.0, 8.0), Some(1.0));
        assert_eq!(queueing(2.0, 3.0), Some(0.5));
        assert!(queueing(0.5, 2.0).unwrap() < 0.0);
    }

    #[test]
    fn without_more_load_or_latency_there_is_no_queueing() {
        for (latency, load) in [(2.0, 1.0), (2.0, 0.5), (0.0, 2.0), (f64::NAN, 2.0), (f64::INFINITY, 2.0)] {
            assert_eq!(queueing(latency, load), None, "{latency} {load}");
        }
    }

    #[test]
    fn users_that_were_not_at_work_are_counted() {
        assert_eq!(contradiction(8_000.0, 1e6, 8.0), None);
        assert_eq!(contradiction(4_000.0, 1e6, 8.0), Some(4.0));
        assert_eq!(contradiction(16_000.0, 1e6, 8.0), Some(16.0));
    }

    #[test]
    fn growth_ends_where_two_levels_bring_less_than_5_percent() {
        assert_eq!(growth_ends(&[100.0, 200.0, 390.0, 400.0, 405.0]), Some(2));
        assert_eq!(growth_ends(&[100.0, 200.0, 390.0, 400.0]), None, "one level proves nothing");
        assert_eq!(growth_ends(&[100.0, 99.0, 180.0, 181.0, 150.0]), Some(2), "a hiccup ends nothing");
        assert_eq!(growth_ends(&[100.0, 100.0, 100.0]), Some(0));
        assert_eq!(growth_ends(&[0.0, 0.0, 0.0]), None);
        assert_eq!(growth_ends(&[]), None);
    }

    #[test]
    fn the_knee_is_where_rate_over_latency_peaks() {
        assert_eq!(knee(&[(18_883.0, 50.0), (67_558.0, 115.0), (65_711.0, 239.0), (73_634.0, 778.0)]), Some(1));
        assert_eq!(knee(&[(1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(knee(&[(0.0, 0.0); 4]), None);
    }
}

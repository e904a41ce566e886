//! Repeated rounds of one test: the interval of their mean rate, and which rates they tell apart.
//!
//! Source: Student's t distribution for the mean of a few measurements.

use crate::statistics::student::quantile;

/// Share of intervals that contain the true mean.
const CONFIDENCE: f64 = 0.95;

/// Rates between which the mean lies with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateInterval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// How the rounds of two levels compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// One of them was measured in a single round, which has no interval.
    OneRound,
    /// Their intervals overlap.
    WithinNoise,
    /// Their intervals are apart.
    BeyondNoise,
}

/// The 95 % confidence interval of the mean of these rates, one per round; `None` with fewer than two rounds.
pub fn interval(rates: &[f64]) -> Option<RateInterval> {
    if rates.len() < 2 {
        return None;
    }
    let count = crate::run_facts::float(rates.len() as u64);
    let mean = rates.iter().sum::<f64>() / count;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let quantile = quantile(0.5 + CONFIDENCE / 2.0, count - 1.0)?;
    let half = quantile * (variance / count).sqrt();
    half.is_finite().then_some(RateInterval { low: mean - half, high: mean + half })
}

/// Compares the rates of two levels, each with one rate per round.
pub fn difference(one: &[f64], other: &[f64]) -> Difference {
    match (interval(one), interval(other)) {
        (Some(a), Some(b)) if a.low > b.high || b.low > a.high => Difference::BeyondNoise,
        (Some(_), Some(_)) => Difference::WithinNoise,
        _ => Difference::OneRound,
    }
}

/// Index of the round in the middle: its numbers stand for all of them. Of an even number, the lower one.
pub fn median_round(rates: &[f64]) -> Option<usize> {
    let mut order: Vec<usize> = (0..rates.len()).collect();
    order.sort_by(|&a, &b| rates[a].total_cmp(&rates[b]));
    order.get(rates.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_three_rounds_is_that_of_students_t() {
        let found = interval(&[90.0, 100.0, 110.0]).unwrap();
        // t(0.975; 2) = 4.30265, standard error 10 ÷ √3.
        assert!((found.low - (100.0 - 24.841)).abs() < 0.01 && (found.high - 124.841).abs() < 0.01, "{found:?}");
        assert_eq!(interval(&[100.0]), None);
        assert_eq!(interval(&[]), None);
    }

    #[test]
    fn rates_differ_only_where_their_intervals_are_apart() {
        let (slow, fast) = ([100.0, 101.0, 102.0], [200.0, 201.0, 202.0]);
        assert_eq!(difference(&slow, &fast), Difference::BeyondNoise);
        assert_eq!(difference(&fast, &slow), Difference::BeyondNoise);
        assert_eq!(difference(&[100.0, 150.0, 60.0], &[110.0, 170.0, 55.0]), Difference::WithinNoise);
        assert_eq!(difference(&slow, &[300.0]), Difference::OneRound);
    }

    #[test]
    fn the_median_round_has_as_many_above_as_below() {
        assert_eq!(median_round(&[3.0, 1.0, 2.0]), Some(2));
        assert_eq!(median_round(&[4.0, 1.0]), Some(1));
        assert_eq!(median_round(&[]), None);
    }
}

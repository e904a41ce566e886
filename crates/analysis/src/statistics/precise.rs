//! M5: repeat until the mean is known to a width.
//!
//! Positive values, or ratios of pairs, as logarithms. The interval is made with a quantile of 97 % and called 95 %: the
//! difference pays for looking after every round.

use super::change::logarithms;
use super::{float, mean_and_squares, t_quantile};

/// Fewest values of which a width is claimed.
const FEWEST: usize = 5;
/// Quantile of Student's t, upper side.
const QUANTILE: f64 = 0.985;
/// Most rounds that are proposed.
const MOST_ROUNDS: usize = 200;

/// The mean of values that are looked at after each, as a logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WatchedMean {
    /// Mean of the logarithms.
    pub estimate: f64,
    count: usize,
    deviation: f64,
}

/// The mean of the logarithms of these values; `None` with fewer than two, or with a value that is not positive and finite.
pub fn watched_mean(values: &[f64]) -> Option<WatchedMean> {
    let logarithms = logarithms(values)?;
    let (estimate, squares) = mean_and_squares(&logarithms)?;
    let deviation = (squares / (float(values.len()) - 1.0)).sqrt();
    (values.len() > 1).then_some(WatchedMean { estimate, count: values.len(), deviation })
}

impl WatchedMean {
    /// Half of the width of the interval, as a logarithm; infinite below five values.
    pub fn half(&self) -> f64 {
        half(self.count, self.deviation)
    }

    /// True if the mean is known to this share: 0.03 is ±3 %.
    pub fn is_known_to(&self, share: f64) -> bool {
        self.half().is_finite() && self.half() <= share.ln_1p()
    }

    /// The number of values with which it is known to this share if the noise stays as it is; `None` if 200 are not enough.
    pub fn rounds_to(&self, share: f64) -> Option<usize> {
        (FEWEST..=MOST_ROUNDS).find(|&count| half(count, self.deviation) <= share.ln_1p())
    }
}

fn half(count: usize, deviation: f64) -> f64 {
    match t_quantile(QUANTILE, float(count) - 1.0) {
        _ if count < FEWEST => f64::INFINITY,
        _ if deviation == 0.0 => 0.0,
        Some(quantile) => quantile * deviation / float(count).sqrt(),
        None => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn five_values_are_needed_and_more_make_it_narrower() {
        let values = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 100.1];
        let of = |count: usize| watched_mean(&values[..count]).unwrap();
        assert!(of(4).half().is_infinite() && !of(4).is_known_to(0.5));
        assert!(of(5).half().is_finite() && of(8).half() < of(5).half());
        assert!(of(8).is_known_to(0.03) && !of(8).is_known_to(0.001));
        assert_eq!(watched_mean(&[1.0]), None);
        assert_eq!(watched_mean(&[1.0, -1.0]), None);
    }

    #[test]
    fn the_rounds_to_a_width_are_those_that_reach_it() {
        let found = watched_mean(&[100.0, 104.0, 96.0, 102.0, 97.0, 100.0]).unwrap();
        let rounds = found.rounds_to(0.01).unwrap();
        let with = |count: usize| half(count, found.deviation);
        assert!(with(rounds) <= 0.01_f64.ln_1p() && with(rounds - 1) > 0.01_f64.ln_1p());
        assert_eq!(found.rounds_to(1e-6), None);
        assert_eq!(watched_mean(&[7.0; 5]).unwrap().rounds_to(1e-9), Some(5));
    }

    proptest! {
        #[test]
        fn any_numbers_give_a_mean_or_none(values in proptest::collection::vec(any::<f64>(), 0..12), share in any::<f64>()) {
            let Some(found) = watched_mean(&values) else { return Ok(()) };
            prop_assert!(found.half() >= 0.0 && found.estimate.is_finite());
            let (is_known, rounds) = (found.is_known_to(share), found.rounds_to(share));
            prop_assert!(!is_known || rounds.is_some_and(|rounds| rounds <= values.len()), "{found:?}");
        }
    }
}

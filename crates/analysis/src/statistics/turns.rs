//! The decision of two sides that are measured in turns, and the effect of the order.
//!
//! The tests that are decided together share the error: each is held against a part of it.

use super::{ALPHA, Change, between_pairs};

/// Error probability of the remark on the order.
const ORDER_ALPHA: f64 = 0.01;

/// Decision on one number after any number of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The sides differ.
    Differs,
    /// They differ by less than the tolerance, if at all.
    Same,
    /// More rounds are needed.
    Open,
}

/// The decision on one of `questions` numbers, with this tolerance as a share.
///
/// *Differs* is claimed of any of them, so each has its part of the error. *Same* must hold for all, so none needs a part.
pub fn decision(change: &Change, tolerance: f64, questions: usize) -> Decision {
    let (low, high) = change.interval(ALPHA / questions.max(1) as f64);
    let (near_low, near_high) = change.interval(ALPHA);
    let bound = tolerance.ln_1p();
    if low > 0.0 || high < 0.0 {
        Decision::Differs
    } else if near_low > -bound && near_high < bound {
        Decision::Same
    } else {
        Decision::Open
    }
}

/// The number of rounds that decides it if estimate and noise stay as they are; `None` if 200 do not.
pub fn rounds_to_decide(change: &Change, tolerance: f64, questions: usize) -> Option<usize> {
    let size = change.estimate.abs();
    let differs = change.runs_to_see(size, ALPHA / questions.max(1) as f64);
    let same = change.runs_to_see(tolerance.ln_1p() - size, ALPHA);
    differs.into_iter().chain(same).min()
}

/// The change from the side that was measured first in each round to the second one, if it is certain with 99 %: the target
/// remembers the measurement before.
pub fn order_effect(first: &[f64], second: &[f64]) -> Option<Change> {
    let change = between_pairs(first, second)?;
    let (low, high) = change.interval(ORDER_ALPHA);
    (low > 0.0 || high < 0.0).then_some(change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::between_watched_pairs;

    const OLD: [f64; 8] = [100.0, 102.0, 99.0, 101.0, 100.0, 98.0, 103.0, 100.0];

    fn change(percent: f64) -> Change {
        let new: Vec<f64> =
            OLD.iter().zip([1.0, 1.01, 0.99, 1.0, 1.005, 0.995, 1.0, 1.0]).map(|(a, b)| a * b).collect();
        let new: Vec<f64> = new.iter().map(|value| value * (1.0 + percent / 100.0)).collect();
        between_watched_pairs(&OLD, &new).unwrap()
    }

    #[test]
    fn sides_differ_are_the_same_or_need_more_rounds() {
        let found = [10.0, -10.0, 0.0, 0.5].map(|percent| decision(&change(percent), 0.05, 1));
        assert_eq!(found, [Decision::Differs, Decision::Differs, Decision::Same, Decision::Same]);
        assert_eq!(decision(&change(0.5), 0.005, 1), Decision::Open);
        assert_eq!(decision(&change(1.3), 0.005, 1), Decision::Differs);
        assert_eq!(decision(&change(1.3), 0.005, 1000), Decision::Open, "each of many questions has less of the error");
    }

    #[test]
    fn the_rounds_to_go_grow_where_neither_answer_is_near() {
        let rounds = |percent: f64, tolerance: f64| rounds_to_decide(&change(percent), tolerance, 1);
        assert!(rounds(10.0, 0.05).unwrap() <= 8 && rounds(0.3, 0.01).unwrap() > 8);
        assert!(rounds(0.3, 0.01) < rounds(0.3, 0.006));
        assert_eq!(rounds(0.0, 1e-6), None);
    }

    #[test]
    fn an_order_that_counts_is_found_and_noise_is_not() {
        let slower = OLD.map(|value| value * 0.94 * (1.0 + (value - 100.0) / 1000.0));
        let found = order_effect(&OLD, &slower).unwrap();
        assert!((found.estimate.exp() - 0.94).abs() < 0.01, "{found:?}");
        let noise = [100.4, 101.0, 99.6, 100.8, 100.6, 97.9, 102.7, 100.1];
        assert_eq!(order_effect(&OLD, &noise), None);
        assert_eq!(order_effect(&[100.0], &[50.0]), None);
    }
}

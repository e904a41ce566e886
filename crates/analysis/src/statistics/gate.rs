//! The three answers of a gate (ok, worse, cannot tell), and the decision of two sides that are measured in turns.
//!
//! The tests that are decided together share the error. A change is a logarithm, and negative is worse.

use super::{ALPHA, Change, between_pairs};

/// Answer to "is it worse by more than the tolerance?".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The loss is smaller than the tolerance.
    Ok,
    /// The loss is larger than the tolerance.
    Worse,
    /// The tolerance is inside of the interval.
    CannotTell,
}

/// The answer about one of `metrics` changes that are judged together.
///
/// *Worse* is claimed of any of them, so each has its part of the error; *ok* must hold for all and needs none.
pub fn answer(change: &Change, tolerance: f64, metrics: usize) -> Answer {
    let bound = -tolerance.ln_1p();
    if change.interval(ALPHA / metrics.max(1) as f64).1 < bound {
        Answer::Worse
    } else if change.interval(ALPHA).0 > bound {
        Answer::Ok
    } else {
        Answer::CannotTell
    }
}

/// The answer of the gate: worse if anything is, ok if everything is.
pub fn answer_of_all(answers: &[Answer]) -> Answer {
    if answers.contains(&Answer::Worse) {
        Answer::Worse
    } else if answers.is_empty() || answers.contains(&Answer::CannotTell) {
        Answer::CannotTell
    } else {
        Answer::Ok
    }
}

/// Runs of each side, or pairs, that settle it by the noise so far; `None` if 200 do not: it is at the tolerance.
pub fn runs_to_go(change: &Change, tolerance: f64, metrics: usize) -> Option<usize> {
    let distance = change.estimate + tolerance.ln_1p();
    let alpha = if distance < 0.0 { ALPHA / metrics.max(1) as f64 } else { ALPHA };
    change.runs_to_see(distance.abs(), alpha)
}

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
/// *Differs* is claimed of any of them, so each has its part of the error. *Same* must hold for all.
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

/// The change from the first measured side of each round to the second, if certain with 99 %: the target remembers.
pub fn order_effect(first: &[f64], second: &[f64]) -> Option<Change> {
    let change = between_pairs(first, second)?;
    let (low, high) = change.interval(ORDER_ALPHA);
    (low > 0.0 || high < 0.0).then_some(change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{between_sets, between_watched_pairs};

    fn change(percent: f64) -> Change {
        let old = [100.0, 101.0, 99.0, 100.5, 99.5];
        between_sets(&old, &old.map(|value| value * (1.0 + percent / 100.0))).unwrap()
    }

    #[test]
    fn a_loss_beyond_the_tolerance_is_worse_and_one_within_is_ok() {
        let answers = [-20.0, -2.0, 0.0, 20.0, -4.9].map(|percent| answer(&change(percent), 0.05, 1));
        assert_eq!(answers, [Answer::Worse, Answer::Ok, Answer::Ok, Answer::Ok, Answer::CannotTell]);
        assert_eq!(answer_of_all(&answers), Answer::Worse);
        assert_eq!(answer_of_all(&answers[1..4]), Answer::Ok);
        assert_eq!(answer_of_all(&answers[2..]), Answer::CannotTell);
        assert_eq!(answer_of_all(&[]), Answer::CannotTell);
    }

    #[test]
    fn many_metrics_need_more_to_be_called_worse() {
        let near = change(-6.0);
        assert_eq!((answer(&near, 0.05, 1), answer(&near, 0.05, 1000)), (Answer::Worse, Answer::CannotTell));
    }

    #[test]
    fn near_the_tolerance_more_runs_are_needed_at_it_none_suffice() {
        assert!(runs_to_go(&change(-3.5), 0.05, 1).unwrap() < runs_to_go(&change(-4.5), 0.05, 1).unwrap());
        let exactly = 100.0 * (-(0.05_f64.ln_1p())).exp_m1();
        assert_eq!(runs_to_go(&change(exactly), 0.05, 1), None);
    }

    const OLD: [f64; 8] = [100.0, 102.0, 99.0, 101.0, 100.0, 98.0, 103.0, 100.0];

    fn change_in_turns(percent: f64) -> Change {
        let new: Vec<f64> =
            OLD.iter().zip([1.0, 1.01, 0.99, 1.0, 1.005, 0.995, 1.0, 1.0]).map(|(a, b)| a * b).collect();
        let new: Vec<f64> = new.iter().map(|value| value * (1.0 + percent / 100.0)).collect();
        between_watched_pairs(&OLD, &new).unwrap()
    }

    #[test]
    fn sides_differ_are_the_same_or_need_more_rounds() {
        let found = [10.0, -10.0, 0.0, 0.5].map(|percent| decision(&change_in_turns(percent), 0.05, 1));
        assert_eq!(found, [Decision::Differs, Decision::Differs, Decision::Same, Decision::Same]);
        assert_eq!(decision(&change_in_turns(0.5), 0.005, 1), Decision::Open);
        assert_eq!(decision(&change_in_turns(1.3), 0.005, 1), Decision::Differs);
        assert_eq!(
            decision(&change_in_turns(1.3), 0.005, 1000),
            Decision::Open,
            "each of many questions has less of the error"
        );
    }

    #[test]
    fn the_rounds_to_go_grow_where_neither_answer_is_near() {
        let rounds = |percent: f64, tolerance: f64| rounds_to_decide(&change_in_turns(percent), tolerance, 1);
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

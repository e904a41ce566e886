//! The three answers of a gate: ok, worse, cannot tell.
//!
//! A change is given so that negative is worse, as a logarithm.

use super::{ALPHA, Change};

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
/// *Worse* is claimed of any of them, so each has its part of the error; *ok* must hold for all of them, so none needs a part.
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

/// The number of runs of each side, or of pairs, that settle it if estimate and noise stay as they are; `None` if 200 do
/// not: the change is at the tolerance.
pub fn runs_to_go(change: &Change, tolerance: f64, metrics: usize) -> Option<usize> {
    let distance = change.estimate + tolerance.ln_1p();
    let alpha = if distance < 0.0 { ALPHA / metrics.max(1) as f64 } else { ALPHA };
    change.runs_to_see(distance.abs(), alpha)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::between_sets;

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
}

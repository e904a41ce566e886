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

/// Error of *worse* over all numbers, and of *ok* for each: one side of the interval that is printed.
const ERROR: f64 = ALPHA / 2.0;
/// Share of that error that numbers of the second rank have while one of the first rank is not worse.
const SECOND_SHARE: f64 = 0.1;

/// Rank of a number among those that are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// The number that was asked for first: the answer is about it.
    First,
    /// Another one: it makes the answer worse if it is certain to be, and otherwise holds nothing back.
    Second,
}

/// A number that is judged.
#[derive(Clone, Copy, Debug)]
pub struct GateNumber {
    /// Its rank.
    pub rank: Rank,
    /// Its change, counted so that negative is worse; `None` if the noise is not known.
    pub change: Option<Change>,
}

/// The answers about numbers that are judged together, in their order.
///
/// *Worse* is claimed of any of them, so they share the error. Those of the first rank have nine tenths of it, by
/// Holm's rule, and those of the second rank the rest; once all of the first are worse, the second have all of it. *Ok*
/// is a claim about one number, and has the error for itself.
pub fn answers(numbers: &[GateNumber], tolerance: f64) -> Vec<Answer> {
    let bound = -tolerance.ln_1p();
    let of = |rank: Rank| -> Vec<usize> {
        (0..numbers.len()).filter(|&at| numbers[at].rank == rank && numbers[at].change.is_some()).collect()
    };
    let (first, second) = (of(Rank::First), of(Rank::Second));
    let share = if second.is_empty() { 1.0 } else { 1.0 - SECOND_SHARE };
    let mut worse = worse_of(numbers, &first, bound, ERROR * share);
    let left = if worse.len() == first.len() { ERROR } else { ERROR * SECOND_SHARE };
    worse.extend(worse_of(numbers, &second, bound, left));
    let answer = |(at, number): (usize, &GateNumber)| match number.change {
        _ if worse.contains(&at) => Answer::Worse,
        Some(change) if change.interval(ALPHA).0 > bound => Answer::Ok,
        _ => Answer::CannotTell,
    };
    numbers.iter().enumerate().map(answer).collect()
}

/// Those of the numbers at `among` that lost more than the bound, with this error over all of them (Holm 1979).
fn worse_of(numbers: &[GateNumber], among: &[usize], bound: f64, error: f64) -> Vec<usize> {
    let mut left = among.to_vec();
    let mut found = Vec::new();
    while !left.is_empty() {
        let alpha = 2.0 * error / left.len() as f64;
        let is_worse = |at: &usize| numbers[*at].change.is_some_and(|change| change.interval(alpha).1 < bound);
        let (worse, rest): (Vec<usize>, Vec<usize>) = left.iter().partition(|at| is_worse(at));
        if worse.is_empty() {
            break;
        }
        found.extend(worse);
        left = rest;
    }
    found
}

/// The answer of the gate: worse if any number is, otherwise that of the numbers of the first rank.
pub fn answer_of_all(answers: &[(Rank, Answer)]) -> Answer {
    let of_first = || answers.iter().filter(|(rank, _)| *rank == Rank::First).map(|(_, answer)| answer);
    if answers.iter().any(|(_, answer)| *answer == Answer::Worse) {
        Answer::Worse
    } else if of_first().next().is_some() && of_first().all(|answer| *answer == Answer::Ok) {
        Answer::Ok
    } else {
        Answer::CannotTell
    }
}

/// Runs of each side, or pairs, that settle whether one number lost more than the tolerance, and otherwise whether it
/// changed, by the noise so far; `None` if 200 do not. The change is counted so that negative is worse.
pub fn runs_to_settle(change: &Change, tolerance: f64) -> Option<usize> {
    let bound = -tolerance.ln_1p();
    let (low, high) = change.interval(ALPHA);
    let is_open = low <= bound && high >= bound;
    change.runs_to_see(if is_open { (change.estimate - bound).abs() } else { change.estimate.abs() }, ALPHA)
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
/// *Differs* is claimed of any of them, so each has its part of the error of 5 %. *Same* must hold for all, by two
/// one-sided tests against the tolerance with 5 % each (TOST, Schuirmann 1987).
pub fn decision(change: &Change, tolerance: f64, questions: usize) -> Decision {
    let (low, high) = change.interval(ALPHA / questions.max(1) as f64);
    let (near_low, near_high) = change.interval(2.0 * ALPHA);
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
    let same = change.runs_to_see(tolerance.ln_1p() - size, 2.0 * ALPHA);
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
    use crate::statistics::{between_rounds, between_sets};

    fn change(percent: f64) -> Change {
        let old = [100.0, 101.0, 99.0, 100.5, 99.5];
        between_sets(&old, &old.map(|value| value * (1.0 + percent / 100.0))).unwrap()
    }

    fn numbers(ranked: &[(Rank, f64)]) -> Vec<GateNumber> {
        ranked.iter().map(|&(rank, percent)| GateNumber { rank, change: Some(change(percent)) }).collect()
    }

    fn first(percent: f64) -> Answer {
        answers(&numbers(&[(Rank::First, percent)]), 0.05)[0]
    }

    #[test]
    fn a_loss_beyond_the_tolerance_is_worse_and_one_within_is_ok() {
        let found = [-20.0, -2.0, 0.0, 20.0, -4.9].map(first);
        assert_eq!(found, [Answer::Worse, Answer::Ok, Answer::Ok, Answer::Ok, Answer::CannotTell]);
    }

    #[test]
    fn a_second_number_can_make_it_worse_and_holds_nothing_back() {
        let of = |second: f64| {
            let found = answers(&numbers(&[(Rank::First, 0.0), (Rank::Second, second)]), 0.05);
            (found[1], answer_of_all(&[(Rank::First, found[0]), (Rank::Second, found[1])]))
        };
        assert_eq!(of(-20.0), (Answer::Worse, Answer::Worse));
        assert_eq!(of(-4.9), (Answer::CannotTell, Answer::Ok));
        assert_eq!(answer_of_all(&[]), Answer::CannotTell);
        assert_eq!(answer_of_all(&[(Rank::Second, Answer::Ok)]), Answer::CannotTell, "nothing that was asked first");
    }

    #[test]
    fn many_numbers_need_more_to_be_called_worse() {
        let many: Vec<(Rank, f64)> = (0..1000).map(|at| (Rank::First, if at == 0 { -6.0 } else { 0.0 })).collect();
        assert_eq!((first(-6.0), answers(&numbers(&many), 0.05)[0]), (Answer::Worse, Answer::CannotTell));
        // Each that is worse leaves its part of the error to the others.
        let all: Vec<(Rank, f64)> = many.iter().map(|_| (Rank::First, -6.6)).collect();
        let near = |count: usize| {
            answers(&numbers(&all[..count]), 0.05).iter().filter(|&&found| found == Answer::Worse).count()
        };
        assert_eq!(near(3), 3);
    }

    #[test]
    fn near_the_tolerance_more_runs_are_needed_at_it_none_suffice() {
        assert!(runs_to_settle(&change(-3.5), 0.05).unwrap() < runs_to_settle(&change(-4.5), 0.05).unwrap());
        let exactly = 100.0 * (-(0.05_f64.ln_1p())).exp_m1();
        assert_eq!(runs_to_settle(&change(exactly), 0.05), None);
    }

    const OLD: [f64; 8] = [100.0, 102.0, 99.0, 101.0, 100.0, 98.0, 103.0, 100.0];

    fn change_in_turns(percent: f64) -> Change {
        let new: Vec<f64> =
            OLD.iter().zip([1.0, 1.01, 0.99, 1.0, 1.005, 0.995, 1.0, 1.0]).map(|(a, b)| a * b).collect();
        let new: Vec<f64> = new.iter().map(|value| value * (1.0 + percent / 100.0)).collect();
        between_rounds(&OLD, &new, OLD.len()).unwrap()
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

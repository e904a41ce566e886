//! Change between two sets of results, with the noise between runs.
//!
//! Owns intervals and probabilities of the designs: two sets, pairs, runs in turns, and rounds that are looked at
//! after each.

use super::{ALPHA, float, mean_and_squares, t_quantile, two_sided};
use std::cmp::Ordering;

/// Fewest values of a side if all of them are equal: printed numbers are rounded, so two equal ones show no noise.
const FEWEST_EQUAL: usize = 4;
/// Fewest values of a set that a single result can be compared with.
const FEWEST_AGAINST_ONE: usize = 8;
/// Quantile of the normal distribution for a chance of 80 % to see an effect.
const POWER: f64 = 0.84;
/// Most runs of a side that are proposed.
const MOST_RUNS: usize = 200;

/// Share of the error with which runs in turns are compared as pairs, in addition to the sets that have all of it.
const PAIRS_SHARE: f64 = 0.2;
/// Share of the error of the last of the planned rounds that the looks before it can take, if there are many.
const LOOKED_SHARE: f64 = 0.15;
/// Share of the error of a round before the last one, times the square of the part of the rounds that is done.
const EARLY_SHARE: f64 = 0.15;
/// Share of the error that is left for looks at two, four, eight ... times as many rounds as planned: each has half of
/// what is left.
const LATE_SHARE: f64 = 0.05;
/// First round after which rounds are looked at, if more are planned.
const FIRST_ROUND: usize = 4;

/// A change as the logarithm of new ÷ old, and its noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Mean of the logarithms.
    pub estimate: f64,
    design: Design,
    looks: Looks,
}

/// How often the runs are looked at, which decides what share of the error one interval has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looks {
    /// Once.
    Once,
    /// After every round from the fourth to the last planned one, and at two, four, eight ... times as many.
    Rounds { planned: usize },
}

impl Looks {
    /// Share of the error that an interval of this many runs has; 0 where no look is planned.
    fn share(self, count: usize) -> f64 {
        let Looks::Rounds { planned } = self else { return 1.0 };
        match count.cmp(&planned) {
            Ordering::Less if count < FIRST_ROUND => 0.0,
            Ordering::Less => EARLY_SHARE * (float(count) / float(planned)).powi(2),
            Ordering::Equal => last_share(planned),
            Ordering::Greater => LATE_SHARE * float(planned) / float(count),
        }
    }
}

/// Share of the error that the last of the planned rounds has: all but what looks before and after it take.
fn last_share(planned: usize) -> f64 {
    let looked = 1.0 - float(FIRST_ROUND) / float(planned.max(FIRST_ROUND));
    1.0 - LATE_SHARE - LOOKED_SHARE * looked
}

/// The last look at up to this number of rounds.
fn last_look(planned: usize, rounds: usize) -> usize {
    let late = std::iter::successors(Some(planned.max(1)), |look| look.checked_mul(2));
    late.take_while(|&look| look <= rounds).last().unwrap_or(rounds)
}

/// Values of a set or of pairs: their number and variance.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Noise {
    count: usize,
    variance: f64,
}

impl Noise {
    fn freedom(self) -> f64 {
        float(self.count) - 1.0
    }

    /// Variance of the mean.
    fn of_mean(self) -> f64 {
        self.variance / float(self.count)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Design {
    /// Two sets of any order: Welch's t.
    Sets([Noise; 2]),
    /// Pairs: Student's t.
    Pairs(Noise),
    /// Runs in turns: the narrower of the intervals of both, of which the one of the pairs has a share of the error.
    Turns { sets: [Noise; 2], pairs: Noise },
}

/// Logarithms of positive finite values; `None` for any other value.
pub(super) fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    let logarithm = |value: &f64| (*value > 0.0 && value.is_finite()).then(|| value.ln());
    values.iter().map(logarithm).collect()
}

/// Mean and noise; `None` with fewer than two values.
fn noise(values: &[f64]) -> Option<(f64, Noise)> {
    let (mean, squares) = mean_and_squares(values)?;
    let count = values.len();
    (count > 1).then_some((mean, Noise { count, variance: squares / (float(count) - 1.0) }))
}

/// The change from `old` to `new`, two sets of results that were made in any order (Welch's t on logarithms).
///
/// `None` if the noise between runs is not known: a side has one value and the other fewer than 8, all values are equal
/// and a side has fewer than 4, or a value is not positive.
pub fn between_sets(old: &[f64], new: &[f64]) -> Option<Change> {
    let (old, new) = (logarithms(old)?, logarithms(new)?);
    let fewest = old.len().min(new.len());
    let (one, many) = if old.len() < new.len() { (&old, &new) } else { (&new, &old) };
    if fewest == 1 && many.len() >= FEWEST_AGAINST_ONE {
        let (mean, noise) = noise(many)?;
        let estimate = if old.len() == 1 { mean - one[0] } else { one[0] - mean };
        let single = Noise { count: 1, ..noise };
        let sides = if old.len() == 1 { [single, noise] } else { [noise, single] };
        return Some(Change { estimate, design: Design::Sets(sides), looks: Looks::Once });
    }
    let ((old_mean, old_noise), (new_mean, new_noise)) = (noise(&old)?, noise(&new)?);
    if old_noise.variance + new_noise.variance == 0.0 && fewest < FEWEST_EQUAL {
        return None;
    }
    let design = Design::Sets([old_noise, new_noise]);
    Some(Change { estimate: new_mean - old_mean, design, looks: Looks::Once })
}

fn differences(old: &[f64], new: &[f64]) -> Option<Vec<f64>> {
    if old.len() != new.len() {
        return None;
    }
    let (old, new) = (logarithms(old)?, logarithms(new)?);
    Some(new.iter().zip(&old).map(|(new, old)| new - old).collect())
}

/// The change over pairs of values measured next to each other. The number of pairs was fixed beforehand.
///
/// `None` with sets of different size, fewer than two pairs (four if equal), or a value that is not positive.
pub fn between_pairs(old: &[f64], new: &[f64]) -> Option<Change> {
    let changes = differences(old, new)?;
    let (estimate, noise) = noise(&changes)?;
    let known = noise.variance > 0.0 || changes.len() >= FEWEST_EQUAL;
    known.then_some(Change { estimate, design: Design::Pairs(noise), looks: Looks::Once })
}

/// The change between runs that were made in turns, their number fixed beforehand. With an error of α,
///
/// ```text
/// half = min( t(1 − α/2; ν)·√(s²(old)/n + s²(new)/n),  t(1 − α/10; n − 1)·s(differences)/√n )
/// ```
///
/// with Welch's ν: two sets with the whole error, pairs with a fifth of it. So it is never wider than that of two sets,
/// and much narrower where the two runs of a round are alike. Two tests with the whole error and a fifth of it would be
/// wrong in 1.2·α if they were wrong at different times (Bonferroni). They are not: the pairs are wrong where the sets
/// are, unless the runs of a round are alike, and then Welch's interval is too wide. Simulated over correlations of 0
/// to 0.9, 2 to 40 runs and α from 0.2 to 5 %, the error is at most α
/// (`turns_keep_the_error_whatever_the_correlation`).
///
/// `None` in the same cases as [`between_sets`].
pub fn between_turns(old: &[f64], new: &[f64]) -> Option<Change> {
    let (sets, pairs) = (between_sets(old, new)?, between_pairs(old, new));
    match (sets.design, pairs.map(|pairs| pairs.design)) {
        (Design::Sets(sides), Some(Design::Pairs(pairs))) => {
            Some(Change { design: Design::Turns { sets: sides, pairs }, ..sets })
        }
        _ => Some(sets),
    }
}

/// The change between rounds in random order, of which N are planned, for a reader who looks after every one and may
/// stop at any. It is that of [`between_turns`] with an error of
///
/// ```text
/// α(n) = 0.15·(n/N)²·α                 before the last round, from the fourth on
/// α(N) = (0.95 − 0.15·(1 − 4/N))·α     after the last one; 0.95·α up to four
/// α(n) = 0.05·α·N/n                    at n = 2N, 4N, 8N ...: who goes on after all has little left
/// ```
///
/// so that nearly all of the error is there at the end, as in the group-sequential designs of Kim and DeMets (1987,
/// power family), and one who asks after the planned rounds is hardly less certain than one who asks only then.
/// Significance levels are used with Student's t as in Jennison and Turnbull (2000, section 3.8). The intervals of all
/// looks hold together, because they see much of the same: simulated with 3 to 30 planned rounds, the error over all
/// looks is at most α (`all_looks_at_rounds_together_keep_the_error`).
///
/// `None` in the same cases as [`between_turns`]. The interval is infinite below four rounds, if more are planned.
pub fn between_rounds(old: &[f64], new: &[f64], planned: usize) -> Option<Change> {
    let look = last_look(planned, old.len().min(new.len()));
    let change = between_turns(&old[..look], &new[..look])?;
    Some(Change { looks: Looks::Rounds { planned }, ..change })
}

impl Change {
    /// Half of the width of the interval with this error probability, in logarithms; infinite if nothing is known.
    pub fn half(&self, alpha: f64) -> f64 {
        half(self.design, alpha * self.share())
    }

    fn share(&self) -> f64 {
        self.looks.share(count_of(self.design))
    }

    /// The ends of the interval with this error probability, in logarithms.
    pub fn interval(&self, alpha: f64) -> (f64, f64) {
        let half = self.half(alpha);
        (self.estimate - half, self.estimate + half)
    }

    /// Probability of such a change or a larger one if there is none.
    pub fn probability(&self) -> f64 {
        let share = self.share();
        if share == 0.0 { 1.0 } else { (probability(self.design, self.estimate) / share).min(1.0) }
    }

    /// The smallest change that would have been seen with 80 %, in logarithms.
    pub fn smallest_visible(&self) -> f64 {
        reach(self.design, ALPHA * self.share())
    }

    /// Runs of each side (or rounds, if that number was planned) with which a change of `distance` is seen
    /// with 80 %; `None` if 200 are not enough.
    pub fn runs_to_see(&self, distance: f64, alpha: f64) -> Option<usize> {
        let share = |runs: usize| match self.looks {
            Looks::Rounds { planned } if runs > planned => last_share(runs),
            looks => looks.share(runs),
        };
        let sees = |runs: usize| reach(with_runs(self.design, runs), alpha * share(runs)) <= distance;
        // More runs see smaller changes, so the first number that is enough is found by halving.
        let numbers: Vec<usize> = (2..=MOST_RUNS).collect();
        numbers.get(numbers.partition_point(|&runs| !sees(runs))).copied()
    }

    /// The change with `new` and `old` swapped: a rate becomes a time.
    pub fn reversed(&self) -> Change {
        Change { estimate: -self.estimate, ..*self }
    }
}

/// Interval and chance together: an effect of this size is outside of its interval in 80 % of all cases.
fn reach(design: Design, alpha: f64) -> f64 {
    if let Design::Turns { sets, pairs } = design {
        return reach(Design::Sets(sets), alpha).min(reach(Design::Pairs(pairs), PAIRS_SHARE * alpha));
    }
    half(design, alpha) + POWER * error_and_freedom(design).0
}

fn count_of(design: Design) -> usize {
    match design {
        Design::Sets([one, other]) => one.count.min(other.count),
        Design::Pairs(pairs) | Design::Turns { pairs, .. } => pairs.count,
    }
}

fn with_runs(design: Design, count: usize) -> Design {
    let of = |noise: Noise| Noise { count, ..noise };
    match design {
        Design::Sets(sides) => Design::Sets(sides.map(of)),
        Design::Pairs(pairs) => Design::Pairs(of(pairs)),
        Design::Turns { sets, pairs } => Design::Turns { sets: sets.map(of), pairs: of(pairs) },
    }
}

/// Standard error of the estimate, and its degrees of freedom; of runs in turns those of the sets.
fn error_and_freedom(design: Design) -> (f64, f64) {
    match design {
        Design::Pairs(pairs) => (pairs.of_mean().sqrt(), pairs.freedom()),
        Design::Sets([old, new]) | Design::Turns { sets: [old, new], .. } => {
            let [one, other] = [old, new].map(Noise::of_mean);
            let error = (one + other).sqrt();
            // A side with one value has no variance: it has that of the other.
            let freedom = match (old.count > 1, new.count > 1) {
                (false, _) => new.freedom(),
                (_, false) => old.freedom(),
                // Satterthwaite's number, from shares of the error: its squares would vanish for small variances.
                _ => {
                    let share = one / (one + other);
                    1.0 / (share * share / old.freedom() + (1.0 - share).powi(2) / new.freedom())
                }
            };
            (error, freedom)
        }
    }
}

fn half(design: Design, alpha: f64) -> f64 {
    if let Design::Turns { sets, pairs } = design {
        return half(Design::Sets(sets), alpha).min(half(Design::Pairs(pairs), PAIRS_SHARE * alpha));
    }
    let (error, freedom) = error_and_freedom(design);
    if error == 0.0 && alpha > 0.0 {
        return 0.0;
    }
    t_quantile(1.0 - alpha / 2.0, freedom).map_or(f64::INFINITY, |quantile| quantile * error)
}

fn probability(design: Design, estimate: f64) -> f64 {
    if let Design::Turns { sets, pairs } = design {
        let of_pairs = probability(Design::Pairs(pairs), estimate) / PAIRS_SHARE;
        return probability(Design::Sets(sets), estimate).min(of_pairs);
    }
    let (error, freedom) = error_and_freedom(design);
    if error == 0.0 {
        return if estimate == 0.0 { 1.0 } else { 0.0 };
    }
    two_sided(estimate / error, freedom).unwrap_or(1.0)
}

/// True for each probability whose hypothesis is rejected, with an error probability of `alpha` over all of them (Holm
/// 1979). A probability that is not a number is never rejected, and counts as a question.
pub fn rejected(probabilities: &[f64], alpha: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    let key = |at: usize| if probabilities[at].is_nan() { f64::INFINITY } else { probabilities[at] };
    order.sort_by(|&a, &b| key(a).total_cmp(&key(b)));
    let mut found = vec![false; probabilities.len()];
    for (rank, &at) in order.iter().enumerate() {
        let left = (probabilities.len() - rank) as f64;
        // The first that is not rejected ends it.
        if key(at) > alpha / left {
            break;
        }
        found[at] = true;
    }
    found
}

// M5: repeat until the mean is known to a width. The interval is made with a quantile of 97 % and called 95 %: the
// difference pays for looking after every round.

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

/// The mean of these values' logarithms; `None` with fewer than two, or a value that is not positive and finite.
pub fn watched_mean(values: &[f64]) -> Option<WatchedMean> {
    let logarithms = logarithms(values)?;
    let (estimate, squares) = mean_and_squares(&logarithms)?;
    let deviation = (squares / (float(values.len()) - 1.0)).sqrt();
    (values.len() > 1).then_some(WatchedMean { estimate, count: values.len(), deviation })
}

impl WatchedMean {
    /// Half of the width of the interval, as a logarithm; infinite below five values.
    pub fn half(&self) -> f64 {
        half_width(self.count, self.deviation)
    }

    /// True if the mean is known to this share: 0.03 is ±3 %.
    pub fn is_known_to(&self, share: f64) -> bool {
        self.half().is_finite() && self.half() <= share.ln_1p()
    }

    /// Number of values with which it is known to this share, by the noise so far; `None` if 200 are not enough.
    pub fn rounds_to(&self, share: f64) -> Option<usize> {
        (FEWEST..=MOST_ROUNDS).find(|&count| half_width(count, self.deviation) <= share.ln_1p())
    }
}

fn half_width(count: usize, deviation: f64) -> f64 {
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
    fn a_change_is_a_ratio_with_one_interval_in_both_directions() {
        let (old, new) = ([100.0, 102.0, 98.0, 101.0], [90.0, 91.0, 89.0, 92.0]);
        let (down, up) = (between_sets(&old, &new).unwrap(), between_sets(&new, &old).unwrap());
        assert!((down.estimate + up.estimate).abs() < 1e-12 && (down.half(ALPHA) - up.half(ALPHA)).abs() < 1e-12);
        assert!(down.interval(ALPHA).1 < 0.0 && down.probability() < 0.001, "{down:?}");
        assert_eq!(down.reversed().interval(ALPHA), (-down.interval(ALPHA).1, -down.interval(ALPHA).0));
    }

    #[test]
    fn one_run_a_side_says_nothing() {
        assert_eq!(between_sets(&[100.0], &[50.0]), None);
        assert_eq!(between_sets(&[100.0, 101.0], &[50.0]), None);
        assert_eq!(between_sets(&[], &[50.0]), None);
        assert_eq!(between_pairs(&[100.0], &[50.0]), None);
    }

    #[test]
    fn one_run_against_eight_has_their_noise() {
        let many = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 100.1];
        let far = between_sets(&many, &[80.0]).unwrap();
        let near = between_sets(&many, &[100.3]).unwrap();
        assert!(far.interval(ALPHA).1 < 0.0 && near.interval(ALPHA).0 < 0.0 && near.interval(ALPHA).1 > 0.0);
        let other_way = between_sets(&[80.0], &many).unwrap();
        assert!((other_way.estimate + far.estimate).abs() < 1e-12 && other_way.half(ALPHA) > 0.01);
    }

    #[test]
    fn equal_numbers_are_noise_free_only_if_there_are_four() {
        assert_eq!(between_sets(&[100.0; 3], &[90.0; 3]), None);
        let found = between_sets(&[100.0; 4], &[90.0; 4]).unwrap();
        assert_eq!((found.half(ALPHA), found.probability()), (0.0, 0.0));
        assert_eq!(between_turns(&[100.0; 3], &[90.0; 3]), None);
        assert_eq!(between_rounds(&[100.0; 4], &[90.0; 4], 15).unwrap().half(ALPHA), 0.0);
    }

    #[test]
    fn three_of_eight_rounds_decide_nothing_and_more_need_less_room() {
        let old = [100.0, 102.0, 99.0, 101.0, 100.0, 98.0, 103.0, 100.0];
        let new = [90.0, 91.0, 92.0, 90.5, 89.0, 91.5, 90.0, 90.0];
        let change = |count: usize| between_rounds(&old[..count], &new[..count], 8).unwrap();
        let half = |count: usize| change(count).half(ALPHA);
        assert!(half(3).is_infinite() && half(4).is_finite() && half(8) < half(4));
        assert_eq!((change(3).probability(), change(3).smallest_visible()), (1.0, f64::INFINITY));
        let once = between_turns(&old, &new).unwrap();
        assert!(half(8) > once.half(ALPHA), "looking has its price");
        assert!(half(8) < 1.1 * once.half(ALPHA), "which is small after the last round");
    }

    #[test]
    fn turns_are_never_less_certain_than_sets_and_more_if_alike() {
        let old = [100.0, 110.0, 95.0, 104.0, 99.0];
        let own = [1.0, 1.002, 0.999, 1.001, 0.998];
        let alike: Vec<f64> = old.iter().zip(own).map(|(rate, own)| 0.97 * rate * own).collect();
        let unlike = [99.0, 93.0, 106.0, 97.0, 102.0];
        let halves = |new: &[f64]| [between_turns, between_sets].map(|rule| rule(&old, new).unwrap().half(ALPHA));
        let [turns, sets] = halves(&alike);
        assert!(turns < 0.1 * sets, "{turns} {sets}");
        let [turns, sets] = halves(&unlike);
        assert_eq!(turns, sets);
    }

    #[test]
    fn the_planned_rounds_have_most_of_the_error() {
        let old = [100.0, 102.0, 99.0, 101.0, 100.0, 98.0, 103.0, 100.0, 99.5, 100.5];
        let new = old.map(|rate: f64| 0.9 * rate + 0.1 * (rate - 99.0).sin());
        let of = |rounds: usize, planned: usize| between_rounds(&old[..rounds], &new[..rounds], planned).unwrap();
        let count = |rounds: usize, planned: usize| count_of(of(rounds, planned).design);
        assert_eq!([4, 5, 9, 10].map(|rounds| count(rounds, 5)), [4, 5, 5, 10]);
        assert_eq!([2, 3, 5, 6, 10].map(|rounds| count(rounds, 3)), [2, 3, 3, 6, 6]);
        let half = |rounds: usize, planned: usize| of(rounds, planned).half(ALPHA);
        assert!(half(3, 5).is_infinite() && half(3, 3).is_finite() && half(2, 2).is_finite());
        assert!(half(5, 5) < half(5, 10) && half(10, 10) < half(10, 5));
        assert!(of(5, 5).runs_to_see(0.01, ALPHA).unwrap() < 200);
    }

    #[test]
    fn more_runs_see_a_smaller_change_and_none_see_nothing() {
        let change = between_sets(&[100.0, 104.0, 96.0], &[100.0, 103.0, 97.0]).unwrap();
        let visible = change.smallest_visible();
        assert!(change.runs_to_see(visible, ALPHA).unwrap() <= 3);
        assert!(change.runs_to_see(visible / 4.0, ALPHA).unwrap() > 10);
        assert_eq!(change.runs_to_see(0.0, ALPHA), None);
    }

    proptest! {
        #[test]
        fn any_numbers_give_an_answer_or_none(
            old in proptest::collection::vec(any::<f64>(), 0..12),
            new in proptest::collection::vec(any::<f64>(), 0..12),
            alpha in 0.0..1.0_f64,
        ) {
            let of_turns = [between_turns(&old, &new), between_rounds(&old, &new, 3), between_rounds(&old, &new, 6)];
            for found in [between_sets(&old, &new), between_pairs(&old, &new)].into_iter().chain(of_turns).flatten() {
                prop_assert!(found.half(alpha) >= 0.0 && (0.0..=1.0).contains(&found.probability()));
                prop_assert!(!found.smallest_visible().is_nan());
                let _ = found.runs_to_see(0.05, ALPHA);
            }
        }

        #[test]
        fn the_probability_and_the_interval_agree(
            old in proptest::collection::vec(90.0..110.0_f64, 2..9),
            new in proptest::collection::vec(90.0..110.0_f64, 2..9),
        ) {
            let Some(found) = between_sets(&old, &new) else { return Ok(()) };
            let (low, high) = found.interval(ALPHA);
            let p = found.probability();
            prop_assume!((p - ALPHA).abs() > 1e-6);
            prop_assert_eq!(low > 0.0 || high < 0.0, p < ALPHA);
        }
    }

    #[test]
    fn each_step_has_the_error_that_is_left() {
        assert_eq!(rejected(&[0.01, 0.04, 0.03, 0.005], 0.05), [true, false, false, true]);
        assert_eq!(rejected(&[0.04, 0.01], 0.05), [true, true]);
        assert_eq!(rejected(&[0.03, 0.04], 0.05), [false, false]);
        assert_eq!(rejected(&[], 0.05), [false; 0]);
        assert_eq!(rejected(&[f64::NAN, 0.001], 0.05), [false, true]);
    }

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
        let with = |count: usize| half_width(count, found.deviation);
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

//! Change between two sets of results, with the noise between runs.
//!
//! Owns intervals and probabilities of the designs: two sets, runs in turns, pairs that are looked at now and then, and
//! pairs that are looked at after every round.

use super::{ALPHA, float, mean_and_squares, t_quantile, two_sided};

/// Fewest values of a side if all of them are equal: printed numbers are rounded, so two equal ones show no noise.
const FEWEST_EQUAL: usize = 4;
/// Fewest values of a set that a single result can be compared with.
const FEWEST_AGAINST_ONE: usize = 8;
/// Variance of the prior over effects, in units of the noise: frequent looks find effects of two deviations soonest.
const PRIOR_VARIANCE: f64 = 4.0;
/// Quantile of the normal distribution for a chance of 80 % to see an effect.
const POWER: f64 = 0.84;
/// Most runs of a side that are proposed.
const MOST_RUNS: usize = 200;

/// Correlation of the two runs of a round from which on rounds are compared as pairs. Below, the runs of both sides are
/// sets, which have twice the degrees of freedom.
const PAIRED_FROM: f64 = 0.7;
/// Share of the error that runs in turns keep: the rest pays for the choice between pairs and sets.
const TURNS_SHARE: f64 = 0.8;
/// Number of pairs at the first look; each later look is at twice as many.
const FIRST_LOOK: usize = 5;

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
    /// Once, at runs in turns.
    Turns,
    /// At 5, 10, 20, 40 ... pairs; each look has half of the error that is left.
    Doubling,
}

impl Looks {
    /// Share of the error that an interval of this many runs has.
    fn share(self, count: f64) -> f64 {
        match self {
            Looks::Once => 1.0,
            Looks::Turns => TURNS_SHARE,
            Looks::Doubling => TURNS_SHARE * 0.5 * float(FIRST_LOOK) / count,
        }
    }

    /// True if runs of this number are looked at.
    fn is_look(self, count: usize) -> bool {
        self != Looks::Doubling || last_look(count) == Some(count)
    }
}

/// The last look at up to this number of pairs.
fn last_look(pairs: usize) -> Option<usize> {
    std::iter::successors(Some(FIRST_LOOK), |look| look.checked_mul(2)).take_while(|&look| look <= pairs).last()
}

/// Values of a set or of pairs: their number and variance.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Noise {
    count: f64,
    variance: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Design {
    /// Two sets of any order: Welch's t.
    Sets(Noise, Noise),
    /// Pairs, their number fixed beforehand: Student's t.
    Pairs(Noise),
    /// Pairs, looked at after every round: the interval holds for all looks together. With its probability.
    Watched(Noise, f64),
}

/// Logarithms of positive finite values; `None` for any other value.
pub(super) fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    let logarithm = |value: &f64| (*value > 0.0 && value.is_finite()).then(|| value.ln());
    values.iter().map(logarithm).collect()
}

/// Mean and noise; `None` with fewer than two values.
fn noise(values: &[f64]) -> Option<(f64, Noise)> {
    let (mean, squares) = mean_and_squares(values)?;
    let count = float(values.len());
    (values.len() > 1).then_some((mean, Noise { count, variance: squares / (count - 1.0) }))
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
        let single = Noise { count: 1.0, ..noise };
        let sides = if old.len() == 1 { (single, noise) } else { (noise, single) };
        return Some(Change { estimate, design: Design::Sets(sides.0, sides.1), looks: Looks::Once });
    }
    let ((old_mean, old_noise), (new_mean, new_noise)) = (noise(&old)?, noise(&new)?);
    if old_noise.variance + new_noise.variance == 0.0 && fewest < FEWEST_EQUAL {
        return None;
    }
    let design = Design::Sets(old_noise, new_noise);
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

/// The change between runs that were made in turns, their number fixed beforehand: of pairs if the runs of a round are
/// alike, otherwise of two sets. How alike they are says nothing about the change, so it may decide.
///
/// `None` in the same cases as [`between_pairs`] and [`between_sets`].
pub fn between_turns(old: &[f64], new: &[f64]) -> Option<Change> {
    let (pairs, sets) = (between_pairs(old, new), between_sets(old, new));
    let chosen = if correlation(old, new)? > PAIRED_FROM { pairs.or(sets) } else { sets.or(pairs) };
    Some(Change { looks: Looks::Turns, ..chosen? })
}

/// Correlation of the logarithms of the runs of each round.
fn correlation(old: &[f64], new: &[f64]) -> Option<f64> {
    if old.len() != new.len() {
        return None;
    }
    let (old, new) = (logarithms(old)?, logarithms(new)?);
    let ((old_mean, old_squares), (new_mean, new_squares)) = (mean_and_squares(&old)?, mean_and_squares(&new)?);
    let products: f64 = old.iter().zip(&new).map(|(old, new)| (old - old_mean) * (new - new_mean)).sum();
    let scale = (old_squares * new_squares).sqrt();
    Some(if scale > 0.0 { products / scale } else { 0.0 })
}

/// The change between runs in turns, for a reader who may ask after any pair: that of the last look, at 5, 10, 20, 40 ...
/// pairs. The intervals of all looks hold together.
///
/// `None` below five pairs, and in the same cases as [`between_turns`].
pub fn between_looks(old: &[f64], new: &[f64]) -> Option<Change> {
    let look = last_look(old.len().min(new.len()))?;
    let change = between_turns(&old[..look], &new[..look])?;
    Some(Change { looks: Looks::Doubling, ..change })
}

/// The change over pairs in random order, for a reader who looks after every pair and may stop at any of them.
///
/// `None` in the same cases as [`between_pairs`]. The interval is infinite below four pairs.
pub fn between_watched_pairs(old: &[f64], new: &[f64]) -> Option<Change> {
    let Change { estimate, design: Design::Pairs(all), .. } = between_pairs(old, new)? else { return None };
    let changes = differences(old, new)?;
    let looks = (2..=changes.len()).filter_map(|count| noise(&changes[..count]));
    let p = looks.map(|(mean, noise)| watched_probability(mean, noise)).fold(1.0, f64::min);
    Some(Change { estimate, design: Design::Watched(all, p), looks: Looks::Once })
}

/// 1 ÷ Bayes factor against no effect: a normal prior over the effect in units of the noise, any scale of the noise.
fn watched_probability(mean: f64, noise: Noise) -> f64 {
    if noise.variance == 0.0 {
        let decided = mean != 0.0 && noise.count >= float(FEWEST_EQUAL);
        return if decided { 0.0 } else { 1.0 };
    }
    let (freedom, weight) = (noise.count - 1.0, 1.0 + noise.count * PRIOR_VARIANCE);
    let t2 = mean * mean * noise.count / noise.variance;
    if !t2.is_finite() {
        return 1.0;
    }
    let ratio = (1.0 + t2 / (freedom * weight)) / (1.0 + t2 / freedom);
    (weight.sqrt() * ratio.powf(f64::midpoint(freedom, 1.0))).min(1.0)
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
        if let Design::Watched(_, p) = self.design {
            return p;
        }
        let (error, freedom) = error_and_freedom(self.design);
        if error == 0.0 {
            return if self.estimate == 0.0 { 1.0 } else { 0.0 };
        }
        two_sided(self.estimate / error, freedom).map_or(1.0, |p| (p / self.share()).min(1.0))
    }

    /// The smallest change that would have been seen with 80 %, in logarithms.
    pub fn smallest_visible(&self) -> f64 {
        reach(self.design, ALPHA * self.share())
    }

    /// Runs of each side (or pairs) with which a change of `distance` is seen with 80 %; `None` if 200 are not enough.
    pub fn runs_to_see(&self, distance: f64, alpha: f64) -> Option<usize> {
        let sees = |runs: f64| reach(with_runs(self.design, runs), alpha * self.looks.share(runs)) <= distance;
        (2..=MOST_RUNS).find(|&runs| self.looks.is_look(runs) && sees(float(runs)))
    }

    /// The change with `new` and `old` swapped: a rate becomes a time.
    pub fn reversed(&self) -> Change {
        Change { estimate: -self.estimate, ..*self }
    }
}

/// Interval and chance together: an effect of this size is outside of its interval in 80 % of all cases.
fn reach(design: Design, alpha: f64) -> f64 {
    half(design, alpha) + POWER * error_and_freedom(design).0
}

fn count_of(design: Design) -> f64 {
    match design {
        Design::Sets(one, other) => one.count.min(other.count),
        Design::Pairs(pairs) | Design::Watched(pairs, _) => pairs.count,
    }
}

fn with_runs(design: Design, count: f64) -> Design {
    let of = |noise: Noise| Noise { count, ..noise };
    match design {
        Design::Sets(old, new) => Design::Sets(of(old), of(new)),
        Design::Pairs(pairs) => Design::Pairs(of(pairs)),
        Design::Watched(pairs, p) => Design::Watched(of(pairs), p),
    }
}

/// Standard error of the estimate, and its degrees of freedom.
fn error_and_freedom(design: Design) -> (f64, f64) {
    match design {
        Design::Pairs(pairs) | Design::Watched(pairs, _) => ((pairs.variance / pairs.count).sqrt(), pairs.count - 1.0),
        Design::Sets(old, new) => {
            let [one, other] = [old, new].map(|side| side.variance / side.count);
            let error = (one + other).sqrt();
            // A side with one value has no variance: it has that of the other.
            let freedom = match (old.count > 1.0, new.count > 1.0) {
                (false, _) => new.count - 1.0,
                (_, false) => old.count - 1.0,
                // Satterthwaite's number, from shares of the error: its squares would vanish for small variances.
                _ => {
                    let share = one / (one + other);
                    1.0 / (share * share / (old.count - 1.0) + (1.0 - share).powi(2) / (new.count - 1.0))
                }
            };
            (error, freedom)
        }
    }
}

fn half(design: Design, alpha: f64) -> f64 {
    let (error, freedom) = error_and_freedom(design);
    if let Design::Watched(pairs, _) = design {
        return watched_half(pairs, alpha);
    }
    if error == 0.0 {
        return 0.0;
    }
    t_quantile(1.0 - alpha / 2.0, freedom).map_or(f64::INFINITY, |quantile| quantile * error)
}

/// The set of effects that the Bayes factor does not reject.
fn watched_half(pairs: Noise, alpha: f64) -> f64 {
    let Noise { count, variance } = pairs;
    if variance == 0.0 {
        return if count >= float(FEWEST_EQUAL) { 0.0 } else { f64::INFINITY };
    }
    let weight = 1.0 + count * PRIOR_VARIANCE;
    let bound = (weight.sqrt() / alpha).powf(2.0 / count);
    if !bound.is_finite() || bound >= weight {
        return f64::INFINITY;
    }
    ((count - 1.0) * (bound - 1.0) / (1.0 - bound / weight)).sqrt() * (variance / count).sqrt()
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
        assert_eq!(between_watched_pairs(&[100.0; 3], &[90.0; 3]), None);
        assert_eq!(between_watched_pairs(&[100.0; 4], &[90.0; 4]).unwrap().half(ALPHA), 0.0);
    }

    #[test]
    fn three_watched_pairs_decide_nothing_and_more_need_less_room() {
        let old = [100.0, 102.0, 99.0, 101.0, 100.0, 98.0, 103.0, 100.0];
        let new = [90.0, 91.0, 92.0, 90.5, 89.0, 91.5, 90.0, 90.0];
        let half = |count: usize| between_watched_pairs(&old[..count], &new[..count]).unwrap().half(ALPHA);
        assert!(half(3).is_infinite() && half(4).is_finite() && half(8) < half(4));
        assert!(half(8) > between_pairs(&old, &new).unwrap().half(ALPHA), "looking has its price");
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
            for found in [between_sets(&old, &new), between_pairs(&old, &new), between_watched_pairs(&old, &new)] {
                let Some(found) = found else { continue };
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

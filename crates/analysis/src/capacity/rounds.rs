//! Rounds of six trials around the estimate, in random order, and the regression after each round.

use super::{Basis, Goal, Limit, Regime, Trial};
use crate::statistics::{Crossing, RateTrial, crossing};
use measure::SplitMix;

/// Logarithmic distance of the outer trials from the estimate, in the first round and later. Trials further apart near
/// saturation bend the line: 2 % too high on a queue of eight servers that are 91 % busy.
const FIRST_SPREAD: f64 = 0.10;
const SPREAD: f64 = 0.05;
/// Logarithmic distance from the estimate within which trials count.
const NEAR: f64 = 0.07;
/// The estimate must lie this close to the interval, or the trials around it were those of another one.
const CLOSE: f64 = 0.02;
/// Fewest trials of an interval.
const FEWEST: usize = 12;
/// Trials of a round that were late or changed, from which on the round says nothing about the target.
const SEVERAL: usize = 2;
/// Fewest trials on each side of a cliff.
const SIDE: usize = 3;
/// Above a cliff this many times the share of the limit are slow, below it this part of it at most.
const ABOVE: f64 = 10.0;
const BELOW: f64 = 0.5;
/// Half width, as a share, of the gap at a cliff that longer runs narrow.
const GAP: f64 = 0.03;
const MOST: usize = 10;

#[derive(Clone, Debug)]
pub(super) struct Rounds {
    /// Logarithm of the estimate.
    centre: f64,
    number: usize,
    /// Logarithms of the rates that are left in this round.
    left: Vec<f64>,
    trials: Vec<Trial>,
    fit: Option<Fit>,
    random: SplitMix,
}

/// The regression after a round.
#[derive(Clone, Copy, Debug)]
struct Fit {
    crossing: Crossing,
    basis: Basis,
    limit: usize,
    /// Number of trials that it rests on.
    trials: usize,
}

/// The trials' word on one limit.
enum Position {
    /// It is reached at this rate.
    At(Crossing, Basis),
    /// It is missed at all rates tried.
    Below,
    /// It is kept at all rates tried.
    Above,
}

impl Rounds {
    pub(super) const TRIALS: usize = 6;
    /// Rounds that a search usually takes.
    pub(super) const USUAL: usize = 4;

    pub(super) fn new(centre: f64, seed: u64) -> Self {
        let mut rounds = Rounds {
            centre: centre.ln(),
            number: 0,
            left: Vec::new(),
            trials: Vec::new(),
            fit: None,
            random: SplitMix::new(seed),
        };
        rounds.deal();
        rounds
    }

    /// Number of the round, from 0.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// The estimate.
    pub(super) fn centre(&self) -> f64 {
        self.centre.exp()
    }

    pub(super) fn next_rate(&self) -> f64 {
        self.left.last().copied().unwrap_or(self.centre).exp()
    }

    pub(super) fn crossing(&self) -> Option<&Crossing> {
        self.fit.as_ref().map(|fit| &fit.crossing)
    }

    /// The limit that is reached first.
    pub(super) fn limit(&self) -> Option<usize> {
        self.fit.map(|fit| fit.limit)
    }

    pub(super) fn basis(&self) -> Basis {
        self.fit.map_or(Basis::Fit, |fit| fit.basis)
    }

    /// The trials of this round.
    fn last(&self) -> &[Trial] {
        &self.trials[self.trials.len().saturating_sub(Self::TRIALS)..]
    }

    /// True if every trial of this round kept the limits.
    pub(super) fn is_kept(&self, limits: &[Limit]) -> bool {
        self.last().iter().all(|trial| trial.keeps(limits))
    }

    /// True if the target changed during several trials of this round.
    pub(super) fn is_changed(&self) -> bool {
        self.are_several(|trial| trial.regime != Regime::One)
    }

    /// True if the tester was too late in several trials of this round.
    pub(super) fn is_late(&self, limits: &[Limit]) -> bool {
        self.are_several(|trial| trial.is_spoiled(limits))
    }

    fn are_several(&self, is_one: impl Fn(&Trial) -> bool) -> bool {
        self.last().iter().filter(|trial| is_one(trial)).count() >= SEVERAL
    }

    /// Takes a trial; after the last one of a round, makes the estimate.
    pub(super) fn observe(&mut self, trial: &Trial, goal: &Goal) {
        self.left.pop();
        self.trials.push(trial.clone());
        if self.is_complete() {
            self.estimate(goal);
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.left.is_empty()
    }

    pub(super) fn is_last(&self) -> bool {
        self.number + 1 >= MOST
    }

    /// True if the interval is this narrow and rests on trials around it.
    pub(super) fn is_precise(&self, goal: &Goal) -> bool {
        self.fit.is_some_and(|fit| {
            // Longer runs narrow the gap of a cliff.
            let is_narrowed = fit.basis == Basis::Cliff && goal.confirm > 0.0;
            let precision = if is_narrowed { goal.precision.max(GAP) } else { goal.precision };
            let near = fit.crossing.low.ln() - CLOSE..=fit.crossing.high.ln() + CLOSE;
            self.number > 0 && fit.trials >= FEWEST && fit.crossing.width() <= precision && near.contains(&self.centre)
        })
    }

    /// Share of the I/Os of this round that the tester sent late.
    pub(super) fn late(&self) -> f64 {
        let last = self.last();
        let ios = |trial: &Trial| trial.counts.iter().map(|counts| counts.ios).fold(0.0, f64::max);
        let all: f64 = last.iter().map(ios).sum();
        if all > 0.0 { last.iter().map(|trial| trial.late * ios(trial)).sum::<f64>() / all } else { 0.0 }
    }

    /// The next round.
    pub(super) fn begun_again(mut self) -> Self {
        self.number += 1;
        self.deal();
        self
    }

    fn spread(&self) -> f64 {
        if self.number == 0 { FIRST_SPREAD } else { SPREAD }
    }

    /// Rates around the estimate, in random order.
    fn deal(&mut self) {
        let last = Self::TRIALS - 1;
        let place = |at: usize| 2.0 * measure::float(at as u64) / measure::float(last as u64) - 1.0;
        self.left = (0..=last).map(|at| self.centre + self.spread() * place(at)).collect();
        for at in (1..=last).rev() {
            let other = usize::try_from(self.random.next_word() % (at as u64 + 1)).unwrap_or(0);
            self.left.swap(at, other);
        }
    }

    /// Moves the estimate to the crossing, or, without one, half a spread towards it.
    fn estimate(&mut self, goal: &Goal) {
        let near: Vec<&Trial> = match self.number {
            0 => self.trials.iter().collect(),
            _ => self.trials.iter().filter(|trial| (trial.offered.ln() - self.centre).abs() <= NEAR).collect(),
        };
        let positions: Vec<Position> =
            (0..goal.limits.len()).map(|limit| position(&near, limit, goal.limits[limit].beyond)).collect();
        let is_below = positions.iter().any(|position| matches!(position, Position::Below));
        let crossings = positions.iter().enumerate().filter_map(|(limit, position)| match position {
            Position::At(crossing, basis) => {
                Some(Fit { crossing: *crossing, basis: *basis, limit, trials: near.len() })
            }
            Position::Below | Position::Above => None,
        });
        let least = crossings.min_by(|one, other| one.crossing.rate.total_cmp(&other.crossing.rate));
        let spread = self.spread();
        self.fit = least.filter(|_| !is_below);
        self.centre = match self.fit {
            Some(fit) => fit.crossing.rate.ln().clamp(self.centre - spread, self.centre + spread),
            None if is_below => self.centre - spread / 2.0,
            None => self.centre + spread / 2.0,
        };
    }
}

/// The word of these trials on a limit.
fn position(trials: &[&Trial], limit: usize, beyond: f64) -> Position {
    let of_limit = |trial: &&Trial| {
        let counts = trial.counts.get(limit).copied().unwrap_or_default();
        RateTrial { rate: trial.offered, ios: counts.ios, over: counts.over }
    };
    let trials: Vec<RateTrial> = trials.iter().map(of_limit).collect();
    let (ios, over) = trials.iter().fold((0.0, 0.0), |sum, trial| (sum.0 + trial.ios, sum.1 + trial.over));
    match (crossing(&trials, beyond), cliff(&trials, beyond)) {
        (Some(found), Some((low, high))) => {
            let wider = Crossing { low: found.low.min(low), high: found.high.max(high), ..found };
            Position::At(wider, Basis::Cliff)
        }
        (None, Some((low, high))) => {
            let between = Crossing { rate: (low * high).sqrt(), low, high, slope: f64::INFINITY, dispersion: 1.0 };
            Position::At(between, Basis::Cliff)
        }
        (Some(found), None) => Position::At(found, Basis::Fit),
        (None, None) if (over + 0.5) / (ios + 1.0) > beyond => Position::Below,
        (None, None) => Position::Above,
    }
}

/// The highest rate that kept the limit and the lowest that missed it, if every trial below kept it with ease and those
/// above missed it by far: there the fit is narrower than the trials are apart.
fn cliff(trials: &[RateTrial], beyond: f64) -> Option<(f64, f64)> {
    let (missed, kept): (Vec<&RateTrial>, Vec<&RateTrial>) =
        trials.iter().partition(|trial| trial.over > beyond * trial.ios);
    let low = kept.iter().map(|trial| trial.rate).fold(0.0, f64::max);
    let high = missed.iter().map(|trial| trial.rate).fold(f64::INFINITY, f64::min);
    let share = |side: &[&RateTrial]| {
        side.iter().map(|trial| trial.over).sum::<f64>() / side.iter().map(|trial| trial.ios).sum::<f64>()
    };
    let is_steep = share(&missed) >= (ABOVE * beyond).min((1.0 + beyond) / 2.0) && share(&kept) <= BELOW * beyond;
    (kept.len() >= SIDE && missed.len() >= SIDE && low < high && is_steep).then_some((low, high))
}

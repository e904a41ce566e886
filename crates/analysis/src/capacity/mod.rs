//! The largest rate of arrivals at which response times keep their limits: the search as a state machine.
//!
//! An observation goes in, the next rate or the answer comes out. Nothing is measured here, and nothing is random but
//! the order of the rates of a round, which comes from a seed. `statistics::crossing` is the regression.
//!
//! Ramp: doubles the rate until a limit is missed. Bracket: halves the gap in logarithms to 15 %. Rounds: six trials
//! around the estimate, and the regression over all trials near it, until the interval is narrow. Confirmation: a
//! longer run at the lower end of the interval.

mod conclusion;
#[cfg(test)]
mod queue;
mod rounds;
mod search;
#[cfg(test)]
mod tests;

pub use conclusion::{Answer, Basis, Ceiling, Conclusion, Confirmation, Reason};
pub use search::{Goal, Limit, Patience, Search, Stage, Step};

use crate::checks::late_sender;
use measure::{Histogram, Nanos};
use model::RunResult;

/// Share of a trial at its beginning that is not counted.
pub const WARM_UP: f64 = 0.2;
/// Share of I/Os whose sender was late, above which the tester and not the target is measured.
const MOST_LATE: f64 = 0.01;
/// Part of a limit by which an I/O must be late to count. One that is late by less moves no share of slow I/Os by much.
const LATE_PART: f64 = 0.1;
/// Most slow I/Os per late one of a trial, if the tester makes them slow: those behind a late one wait, too.
const SLOW_PER_LATE: f64 = 2.0;
/// Share of the offered rate below which the target does not keep up.
const KEEPS_UP: f64 = 0.98;

/// I/Os of one limit, and how many of them took longer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Number of I/Os.
    pub ios: f64,
    /// Those of them whose response took longer than the limit.
    pub over: f64,
}

impl Counts {
    /// Counts the times of a histogram; those of the bucket that holds the limit are taken as spread evenly.
    pub fn of(histogram: &Histogram, limit: Nanos) -> Self {
        let over = |(bucket, count): (usize, u64)| {
            let (from, to) = Histogram::bucket_edges(bucket);
            let width = to.as_f64() - from.as_f64();
            let part = if width > 0.0 { (to.as_f64() - limit.as_f64()) / width } else { 0.0 };
            let part = if from > limit { 1.0 } else { part.clamp(0.0, 1.0) };
            part * measure::float(count)
        };
        Counts { ios: measure::float(histogram.total()), over: histogram.iter().map(over).sum() }
    }

    /// Share of the I/Os that took longer; 1 without I/Os.
    pub fn share(&self) -> f64 {
        if self.ios > 0.0 { self.over / self.ios } else { 1.0 }
    }
}

/// Observation of one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Rate of arrivals, per second.
    pub offered: f64,
    /// Rate of completions, per second.
    pub done: f64,
    /// Duration in seconds, with the part that is not counted.
    pub seconds: f64,
    /// Counts for each limit, in the order of the goal.
    pub counts: Vec<Counts>,
    /// Share of the I/Os that the tester sent late although the depth had room: `late_share`.
    pub late: f64,
    /// Its phases.
    pub regime: Regime,
}

/// Phases of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Regime {
    /// One, or too short to have several.
    #[default]
    One,
    /// Several, whose rates differ.
    Several,
    /// The target was faster until something was spent or set in: credits, a cache, a limit.
    Spent,
}

impl Trial {
    /// True if every limit was kept, and completions kept up with arrivals.
    fn keeps(&self, limits: &[Limit]) -> bool {
        self.keeps_limits(limits) && !self.falls_behind()
    }

    /// True if every limit was kept.
    fn keeps_limits(&self, limits: &[Limit]) -> bool {
        self.counts.len() == limits.len()
            && self.counts.iter().zip(limits).all(|(counts, limit)| counts.share() <= limit.beyond)
    }

    /// True if completions did not keep up with arrivals. Arrivals are random: three deviations are chance.
    fn falls_behind(&self) -> bool {
        let expected = self.offered * self.seconds * (1.0 - WARM_UP);
        let chance = if expected > 0.0 { 3.0 / expected.sqrt() } else { 0.0 };
        self.done < self.offered * (KEEPS_UP - chance)
    }

    /// True if the tester was too late to tell: a limit was missed, and by no more than late I/Os can explain.
    fn is_spoiled(&self, limits: &[Limit]) -> bool {
        let excess = |(counts, limit): (&Counts, &Limit)| counts.share() - limit.beyond;
        let most = self.counts.iter().zip(limits).map(excess).fold(0.0, f64::max);
        self.late > MOST_LATE && !self.keeps(limits) && most <= SLOW_PER_LATE * self.late
    }
}

/// Share of a run's I/Os that were sent late, although the depth had room, by more than a tenth of the limit.
pub fn late_share(result: &RunResult, limit: Nanos) -> f64 {
    let sent = late_sender::sent(result);
    let least = Nanos::from_secs_f64(LATE_PART * limit.as_secs_f64());
    let by_more = sent.lateness.as_ref().and_then(|lateness| lateness.histogram.as_deref());
    let share = late_sender::late_share(&sent);
    by_more.map_or(share, |lateness| share.min(Counts::of(lateness, least).share()))
}

//! The end of a search.

use super::{Counts, Limit, Regime, Trial};
use crate::statistics::Crossing;

/// A longer run contradicts the trials if its share of slow I/Os is this many deviations and times above theirs.
const DEVIATIONS: f64 = 4.0;
const TIMES: f64 = 2.0;

/// The end of a search: its answer and what it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
    /// The answer.
    pub answer: Answer,
    /// The rate with its interval, if the trials fixed one.
    pub crossing: Option<Crossing>,
    /// Origin of that interval.
    pub basis: Basis,
    /// Index of the limit that is reached first.
    pub limit: Option<usize>,
    /// The run at the lower end, if one kept the limits.
    pub confirmed: Option<Confirmation>,
}

/// Origin of the interval of a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Basis {
    /// The fit over the trials.
    #[default]
    Fit,
    /// A cliff: the highest rate that kept the limits, and the lowest one that missed them by far. A backlog grows
    /// there, so the share of slow I/Os depends on how long a run lasts.
    Cliff,
}

/// Answer of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// The target holds the rate of the crossing.
    Holds,
    /// The limits are kept up to this rate, and the search could not go further.
    AtLeast(f64, Ceiling),
    /// A limit is missed at the lowest rate, this one; with one I/O at a time if it is `None`.
    Never(Option<f64>),
    /// It cannot be said.
    CannotTell(Reason),
}

/// Reason why the search went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ceiling {
    /// The largest rate that was asked for.
    Largest,
    /// The tester cannot send I/Os in time at a larger rate, even without the target.
    Tester,
    /// The tester sent I/Os late at a larger rate, and without the target it does not.
    Submission,
}

/// Reason why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// A trial would take this number of seconds at this rate.
    LongTrials {
        /// Seconds of a trial.
        seconds: f64,
        /// Rate per second.
        rate: f64,
    },
    /// The share of slow I/Os does not grow with the rate.
    NoSlope,
    /// The interval has this half width as a share after the last round.
    Wide(f64),
    /// The time is over.
    Time,
    /// The tester sent this share of I/Os late.
    Late(f64),
    /// The rate of the target changed during trials at about this rate.
    Changed(f64),
    /// Limits were missed in the confirmation, down to this rate, although the trials kept them: the target changes.
    NotStationary(f64),
}

impl Conclusion {
    /// Reason for which a longer run that missed a limit leaves the question open.
    pub(super) fn doubt(trial: &Trial, limits: &[Limit]) -> Option<Reason> {
        match trial.regime {
            _ if trial.is_spoiled(limits) => Some(Reason::Late(trial.late)),
            Regime::Several | Regime::Spent => Some(Reason::Changed(trial.offered)),
            Regime::One => None,
        }
    }

    /// True if a run that missed a limit with these counts was not expected to, nor by chance.
    pub(super) fn is_contradicted(&self, rate: f64, counts: Counts, beyond: f64) -> bool {
        let Some(crossing) = self.crossing.filter(|_| self.basis == Basis::Fit) else { return true };
        let expected = (beyond * crossing.growth(rate / crossing.rate, beyond)).clamp(0.0, 1.0);
        let deviation = (crossing.dispersion * expected * (1.0 - expected) / counts.ios.max(1.0)).sqrt();
        counts.share() > (expected + DEVIATIONS * deviation).max(TIMES * beyond).min((1.0 + beyond) / 2.0)
    }

    /// The same with an interval between two rates.
    pub(super) fn between(self, low: f64, high: f64) -> Conclusion {
        let slope = self.crossing.map_or(f64::INFINITY, |crossing| crossing.slope);
        let dispersion = self.crossing.map_or(1.0, |crossing| crossing.dispersion);
        let crossing = Crossing { rate: (low * high).sqrt(), low, high, slope, dispersion };
        Conclusion { crossing: Some(crossing), basis: Basis::Cliff, ..self }
    }
}

/// A longer run that kept the limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirmation {
    /// Rate of arrivals per second.
    pub rate: f64,
    /// Share of I/Os beyond each limit.
    pub shares: Vec<f64>,
    /// Duration in seconds.
    pub seconds: f64,
}

//! The end of a search.

use crate::statistics::Crossing;

/// The end of a search: its answer and what it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
    /// The answer.
    pub answer: Answer,
    /// The rate with its interval, if the trials fixed one.
    pub crossing: Option<Crossing>,
    /// Index of the limit that is reached first.
    pub limit: Option<usize>,
    /// The run at the lower end, if one kept the limits.
    pub confirmed: Option<Confirmation>,
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
    /// The tester could not send I/Os in time.
    Tester,
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
    /// The limits were missed in the confirmation, down to this rate, although the trials kept them: the target changes.
    NotStationary(f64),
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

//! The stages of a search, and when it ends.

use super::rounds::Rounds;
use super::{Answer, Basis, Ceiling, Conclusion, Confirmation, Counts, MOST_LATE, Reason, Regime, Trial, WARM_UP};

/// Shortest trial, in seconds.
const SHORTEST: f64 = 3.0;
/// Longest trial, in seconds, unless a time is given.
const LONGEST: f64 = 60.0;
/// I/Os beyond the limit that a trial of a round should have.
const BEYOND: f64 = 100.0;
/// The same for a trial of the ramp, which only looks for the order of magnitude.
const BEYOND_IN_RAMP: f64 = 20.0;
/// Ratio of the ends at which the bracket is narrow enough.
const NARROW: f64 = 1.15;
/// Seconds with one I/O at a time.
const ALONE: f64 = 2.0;
/// Seconds without the target, to see what the tester sends by itself.
const SENDER: f64 = 2.0;
/// How often the ramp halves its first rate if it misses a limit.
const MOST_HALVINGS: i32 = 6;
/// Most trials of the ramp: 2³⁰ times the first rate.
const MOST_RAMP: usize = 30;
/// How many times a trial is made again: in ramp and bracket if sent late, at the lowest rate if it misses a limit.
const MOST_AGAIN: u32 = 2;
/// How many times a search goes back to the ramp, as every trial of a round kept the limits.
const MOST_RAMPS: u32 = 3;
/// How many times the confirmation goes lower, and by which factor.
const MOST_LOWER: u32 = 3;
const LOWER: f64 = 0.97;
/// Number of trials whose time a confirmation takes at least.
const CONFIRMED_TRIALS: f64 = 3.0;

/// A limit on response times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Largest share of I/Os beyond it: 0.01 for p99.
    pub beyond: f64,
    /// Share of all I/Os that it counts: 0.7 for the reads of a mix of 70 %.
    pub part: f64,
}

/// Settings of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// The limits; all must be kept.
    pub limits: Vec<Limit>,
    /// Half width of the interval that is wanted, as a share.
    pub precision: f64,
    /// First and lowest rate per second; `None` to begin with half of what one user does.
    pub from: Option<f64>,
    /// Largest rate per second.
    pub to: Option<f64>,
    /// Duration of the confirmation in seconds; 0 for none.
    pub confirm: f64,
    /// Seconds of all trials together.
    pub time: f64,
    /// Longest trial that is accepted.
    pub patience: Patience,
    /// Seed of the order within a round.
    pub seed: u64,
}

/// Longest trial that is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// A minute.
    Usual,
    /// As long as the time lasts.
    UntilTime,
}

/// Stage of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The rate doubles.
    Ramp,
    /// The gap is halved.
    Bracket,
    /// Six trials around the estimate.
    Round(usize),
    /// A longer run at the lower end.
    Confirm,
}

/// Next step of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Measure with one I/O at a time, for these seconds.
    Alone(f64),
    /// Measure at this rate per second, for these seconds.
    Trial {
        /// Rate of arrivals, per second.
        rate: f64,
        /// Duration in seconds, with the part that is not counted.
        seconds: f64,
        /// Stage that it belongs to.
        stage: Stage,
    },
    /// Send at this rate per second without the target (engine `null`), for these seconds: the tester was late with it.
    Sender {
        /// Rate of arrivals, per second.
        rate: f64,
        /// Duration in seconds.
        seconds: f64,
    },
    /// The search has ended.
    Ended(Conclusion),
}

/// A search.
#[derive(Clone, Debug)]
pub struct Search {
    goal: Goal,
    state: State,
    /// Seconds of all trials so far.
    spent: f64,
    /// Largest rate that kept the limits.
    kept: Option<f64>,
    /// Number of trials in a row that were made again.
    again: u32,
    /// Number of times that it went back to the ramp.
    ramps: u32,
}

/// The ramp: at which rate it is, and where it may end.
#[derive(Clone, Copy, Debug)]
struct Ramp {
    rate: f64,
    lowest: f64,
    /// Lowest rate that missed a limit, if any has.
    missed: Option<f64>,
    trials: usize,
}

/// A run of the confirmation.
#[derive(Clone, Debug)]
struct Attempt {
    /// Conclusion of the rounds.
    found: Conclusion,
    rate: f64,
    seconds: f64,
    /// How many times the rate was lowered.
    lower: u32,
    /// Lowest rate whose run contradicted the trials.
    missed: Option<f64>,
}

#[derive(Clone, Debug)]
enum State {
    Alone,
    Ramp(Ramp),
    Bracket { low: f64, high: f64 },
    Rounds(Rounds),
    Confirm(Attempt),
    Sender(Suspicion),
    Ended(Conclusion),
}

/// The tester was late; whether it is by itself decides between two conclusions.
#[derive(Clone, Debug)]
struct Suspicion {
    rate: f64,
    /// It is late without the target, too.
    by_itself: Conclusion,
    /// It is late only with the target.
    with_target: Conclusion,
}

impl Search {
    /// Begins a search.
    pub fn new(goal: Goal) -> Self {
        let state = match goal.from {
            Some(from) => State::Ramp(Ramp::new(goal.at_most(from), from)),
            None => State::Alone,
        };
        Search { goal, state, spent: 0.0, kept: None, again: 0, ramps: 0 }
    }

    /// The next step. It stays the same until an observation is given.
    pub fn next_step(&self) -> Step {
        let trial = |rate, seconds, stage| Step::Trial { rate, seconds, stage };
        match &self.state {
            State::Alone => Step::Alone(ALONE),
            State::Ramp(ramp) => trial(ramp.rate, self.goal.ramp_seconds(ramp.rate), Stage::Ramp),
            State::Bracket { low, high } => {
                let rate = (low * high).sqrt();
                trial(rate, self.goal.seconds(rate), Stage::Bracket)
            }
            State::Rounds(rounds) => {
                trial(rounds.next_rate(), self.goal.seconds(rounds.centre()), Stage::Round(rounds.number()))
            }
            State::Confirm(attempt) => trial(attempt.rate, attempt.seconds, Stage::Confirm),
            State::Sender(suspicion) => Step::Sender { rate: suspicion.rate, seconds: SENDER },
            State::Ended(conclusion) => Step::Ended(conclusion.clone()),
        }
    }

    /// Seconds of all trials so far.
    pub fn spent(&self) -> f64 {
        self.spent
    }

    /// Half width of the interval so far, as a share.
    pub fn width(&self) -> Option<f64> {
        match &self.state {
            State::Rounds(rounds) => Some(rounds.crossing()?.width()),
            State::Confirm(Attempt { found, .. }) | State::Ended(found) => Some(found.crossing?.width()),
            State::Alone | State::Ramp(_) | State::Bracket { .. } | State::Sender(_) => None,
        }
    }

    /// Seconds that the search may still take, roughly: what the next stages usually need.
    pub fn seconds_left(&self) -> Option<f64> {
        let usual = |rounds: usize, rate: f64| {
            let trials = measure::float(rounds as u64) * measure::float(Rounds::TRIALS as u64);
            let seconds = self.goal.seconds(rate);
            trials * seconds + self.goal.confirm_seconds(seconds)
        };
        let left = match &self.state {
            State::Alone | State::Ramp(_) => return None,
            State::Bracket { low, high } => usual(Rounds::USUAL, (low * high).sqrt()),
            State::Rounds(rounds) => usual(Rounds::USUAL.saturating_sub(rounds.number()).max(1), rounds.centre()),
            State::Confirm(attempt) => attempt.seconds,
            State::Sender(_) => SENDER,
            State::Ended(_) => 0.0,
        };
        Some(left.min(self.goal.time - self.spent).max(0.0))
    }

    /// Takes what was found with one I/O at a time: its rate per second, and the counts of each limit.
    pub fn observe_alone(&mut self, rate: f64, counts: &[Counts]) {
        if !matches!(self.state, State::Alone) {
            return;
        }
        self.spent += ALONE;
        // A share of few I/Os is chance: three deviations are needed to end here.
        let misses = |(counts, limit): (&Counts, &Limit)| {
            let chance = 3.0 * (limit.beyond / counts.ios.max(1.0)).sqrt();
            counts.ios * limit.beyond >= 1.0 && counts.share() > limit.beyond + chance
        };
        if let Some(limit) = counts.iter().zip(&self.goal.limits).position(misses) {
            // Another program may have used the target for a moment.
            if self.again < MOST_AGAIN {
                self.again += 1;
            } else {
                self.end(Answer::Never(None), Some(limit));
            }
        } else if rate.is_finite() && rate > 0.0 {
            self.again = 0;
            let first = self.goal.at_most(rate / 2.0);
            self.state = State::Ramp(Ramp::new(first, first / 2_f64.powi(MOST_HALVINGS)));
        } else {
            self.end(Answer::CannotTell(Reason::NoSlope), None);
        }
    }

    /// Takes the observation of the trial that was asked for.
    pub fn observe(&mut self, trial: &Trial) {
        self.spent += trial.seconds;
        let keeps = trial.keeps(&self.goal.limits);
        if keeps {
            self.kept = Some(self.kept.map_or(trial.offered, |kept| kept.max(trial.offered)));
        }
        // Another program may have taken the processor for a moment.
        let is_spoiled = trial.is_spoiled(&self.goal.limits);
        let asked = self.next_step();
        match std::mem::replace(&mut self.state, State::Alone) {
            State::Alone => {}
            again @ (State::Ramp(_) | State::Bracket { .. }) if is_spoiled && self.again < MOST_AGAIN => {
                (self.state, self.again) = (again, self.again + 1);
            }
            State::Ramp(_) | State::Bracket { .. } if is_spoiled => self.end_late(trial),
            State::Ramp(_) | State::Bracket { .. } if !keeps && trial.regime == Regime::Spent => {
                self.end(Answer::CannotTell(Reason::Changed(trial.offered)), None);
            }
            State::Ramp(ramp) => self.ramp(Ramp { trials: ramp.trials + 1, ..ramp }, trial),
            State::Bracket { low, high } => {
                if keeps {
                    self.bracket(trial.offered, high);
                } else {
                    self.bracket(low, trial.offered);
                }
            }
            State::Rounds(mut rounds) => {
                rounds.observe(trial, &self.goal);
                self.round(rounds);
            }
            State::Confirm(attempt) => self.confirm(attempt, trial),
            other @ (State::Sender(_) | State::Ended(_)) => self.state = other,
        }
        self.end_in_time();
        if self.next_step() != asked {
            self.again = 0;
        }
    }

    /// Takes what the tester did without the target. What is slow there waited for the tester.
    pub fn observe_sender(&mut self, trial: &Trial) {
        self.spent += trial.seconds;
        match std::mem::replace(&mut self.state, State::Alone) {
            State::Sender(Suspicion { by_itself, with_target, .. }) => {
                let is_late = trial.late > MOST_LATE || !trial.keeps(&self.goal.limits);
                self.state = State::Ended(if is_late { by_itself } else { with_target });
            }
            other => self.state = other,
        }
    }

    fn ramp(&mut self, ramp: Ramp, trial: &Trial) {
        let rate = ramp.rate;
        match (trial.keeps(&self.goal.limits), ramp.missed, self.kept) {
            (true, Some(missed), _) => self.bracket(rate, missed),
            (true, None, _) if ramp.trials >= MOST_RAMP || self.goal.to.is_some_and(|to| rate >= to) => {
                self.end(Answer::AtLeast(rate, Ceiling::Largest), None);
            }
            (true, None, _) => self.state = State::Ramp(Ramp { rate: self.goal.at_most(2.0 * rate), ..ramp }),
            (false, _, Some(kept)) => self.bracket(kept, rate),
            (false, _, None) if rate / 2.0 >= ramp.lowest => {
                self.state = State::Ramp(Ramp { rate: rate / 2.0, missed: Some(rate), ..ramp });
            }
            // Another program may have used the target for a moment.
            (false, _, None) if self.again < MOST_AGAIN => {
                (self.state, self.again) = (State::Ramp(ramp), self.again + 1);
            }
            (false, _, None) => {
                let missed = |(counts, limit): (&Counts, &Limit)| counts.share() > limit.beyond;
                let limit = trial.counts.iter().zip(&self.goal.limits).position(missed);
                self.end(Answer::Never(Some(rate)), limit);
            }
        }
    }

    /// Goes on with a bracket, or with rounds if it is narrow.
    fn bracket(&mut self, low: f64, high: f64) {
        if high / low > NARROW {
            self.state = State::Bracket { low, high };
            return;
        }
        let centre = (low * high).sqrt();
        let seconds = self.goal.full_seconds(centre);
        if self.goal.patience == Patience::Usual && seconds > LONGEST {
            self.end(Answer::CannotTell(Reason::LongTrials { seconds, rate: centre }), None);
        } else {
            self.state = State::Rounds(Rounds::new(centre, self.goal.seed));
        }
    }

    /// Goes on after a trial of a round.
    fn round(&mut self, rounds: Rounds) {
        if !rounds.is_complete() {
            self.state = State::Rounds(rounds);
        } else if rounds.is_late(&self.goal.limits) {
            let late = Answer::CannotTell(Reason::Late(rounds.late()));
            self.suspect(rounds.centre(), late, conclusion_of(late, &rounds));
        } else if rounds.is_changed() {
            let reason = Reason::Changed(rounds.centre());
            self.end_with(Answer::CannotTell(reason), &rounds);
        } else if rounds.is_precise(&self.goal) {
            self.found(&rounds);
        } else if rounds.is_last() {
            let width = rounds.crossing().map(|found| found.width());
            self.end_with(Answer::CannotTell(width.map_or(Reason::NoSlope, Reason::Wide)), &rounds);
        } else if let Some(to) = self.goal.to.filter(|to| rounds.centre() > *to && rounds.crossing().is_none()) {
            self.end(Answer::AtLeast(to, Ceiling::Largest), None);
        } else if let Some(kept) = self.kept.filter(|_| self.ramps < MOST_RAMPS && rounds.is_kept(&self.goal.limits)) {
            // The trial that ended the ramp or moved the bracket was disturbed.
            self.ramps += 1;
            self.state = State::Ramp(Ramp::new(self.goal.at_most(2.0 * kept), kept));
        } else {
            self.state = State::Rounds(rounds.begun_again());
        }
    }

    /// The interval is narrow: confirms its lower end, if wanted.
    fn found(&mut self, rounds: &Rounds) {
        let found = conclusion_of(Answer::Holds, rounds);
        let low = found.crossing.map_or(rounds.centre(), |crossing| crossing.low);
        let seconds = self.goal.confirm_seconds(self.goal.seconds(low));
        self.state = match seconds {
            0.0 => State::Ended(found),
            _ => State::Confirm(Attempt { found, rate: low, seconds, lower: 0, missed: None }),
        };
    }

    /// Goes on after a run of the confirmation. A longer run that contradicts the trials is believed: the interval is
    /// then the gap between the longer runs that kept the limits and those that missed them.
    fn confirm(&mut self, attempt: Attempt, trial: &Trial) {
        let Attempt { mut found, rate, seconds, mut lower, mut missed } = attempt;
        let is_last = lower == MOST_LOWER && found.confirmed.is_none();
        let last_reason = is_last.then_some(Reason::NotStationary(trial.offered));
        if trial.keeps_limits(&self.goal.limits) {
            let shares = trial.counts.iter().map(Counts::share).collect();
            found.confirmed = Some(Confirmation { rate: trial.offered, shares, seconds: trial.seconds });
        } else if let Some(reason) = Conclusion::doubt(trial, &self.goal.limits).or(last_reason) {
            self.state = State::Ended(Conclusion { answer: Answer::CannotTell(reason), confirmed: None, ..found });
            return;
        } else {
            let limit = found.limit.unwrap_or(0);
            let counts = trial.counts.get(limit).copied().unwrap_or_default();
            let beyond = self.goal.limits.get(limit).map_or(0.0, |limit| limit.beyond);
            if missed.is_some() || found.is_contradicted(trial.offered, counts, beyond) {
                missed = Some(trial.offered);
            }
            lower += 1;
        }
        let kept = found.confirmed.as_ref().map(|run| run.rate);
        // At a cliff a longer run misses what a trial missed.
        let missed = missed.or_else(|| found.crossing.filter(|_| found.basis == Basis::Cliff).map(|found| found.high));
        let confirm = |found, rate| State::Confirm(Attempt { found, rate, seconds, lower, missed });
        self.state = match (kept, missed) {
            (None, _) => confirm(found, LOWER * rate),
            (Some(_), None) => State::Ended(found),
            (Some(low), Some(high)) => {
                let found = found.between(low, high);
                match found.crossing {
                    Some(gap) if gap.width() > self.goal.precision => confirm(found, gap.rate),
                    _ => State::Ended(found),
                }
            }
        };
    }

    /// Ends if the next trial would end after the time.
    fn end_in_time(&mut self) {
        let Step::Trial { seconds, .. } = self.next_step() else { return };
        if self.spent + seconds <= self.goal.time {
            return;
        }
        let reason = Answer::CannotTell(Reason::Time);
        match std::mem::replace(&mut self.state, State::Alone) {
            State::Rounds(rounds) => self.end_with(reason, &rounds),
            // A wider gap than wanted is an answer, too.
            State::Confirm(Attempt { found, .. }) if found.confirmed.is_some() => self.state = State::Ended(found),
            State::Confirm(Attempt { found, .. }) => self.state = State::Ended(Conclusion { answer: reason, ..found }),
            _ => self.end(reason, None),
        }
    }

    fn end_late(&mut self, trial: &Trial) {
        let late = Answer::CannotTell(Reason::Late(trial.late));
        let with_target = self.kept.map_or(late, |kept| Answer::AtLeast(kept, Ceiling::Submission));
        self.suspect(trial.offered, late, plain(with_target, None));
    }

    /// Asks if the tester is late by itself at this rate. Then it is the limit, or `late` is the answer.
    fn suspect(&mut self, rate: f64, late: Answer, with_target: Conclusion) {
        let by_itself = plain(self.kept.map_or(late, |kept| Answer::AtLeast(kept, Ceiling::Tester)), None);
        self.state = State::Sender(Suspicion { rate, by_itself, with_target });
    }

    fn end_with(&mut self, answer: Answer, rounds: &Rounds) {
        self.state = State::Ended(conclusion_of(answer, rounds));
    }

    fn end(&mut self, answer: Answer, limit: Option<usize>) {
        self.state = State::Ended(plain(answer, limit));
    }
}

/// A conclusion without an interval.
fn plain(answer: Answer, limit: Option<usize>) -> Conclusion {
    Conclusion { answer, crossing: None, basis: Basis::Fit, limit, confirmed: None }
}

fn conclusion_of(answer: Answer, rounds: &Rounds) -> Conclusion {
    let (crossing, basis, limit) = (rounds.crossing().copied(), rounds.basis(), rounds.limit());
    Conclusion { answer, crossing, basis, limit, confirmed: None }
}

impl Ramp {
    fn new(rate: f64, lowest: f64) -> Self {
        Ramp { rate, lowest, missed: None, trials: 0 }
    }
}

impl Goal {
    fn at_most(&self, rate: f64) -> f64 {
        self.to.map_or(rate, |to| rate.min(to))
    }

    /// Seconds in which this number of I/Os is beyond the rarest limit, at this rate.
    fn seconds_beyond(&self, ios: f64, rate: f64) -> f64 {
        let rarest = self.limits.iter().map(|limit| limit.beyond * limit.part).fold(1.0, f64::min);
        ios / (rarest * rate) / (1.0 - WARM_UP)
    }

    /// Seconds of a trial that has 100 I/Os beyond the limit.
    fn full_seconds(&self, rate: f64) -> f64 {
        self.seconds_beyond(BEYOND, rate).max(SHORTEST)
    }

    /// Seconds of a trial of bracket and rounds.
    fn seconds(&self, rate: f64) -> f64 {
        let full = self.full_seconds(rate);
        match self.patience {
            Patience::Usual => full.min(LONGEST),
            Patience::UntilTime => full,
        }
    }

    /// Seconds of a trial of the ramp.
    fn ramp_seconds(&self, rate: f64) -> f64 {
        self.seconds_beyond(BEYOND_IN_RAMP, rate).clamp(SHORTEST, LONGEST)
    }

    /// Seconds of the confirmation after trials of these seconds.
    fn confirm_seconds(&self, trial: f64) -> f64 {
        if self.confirm > 0.0 { self.confirm.max(CONFIRMED_TRIALS * trial) } else { 0.0 }
    }
}

//! Measures what the search asks for, trial after trial.

use super::numbers::TrialNumbers;
use super::slo::Slo;
use crate::failure::{Cut, Failure};
use analysis::capacity::{Conclusion, Counts, Goal, Limit, Patience, Search, Stage, Step, Trial, WARM_UP};
use measure::Nanos;
use measure::text;
use model::RunResult;
use report::sources::PlaceFacts;
use session::arguments::Findings;
use session::layers;
use session::machine::{Machine, parser};
use session::progress::Display;
use session::{Run, Session};
use survey::{OPEN_LOOP_ENGINES, OpenLoad, OpenRun, Sending, SurveyTarget, TestTime};

/// Seconds of all trials together, unless a time is given.
const USUAL_TIME: f64 = 3600.0;

/// The question: limits, I/O, and how the search goes.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// Limits on response times; all must be kept.
    pub(crate) slos: Vec<Slo>,
    pub(crate) load: OpenLoad,
    /// Another engine may be used if the kernel refuses that of the load: the user named none, and none has worked yet.
    pub(crate) may_change_engine: bool,
    /// Half width of the interval that is wanted, as a share.
    pub(crate) precision: f64,
    /// First and largest rate per second.
    pub(crate) between: [Option<f64>; 2],
    /// Seconds of the confirmation; 0 for none.
    pub(crate) confirm: u64,
    /// Seconds of all trials; `None` for an hour, with trials of a minute at most.
    pub(crate) time: Option<u64>,
    /// True if the time of the I/Os is recorded by part.
    pub(crate) layers: bool,
}

/// Checks that the I/Os of the trials can be recorded.
pub(crate) fn check_layers(question: &Question, target: &SurveyTarget) -> Result<(), Failure> {
    let run = OpenRun { sending: Sending::Alone, time: TestTime { ramp: Nanos::ZERO, time: Nanos::SECOND }, number: 1 };
    let (plan, _) = question.load.plan(target, &run, &parser(), &Machine::here().surroundings())?;
    layers::check(&plan)?;
    layers::check_machine()
}

impl Question {
    fn goal(&self) -> Goal {
        let limit = |slo: &Slo| Limit { beyond: slo.beyond(), part: self.load.part(slo.direction) };
        Goal {
            limits: self.slos.iter().map(limit).collect(),
            precision: self.precision,
            from: self.between[0],
            to: self.between[1],
            confirm: measure::float(self.confirm),
            time: self.time.map_or(USUAL_TIME, measure::float),
            patience: if self.time.is_some() { Patience::UntilTime } else { Patience::Usual },
            seed: self.load.seed,
        }
    }
}

/// A trial that was measured.
#[derive(Clone, Debug)]
pub(crate) struct TrialRow {
    /// Stage of the search; `None` with one I/O at a time.
    pub(crate) stage: Option<Stage>,
    /// Rate of arrivals per second.
    pub(crate) offered: f64,
    pub(crate) seconds: f64,
    pub(crate) measured: TrialNumbers,
}

impl TrialRow {
    /// The largest parts of its usual I/Os, and of the slowest 1 of 100.
    pub(super) fn largest(&self) -> [Option<String>; 2] {
        self.measured.layers.as_deref().map_or([None, None], analysis::parts::largest)
    }

    /// How far its rate is from another one, in logarithms.
    pub(super) fn distance(&self, rate: f64) -> f64 {
        (self.offered / rate).ln().abs()
    }
}

/// The tester without the target, at a rate at which it was late.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    /// Rate of arrivals per second.
    pub(crate) offered: f64,
    pub(crate) done: f64,
    /// Share of the I/Os that were sent late.
    pub(crate) late: f64,
    /// Largest share of the I/Os beyond a limit.
    pub(crate) over: f64,
}

/// Reason why the search ended.
#[derive(Debug)]
pub(crate) enum Ending {
    /// It has an answer, which may be that it cannot tell.
    Concluded(Conclusion),
    /// A signal came, or a trial failed.
    Cut(Cut),
}

/// A search that has ended, with all of its trials.
#[derive(Debug)]
pub(crate) struct SearchResult {
    /// The question, with the engine that was used.
    pub(crate) question: Question,
    pub(crate) rows: Vec<TrialRow>,
    /// Findings that results are not of the storage.
    pub(crate) findings: Findings,
    /// Host, disk and date.
    pub(crate) place: PlaceFacts,
    /// The tester by itself, if it was late.
    pub(crate) sender: Option<Sender>,
    /// Reason why another engine was used than the usual one.
    pub(crate) engine_because: Option<String>,
    /// Seconds of all trials.
    pub(crate) spent: f64,
    pub(crate) ending: Ending,
}

/// Searches the capacity of a target that has its data. All trials are kept, however it ends.
pub(crate) fn measure(question: Question, target: &SurveyTarget, session: &mut Session) -> SearchResult {
    let display = session.display(Nanos::ZERO);
    let mut measurement = Measurement {
        search: Search::new(question.goal()),
        question,
        target,
        session,
        rows: Vec::new(),
        findings: Findings::default(),
        place: PlaceFacts::default(),
        sender: None,
        engine_because: None,
        display,
        machine: Machine::here(),
        runs: 0,
    };
    let ending = measurement.all();
    measurement.display.clear();
    let Measurement { question, rows, findings, place, sender, engine_because, search, .. } = measurement;
    SearchResult { question, rows, findings, place, sender, engine_because, spent: search.spent(), ending }
}

/// The search with its trials so far.
struct Measurement<'a> {
    question: Question,
    target: &'a SurveyTarget,
    session: &'a mut Session,
    rows: Vec<TrialRow>,
    findings: Findings,
    place: PlaceFacts,
    sender: Option<Sender>,
    engine_because: Option<String>,
    search: Search,
    display: Display,
    machine: Machine,
    runs: u64,
}

impl Measurement<'_> {
    fn all(&mut self) -> Ending {
        loop {
            if let Some(signal) = self.session.caught() {
                return Ending::Cut(Cut::Signal(signal));
            }
            let measured = match self.search.next_step() {
                Step::Ended(conclusion) => return Ending::Concluded(conclusion),
                Step::Alone(seconds) => self.alone(seconds),
                Step::Trial { rate, seconds, stage } => self.trial(rate, seconds, stage),
                Step::Sender { rate, seconds } => self.sender(rate, seconds),
            };
            if let Err(cut) = measured {
                return Ending::Cut(cut);
            }
        }
    }

    /// Measures with one I/O at a time.
    fn alone(&mut self, seconds: f64) -> Result<(), Cut> {
        let (measured, _) = self.counted("one I/O at a time", Sending::Alone, seconds)?;
        let rate = measured.mean.map_or(0.0, |mean| 1e9 / mean);
        self.search.observe_alone(rate, &measured.counts);
        self.rows.push(TrialRow { stage: None, offered: measured.done, seconds, measured });
        Ok(())
    }

    fn trial(&mut self, rate: f64, seconds: f64, stage: Stage) -> Result<(), Cut> {
        let width =
            self.search.width().map(|width| format!(", known to ±{}", text::percent(width))).unwrap_or_default();
        let title = format!("{} at {}/s{width}", stage_words(stage), text::short_number(rate));
        let (measured, offered) = self.counted(&title, Sending::Rate(rate), seconds)?;
        self.search.observe(&observation(&measured, offered, seconds));
        self.rows.push(TrialRow { stage: Some(stage), offered, seconds, measured });
        Ok(())
    }

    /// Sends at a rate without the target.
    fn sender(&mut self, rate: f64, seconds: f64) -> Result<(), Cut> {
        let title = format!("without the target at {}/s", text::short_number(rate));
        // The engine has not the options of another one.
        let by_itself = OpenLoad { engine: "null".to_owned(), added: Vec::new(), ..self.question.load.clone() };
        let load = std::mem::replace(&mut self.question.load, by_itself);
        // Its I/Os reach no device.
        let layers = std::mem::take(&mut self.question.layers);
        // Nothing moves, so these are no findings of the target.
        let trial = self.trial_of(&title, Sending::Rate(rate), seconds);
        (self.question.load, self.question.layers) = (load, layers);
        let (result, offered) = trial?;
        let measured = TrialNumbers::of(&result, &self.question.slos);
        let trial = observation(&measured, offered, seconds);
        self.search.observe_sender(&trial);
        let over = measured.counts.iter().map(Counts::share).fold(0.0, f64::max);
        self.sender = Some(Sender { offered, done: measured.done, late: measured.late, over });
        Ok(())
    }

    /// A trial of the target. Returns its numbers and its exact rate.
    fn counted(&mut self, title: &str, sending: Sending, seconds: f64) -> Result<(TrialNumbers, f64), Cut> {
        let (result, rate) = self.trial_of(title, sending, seconds)?;
        self.findings.add(&result, &self.session.args().accept);
        self.place.add(&result);
        self.session.count(&result.notes);
        self.session.keep(&result);
        Ok((TrialNumbers::of(&result, &self.question.slos), rate))
    }

    /// Makes a trial, with another engine where the usual one cannot be used. Returns its result and its exact rate.
    fn trial_of(&mut self, title: &str, sending: Sending, seconds: f64) -> Result<(RunResult, f64), Cut> {
        loop {
            let (result, rate) = self.attempt(title, sending, seconds)?;
            let may_change = std::mem::take(&mut self.question.may_change_engine);
            let Some(because) = self.refusal(&result).filter(|_| may_change) else {
                self.session.check(title, &result)?;
                return Ok((result, rate));
            };
            self.engine_because = Some(because);
            OPEN_LOOP_ENGINES[1].clone_into(&mut self.question.load.engine);
        }
    }

    fn attempt(&mut self, title: &str, sending: Sending, seconds: f64) -> Result<(RunResult, f64), Cut> {
        let spent = Nanos::from_secs_f64(self.search.spent());
        let total =
            self.search.seconds_left().map(|left| Nanos::from_secs_f64(self.search.spent() + left.max(seconds)));
        self.display.round(title.to_owned(), [spent, Nanos::from_secs_f64(seconds)], total);
        self.runs += 1;
        let ramp = Nanos::from_secs_f64(seconds * WARM_UP);
        let time = TestTime { ramp, time: Nanos::from_secs_f64(seconds).saturating_sub(ramp) };
        let run = OpenRun { sending, time, number: self.runs };
        let (plan, rate) = self.question.load.plan(self.target, &run, &parser(), &self.machine.surroundings())?;
        let run = Run { layers: self.question.layers, ..Run::new(title, &plan) };
        let mut result = self.session.execute(run, &mut self.display)?;
        self.session.conclude(&mut result);
        Ok((result, rate))
    }

    /// Why the engine of this result cannot be used; `None` if it can, and of a run that a signal ended.
    fn refusal(&self, result: &RunResult) -> Option<String> {
        if result.ended_by_signal.or_else(|| self.session.caught()).is_some() {
            return None;
        }
        match result.jobs.iter().find_map(|job| job.error.as_ref()) {
            Some(error) if REFUSALS.contains(&error.errno) => {
                Some(format!("the kernel refuses {}: {}", self.question.load.engine, error.message))
            }
            Some(_) => None,
            None => analysis::group_limits_ios(result)
                .map(|limit| format!("{limit}, and such limits may count an I/O of io_uring twice")),
        }
    }
}

/// The numbers of a trial as the search sees them.
fn observation(measured: &TrialNumbers, offered: f64, seconds: f64) -> Trial {
    Trial {
        offered,
        done: measured.done,
        seconds,
        counts: measured.counts.clone(),
        late: measured.late,
        regime: measured.regime(),
    }
}

/// Numbers of the errors with which a kernel refuses an engine: EPERM, EACCES, ENOSYS.
const REFUSALS: [i32; 3] = [1, 13, 38];

pub(crate) fn stage_words(stage: Stage) -> String {
    match stage {
        Stage::Ramp => "ramp".to_owned(),
        Stage::Bracket => "bracket".to_owned(),
        Stage::Round(number) => format!("round {}", number + 1),
        Stage::Confirm => "confirmation".to_owned(),
    }
}

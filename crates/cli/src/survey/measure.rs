//! Runs the tests of a survey: prepares the target, runs test after test, and saves each result when it is complete.

use super::EachTest;
use super::members::{ByMembers, Surveyors};
use super::save::{Autosave, EndedTest, SavedSurvey, interrupted};
use crate::failure::{Cut, Failure};
use crate::result_file::{DocumentFile, SaveSchedule};
use crate::safe_files::Durability;
use fio::Parser;
use measure::Nanos;
use model::{Monitored, Note, RunResult};
use run::{Event, Observer, Request};
use session::layers;
use session::machine::{Machine, parser};
use session::progress::Display;
use session::{Run, Session};
use std::collections::HashMap;
use survey::{
    FinishedTest, OpenTarget, Precondition, PreconditionResult, Preparation, Rounds, Setup, Steadiness, SurveyTarget,
    SurveyTest, TestTime, WarmUp, rounds_plan,
};

/// The results of a survey, complete or up to a signal or failure.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) rows: Vec<FinishedTest>,
    /// The test that a signal interrupted, with its result so far.
    pub(super) under_way: Option<FinishedTest>,
    /// The signal that ended the survey.
    pub(super) signal: Option<i32>,
    /// The failure that ended the survey.
    pub(super) failure: Option<Failure>,
}

impl Findings {
    /// Notes what ended the survey.
    fn cut(&mut self, cut: Cut) {
        match cut {
            Cut::Signal(signal) => self.signal = Some(signal),
            cut => self.failure = cut.outcome().err(),
        }
    }
}

/// The tests of a survey while they are run.
pub(super) struct SurveyRun<'a> {
    prepared: &'a Preparation,
    done: HashMap<String, EndedTest>,
    session: &'a mut Session,
    display: Display,
    machine: Machine,
    parser: Parser,
    /// The members that run the tests in place of this process.
    pub(super) members: Option<Surveyors<'a>>,
    /// True if the time of the I/Os of the tests is recorded by part.
    pub(super) layers: bool,
}

/// Checks that all tests are possible on the target.
pub(super) fn check(prepared: &Preparation, target: &SurveyTarget) -> Result<(), Failure> {
    Ok(prepared.check(target, &parser(), &Machine::here().surroundings())?)
}

/// Checks that the I/Os of all tests can be recorded.
pub(super) fn check_layers(prepared: &Preparation) -> Result<(), Failure> {
    let (target, parser, machine) = (prepared.found.outlined(&prepared.request), parser(), Machine::here());
    for test in &prepared.suite.tests {
        layers::check(&test.plan(prepared.setup(&target), &parser, &machine.surroundings())?)?;
    }
    layers::check_machine()
}

impl<'a> SurveyRun<'a> {
    /// Creates a run. The results of tests in `done` are used without running them.
    pub(super) fn new(prepared: &'a Preparation, done: HashMap<String, EndedTest>, session: &'a mut Session) -> Self {
        let count = prepared.suite.tests.iter().filter(|test| !done.contains_key(&test.key())).count();
        let total = Nanos(prepared.time.total().get().saturating_mul(count as u64));
        let display = session.display(total);
        let (machine, parser) = (Machine::here(), parser());
        SurveyRun { prepared, done, session, display, machine, parser, members: None, layers: false }
    }

    /// Ends what is published; fails if something could not be.
    pub(super) fn finish(&mut self) -> Result<(), Failure> {
        self.session.finish()
    }

    pub(super) fn clear(&mut self) {
        self.display.clear();
    }

    /// Prepares the target, then runs test after test. Results before a failure are kept.
    pub(super) fn measure_all(
        &mut self,
        open: &mut OpenTarget,
        file: &mut DocumentFile,
        each: EachTest<'_>,
    ) -> Findings {
        let mut found = Findings::default();
        let tests = &self.prepared.suite.tests;
        for test in tests {
            if let Some(EndedTest { result, members }) = self.done.remove(&test.key()) {
                found.rows.push(FinishedTest::new(test, result, members));
            }
        }
        // Members write their files themselves.
        if self.members.is_none()
            && let Err(cut) = self.fill(open)
        {
            found.cut(cut);
        }
        for (index, test) in tests.iter().enumerate() {
            found.signal = found.signal.or_else(|| self.session.caught());
            if found.signal.is_some() || found.failure.is_some() {
                break;
            }
            if !self.prepared.is_due(test, &found.rows) {
                if found.rows.iter().all(|row| row.test != *test) {
                    self.display.skip(self.prepared.time.total());
                }
                continue;
            }
            let finished = found.rows.len();
            let ran = self.begin(open, index, test).and_then(|unsteady| match &self.members {
                Some(_) => self.one_by_members(test, unsteady, &mut found),
                None => self.one(open, file, test, unsteady, &mut found, each),
            });
            if let Err(cut) = ran {
                found.cut(cut);
            }
            let Some(row) = found.rows.get(finished) else { continue };
            let line = super::table::one_line(row);
            let text = SavedSurvey::of(open, &self.prepared.request, tests.len(), &found.rows).text();
            match text.and_then(|text| file.write(&text, Durability::Synced)) {
                // Printed after the write, so that the result is on disk when the line appears.
                Ok(()) => self.display.tested(&line),
                Err(failure) => found.failure = Some(failure),
            }
        }
        // One that came just before the last test began was not seen by its run.
        found.signal = found.signal.or_else(|| self.session.caught());
        found
    }

    /// Warms up for a test, and shows that it begins. Returns a remark if its rate never was steady.
    fn begin(&mut self, open: &OpenTarget, index: usize, test: &SurveyTest) -> Result<Option<Note>, Cut> {
        let (number, count) = (index + 1, self.prepared.suite.tests.len());
        let shown = test.by(self.members.as_ref().map_or(1, Surveyors::count));
        let unsteady = match self.prepared.warm_up {
            WarmUp::Steady => {
                self.display.warming(number, count, shown.describe());
                self.until_steady(open, test)?
            }
            WarmUp::Seconds(_) => None,
        };
        if let Some(signal) = self.session.caught() {
            return Err(Cut::Signal(signal));
        }
        self.display.testing(number, count, &shown, self.prepared.time.total());
        Ok(unsteady)
    }

    /// Runs one test and its checks, and calls `each`. An interrupted test is not added to the rows: it is stored in
    /// `under_way`.
    fn one(
        &mut self,
        open: &OpenTarget,
        file: &mut DocumentFile,
        test: &SurveyTest,
        unsteady: Option<Note>,
        found: &mut Findings,
        each: EachTest<'_>,
    ) -> Result<(), Cut> {
        let setup = self.prepared.setup(&open.target);
        let plan = test.plan(setup, &self.parser, &self.machine.surroundings())?;
        let (title, patient) = (test.describe(), self.prepared.request.patient(plan.clone()));
        let mut result = {
            let survey = || SavedSurvey::of(open, &self.prepared.request, self.prepared.suite.tests.len(), &found.rows);
            let (display, schedule) = (&mut self.display, SaveSchedule::default());
            let mut observer = Autosave { display, file, test, survey: &survey, schedule, failed: false };
            execute(Run { layers: self.layers, ..Run::new(&title, &patient) }, self.session, &mut observer)?
        };
        if let Some(signal) = result.ended_by_signal {
            self.session.discard(&result);
            found.under_way = interrupted(test, result);
            return Err(Cut::Signal(signal));
        }
        // Notes of the run itself, which no check makes again.
        result.notes.extend(unsteady);
        result.notes.extend(open.preconditioned.as_ref().and_then(PreconditionResult::note));
        self.session.conclude(&mut result);
        let row = FinishedTest::here(test.clone(), result);
        let written = each(&row, &plan, &test.options(setup));
        found.rows.push(row);
        Ok(written?)
    }

    /// The same by all members at once.
    fn one_by_members(&mut self, test: &SurveyTest, unsteady: Option<Note>, found: &mut Findings) -> Result<(), Cut> {
        let Some(members) = &mut self.members else { return Ok(()) };
        self.display.clear();
        let ByMembers { mut result, summary } = members.measure(test, self.prepared.time, self.display.under_way())?;
        self.session.name(&mut result);
        result.notes.extend(unsteady);
        let members = Some(summary);
        if let Some(signal) = result.ended_by_signal {
            found.under_way = interrupted(test, result).map(|row| FinishedTest::new(test, row.result, members));
            return Err(Cut::Signal(signal));
        }
        found.rows.push(FinishedTest::new(test, result, members));
        Ok(())
    }

    /// Runs short samples of the test until the rate is steady; returns a remark if it never is.
    fn until_steady(&mut self, open: &OpenTarget, test: &SurveyTest) -> Result<Option<Note>, Failure> {
        let time = Nanos((self.prepared.time.time.get() / 10).max(Nanos::SECOND.get()));
        let setup = Setup { time: TestTime { ramp: Nanos::ZERO, time }, ..self.prepared.setup(&open.target) };
        let plan = self.prepared.request.patient(test.plan(setup, &self.parser, &self.machine.surroundings())?);
        let mut steadiness = Steadiness::default();
        for _ in 0..Steadiness::SAMPLES {
            let result = match &mut self.members {
                Some(members) => {
                    self.display.clear();
                    members.measure(test, setup.time, self.display.under_way())?.result
                }
                None => {
                    let title = format!("{}, warm-up", test.describe());
                    let result = execute(Run::new(&title, &plan), self.session, &mut self.display)?;
                    self.session.discard(&result);
                    result
                }
            };
            if result.ended_by_signal.is_some() || self.session.caught().is_some() {
                return Ok(None);
            }
            if steadiness.add(FinishedTest::here(test.clone(), result).iops()) {
                return Ok(None);
            }
        }
        Ok(Some(steadiness.note()))
    }

    /// Writes until the rate is settled, after the whole target was written `passes` times.
    fn settle(&mut self, open: &mut OpenTarget, passes: u64) -> Result<(), Cut> {
        let Preparation { request, suite, .. } = self.prepared;
        let (total, budget) = (open.target.total(), request.budget.map(Nanos::from_secs));
        let mut rounds = Rounds::new(total, total.saturating_mul(passes), budget);
        let plan = request.patient(rounds_plan(&open.target, &suite.tests, rounds.longest()));
        let bytes = total.saturating_mul(2 - passes.min(1));
        self.display.settling(rounds.describe(), bytes);
        let mut observer = Settling { display: &mut self.display, rounds: &mut rounds, bytes };
        let result = execute(Run::new("preconditioning", &plan), self.session, &mut observer)?;
        self.session.discard(&result);
        if let Some(signal) = result.ended_by_signal.or_else(|| self.session.caught()) {
            return Err(Cut::Signal(signal));
        }
        open.check_written(&result)?;
        let found = rounds.end(result.monitored.as_ref().unwrap_or(&Monitored::default()));
        self.display.remark(&format!("plumb: preconditioned: {}", found.sentence));
        open.preconditioned = Some(found);
        Ok(())
    }

    /// Writes the data that must exist before the first test, and checks that the work files have no holes.
    fn fill(&mut self, open: &mut OpenTarget) -> Result<(), Cut> {
        let passes = self.prepared.found.passes(&self.prepared.request);
        self.session.fill(self.prepared, open, &mut self.display)?;
        if self.prepared.request.precondition == Precondition::Steady {
            self.settle(open, passes.saturating_sub(u64::from(open.is_filled())))?;
        }
        for remark in open.set_filled()? {
            self.display.remark(&format!("plumb: {remark}"));
        }
        Ok(())
    }
}

/// Makes a run.
fn execute(run: Run<'_>, session: &mut Session, observer: &mut dyn Observer) -> Result<RunResult, Failure> {
    let mut result = session.execute(run, observer)?;
    // Before anything is judged, so that the saved survey says the same when it is read again.
    result.gather();
    Ok(result)
}

/// Shows the rounds of writes of `--precondition=steady`, which write `bytes` at least, and ends them once the rate is
/// settled.
struct Settling<'a> {
    display: &'a mut Display,
    rounds: &'a mut Rounds,
    bytes: u64,
}

impl Observer for Settling<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Sampled { so_far: samples, .. } => {
                if self.rounds.look(samples) && !self.rounds.is_over() {
                    self.display.settling(self.rounds.describe(), self.bytes);
                }
            }
            other => self.display.event(other),
        }
    }

    fn request(&mut self, _: Nanos) -> Option<Request> {
        self.rounds.is_over().then_some(Request::End)
    }
}

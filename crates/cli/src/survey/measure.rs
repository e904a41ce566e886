//! Runs the tests of a survey: prepares the target, runs test after test, and saves each result when it is complete.

use super::EachTest;
use super::autosave::{Autosave, interrupted};
use super::members::{ByMembers, Surveyors};
use super::save::{Done, SavedSurvey, SurveyFile};
use super::settling::Settling;
use crate::failure::Failure;
use fio::Parser;
use measure::Nanos;
use model::{Monitored, Note, RunResult};
use plan::Plan;
use run::Observer;
use session::machine::{Machine, parser};
use session::progress::Display;
use session::{Run, Session};
use std::collections::HashMap;
use survey::{
    FinishedTest, OpenTarget, Precondition, Preconditioned, Preparation, Rounds, Setup, Steadiness, SurveyRequest,
    SurveyTarget, SurveyTest, TestTime, WarmUp, fill_plan, rounds_plan, short_size,
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

pub(super) struct SurveyRun<'a> {
    prepared: &'a Preparation,
    done: HashMap<String, Done>,
    session: &'a mut Session,
    display: Display,
    machine: Machine,
    parser: Parser,
    /// The members that run the tests in place of this process.
    members: Option<Surveyors<'a>>,
}

/// Checks that all tests are possible on the target.
pub(super) fn check(prepared: &Preparation, target: &SurveyTarget) -> Result<(), Failure> {
    Ok(prepared.check(target, &parser(), &Machine::here().surroundings())?)
}

impl<'a> SurveyRun<'a> {
    /// Creates a run. The results of tests in `done` are used without running them.
    pub(super) fn new(prepared: &'a Preparation, done: HashMap<String, Done>, session: &'a mut Session) -> Self {
        let count = prepared.suite.tests.iter().filter(|test| !done.contains_key(&test.key())).count();
        let total = Nanos(prepared.time.total().get().saturating_mul(count as u64));
        let display = Display::new(total);
        SurveyRun { prepared, done, session, display, machine: Machine::here(), parser: parser(), members: None }
    }

    /// The same survey, which these members run.
    pub(super) fn by(self, members: Surveyors<'a>) -> Self {
        SurveyRun { members: Some(members), ..self }
    }

    /// Ends what is published; fails if something could not be.
    pub(super) fn finish(&mut self) -> Result<(), Failure> {
        self.session.finish()
    }

    /// Removes the progress display.
    pub(super) fn clear(&mut self) {
        self.display.clear();
    }

    /// Prepares the target, then runs test after test. Results before a failure are kept.
    pub(super) fn measure_all(&mut self, open: &mut OpenTarget, file: &mut SurveyFile, each: EachTest<'_>) -> Findings {
        let mut found = Findings::default();
        let tests = &self.prepared.suite.tests;
        for test in tests {
            if let Some((result, members)) = self.done.remove(&test.key()) {
                found.rows.push(FinishedTest::new(test, result, members));
            }
        }
        // Members write their files themselves.
        match if self.members.is_some() { Ok(None) } else { self.fill(open) } {
            Ok(signal) => found.signal = signal,
            Err(failure) => found.failure = Some(failure),
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
            if let Err(failure) = self.one((open, file), (index + 1, test), &mut found, each) {
                found.failure = Some(failure);
            }
            let Some(row) = found.rows.get(finished) else { continue };
            let line = super::table::one_line(row);
            match file.write(&SavedSurvey::of(open, &self.prepared.request, tests.len(), &found.rows)) {
                // Printed after the write, so that the result is on disk when the line appears.
                Ok(()) => self.display.tested(&line),
                Err(failure) => found.failure = Some(failure),
            }
        }
        // One that came just before the last test began was not seen by its run.
        found.signal = found.signal.or_else(|| self.session.caught());
        found
    }

    /// Runs one test and its checks, and calls `each`. An interrupted test is not added to the rows: it is stored in
    /// `under_way`.
    fn one(
        &mut self,
        (open, file): (&OpenTarget, &mut SurveyFile),
        (number, test): (usize, &SurveyTest),
        found: &mut Findings,
        each: EachTest<'_>,
    ) -> Result<(), Failure> {
        let setup = self.prepared.setup(&open.target);
        let count = self.prepared.suite.tests.len();
        let unsteady = match self.prepared.warm_up {
            WarmUp::Steady => {
                let members = self.members.as_ref().map_or(1, Surveyors::count);
                self.display.warming(number, count, test.by(members).describe());
                self.until_steady(open, test)?
            }
            WarmUp::Seconds(_) => None,
        };
        if let Some(signal) = self.session.caught() {
            found.signal = Some(signal);
            return Ok(());
        }
        let members = self.members.as_ref().map_or(1, Surveyors::count);
        self.display.testing(number, count, &test.by(members), setup.time.total());
        if self.members.is_some() {
            return self.one_by_members(test, setup.time, unsteady, found);
        }
        let plan = test.plan(setup, &self.parser, &self.machine.surroundings())?;
        let mut result = {
            let survey = || SavedSurvey::of(open, &self.prepared.request, count, &found.rows);
            let mut observer = Autosave::new(&mut self.display, file, test, &survey);
            execute((plan.clone(), &test.describe()), self.prepared, self.session, &mut observer)?
        };
        if result.ended_by_signal.is_some() {
            self.session.discard(&result);
            found.signal = result.ended_by_signal;
            found.under_way = interrupted(test, result);
            return Ok(());
        }
        // Notes of the run itself, which no check makes again.
        result.notes.extend(unsteady);
        result.notes.extend(open.preconditioned.as_ref().and_then(Preconditioned::note));
        self.session.conclude(&mut result);
        let row = FinishedTest::here(test.clone(), result);
        let written = each(&row, &plan, &test.options(setup));
        found.rows.push(row);
        written
    }

    /// The same by all members at once.
    fn one_by_members(
        &mut self,
        test: &SurveyTest,
        time: TestTime,
        unsteady: Option<Note>,
        found: &mut Findings,
    ) -> Result<(), Failure> {
        let Some(members) = &mut self.members else { return Ok(()) };
        self.display.clear();
        let ByMembers { mut result, summary } = members.measure(test, time, self.display.under_way())?;
        self.session.name(&mut result);
        result.notes.extend(unsteady);
        let members = Some(summary);
        if result.ended_by_signal.is_some() {
            found.signal = result.ended_by_signal;
            found.under_way = interrupted(test, result).map(|row| FinishedTest::new(test, row.result, members));
        } else {
            found.rows.push(FinishedTest::new(test, result, members));
        }
        Ok(())
    }

    /// Runs short samples of the test until the rate is steady; returns a remark if it never is.
    fn until_steady(&mut self, open: &OpenTarget, test: &SurveyTest) -> Result<Option<Note>, Failure> {
        let time = Nanos((self.prepared.time.time.get() / 10).max(Nanos::SECOND.get()));
        let setup = Setup { time: TestTime { ramp: Nanos::ZERO, time }, ..self.prepared.setup(&open.target) };
        let plan = test.plan(setup, &self.parser, &self.machine.surroundings())?;
        let mut steadiness = Steadiness::default();
        for _ in 0..Steadiness::SAMPLES {
            let result = match &mut self.members {
                Some(members) => {
                    self.display.clear();
                    members.measure(test, setup.time, self.display.under_way())?.result
                }
                None => {
                    let title = format!("{}, warm-up", test.describe());
                    let result = execute((plan.clone(), &title), self.prepared, self.session, &mut self.display)?;
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

    /// Writes until the rate is settled, after the whole target was written `passes` times. Returns the signal that
    /// interrupted it, if any.
    fn settle(&mut self, open: &mut OpenTarget, passes: u64) -> Result<Option<i32>, Failure> {
        let Preparation { request, suite, .. } = self.prepared;
        let (total, budget) = (open.target.total(), request.budget.map(Nanos::from_secs));
        let mut rounds = Rounds::new(total, total.saturating_mul(passes), budget);
        let plan = rounds_plan(&open.target, &suite.tests, rounds.longest());
        let mut observer = Settling::new(&mut self.display, &mut rounds, total.saturating_mul(2 - passes.min(1)));
        let result = execute((plan, "preconditioning"), self.prepared, self.session, &mut observer)?;
        self.session.discard(&result);
        if let Some(signal) = result.ended_by_signal.or_else(|| self.session.caught()) {
            return Ok(Some(signal));
        }
        check_filled(open, &result)?;
        let found = rounds.end(result.monitored.as_ref().unwrap_or(&Monitored::default()));
        self.display.remark(&format!("plumb: preconditioned: {}", found.sentence));
        open.preconditioned = Some(found);
        Ok(None)
    }

    /// Writes the data that must exist before the first test, and checks that the work files have no holes. Returns
    /// the signal that interrupted it, if any.
    pub(super) fn fill(&mut self, open: &mut OpenTarget) -> Result<Option<i32>, Failure> {
        let passes = self.prepared.found.passes(&self.prepared.request);
        let SurveyRun { prepared, session, display, .. } = self;
        let written = write_passes(open, passes, &mut |target| {
            display.filling(target.total());
            let result = execute((fill_plan(target), "filling"), prepared, session, display)?;
            session.discard(&result);
            Ok(result)
        })?;
        if let Some(signal) = written.or_else(|| self.session.caught()) {
            return Ok(Some(signal));
        }
        if self.prepared.request.precondition == Precondition::Steady
            && let Some(signal) = self.settle(open, passes.saturating_sub(u64::from(open.is_filled())))?
        {
            return Ok(Some(signal));
        }
        for remark in open.set_filled()? {
            self.display.remark(&format!("plumb: {remark}"));
        }
        Ok(None)
    }
}

/// Writes everything from start to end, as often as it is not yet written, by `write`. Returns the signal that interrupted it.
pub(super) fn write_passes(
    open: &OpenTarget,
    passes: u64,
    write: &mut dyn FnMut(&SurveyTarget) -> Result<RunResult, Failure>,
) -> Result<Option<i32>, Failure> {
    for _ in u64::from(open.is_filled())..passes {
        let result = write(&open.target)?;
        if result.ended_by_signal.is_some() {
            return Ok(result.ended_by_signal);
        }
        check_filled(open, &result)?;
    }
    Ok(None)
}

/// The same plan with the survey's patience.
pub(super) fn patient(mut plan: Plan, request: &SurveyRequest) -> Plan {
    if let Some(seconds) = request.stuck_after {
        let limit = Some(Nanos::from_secs(seconds)).filter(|limit| !limit.is_zero());
        plan.jobs.iter_mut().for_each(|job| job.limits.stuck_after = limit);
    }
    plan
}

/// Fails if the work files could not be written.
pub(super) fn check_filled(open: &OpenTarget, result: &RunResult) -> Result<(), Failure> {
    let error = result.jobs.iter().find_map(|job| job.error.as_ref()).map(|error| error.message.clone());
    match error.or_else(|| result.ended_by_signal.map(|signal| format!("signal {signal}"))) {
        Some(why) => {
            let size = short_size(open.target.total());
            Err(Failure::new(format!("{}: {size} cannot be written: {why}", open.shown)))
        }
        None => Ok(()),
    }
}

/// Runs a plan with its title.
fn execute(
    (plan, title): (Plan, &str),
    prepared: &Preparation,
    session: &mut Session,
    observer: &mut dyn Observer,
) -> Result<RunResult, Failure> {
    let mut result = session.execute(Run::new(title, &patient(plan, &prepared.request)), observer)?;
    // Before anything is judged, so that the saved survey says the same when it is read again.
    result.gather();
    Ok(result)
}

//! A running survey: prepares the target, runs test after test, and saves each result as soon as it is complete.

use super::autosave::{Meanwhile, cut_short};
use super::progress::Display;
use super::save::{ResultFile, Survey};
use super::table::Row;
use super::{Each, Prepared};
use crate::failure::Failure;
use crate::fio::Machine;
use fio::Parser;
use measure::Nanos;
use model::{Grade, Note, RunResult};
use plan::Plan;
use run::{Observer, RunOptions};
use std::collections::HashMap;
use survey::OpenTarget;
use survey::{Kind, Suite, Target, Test, TestTime, WarmUp, fill_plan, short_size};
use sys::processes::signals::Watch;

/// Maximum number of samples before a test.
const MOST_LOOKS: u32 = 20;
/// Relative difference below which two successive samples count as steady.
const SAME: f64 = 0.05;

/// The results of a survey, complete or up to a signal or failure.
pub(super) struct Findings {
    /// The finished tests.
    pub(super) rows: Vec<Row>,
    /// The test that a signal interrupted, with its result so far.
    pub(super) under_way: Option<Row>,
    /// The signal that ended the survey.
    pub(super) signal: Option<i32>,
    /// The failure that ended the survey.
    pub(super) failure: Option<Failure>,
}

/// A running survey.
pub(super) struct Session<'a> {
    prepared: &'a Prepared,
    done: HashMap<String, RunResult>,
    signals: &'a Watch,
    display: Display,
    machine: Machine,
    parser: Parser,
}

/// Builds every Plan and discards it, so that an invalid test is reported now and not an hour later.
pub(super) fn check(suite: &Suite, target: &Target, time: TestTime) -> Result<(), Failure> {
    let (machine, parser) = (Machine::here(), Parser::new(engine::ENGINES));
    for test in &suite.tests {
        test.plan(target, time, &suite.engine, &parser, &machine.surroundings())?;
    }
    Ok(())
}

impl<'a> Session<'a> {
    /// Creates a session. The results of tests in `done` are used without running them.
    pub(super) fn new(prepared: &'a Prepared, done: HashMap<String, RunResult>, signals: &'a Watch) -> Self {
        let count = prepared.suite.tests.iter().filter(|test| !done.contains_key(&test.key())).count();
        let total = Nanos(prepared.time.total().get().saturating_mul(count as u64));
        let parser = Parser::new(engine::ENGINES);
        Session { prepared, done, signals, display: Display::new(total), machine: Machine::here(), parser }
    }

    /// Removes the progress display.
    pub(super) fn clear(&mut self) {
        self.display.clear();
    }

    /// Prepares the target, then runs test after test. Results before a failure are kept.
    pub(super) fn measure_all(&mut self, place: &mut OpenTarget, file: &mut ResultFile, each: Each<'_>) -> Findings {
        let mut found = Findings { rows: Vec::new(), under_way: None, signal: None, failure: None };
        for test in &self.prepared.suite.tests {
            if let Some(result) = self.done.remove(&test.key()) {
                found.rows.push(Row { test: test.clone(), result });
            }
        }
        match self.fill(place) {
            Ok(signal) => found.signal = signal,
            Err(failure) => found.failure = Some(failure),
        }
        let tests = &self.prepared.suite.tests;
        for (index, test) in tests.iter().enumerate() {
            found.signal = found.signal.or_else(|| self.signals.caught());
            if found.signal.is_some() || found.failure.is_some() {
                break;
            }
            if found.rows.iter().any(|row| row.test == *test) {
                continue;
            }
            if self.prepared.reach == super::Reach::UntilGrowthEnds && super::knee::is_over(&found.rows, test) {
                self.display.skip(self.prepared.time.total());
                continue;
            }
            let finished = found.rows.len();
            if let Err(failure) = self.one((place, file), (index + 1, test), &mut found, each) {
                found.failure = Some(failure);
            }
            let Some(row) = found.rows.get(finished) else { continue };
            let line = super::table::one_line(row);
            match file.write(&Survey::of(place, &self.prepared.request, tests.len(), &found.rows)) {
                // Printed after the write, so that the result is on disk when the line appears.
                Ok(_) => self.display.tested(&line),
                Err(failure) => found.failure = Some(failure),
            }
        }
        found
    }

    /// Runs one test and its checks, and calls `each`. An interrupted test does not become a row: it is stored in
    /// `under_way`.
    fn one(
        &mut self,
        (place, file): (&OpenTarget, &mut ResultFile),
        (number, test): (usize, &Test),
        found: &mut Findings,
        each: Each<'_>,
    ) -> Result<(), Failure> {
        let (time, engine) = (self.prepared.time, self.prepared.suite.engine.as_str());
        let count = self.prepared.suite.tests.len();
        let unsteady = match self.prepared.warm_up {
            WarmUp::Steady => {
                self.display.warming(number, count, test.describe());
                self.until_steady(place, test)?
            }
            WarmUp::Seconds(_) => None,
        };
        if let Some(signal) = self.signals.caught() {
            found.signal = Some(signal);
            return Ok(());
        }
        let unit = if matches!(test.kind, Kind::SequentialRead | Kind::SequentialWrite | Kind::SequentialMixed) {
            "MiB/s"
        } else {
            "IOPS"
        };
        self.display.testing(number, count, test.describe(), unit, time.total());
        let plan = test.plan(&place.target, time, engine, &self.parser, &self.machine.surroundings())?;
        let result = {
            let survey = || Survey::of(place, &self.prepared.request, count, &found.rows);
            let mut meanwhile = Meanwhile::new(&mut self.display, file, test, &survey);
            execute(plan.clone(), self.prepared, &mut meanwhile)
        };
        let mut result = result?;
        result.environment.command = command();
        if result.ended_by_signal.is_some() {
            found.signal = result.ended_by_signal;
            found.under_way = cut_short(test, result);
            return Ok(());
        }
        result.notes = analysis::judge(&result);
        result.notes.extend(unsteady);
        result.limited_by = analysis::limited_by(&result);
        let row = Row { test: test.clone(), result };
        let written = each(&row, &plan, &test.options(&place.target, time, engine));
        found.rows.push(row);
        written
    }

    /// Runs short samples of the test until two successive ones agree; returns a note if they never do.
    fn until_steady(&mut self, place: &OpenTarget, test: &Test) -> Result<Option<Note>, Failure> {
        let time = Nanos((self.prepared.time.time.get() / 10).max(Nanos::SECOND.get()));
        let (time, engine) = (TestTime { ramp: Nanos::ZERO, time }, self.prepared.suite.engine.as_str());
        let plan = test.plan(&place.target, time, engine, &self.parser, &self.machine.surroundings())?;
        let mut before: Option<f64> = None;
        let mut apart = 0.0;
        for _ in 0..MOST_LOOKS {
            let result = execute(plan.clone(), self.prepared, &mut self.display)?;
            if result.ended_by_signal.is_some() || self.signals.caught().is_some() {
                return Ok(None);
            }
            let rate = Row { test: test.clone(), result }.iops();
            if let Some(before) = before {
                apart = (rate - before).abs() / rate.max(before).max(f64::MIN_POSITIVE);
                if apart < SAME {
                    return Ok(None);
                }
            }
            before = Some(rate);
        }
        let looks = f64::from(MOST_LOOKS);
        Ok(Some(Note {
            check: "steady".to_owned(),
            grade: Grade::ValidWithLimits,
            sentence: format!(
                "it never settled: the last two of {MOST_LOOKS} looks before the test differed by {:.0} %",
                apart * 100.0
            ),
            evidence: vec![("looks".to_owned(), looks), ("apart_percent".to_owned(), apart * 100.0)],
        }))
    }

    /// Writes the data that must exist before the first test, and verifies that the work files have no holes. Returns
    /// the signal that interrupted it, if any.
    fn fill(&mut self, place: &mut OpenTarget) -> Result<Option<i32>, Failure> {
        let passes = self.prepared.subject.passes(&self.prepared.request);
        let filled = !place.work_files.is_empty() && place.work_files.iter().all(survey::WorkFile::is_filled);
        for _ in u64::from(filled)..passes {
            self.display.filling(place.target.total());
            let result = execute(fill_plan(&place.target), self.prepared, &mut self.display)?;
            if let Some(signal) = result.ended_by_signal.or_else(|| self.signals.caught()) {
                return Ok(Some(signal));
            }
            if let Some(error) = result.jobs.iter().find_map(|job| job.error.as_ref()) {
                let size = short_size(place.target.total());
                return Err(Failure::new(format!("{}: {size} cannot be written: {}", place.shown, error.message)));
            }
        }
        for work in &mut place.work_files {
            if !work.is_filled() {
                work.set_filled()?;
            }
            if let Some(unknown) = work.prove_written()? {
                self.display.remark(&format!("plumb: {}: {unknown}", work.path().display()));
            }
        }
        Ok(None)
    }
}

fn execute(mut plan: Plan, prepared: &Prepared, display: &mut dyn Observer) -> Result<RunResult, Failure> {
    if let Some(seconds) = prepared.request.stuck_after {
        let limit = Some(Nanos::from_secs(seconds)).filter(|limit| !limit.is_zero());
        plan.jobs.iter_mut().for_each(|job| job.limits.stuck_after = limit);
    }
    let options = RunOptions { progress_interval: Some(Nanos::from_millis(250)), ..RunOptions::default() };
    run::execute(&plan, &options, display).map_err(|error| Failure::new(error.to_string()))
}

/// The command line of this survey.
fn command() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

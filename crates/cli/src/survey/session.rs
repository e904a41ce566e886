//! A survey under way: prepares the target, runs test after test, keeps what is done whatever happens.

use super::meanwhile::{Meanwhile, cut_short};
use super::progress::Display;
use super::save::{ResultFile, Survey};
use super::table::Row;
use super::target::Place;
use super::{Each, Prepared, SYSTEM_ROOT};
use crate::failure::Failure;
use crate::fio::Machine;
use job::{Parser, Plan};
use measure::Nanos;
use model::{Grade, Note, RunResult};
use run::{Observer, RunOptions};
use std::collections::HashMap;
use std::path::PathBuf;
use survey::{Kind, Pace, Suite, Target, Test, WarmUp, fill_plan, short_size};
use sys::signals::Watch;

/// Looks before a test: at most so many.
const MOST_LOOKS: u32 = 20;
/// Two looks that differ by less are the same.
const SAME: f64 = 0.05;

/// What was measured until the end, or until a signal or a failure came.
pub(super) struct Findings {
    /// The finished tests.
    pub(super) rows: Vec<Row>,
    /// The test that a signal cut short, with what it had found.
    pub(super) under_way: Option<Row>,
    /// What cut it short.
    pub(super) signal: Option<i32>,
    /// Why it could not go on.
    pub(super) failure: Option<Failure>,
}

/// A survey under way.
pub(super) struct Session<'a> {
    prepared: &'a Prepared,
    done: HashMap<String, RunResult>,
    signals: &'a Watch,
    display: Display,
    machine: Machine,
    parser: Parser,
}

/// Makes and drops every Plan, so that nothing that is wrong with a test is found out an hour later.
pub(super) fn check(suite: &Suite, target: &Target, pace: Pace) -> Result<(), Failure> {
    let (machine, parser) = (Machine::here(), Parser::new(engine::ENGINES));
    for test in &suite.tests {
        test.plan(target, pace, &suite.engine, &parser, &machine.surroundings()).map_err(Failure::new)?;
    }
    Ok(())
}

impl<'a> Session<'a> {
    /// A session that has not begun; of tests that are `done` the results are taken as they are.
    pub(super) fn new(prepared: &'a Prepared, done: HashMap<String, RunResult>, signals: &'a Watch) -> Self {
        let count = prepared.suite.tests.iter().filter(|test| !done.contains_key(&test.key())).count();
        let total = Nanos(prepared.pace.total().get().saturating_mul(count as u64));
        let parser = Parser::new(engine::ENGINES);
        Session { prepared, done, signals, display: Display::new(total), machine: Machine::here(), parser }
    }

    /// Nothing more is shown of the progress.
    pub(super) fn clear(&mut self) {
        self.display.clear();
    }

    /// Prepares the target, then runs test after test. What is done by the time of a failure is kept.
    pub(super) fn measure_all(&mut self, place: &mut Place, file: &mut ResultFile, each: Each<'_>) -> Findings {
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
                self.display.skip(self.prepared.pace.total());
                continue;
            }
            let finished = found.rows.len();
            if let Err(failure) = self.one((place, file), (index + 1, test), &mut found, each) {
                found.failure = Some(failure);
            }
            let Some(row) = found.rows.get(finished) else { continue };
            let line = super::table::one_line(row);
            match file.write(&Survey::of(place, &self.prepared.wishes, tests.len(), &found.rows)) {
                // Told once it is safe: whoever sees the line finds the result.
                Ok(_) => self.display.tested(&line),
                Err(failure) => found.failure = Some(failure),
            }
        }
        found
    }

    /// One test, judged and told. One that was cut short is no row, and kept apart.
    fn one(
        &mut self,
        (place, file): (&Place, &mut ResultFile),
        (number, test): (usize, &Test),
        found: &mut Findings,
        each: Each<'_>,
    ) -> Result<(), Failure> {
        let (pace, engine) = (self.prepared.pace, self.prepared.suite.engine.as_str());
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
        self.display.testing(number, count, test.describe(), unit, pace.total());
        let plan =
            test.plan(&place.target, pace, engine, &self.parser, &self.machine.surroundings()).map_err(Failure::new)?;
        let result = {
            let survey = || Survey::of(place, &self.prepared.wishes, count, &found.rows);
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
        let told = each(&row, &plan, &test.words(&place.target, pace, engine));
        found.rows.push(row);
        told
    }

    /// Runs the test in short looks until two of them agree; a note when they never did.
    fn until_steady(&mut self, place: &Place, test: &Test) -> Result<Option<Note>, Failure> {
        let time = Nanos((self.prepared.pace.time.get() / 10).max(Nanos::SECOND.get()));
        let (pace, engine) = (Pace { ramp: Nanos::ZERO, time }, self.prepared.suite.engine.as_str());
        let plan =
            test.plan(&place.target, pace, engine, &self.parser, &self.machine.surroundings()).map_err(Failure::new)?;
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

    /// Writes what has to be written before the first test, and proves of work files that they are all there; the
    /// signal that came meanwhile.
    fn fill(&mut self, place: &mut Place) -> Result<Option<i32>, Failure> {
        let passes = self.prepared.subject.passes(&self.prepared.wishes);
        let filled = !place.work_files.is_empty() && place.work_files.iter().all(super::work_file::WorkFile::is_filled);
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
    if let Some(seconds) = prepared.wishes.stuck_after {
        let limit = Some(Nanos::from_secs(seconds)).filter(|limit| !limit.is_zero());
        plan.jobs.iter_mut().for_each(|job| job.limits.stuck_after = limit);
    }
    let options = RunOptions {
        system_root: PathBuf::from(SYSTEM_ROOT),
        read_only: false,
        progress_interval: Some(Nanos::from_millis(250)),
        device_interval: Nanos::from_millis(500),
        tell_to: None,
    };
    run::execute(&plan, &options, display).map_err(|error| Failure::new(error.to_string()))
}

/// The words that repeat this survey.
fn command() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

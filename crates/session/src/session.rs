//! A session: runs one Plan after another, and makes of each a result that is named, judged, published and kept.

use crate::arguments::SessionArgs;
use crate::failure::{Cut, Failure};
use crate::keep::{Keeping, keep_result};
use crate::output::Output;
use crate::publish::Publisher;
use crate::remarks::STRICT;
use crate::result_file::name_host;
use measure::Nanos;
use model::{Note, RunResult};
use plan::Plan;
use run::{Calibrating, Observer, RunOptions};
use sys::processes::signals::Watch;

/// A run to make.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// Name for people: on lines, metrics and messages.
    pub title: &'a str,
    /// The Plan of the run.
    pub plan: &'a Plan,
    /// Its options. The session sets the calibration, and the intervals that are published.
    pub options: RunOptions,
}

impl<'a> Run<'a> {
    /// A run with progress.
    pub fn new(title: &'a str, plan: &'a Plan) -> Self {
        let options = RunOptions { progress_interval: Some(Nanos::from_millis(250)), ..RunOptions::default() };
        Run { title, plan, options }
    }
}

/// The runs of one command.
pub struct Session {
    args: SessionArgs,
    publisher: Publisher,
    /// Catches signals between two runs, too.
    signals: Watch,
    /// Findings of the checks on all runs that count.
    notes: Vec<Note>,
}

impl Session {
    /// Opens what was asked for, before the command opens any file: it may be a descriptor of the caller. From then on a signal does
    /// not end the process; see [`Session::caught`].
    pub fn open(args: &SessionArgs) -> Result<Self, Failure> {
        args.streams.apply();
        args.publish.check_stdout(args.streams.json.then_some("--json"))?;
        let publisher = Publisher::open(&args.publish, args.host.clone())?;
        Ok(Session { args: args.clone(), publisher, signals: Watch::begin()?, notes: Vec::new() })
    }

    /// The options of the session.
    pub fn args(&self) -> &SessionArgs {
        &self.args
    }

    /// Standard output, unless it is for the lines of `--stream` alone.
    pub fn stdout(&self) -> Output {
        if self.args.publish.prints() { Output::nowhere() } else { Output::stdout() }
    }

    /// The signal that was caught, if there is one.
    pub fn caught(&self) -> Option<i32> {
        self.signals.caught()
    }

    /// Makes a run whose result counts. A run that a signal ended, or in which a job failed, has no result.
    pub fn run(&mut self, run: Run<'_>, observer: &mut dyn Observer) -> Result<RunResult, Cut> {
        let title = run.title;
        let mut result = self.execute(run, observer)?;
        self.conclude(&mut result);
        self.check(title, &result)?;
        self.count(&result.notes);
        self.keep(&result);
        Ok(result)
    }

    /// Makes a run; its result names host and command. [`Session::conclude`] or [`Session::discard`] follows.
    pub fn execute(&mut self, run: Run<'_>, observer: &mut dyn Observer) -> Result<RunResult, Failure> {
        let Run { title, plan, options } = run;
        let calibration = if self.args.no_calibrate { Calibrating::Skipped } else { Calibrating::Brief };
        let options = self.publisher.options(RunOptions { calibration, ..options });
        self.publisher.begin(Some(title), plan)?;
        let mut result = run::execute(plan, &options, &mut self.publisher.around(observer))?;
        self.name(&mut result);
        Ok(result)
    }

    /// Writes into a result how it was made: the command line, and the host if it was given a name.
    pub fn name(&self, result: &mut RunResult) {
        result.environment.command = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        name_host(result, self.args.host.clone());
    }

    /// Judges the result of a run that has ended, and publishes its end.
    pub fn conclude(&mut self, result: &mut RunResult) {
        analysis::judge(result);
        self.publisher.ended(result);
    }

    /// Publishes the end of a run whose result is not used, or is used as it is.
    pub fn discard(&mut self, result: &RunResult) {
        self.publisher.ended_unchecked(result);
    }

    /// Fails if a signal came or a job failed.
    pub fn check(&self, title: &str, result: &RunResult) -> Result<(), Cut> {
        if let Some(signal) = result.ended_by_signal.or_else(|| self.caught()) {
            return Err(Cut::Signal(signal));
        }
        match result.jobs.iter().find_map(|job| job.error.as_ref()) {
            Some(error) => Err(Cut::Failed(Failure::new(format!("{title}: {}", error.message)))),
            None => Ok(()),
        }
    }

    /// Fails if results are not of the storage, unless that is accepted.
    pub fn check_storage(&self, results: &[RunResult]) -> Result<(), Cut> {
        let refused = results.iter().find_map(|result| self.args.accept.refused(&result.notes));
        refused.map_or(Ok(()), |note| Err(Cut::NotStorage(note.clone())))
    }

    /// Lets `--strict` count what the checks found.
    pub fn count(&mut self, notes: &[Note]) {
        if self.args.strict.is_some() {
            self.notes.extend(notes.iter().filter(|note| !self.args.accept.accepts(note)).cloned());
        }
    }

    /// Keeps a result in the store, if one is named.
    pub fn keep(&self, result: &RunResult) {
        // A line for each of many runs says nothing; plumb store list shows them.
        let _ = keep_result(result, &self.args.store, Keeping::Asked);
    }

    /// Nothing more is published. Says what was lost, and fails if something could not be published.
    pub fn finish(&mut self) -> Result<(), Failure> {
        self.publisher.finish()
    }

    /// Ends the session with what the command did. Returns the exit status: [`STRICT`] if it is 0 and `--strict` found a problem.
    /// Waits for those who may still ask for metrics.
    pub fn close(mut self, done: Result<u8, Failure>) -> Result<u8, Failure> {
        let published = self.finish();
        let done = done.and_then(|status| published.map(|()| status)).map(|status| {
            let is_strict = status == 0 && self.args.strict.as_ref().is_some_and(|strict| strict.fails(&self.notes));
            if is_strict { STRICT } else { status }
        });
        self.publisher.linger(done)
    }
}

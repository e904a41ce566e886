//! A session: runs one Plan after another, and makes of each a result that is named, judged, published and kept.

use crate::arguments::SessionArgs;
use crate::failure::{Cut, Failure};
use crate::keep::{KeepPolicy, keep_result};
use crate::layers::RecordedRun;
use crate::output::{Output, Verbosity};
use crate::progress::Display;
use crate::publish::Publisher;
use crate::remarks::strict_status;
use crate::result_file::name_host;
use measure::Nanos;
use model::{Note, RunResult};
use plan::Plan;
use run::{Calibrating, Observer, RunOptions, Runner};
use std::path::Path;
use survey::{OpenTarget, Preparation};
use sys::processes::signals::Watch;

/// A run to make.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// Name for people on lines, metrics and messages, if it is one of several.
    pub title: Option<&'a str>,
    /// The Plan of the run.
    pub plan: &'a Plan,
    /// Its options. The session sets the calibration, and the intervals that are published.
    pub options: RunOptions,
    /// True if the time of its I/Os is recorded by part.
    pub layers: bool,
}

impl<'a> Run<'a> {
    /// A run with progress.
    pub fn new(title: &'a str, plan: &'a Plan) -> Self {
        let options = RunOptions { progress_interval: Some(Nanos::from_millis(250)), ..RunOptions::default() };
        Run { title: Some(title), plan, options, layers: false }
    }
}

/// Root directory of /proc and /sys.
const SYSTEM_ROOT: &str = "/";

/// The runs of one command.
pub struct Session {
    args: SessionArgs,
    publisher: Publisher,
    /// Catches signals between two runs, too; not of a program that plumb replaces.
    signals: Option<Watch>,
    /// The clock, the thread and the buffers that short runs share.
    runner: Option<Runner>,
    /// The command line that repeats the runs.
    command: Vec<String>,
    /// Findings of the checks on all runs that count.
    notes: Vec<Note>,
}

impl Session {
    /// Opens what was asked for, before the command opens any file: it may be a descriptor of the caller. From then on
    /// a signal does not end the process; see [`Session::caught`].
    pub fn open(args: &SessionArgs) -> Result<Self, Failure> {
        args.publish.check_stdout(args.streams.json.then_some("--json"))?;
        Ok(Session { signals: Some(Watch::begin()?), ..Self::drop_in(args)? })
    }

    /// The same for a program that plumb replaces, and for members: between its runs a signal ends the process. It may
    /// wait for the reader of a pipe then.
    pub fn drop_in(args: &SessionArgs) -> Result<Self, Failure> {
        let publisher = Publisher::open(&args.publish, args.host.clone(), args.streams.verbosity())?;
        let command = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        Ok(Session { args: args.clone(), publisher, signals: None, runner: None, command, notes: Vec::new() })
    }

    /// The same of runs by another command line than that of this process.
    #[must_use]
    pub fn by_command(self, command: Vec<String>) -> Self {
        Session { command, ..self }
    }

    /// The same for runs as short as a pass of iozone: they share what they can.
    #[must_use]
    pub fn of_passes(self) -> Self {
        Session { runner: Some(Runner::new(Path::new(SYSTEM_ROOT))), ..self }
    }

    /// The options of the session.
    pub fn args(&self) -> &SessionArgs {
        &self.args
    }

    /// Standard output, unless it is for the lines of `--stream` alone.
    pub fn stdout(&self) -> Output {
        if self.args.publish.prints() { Output::nowhere() } else { Output::stdout() }
    }

    /// Amount of text besides the result and errors.
    pub fn verbosity(&self) -> Verbosity {
        self.args.streams.verbosity()
    }

    /// The progress of runs with a measuring time of `total`.
    pub fn display(&self, total: Nanos) -> Display {
        Display::new(total, self.verbosity())
    }

    /// The signal that was caught, if there is one.
    pub fn caught(&self) -> Option<i32> {
        self.signals.as_ref()?.caught()
    }

    /// Makes a run whose result counts. A run that a signal ended, or in which a job failed, has no result.
    pub fn run(&mut self, run: Run<'_>, observer: &mut dyn Observer) -> Result<RunResult, Cut> {
        let title = run.title;
        let mut result = self.execute(run, observer)?;
        self.conclude(&mut result);
        self.check(title.unwrap_or_default(), &result)?;
        self.count(&result.notes);
        self.keep(&result);
        Ok(result)
    }

    /// Makes a run; its result names host and command. [`Session::conclude`] or [`Session::discard`] follows.
    pub fn execute(&mut self, run: Run<'_>, observer: &mut dyn Observer) -> Result<RunResult, Failure> {
        if !run.layers {
            return self.made(run, observer);
        }
        let mut recorded = RecordedRun::begin(run.plan)?;
        let mut result = self.made(run, &mut recorded.around(observer))?;
        recorded.end(&mut result);
        Ok(result)
    }

    fn made(&mut self, run: Run<'_>, observer: &mut dyn Observer) -> Result<RunResult, Failure> {
        let Run { title, plan, options, .. } = run;
        let calibration = if self.args.no_calibrate { Calibrating::Skipped } else { Calibrating::Brief };
        let options = self.publisher.options(RunOptions { calibration, ..options });
        self.publisher.begin(title, plan)?;
        let mut observer = self.publisher.around(observer);
        let mut result = match &mut self.runner {
            Some(runner) => runner.run(plan, &options, &mut observer)?,
            None => run::execute(plan, &options, &mut observer)?,
        };
        self.name(&mut result);
        Ok(result)
    }

    /// Makes runs of which nothing but the numbers of their jobs is used, one directly after another. There are fewer
    /// results if one failed, or a signal came.
    pub fn execute_unseen(
        &mut self,
        plans: &[Plan],
        options: &RunOptions,
        observer: &mut dyn Observer,
    ) -> Result<Vec<RunResult>, Failure> {
        let runner = self.runner.get_or_insert_with(|| Runner::new(Path::new(SYSTEM_ROOT)));
        Ok(runner.run_in_succession(plans, options, observer)?)
    }

    /// True if anybody gets the runs while they go on.
    pub fn publishes(&self) -> bool {
        self.publisher.is_fed()
    }

    /// Writes the data of a target before its first run.
    pub fn fill(&mut self, prepared: &Preparation, open: &OpenTarget, display: &mut Display) -> Result<(), Cut> {
        let signal = prepared.fill(open, &mut |plan| -> Result<RunResult, Failure> {
            display.filling(open.target.total());
            let result = self.execute(Run::new("filling", plan), display)?;
            self.discard(&result);
            Ok(result)
        })?;
        signal.or_else(|| self.caught()).map_or(Ok(()), |signal| Err(Cut::Signal(signal)))
    }

    /// Writes into a result how it was made: the command line, and the host if it was given a name.
    pub fn name(&self, result: &mut RunResult) {
        result.environment.command.clone_from(&self.command);
        name_host(&mut result.environment, self.args.host.clone());
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
        refused.map_or(Ok(()), |found| Err(Cut::NotStorage(found.note)))
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
        let _ = keep_result(result, &self.args.store, KeepPolicy::Asked);
    }

    /// Nothing more is published. Says what was lost, and fails if something could not be published.
    pub fn finish(&mut self) -> Result<(), Failure> {
        self.publisher.finish()
    }

    /// Ends the session with what the command did. Returns the exit status: [`crate::remarks::STRICT`] if it is 0 and
    /// `--strict` found a problem. Waits for those who may still ask for metrics.
    pub fn close(mut self, done: Result<u8, Failure>) -> Result<u8, Failure> {
        let published = self.finish();
        let strict = |status| match &self.args.strict {
            Some(strict) => strict_status(status, strict, &self.notes),
            None => status,
        };
        let done = done.and_then(|status| published.map(|()| strict(status)));
        self.publisher.linger(done)
    }
}

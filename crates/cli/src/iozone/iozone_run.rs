//! A run of iozone from its heading to its end: prints, runs passes, stores their results and handles failures.

use super::json_report::JsonReport;
use crate::failure::Failure;
use crate::members::lead::Members;
use crate::output::{Output, print_error};
use crate::remarks;
use formats::printable;
use iozone::{Cause, Pass, PassFailure, Settings, Sizes};
use measure::Nanos;
use model::RunResult;
use plan::Plan;
use run::{Event, Monitoring, Observer, Progress, Request, RunOptions};
use session::failure::report_stuck;
use session::{Run, Session};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) enum PassError {
    /// The pass failed; iozone has a message and a status for it.
    Pass(PassFailure),
    /// plumb could not run the pass or write its results.
    Program(Failure),
}

impl From<PassFailure> for PassError {
    fn from(failure: PassFailure) -> Self {
        PassError::Pass(failure)
    }
}

impl From<Failure> for PassError {
    fn from(failure: Failure) -> Self {
        PassError::Program(failure)
    }
}

pub(crate) struct IozoneRun<'a> {
    pub(crate) settings: &'a Settings,
    /// The command line as printed.
    pub(crate) command: String,
    /// Standard output of the run.
    out: Output,
    /// The printed text, if charts are drawn from it.
    printed: Option<String>,
    pub(crate) files: Files,
    /// plumb's results in addition to iozone's output.
    pub(crate) json_report: JsonReport,
    pub(crate) cpus: u32,
    /// True if all results are saved even without `--json`.
    pub(crate) saves: bool,
    pub(crate) session: &'a mut Session,
    shows_remarks: bool,
    /// Interval of the progress line, if there is one.
    progress_interval: Option<Nanos>,
    /// Members that are led already; `None` if they are started for each pass, or if there are none.
    pub(crate) members: Option<&'a mut Members>,
    /// The check that says that the numbers of the last result that was kept are not of the storage.
    pub(crate) refused_by: Option<String>,
}

impl<'a> IozoneRun<'a> {
    pub(crate) fn new(settings: &'a Settings, command: String, out: Output, session: &'a mut Session) -> Self {
        let cpus = session::machine::Machine::here().cpus;
        let (files, json_report) = (Files::default(), JsonReport::default());
        let verbosity = session.verbosity();
        let printed = settings.pictures.as_ref().map(|_| String::new());
        IozoneRun {
            settings,
            command,
            out,
            printed,
            files,
            json_report,
            cpus,
            saves: false,
            session,
            shows_remarks: remarks::are_wanted(verbosity),
            progress_interval: verbosity.shows_progress().then(|| Nanos::from_millis(500)),
            members: None,
            refused_by: None,
        }
    }

    /// The same run by members that are led already.
    pub(crate) fn by(self, members: Option<&'a mut Members>) -> Self {
        IozoneRun { members, ..self }
    }

    /// Prints text and keeps it for charts.
    pub(crate) fn write(&mut self, text: &str) -> Result<(), Failure> {
        if let Some(printed) = &mut self.printed {
            printed.push_str(text);
        }
        self.out.write(text)
    }

    /// Runs a pass over a file of this size in records of this size. An error of any worker is a failure of the pass.
    pub(crate) fn measure(
        &mut self,
        plan: &Plan,
        title: &str,
        sizes: Sizes,
        pass: Pass,
    ) -> Result<RunResult, PassError> {
        let options = self.options();
        let name = format!("{title} {}/{}", sizes.file_kb, sizes.record_kb);
        let mut in_progress = RunInProgress::new(&mut self.json_report, self.settings, &self.command, title);
        let result = self.session.execute(Run { title: Some(&name), plan, options, layers: false }, &mut in_progress);
        in_progress.clear();
        let result = result?;
        self.session.discard(&result);
        self.accept(plan, title, pass, result)
    }

    /// Runs passes over a file, of which nothing but iozone's own numbers is seen, one directly after another as iozone
    /// does. After one that failed there is no other.
    pub(crate) fn measure_unseen(
        &mut self,
        plans: &[Plan],
        title: &str,
        passes: &[Pass],
    ) -> Result<Vec<Result<RunResult, PassError>>, Failure> {
        let options = self.options();
        let mut in_progress = RunInProgress::new(&mut self.json_report, self.settings, &self.command, title);
        let results = self.session.execute_unseen(plans, &options, &mut in_progress)?;
        let all = plans.iter().zip(passes).zip(results);
        Ok(all.map(|((plan, &pass), result)| self.accept(plan, title, pass, result)).collect())
    }

    fn options(&self) -> RunOptions {
        let monitoring = if self.is_judged() { Monitoring::Full } else { Monitoring::Off };
        RunOptions { progress_interval: self.progress_interval, monitoring, ..RunOptions::default() }
    }

    /// The result of a pass, unless it is a failure.
    fn accept(&mut self, plan: &Plan, title: &str, pass: Pass, result: RunResult) -> Result<RunResult, PassError> {
        let settings = self.settings;
        if let Some(signal) = result.ended_by_signal {
            super::child_files::forget_latencies(settings, plan.jobs.len());
            if self.saves_results() {
                self.json_report.cut_short(title, &result);
            }
            return Err(PassFailure::interrupted(signal).into());
        }
        let error = result.jobs.iter().find_map(|job| job.error.as_ref());
        match error {
            Some(error) => {
                super::child_files::forget_latencies(settings, plan.jobs.len());
                Err(PassFailure::of(pass, error, &plan.jobs[0]).into())
            }
            None => Ok(result),
        }
    }

    /// True if anything but iozone's own output is shown or saved: remarks, results, the status of `--strict`.
    fn is_judged(&self) -> bool {
        let is_shown = self.session.args().strict.is_some() || self.shows_remarks;
        is_shown || self.saves_results() || self.session.publishes()
    }

    /// True if anybody sees the latencies of the records.
    pub(crate) fn measures_latency(&self) -> bool {
        self.is_judged() || super::child_files::are_wanted(self.settings)
    }

    /// True if iozone's own numbers are all that is shown or kept of the passes over a file of this size.
    pub(crate) fn are_unseen(&self, file_kb: u64) -> bool {
        let has_log = self.settings.latencies;
        iozone::is_short(self.settings, file_kb)
            && !has_log
            && !self.measures_latency()
            && self.progress_interval.is_none()
    }

    /// True if the whole result of each pass is kept, for a file or the store.
    fn saves_results(&self) -> bool {
        let is_kept = self.settings.json.is_some() || self.session.args().store.names_store();
        self.saves || is_kept
    }

    pub(crate) fn keep(&mut self, title: &str, sizes: Sizes, result: RunResult) {
        if !self.is_judged() {
            return;
        }
        let result = if self.saves { together(title, result) } else { result };
        let notes = self.json_report.add(title, sizes, result, self.saves_results());
        self.refused_by = self.session.args().accept.refused(&notes).map(|found| found.note.check);
        self.session.count(&notes);
        self.json_report.save_where_due(self.settings, &self.command, None);
    }

    /// Runs between two tests: sync(2), the pause between tests, and with -U unmount and mount.
    pub(crate) fn settle(&mut self) -> Result<(), Failure> {
        rustix::fs::sync();
        let rest = self.settings.rest;
        if !rest.is_zero() {
            std::thread::sleep(std::time::Duration::from_nanos(rest.get()));
        }
        match &self.settings.remount {
            Some(place) => remount(place),
            None => Ok(()),
        }
    }

    /// Prints a failure and removes the run's files. Returns the exit status.
    pub(crate) fn fail(&mut self, failure: &PassFailure) -> Result<u8, Failure> {
        let published = self.session.finish();
        self.write(&failure.out)?;
        if self.out.is_nowhere() && !failure.out.trim().is_empty() {
            print_error(failure.out.trim());
        }
        let words = printable::lines(&failure.err);
        // Errors are ignored: a closed standard error changes nothing about the failure.
        let _ = std::io::stderr().write_all(words.as_bytes());
        self.files.clean_after_failure(self.settings);
        if failure.cause == Cause::Signal && self.json_report.has_tests() {
            self.json_report.save_now(self.settings, &self.command)?;
        }
        published.map(|()| failure.status)
    }

    /// Ends the run: charts, the JSON file and remarks. Returns the exit status.
    pub(crate) fn finish(self, status: u8) -> Result<u8, Failure> {
        let published = self.session.finish();
        if let (Some(path), Some(printed), 0) = (&self.settings.pictures, &self.printed, status) {
            crate::drawing::of_text("iozone", printed.as_bytes(), path)?;
        }
        self.json_report.tell(self.settings, &self.command, self.session.verbosity())?;
        // The search for a knee keeps its own file.
        let is_kept = self.settings.json.is_some() || self.session.args().store.names_store();
        if status == 0 && is_kept && !self.saves {
            self.json_report.keep(self.session, &self.command);
        }
        published.map(|()| status)
    }
}

/// Merges all children into one job, as in a sweep over users.
fn together(title: &str, result: RunResult) -> RunResult {
    let mut jobs = result.jobs.into_iter();
    let mut all = jobs.next().unwrap_or_default();
    jobs.for_each(|job| all.merge(&job));
    all.echo.name = super::json_report::test_of(title).to_owned();
    RunResult { jobs: vec![all], ..result }
}

/// The observer of a running pass. On a terminal it shows progress on standard error, in a line that is redrawn in
/// place; with `--json` it saves the result every few seconds.
struct RunInProgress<'a> {
    json_report: &'a mut JsonReport,
    settings: &'a Settings,
    command: &'a str,
    title: &'a str,
    /// True if the line is on the screen.
    is_shown: bool,
    /// Time and bytes at the last redraw.
    before: (Nanos, u64),
}

impl<'a> RunInProgress<'a> {
    fn new(json_report: &'a mut JsonReport, settings: &'a Settings, command: &'a str, title: &'a str) -> Self {
        RunInProgress { json_report, settings, command, title, is_shown: false, before: (Nanos::ZERO, 0) }
    }

    fn clear(&mut self) {
        if self.is_shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
            self.is_shown = false;
        }
    }

    fn progress(&mut self, progress: &Progress) {
        let bytes: u64 = progress.workers.iter().flat_map(|worker| worker.bytes.iter()).map(|(_, bytes)| *bytes).sum();
        let (then, moved) = self.before;
        let time_us = progress.elapsed.saturating_sub(then).get() / 1000;
        let rate = (bytes.saturating_sub(moved).saturating_mul(1_000_000) / time_us.max(1)) >> 20;
        self.before = (progress.elapsed, bytes);
        let done = progress.done.map_or(String::new(), |done| format!(" {:3.0} %,", done * 100.0));
        let left = progress.remaining.map_or(String::new(), |left| format!(", {} s left", left.get() / 1_000_000_000));
        // Errors are ignored: a progress line that cannot be written does no harm.
        let _ = write!(std::io::stderr(), "\r\x1b[K{}:{done} {rate} MiB/s{left}", self.title);
        self.is_shown = true;
    }
}

impl Observer for RunInProgress<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Progress(progress) => self.progress(progress),
            Event::Ended(_) => self.clear(),
            Event::Finding(text) => {
                self.clear();
                // Errors are ignored: a closed standard error does not end a run.
                let _ = writeln!(std::io::stderr(), "plumb: {}: {}", self.title, printable::lines(text));
            }
            Event::Save(so_far) => {
                self.json_report.save_where_due(self.settings, self.command, Some((self.title, so_far)));
            }
            Event::Abandoned(result) => {
                self.clear();
                report_stuck(result, || {
                    if self.settings.json.is_some() {
                        self.json_report.cut_short(self.title, result);
                        if let Err(failure) = self.json_report.save_now(self.settings, self.command) {
                            failure.print();
                        }
                    }
                });
            }
            _ => {}
        }
    }

    fn request(&mut self, _elapsed: Nanos) -> Option<Request> {
        self.json_report.is_saving_due(self.settings).then_some(Request::Save)
    }
}

fn remount(place: &str) -> Result<(), Failure> {
    for command in ["umount", "mount"] {
        let status = std::process::Command::new(command).arg(place).status();
        let why = match status {
            Ok(status) if status.success() => continue,
            Ok(status) => format!("ended with {status}"),
            Err(error) => format!("could not be run: {error}"),
        };
        return Err(Failure::new(format!(
            "iozone: -U {place}: {command} {why}; it must be a mount point in /etc/fstab"
        )));
    }
    Ok(())
}

#[derive(Debug, Default)]
pub(crate) struct Files {
    /// Each file, and true if it existed before.
    seen: BTreeMap<PathBuf, bool>,
}

impl Files {
    /// Records a file before it is used for the first time.
    pub(crate) fn use_file(&mut self, path: &Path) {
        if !self.seen.contains_key(path) {
            self.seen.insert(path.to_owned(), path.exists());
        }
    }

    /// Removes the regular files at the end of a run, unless they are kept (`-w`).
    pub(crate) fn clean(&mut self, settings: &Settings) {
        if !settings.keep {
            self.seen.keys().for_each(|path| remove(path));
        }
    }

    /// Removes the files that the run created, after a failure.
    pub(crate) fn clean_after_failure(&mut self, settings: &Settings) {
        if !settings.keep {
            self.seen.iter().filter(|&(_, was_there)| !was_there).for_each(|(path, _)| remove(path));
        }
    }
}

/// Removes a regular file; a device is never removed.
fn remove(path: &Path) {
    if std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) {
        // Errors are ignored: a file that cannot be removed remains visible in its directory.
        let _ = std::fs::remove_file(path);
    }
}

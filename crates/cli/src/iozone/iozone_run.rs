//! A run of iozone from its heading to its end: prints, runs passes, stores their results and handles failures.

use super::files::Files;
use super::json_report::{JsonReport, Saves};
use super::live::Live;
use crate::failure::Failure;
use crate::members::rounds::Members;
use crate::output::{Output, print_error};
use crate::remarks;
use iozone::{Cause, Pass, PassFailure, Settings, Sizes};
use measure::Nanos;
use model::RunResult;
use plan::Plan;
use run::{Event, Monitoring, Observer, Request, RunOptions};
use session::stuck_workers;
use session::{Run, Session};

/// Reason why a pass has no result.
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
    /// The settings of the command line.
    pub(crate) settings: &'a Settings,
    /// The command line as printed.
    pub(crate) command: String,
    /// Standard output of the run.
    out: Output,
    /// The printed text, if charts are drawn from it.
    printed: Option<String>,
    /// The files that the run uses.
    pub(crate) files: Files,
    /// plumb's results in addition to iozone's output.
    pub(crate) json_report: JsonReport,
    /// Number of CPUs.
    pub(crate) cpus: u32,
    /// True if all results are saved even without `--json`.
    pub(crate) saves: bool,
    /// Runs all passes.
    pub(crate) session: &'a mut Session,
    /// True if remarks are shown.
    shows_remarks: bool,
    /// Interval of the progress line, if there is one.
    progress_interval: Option<Nanos>,
    /// Members that are led already; `None` if they are started for each pass, or if there are none.
    pub(crate) members: Option<&'a mut Members>,
}

impl<'a> IozoneRun<'a> {
    pub(crate) fn new(settings: &'a Settings, command: String, out: Output, session: &'a mut Session) -> Self {
        let cpus = session::machine::Machine::here().cpus;
        let (files, json_report) = (Files::default(), JsonReport::default());
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
            shows_remarks: remarks::are_wanted(),
            progress_interval: Live::interval(),
            members: None,
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
        let (settings, command) = (self.settings, self.command.as_str());
        let mut in_progress =
            RunInProgress { live: Live::new(title), json_report: &mut self.json_report, settings, command, title };
        let result = self.session.execute(Run { title: Some(&name), plan, options }, &mut in_progress);
        in_progress.live.clear();
        let result = result?;
        self.session.discard(&result);
        self.accept(plan, title, pass, result)
    }

    /// Runs passes over a file, of which nothing but iozone's own numbers is seen, one directly after another as iozone does. After one that
    /// failed there is no other.
    pub(crate) fn measure_unseen(
        &mut self,
        plans: &[Plan],
        title: &str,
        passes: &[Pass],
    ) -> Result<Vec<Result<RunResult, PassError>>, Failure> {
        let options = self.options();
        let (settings, command) = (self.settings, self.command.as_str());
        let mut in_progress =
            RunInProgress { live: Live::new(title), json_report: &mut self.json_report, settings, command, title };
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
            super::latency::forget(settings, plan.jobs.len());
            self.json_report.cut_short(title, &result, self.saves());
            return Err(PassFailure::interrupted(signal).into());
        }
        let error = result.jobs.iter().find_map(|job| job.error.as_ref());
        match error {
            Some(error) => {
                super::latency::forget(settings, plan.jobs.len());
                Err(PassFailure::of(pass, error, &plan.jobs[0]).into())
            }
            None => Ok(result),
        }
    }

    /// True if anything but iozone's own output is shown or saved: remarks, results, the status of `--strict`.
    fn is_judged(&self) -> bool {
        let is_shown = self.session.args().strict.is_some() || self.shows_remarks;
        is_shown || self.saves() == Saves::All || self.session.publishes()
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

    /// The parts of each pass that are kept for a file.
    fn saves(&self) -> Saves {
        let is_kept = self.settings.json.is_some() || self.session.args().store.names_store();
        if self.saves || is_kept { Saves::All } else { Saves::Nothing }
    }

    /// Stores the result of a pass.
    pub(crate) fn keep(&mut self, title: &str, sizes: Sizes, result: RunResult) {
        if !self.is_judged() {
            return;
        }
        let result = if self.saves { together(title, result) } else { result };
        let notes = self.json_report.add(title, sizes, result, self.saves());
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
        let words = formats::printable::lines(&failure.err);
        // Errors are ignored: a closed standard error changes nothing about the failure.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), words.as_bytes());
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
        self.json_report.tell(self.settings, &self.command)?;
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

/// The observer of a running pass: shows progress, and with `--json` saves the result every few seconds.
struct RunInProgress<'a> {
    live: Live,
    json_report: &'a mut JsonReport,
    settings: &'a Settings,
    command: &'a str,
    title: &'a str,
}

impl Observer for RunInProgress<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Save(so_far) => {
                self.json_report.save_where_due(self.settings, self.command, Some((self.title, so_far)));
            }
            Event::Abandoned(result) => {
                self.live.clear();
                stuck_workers::report_stuck(result, || {
                    if self.settings.json.is_some() {
                        self.json_report.cut_short(self.title, result, Saves::All);
                        if let Err(failure) = self.json_report.save_now(self.settings, self.command) {
                            failure.print();
                        }
                    }
                });
            }
            other => self.live.event(other),
        }
    }

    fn request(&mut self, _elapsed: Nanos) -> Option<Request> {
        self.json_report.is_saving_due(self.settings).then_some(Request::Save)
    }
}

/// Runs umount and mount.
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

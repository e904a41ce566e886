//! A run of iozone from its heading to its end: what is printed, what is kept of each pass, and what failed.

use super::beside::{Beside, Saves};
use super::files::Files;
use super::ill::{self, Ill};
use super::live::Live;
use crate::failure::Failure;
use crate::left;
use crate::output::Output;
use iozone::{Pass, Settings};
use job::Plan;
use measure::{Nanos, SystemClock};
use model::RunResult;
use run::{Observer, Progress, RunOptions};
use std::path::{Path, PathBuf};

/// Where /proc and /sys are read.
const SYSTEM_ROOT: &str = "/";

/// A run of iozone.
pub(crate) struct Session<'a> {
    /// What was asked for.
    pub(crate) settings: &'a Settings,
    /// The command line as printed.
    pub(crate) command: String,
    /// Where the original prints.
    out: Output,
    /// What was printed, where pictures of it are wanted.
    printed: Option<String>,
    /// The files it made.
    pub(crate) files: Files,
    /// What plumb has to say beside iozone's output.
    pub(crate) beside: Beside,
    /// CPUs of the machine.
    pub(crate) cpus: u32,
    /// Whether all results are to be saved, whatever the settings say.
    pub(crate) saves: bool,
    /// Calibrated once for all passes.
    clock: SystemClock,
}

impl<'a> Session<'a> {
    pub(crate) fn new(settings: &'a Settings, command: String, out: Output) -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(1));
        let clock = run::start_clock(Path::new(SYSTEM_ROOT));
        let (files, beside) = (Files::default(), Beside::default());
        let printed = settings.pictures.as_ref().map(|_| String::new());
        Session { settings, command, out, printed, files, beside, cpus, saves: false, clock }
    }

    /// Prints as the original does.
    pub(crate) fn write(&mut self, text: &str) -> Result<(), Failure> {
        if let Some(printed) = &mut self.printed {
            printed.push_str(text);
        }
        self.out.write(text)
    }

    /// Carries out a pass; what one of its workers could not do is the pass's failure.
    pub(crate) fn measure(&mut self, plan: &Plan, title: &str, pass: Pass) -> Result<Result<RunResult, Ill>, Failure> {
        let options = RunOptions {
            tell_to: None,
            system_root: PathBuf::from(SYSTEM_ROOT),
            read_only: false,
            progress_interval: Live::interval(),
            device_interval: Nanos::from_millis(500),
        };
        let (settings, command) = (self.settings, self.command.as_str());
        let mut meanwhile = Meanwhile { live: Live::new(title), beside: &mut self.beside, settings, command, title };
        let result = run::execute_by(self.clock, plan, &options, &mut meanwhile);
        meanwhile.live.clear();
        let result = result.map_err(|error| Failure::new(error.to_string()))?;
        if let Some(signal) = result.ended_by_signal {
            super::latency::forget(settings, plan.jobs.len());
            self.beside.cut_short(title, &result, self.saves());
            return Ok(Err(Ill::interrupted(signal)));
        }
        let error = result.jobs.iter().find_map(|job| job.error.as_ref());
        match error {
            Some(error) => {
                super::latency::forget(settings, plan.jobs.len());
                Ok(Err(ill::of(pass, error, &plan.jobs[0])))
            }
            None => Ok(Ok(result)),
        }
    }

    /// Whether passes are kept for a file.
    fn saves(&self) -> Saves {
        if self.saves || self.settings.json.is_some() { Saves::All } else { Saves::Nothing }
    }

    /// Keeps what a pass found beside iozone's numbers.
    pub(crate) fn keep(&mut self, title: &str, (size_kb, record_kb): (u64, u64), result: RunResult) {
        let result = if self.saves { together(title, result) } else { result };
        self.beside.add(title, size_kb, record_kb, result, self.saves());
        self.beside.save_where_due(self.settings, &self.command, None);
    }

    /// Between two tests: what is written reaches the disk, and where it was asked for the file system is mounted anew.
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

    /// Tells what failed and takes away what was made; the status.
    pub(crate) fn fail(&mut self, ill: &Ill) -> Result<u8, Failure> {
        self.write(&ill.out)?;
        let words = formats::printable::lines(&ill.err);
        // Whoever closed standard error does not want to read it.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), words.as_bytes());
        self.files.clean_after_failure(self.settings);
        if ill.is_interruption && self.beside.has_tests() {
            self.beside.save_now(self.settings, &self.command)?;
        }
        Ok(ill.status)
    }

    /// What is told when all is done; the status.
    pub(crate) fn finish(self, status: u8) -> Result<u8, Failure> {
        if let (Some(path), Some(printed), 0) = (&self.settings.pictures, &self.printed, status) {
            crate::report::of_text("iozone", printed.as_bytes(), path)?;
        }
        self.beside.tell(self.settings, &self.command)?;
        Ok(if self.settings.strict { self.beside.strict_status(status) } else { status })
    }
}

/// All children as one job, as readers of a sweep over users want them.
fn together(title: &str, result: RunResult) -> RunResult {
    let mut jobs = result.jobs.into_iter();
    let mut all = jobs.next().unwrap_or_default();
    jobs.for_each(|job| all.merge(&job));
    all.echo.name = super::beside::test_of(title).to_owned();
    RunResult { jobs: vec![all], ..result }
}

/// A pass under way: shown, and kept every few seconds where a file was named.
struct Meanwhile<'a> {
    live: Live,
    beside: &'a mut Beside,
    settings: &'a Settings,
    command: &'a str,
    title: &'a str,
}

impl Observer for Meanwhile<'_> {
    fn progress(&mut self, progress: &Progress) {
        self.live.progress(progress);
    }

    fn ended(&mut self, progress: &Progress) {
        self.live.ended(progress);
    }

    fn keeping_wanted(&mut self, _elapsed: Nanos) -> bool {
        self.beside.is_saving_due(self.settings)
    }

    fn keep(&mut self, so_far: &RunResult) {
        self.beside.save_where_due(self.settings, self.command, Some((self.title, so_far)));
    }

    fn finding(&mut self, text: &str) {
        self.live.finding(text);
    }

    fn abandoned(&mut self, result: &RunResult) {
        self.live.clear();
        left::behind(result, || {
            if self.settings.json.is_some() {
                self.beside.cut_short(self.title, result, Saves::All);
                if let Err(failure) = self.beside.save_now(self.settings, self.command) {
                    left::say(failure.message());
                }
            }
        });
    }
}

/// umount and mount, as the words name the place.
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

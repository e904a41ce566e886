//! A run of iozone from its heading to its end: what is printed, what is kept of each pass, and what failed.

use super::beside::Beside;
use super::files::Files;
use super::ill::{self, Ill};
use super::live::Live;
use crate::failure::Failure;
use crate::output::Output;
use iozone::{Pass, Settings};
use job::Plan;
use measure::Nanos;
use model::RunResult;
use run::{Observer, Progress, RunOptions};
use std::path::PathBuf;

/// A run of iozone.
pub(crate) struct Session<'a> {
    /// What was asked for.
    pub(crate) settings: &'a Settings,
    /// The command line as printed.
    pub(crate) command: String,
    /// Where the original prints.
    pub(crate) out: Output,
    /// The files it made.
    pub(crate) files: Files,
    /// What plumb has to say beside iozone's output.
    pub(crate) beside: Beside,
    /// CPUs of the machine.
    pub(crate) cpus: u32,
}

impl<'a> Session<'a> {
    pub(crate) fn new(settings: &'a Settings, command: String, out: Output) -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(1));
        Session { settings, command, out, files: Files::default(), beside: Beside::default(), cpus }
    }

    /// Carries out a pass; what one of its workers could not do is the pass's failure.
    pub(crate) fn measure(&mut self, plan: &Plan, title: &str, pass: Pass) -> Result<Result<RunResult, Ill>, Failure> {
        let options = RunOptions {
            tell_to: None,
            system_root: PathBuf::from("/"),
            read_only: false,
            progress_interval: Live::interval(),
            device_interval: Nanos::from_millis(500),
        };
        let (settings, command) = (self.settings, self.command.as_str());
        let mut meanwhile = Meanwhile { live: Live::new(title), beside: &mut self.beside, settings, command, title };
        let result = run::execute(plan, &options, &mut meanwhile).map_err(|error| Failure::new(error.to_string()))?;
        meanwhile.live.clear();
        if let Some(signal) = result.ended_by_signal {
            return Ok(Err(Ill::interrupted(signal)));
        }
        let error = result.jobs.iter().find_map(|job| job.error.as_ref());
        match error {
            Some(error) => Ok(Err(ill::of(pass, error, &plan.jobs[0]))),
            None => Ok(Ok(result)),
        }
    }

    /// Keeps what was found so far, where that is due.
    pub(crate) fn keep(&mut self) -> Result<(), Failure> {
        if !self.beside.is_keeping_due(self.settings) {
            return Ok(());
        }
        self.beside.keep(self.settings, &self.command, None)
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
        self.out.write(&ill.out)?;
        let words = formats::printable::lines(&ill.err);
        // Whoever closed standard error does not want to read it.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), words.as_bytes());
        self.files.clean_after_failure(self.settings);
        Ok(ill.status)
    }

    /// What is told when all is done.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        self.beside.tell(self.settings, &self.command)
    }
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
        self.beside.is_keeping_due(self.settings)
    }

    fn keep(&mut self, so_far: &RunResult) {
        // What cannot be written is told at the end, which writes it once more.
        let _ = self.beside.keep(self.settings, self.command, Some((self.title, so_far)));
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

//! Lines about failed workers, which fio prints before its results: `fio: pid=7, got signal=9`, `fio: pid=0, err=28/..`.
//!
//! Owns of which jobs they are. A text has no block of a job that could not be started, because its files could not be
//! laid out or opened; none of the formats says that a worker was killed.

use crate::read_number::{after_key, leading};
use model::reading::{ReadJob, ReadRun};

/// Most lines that are kept of a run; further ones are dropped.
const MOST: usize = 1024;

/// One of these lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Failure {
    pub(crate) line: u64,
    /// 0 before the workers are started.
    pid: f64,
    pub(crate) cause: Cause,
    /// The job whose files were laid out just before.
    laid_out: Option<String>,
    /// True once a job is known to be the one.
    is_assigned: bool,
}

/// Why a worker failed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cause {
    /// errno and its words.
    Error(f64, String),
    /// The number of the signal.
    Signal(f64),
}

impl Default for Cause {
    fn default() -> Self {
        Cause::Error(0.0, String::new())
    }
}

impl Failure {
    /// `fio: pid=0, err=28/file:filesetup.c:240, func=write, error=No space left on device`, `fio: pid=7, got signal=9`.
    pub(crate) fn of(line: u64, text: &str) -> Option<Failure> {
        let (pid, rest) = leading(text.strip_prefix("fio: pid=")?)?;
        let number = |key: &str| after_key(rest, key).and_then(leading).map(|(number, _)| number);
        let cause = match number("got signal=") {
            Some(signal) => Cause::Signal(signal),
            None => Cause::Error(number("err=")?, after_key(rest, "error=")?.trim().to_owned()),
        };
        Some(Failure { line, pid, cause, ..Failure::default() })
    }
}

/// The failures of one invocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failures {
    all: Vec<Failure>,
    /// The job whose files are being laid out.
    laying_out: Option<String>,
}

impl Failures {
    pub(crate) fn add(&mut self, failure: Failure) {
        if self.all.len() < MOST {
            self.all.push(Failure { laid_out: self.laying_out.clone(), ..failure });
        }
    }

    /// Records that the files of this job are laid out.
    pub(crate) fn lays_out(&mut self, job: &str) {
        self.laying_out = Some(job.to_owned());
    }

    /// errno and words of the first error.
    pub(crate) fn first_error(&self) -> Option<(f64, &str)> {
        self.all.iter().find_map(|failure| match &failure.cause {
            Cause::Error(errno, why) => Some((*errno, why.as_str())),
            Cause::Signal(_) => None,
        })
    }

    /// Adds the jobs that failed before they did anything: a text has no block of them.
    pub(crate) fn add_jobs(&self, run: &mut ReadRun, announced: &[ReadJob]) {
        let listed: f64 = run.jobs.iter().map(|job| job.workers.unwrap_or(1.0)).sum();
        let mut open = run.started_workers.map(|started| started - listed);
        let pids: Vec<f64> = run.jobs.iter().filter_map(|job| job.pid).collect();
        for failure in self.all.iter().filter(|failure| !pids.contains(&failure.pid)) {
            let Cause::Error(errno, _) = failure.cause else { continue };
            let has_block = |name: &Option<String>| run.jobs.iter().any(|job| job.name == *name);
            let named = announced.iter().find(|job| failure.laid_out.is_some() && job.name == failure.laid_out);
            // Where it is not known how many were started, a clone looks like its job.
            let named = named.filter(|job| open.is_some() || !has_block(&job.name));
            let Some(job) = named.or_else(|| announced.iter().find(|job| !has_block(&job.name))) else { continue };
            if open.is_some_and(|open| open < 0.5) {
                return;
            }
            open = open.map(|open| open - 1.0);
            let job = ReadJob { line: failure.line, errno: Some(errno), workers: Some(1.0), ..job.clone() };
            run.jobs.push(job);
        }
    }

    /// Marks the jobs whose workers were killed: by process, or by the time and switches that no one counted of them.
    pub(crate) fn mark_killed(&mut self, run: &mut ReadRun) {
        for failure in &mut self.all {
            let Cause::Signal(signal) = failure.cause else { continue };
            let uncounted = |job: &ReadJob| {
                [job.user_percent, job.system_percent, job.switches] == [Some(0.0); 3] && job.errno == Some(0.0)
            };
            let is_free = |job: &ReadJob| job.signal.is_none() && job.pid.is_none();
            let by_pid = run.jobs.iter().position(|job| job.pid == Some(failure.pid));
            let found = by_pid
                .or_else(|| run.jobs.iter().position(|job| is_free(job) && uncounted(job)))
                .or_else(|| run.jobs.iter().position(|job| job.pid.is_some() && job.workers > Some(1.0)));
            if let Some(at) = found {
                run.jobs[at].signal = Some(signal);
                failure.is_assigned = true;
            }
        }
    }

    /// The killed workers of which no job is known: their lines, and what to say.
    pub(crate) fn unassigned(&self) -> impl Iterator<Item = (u64, String)> {
        self.all.iter().filter(|failure| !failure.is_assigned).filter_map(|failure| {
            let Cause::Signal(signal) = failure.cause else { return None };
            let pid = failure.pid;
            Some((
                failure.line,
                format!("worker {pid} was killed by signal {signal}; no report says of which job it was"),
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_signals_are_distinguished() {
        let cause = |text: &str| Failure::of(1, text).map(|failure| failure.cause);
        let full = "fio: pid=0, err=28/file:filesetup.c:240, func=write, error=No space left on device";
        assert_eq!(cause(full), Some(Cause::Error(28.0, "No space left on device".to_owned())));
        assert_eq!(cause("fio: pid=22443, got signal=9"), Some(Cause::Signal(9.0)));
        assert_eq!(cause("fio: ENOSPC on laying out file, stopping"), None);
        assert_eq!(cause("fio: pid=0"), None);
    }
}

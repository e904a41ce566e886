//! The error that ends a command before its work is done.

use crate::output::{Verbosity, print_error};
use model::Note;
use model::RunResult;
use std::error::Error;
use std::fmt::Display;
use std::io;
use std::path::Path;

/// Exit status of a result that is not of the storage.
pub const NOT_STORAGE: u8 = 3;

/// A message for the user and the exit status that goes with it.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// The error and a suggestion; empty if the reader of the output closed the pipe.
    message: String,
    /// The exit status.
    pub status: u8,
}

/// End of a run that has no result.
#[derive(Debug)]
pub enum Cut {
    /// A signal came.
    Signal(i32),
    /// The run failed.
    Failed(Failure),
    /// A check found that its result is not of the storage.
    NotStorage(Note),
}

impl Cut {
    /// The same; of a signal it says that it came, and what is left. For commands that print no result after it.
    pub fn saying(self, left: &str) -> Self {
        self.of_signal(left).iter().for_each(|line| print_error(line));
        self
    }

    fn of_signal(&self, left: &str) -> Option<String> {
        match self {
            Cut::Signal(signal) => Some(format!("plumb: ended by signal {signal}: {left}")),
            Cut::Failed(_) | Cut::NotStorage(_) => None,
        }
    }

    /// The end of a command that it ends: an exit status, or a failure. A result that is not of the storage is status
    /// 3.
    pub fn outcome(self) -> Result<u8, Failure> {
        match self {
            Cut::Signal(signal) => Ok(signal_status(signal)),
            Cut::Failed(failure) => Err(failure),
            Cut::NotStorage(Note { check, sentence, .. }) => {
                Err(Failure::new(format!("NOT A STORAGE RESULT: {check}: {sentence}")).with_status(NOT_STORAGE))
            }
        }
    }
}

impl<E: Into<Failure>> From<E> for Cut {
    fn from(error: E) -> Self {
        Cut::Failed(error.into())
    }
}

impl Failure {
    /// A failure with status 1.
    pub fn new(message: impl Into<String>) -> Self {
        Failure { message: message.into(), status: 1 }
    }

    /// A failure about a file, with status 1.
    pub fn at(path: &Path, what: impl Display) -> Self {
        Failure::new(format!("{}: {what}", path.display()))
    }

    /// A failed write of results to `name`: silent if the reader closed the pipe (EPIPE).
    pub fn writing(name: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::new(""),
            io::ErrorKind::StorageFull => {
                Failure::new(format!("{name}: no space left for the results; free some or write them elsewhere"))
            }
            _ => Failure::new(format!("{name}: cannot write the results: {error}")),
        }
    }

    /// The refusal of `what` by a build without a feature.
    pub fn not_built(what: &str, feature: &str) -> Self {
        Failure::new(format!(
            "{what}: this plumb was built without the feature `{feature}`; build one that has it: \
             cargo build --release --features {feature}"
        ))
    }

    /// The same with another status.
    pub fn with_status(self, status: u8) -> Self {
        Failure { status, ..self }
    }

    /// The message, for callers that continue after the failure.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Prints the message to standard error, if there is one.
    pub fn print(&self) {
        if !self.message.is_empty() {
            print_error(&format!("plumb: {}", self.message.trim_end()));
        }
    }

    /// Prints the message as a remark, which `--quiet` silences.
    pub fn remark(&self, verbosity: Verbosity) {
        if !self.message.is_empty() {
            verbosity.remark(&format!("plumb: {}", self.message.trim_end()));
        }
    }
}

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::new(error.to_string())
    }
}

/// Returns the exit status after a signal: 128 + its number.
pub fn signal_status(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(128)
}

/// Reports the stuck workers on standard error, saves the partial result and exits. The target is not touched again:
/// cleaning up there would block on the same device.
#[expect(clippy::exit, reason = "a caller would wait for the device")]
pub fn report_stuck(result: &RunResult, keep: impl FnOnce()) -> ! {
    for error in result.jobs.iter().filter_map(|job| job.error.as_ref()) {
        print_error(&format!("plumb: {}", error.message));
    }
    print_error("plumb: files on the target are not removed");
    keep();
    std::process::exit(result.ended_by_signal.map_or(1, |signal| 128 + signal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_named_with_what_is_left_and_a_failure_is_not() {
        let said = Cut::Signal(2).of_signal("nothing was measured");
        assert_eq!(said.as_deref(), Some("plumb: ended by signal 2: nothing was measured"));
        assert_eq!(Cut::Failed(Failure::new("x")).of_signal("nothing was measured"), None);
    }

    #[test]
    fn a_closed_pipe_is_a_quiet_failure() {
        let failure = Failure::writing("standard output", &io::ErrorKind::BrokenPipe.into());
        assert_eq!((failure.message(), failure.status), ("", 1));
    }

    #[test]
    fn a_full_disk_is_named_with_its_file() {
        let failure = Failure::writing("r.json", &io::ErrorKind::StorageFull.into());
        assert!(failure.message().starts_with("r.json: no space left"), "{}", failure.message());
    }
}

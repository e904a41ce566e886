//! The error that ends a command before its work is done.

use std::io::{self, Write};

/// A message for the user and the exit status that goes with it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The error and a suggestion; empty if the reader of the output closed the pipe.
    message: String,
    /// The exit status.
    pub(crate) status: u8,
}

impl Failure {
    /// A failure with status 1.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Failure { message: message.into(), status: 1 }
    }

    /// A failed write of results to `name`: silent if the reader closed the pipe (EPIPE).
    pub(crate) fn writing(name: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::new(""),
            io::ErrorKind::StorageFull => {
                Failure::new(format!("{name}: no space left for the results; free some or write them elsewhere"))
            }
            _ => Failure::new(format!("{name}: cannot write the results: {error}")),
        }
    }

    /// The message, for callers that continue after the failure.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Prints the message, if there is one. A closed stderr changes nothing about the failure.
    pub(crate) fn report(&self, to: &mut impl Write) {
        if !self.message.is_empty() {
            let _ = writeln!(to, "plumb: {}", formats::printable::lines(self.message.trim_end()));
        }
    }
}

impl From<::survey::SurveyError> for Failure {
    fn from(error: ::survey::SurveyError) -> Self {
        Failure::new(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(failure: &Failure) -> String {
        let mut text = Vec::new();
        failure.report(&mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_closed_pipe_is_a_quiet_failure() {
        let failure = Failure::writing("standard output", &io::ErrorKind::BrokenPipe.into());
        assert_eq!((shown(&failure).as_str(), failure.status), ("", 1));
    }

    #[test]
    fn a_message_does_not_steer_the_terminal() {
        assert_eq!(shown(&Failure::new("\x1b[31mx: gone")), "plumb: ␛[31mx: gone\n");
    }

    #[test]
    fn a_full_disk_is_named_with_its_file() {
        let failure = Failure::writing("r.json", &io::ErrorKind::StorageFull.into());
        assert!(shown(&failure).starts_with("plumb: r.json: no space left"), "{}", shown(&failure));
    }
}

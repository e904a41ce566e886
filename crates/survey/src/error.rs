//! Errors of preparing a survey: one enum for the crate.

use fio::JobError;
use std::fmt::Display;
use std::path::Path;

/// Reason why a survey cannot be done as requested. Each message names the input and a valid alternative.
#[derive(Debug, thiserror::Error)]
pub enum SurveyError {
    /// An invalid value on the command line or in a survey file: a size, time, list, option or test.
    #[error("{0}")]
    Value(String),
    /// A survey file that is not valid TOML or has an unknown key; the message has line and column.
    #[error("{0}")]
    File(String),
    /// A key of an untrusted survey file that is not allowed.
    #[error("--untrusted: {0}")]
    Untrusted(String),
    /// A test that is impossible on the target or with the engine.
    #[error("{test}: {why}")]
    Test {
        /// The test, as [`crate::SurveyTest::describe`] shows it.
        test: String,
        /// The reason, and a valid alternative.
        why: String,
    },
    /// A swept option, or the engine, that fio's parser rejects.
    #[error("{test}: {}", error.mistakes())]
    Option {
        /// The test, as [`crate::SurveyTest::describe`] shows it.
        test: String,
        /// The parser's error, whose places are in a command line that the user did not write.
        error: JobError,
    },
    /// A target, or the work file on it, that cannot be surveyed as requested; the text names it.
    #[error("{0}")]
    Target(String),
}

impl SurveyError {
    /// An error about a target.
    pub(crate) fn at(path: &Path, what: impl Display) -> Self {
        SurveyError::Target(format!("{}: {what}", path.display()))
    }
}

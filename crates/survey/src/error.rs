//! Errors of preparing a survey: one type for the crate.

use std::fmt::Display;
use std::path::Path;

/// Reason why a survey cannot be done as requested. Each message names the input and a valid alternative.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SurveyError(pub(crate) String);

impl SurveyError {
    /// An error about a target.
    pub(crate) fn at(path: &Path, what: impl Display) -> Self {
        SurveyError(format!("{}: {what}", path.display()))
    }
}

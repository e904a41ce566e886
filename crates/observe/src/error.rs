//! Errors of a recording.

use std::io;
use std::path::Path;

/// A recording that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// The machine or its user has not what a recording needs: what is missing, and what would work.
    #[error("{0}")]
    Unavailable(String),
    /// A target that is not there.
    #[error("{0}")]
    NoTarget(String),
    /// A file of the kernel or of /proc that could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// Its path.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A file of the kernel that has another form than expected.
    #[error("{path}: {why}")]
    Form {
        /// Its path.
        path: String,
        /// The part that is missing.
        why: &'static str,
    },
    /// A system call that failed.
    #[error(transparent)]
    Sys(#[from] sys::SysError),
}

impl ObserveError {
    pub(crate) fn file(path: &Path, source: io::Error) -> Self {
        ObserveError::File { path: path.display().to_string(), source }
    }

    pub(crate) fn form(path: &Path, why: &'static str) -> Self {
        ObserveError::Form { path: path.display().to_string(), why }
    }
}

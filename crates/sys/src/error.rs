//! What can go wrong between us and the kernel, with the words to say it.

use std::io;
use std::path::{Path, PathBuf};

/// A call to the kernel that failed, or something it said that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SysError {
    /// A call about a file or device failed.
    #[error("{path}: {call}: {source}")]
    Path {
        /// The call, `fallocate`.
        call: &'static str,
        /// What it was about.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A call that is about no file failed.
    #[error("{call}: {source}{advice}")]
    Call {
        /// The call, `mmap`.
        call: &'static str,
        /// The kernel's answer.
        source: io::Error,
        /// What would work, led by a colon and a blank; empty when there is nothing to add.
        advice: String,
    },
    /// A file under /proc or /sys says something that cannot be understood.
    #[error("{path}: {problem}")]
    Text {
        /// The file.
        path: PathBuf,
        /// What is wrong with its text.
        problem: String,
    },
    /// What was asked for cannot be done here at all.
    #[error("{0}")]
    Impossible(String),
}

impl SysError {
    /// A failed call about `path`.
    pub(crate) fn path(call: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        SysError::Path { call, path: path.to_owned(), source: source.into() }
    }

    /// A failed call that is about no file.
    pub(crate) fn call(call: &'static str, source: impl Into<io::Error>) -> Self {
        SysError::Call { call, source: source.into(), advice: String::new() }
    }

    /// A failed call, and what would work instead.
    pub(crate) fn call_but(call: &'static str, source: impl Into<io::Error>, advice: &str) -> Self {
        SysError::Call { call, source: source.into(), advice: format!(": {advice}") }
    }

    /// The kernel's error number; `None` when the kernel refused nothing.
    pub fn errno(&self) -> Option<i32> {
        match self {
            SysError::Path { source, .. } | SysError::Call { source, .. } => source.raw_os_error(),
            SysError::Text { .. } | SysError::Impossible(_) => None,
        }
    }
}

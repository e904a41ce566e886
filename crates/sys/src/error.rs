//! Errors of system calls, with messages.

use std::io;
use std::path::{Path, PathBuf};

/// A system call that failed, or a text of the kernel that cannot be parsed.
#[derive(Debug, thiserror::Error)]
pub enum SysError {
    /// A call on a file or device failed.
    #[error("{path}: {call}: {source}")]
    Path {
        /// Name of the call, such as `fallocate`.
        call: &'static str,
        /// Its file or device.
        path: PathBuf,
        /// Error of the kernel.
        source: io::Error,
    },
    /// A call without a file failed.
    #[error("{call}: {source}{advice}")]
    Call {
        /// Name of the call, such as `mmap`.
        call: &'static str,
        /// Error of the kernel.
        source: io::Error,
        /// Advice, after a colon and a space; empty if there is none.
        advice: String,
    },
    /// The text of a file in /proc or /sys cannot be parsed.
    #[error("{path}: {problem}")]
    Text {
        /// Path of the file.
        path: PathBuf,
        /// The problem with its text.
        problem: String,
    },
    /// The request cannot be satisfied on this machine.
    #[error("{0}")]
    Impossible(String),
}

impl SysError {
    /// A failed call on `path`.
    pub(crate) fn path(call: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        SysError::Path { call, path: path.to_owned(), source: source.into() }
    }

    /// A failed call without a file.
    pub(crate) fn call(call: &'static str, source: impl Into<io::Error>) -> Self {
        SysError::Call { call, source: source.into(), advice: String::new() }
    }

    /// A failed call without a file, with advice.
    pub(crate) fn call_but(call: &'static str, source: impl Into<io::Error>, advice: &str) -> Self {
        SysError::Call { call, source: source.into(), advice: format!(": {advice}") }
    }

    /// errno; `None` if no call failed.
    pub fn errno(&self) -> Option<i32> {
        match self {
            SysError::Path { source, .. } | SysError::Call { source, .. } => source.raw_os_error(),
            SysError::Text { .. } | SysError::Impossible(_) => None,
        }
    }
}

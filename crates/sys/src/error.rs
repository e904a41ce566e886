//! Errors of system calls, with messages.

use std::io;
use std::path::Path;

/// A system call that failed, a text of the kernel that cannot be parsed, or a request that this machine cannot
/// satisfy.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct SysError {
    message: String,
    errno: Option<i32>,
}

impl SysError {
    /// A failed call on `path`.
    pub(crate) fn path(call: &str, path: &Path, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        let message = format!("{}: {call}: {source}", path.display());
        SysError { message, errno: source.raw_os_error() }
    }

    /// A failed call without a file.
    pub(crate) fn call(call: &str, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        SysError { message: format!("{call}: {source}"), errno: source.raw_os_error() }
    }

    /// A failed call without a file, with advice.
    pub(crate) fn call_but(call: &str, source: impl Into<io::Error>, advice: &str) -> Self {
        let SysError { message, errno } = Self::call(call, source);
        SysError { message: format!("{message}: {advice}"), errno }
    }

    /// A request that this machine cannot satisfy.
    pub fn impossible(message: impl Into<String>) -> Self {
        SysError { message: message.into(), errno: None }
    }

    /// errno; `None` if no call failed.
    pub fn errno(&self) -> Option<i32> {
        self.errno
    }
}

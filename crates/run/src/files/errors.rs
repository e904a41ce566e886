//! Errors of a job that come from its files or its options.

use model::JobError;
use std::io;
use std::path::Path;

/// An error of a job about one of its files.
pub(crate) fn file_error(operation: &str, path: &Path, source: impl Into<io::Error>, advice: &str) -> JobError {
    let source = source.into();
    JobError {
        errno: sys::files::output_file::errno(&source),
        operation: operation.to_owned(),
        message: format!("{operation} {}: {source}{advice}", path.display()),
        signal: None,
    }
}

/// An error of a job whose options do not fit its files or devices.
pub(crate) fn refusal(errno: i32, operation: &str, message: String) -> JobError {
    JobError { errno, operation: operation.to_owned(), message, signal: None }
}

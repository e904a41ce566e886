//! Files and devices: what they are called, how large they are, how they come to be and how they are opened.

mod guard;
mod layout;
mod lock;
mod names;
mod open;
mod plan;

pub(crate) use guard::Guard;
pub(crate) use layout::{Alone, announce_own, is_laid_out, lay_out, unlink};
pub(crate) use lock::FileLocks;
pub(crate) use open::{OpenFiles, order};
pub(crate) use plan::{FileKind, PlannedFile, clone_index, largest_block, look_at, plan_files};

use model::JobError;
use std::io;
use std::path::Path;

/// An error of a job that is about a file.
pub(crate) fn file_error(operation: &str, path: &Path, source: impl Into<io::Error>, advice: &str) -> JobError {
    let source = source.into();
    JobError {
        errno: sys::aside::errno(&source),
        operation: operation.to_owned(),
        message: format!("{operation} {}: {source}{advice}", path.display()),
        signal: None,
    }
}

/// A job whose words contradict what is there.
pub(crate) fn refusal(errno: i32, operation: &str, message: String) -> JobError {
    JobError { errno, operation: operation.to_owned(), message, signal: None }
}

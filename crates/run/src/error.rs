//! Errors that prevent a whole run, and errors of one job, which are in that job's result.

use model::JobError;
use plan::JobPlan;
use std::fmt::Display;
use std::io;
use std::path::Path;

/// A run that could not take place.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The plan asks for something that the caller forbade, or that this version cannot do.
    #[error("job `{job}` ({origin}): {what}")]
    Unsupported {
        /// Name of the job.
        job: String,
        /// File and line of the job.
        origin: String,
        /// The unsupported request, and what would work.
        what: String,
    },
    /// The kernel refused memory, a process or a thread.
    #[error("cannot start the workers: {0}")]
    Workers(#[from] sys::SysError),
    /// The run was ended by force while a job's files were laid out, and the layout is in a system call that cannot be
    /// interrupted.
    #[error(
        "job `{job}`: left in the kernel: the layout of its files {}; its I/O does not complete, and nothing \
         can end it before. No job had begun",
        thread.map(|thread| format!(" (thread {thread})")).unwrap_or_default()
    )]
    LayoutAbandoned {
        /// Name of the job.
        job: String,
        /// Thread id of the thread that lays out its files.
        thread: Option<u32>,
    },
    /// A thread could not be started.
    #[error("cannot start a worker's thread: {0}")]
    Thread(std::io::Error),
}

/// An error of a job about one of its files.
pub(crate) fn file_error(operation: &str, path: &Path, source: impl Into<io::Error>, advice: &str) -> JobError {
    let source = source.into();
    let message = format!("{operation} {}: {source}{advice}", path.display());
    refusal(sys::files::output_file::errno(&source), operation, message)
}

/// An error of a job whose options do not fit its files or devices.
pub(crate) fn refusal(errno: i32, operation: &str, message: String) -> JobError {
    JobError { errno, operation: operation.to_owned(), message, signal: None }
}

/// The same; the message begins with the job's name, and the file and line of its section.
pub(crate) fn job_refusal(job: &JobPlan, errno: i32, operation: &str, what: impl Display) -> JobError {
    refusal(errno, operation, format!("job `{}` ({}): {what}", job.name, job.origin))
}

//! Errors that prevent a whole run. Errors of one job are in that job's result.

/// A run that could not take place.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The plan writes, and the caller forbade it.
    #[error("job `{job}` ({origin}): it would write, and --readonly forbids that")]
    ReadOnly {
        /// Name of the job.
        job: String,
        /// File and line of the job.
        origin: String,
    },
    /// The plan asks for something this version cannot do.
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
    LayoutLeft {
        /// Name of the job.
        job: String,
        /// Thread id of the thread that lays out its files.
        thread: Option<u32>,
    },
    /// A thread could not be started.
    #[error("cannot start a worker's thread: {0}")]
    Thread(std::io::Error),
}

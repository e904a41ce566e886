//! Why a plan could not be run at all. What goes wrong inside one job is in that job's result.

/// A run that could not take place.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The plan writes, and the caller forbade it.
    #[error("job `{job}` ({origin}): it would write, and --readonly forbids that")]
    ReadOnly {
        /// The job.
        job: String,
        /// Where it was written.
        origin: String,
    },
    /// The plan asks for something this version cannot do.
    #[error("job `{job}` ({origin}): {what}")]
    Unsupported {
        /// The job.
        job: String,
        /// Where it was written.
        origin: String,
        /// What it asks for, and what would work.
        what: String,
    },
    /// The kernel refused memory, a process or a thread.
    #[error("cannot start the workers: {0}")]
    Workers(#[from] sys::SysError),
    /// The run was ended by force while a job's files were made, and nothing can end that.
    #[error(
        "job `{job}`: left in the kernel: the layout of its files (thread {thread}); its I/O does not come back, and nothing \
         can end it before. No job had begun"
    )]
    LayoutLeft {
        /// The job.
        job: String,
        /// The thread that makes its files.
        thread: u32,
    },
    /// A thread could not be started.
    #[error("cannot start a worker's thread: {0}")]
    Thread(std::io::Error),
}

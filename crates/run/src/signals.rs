//! External requests: SIGINT and SIGTERM end the run, SIGUSR1 asks for a report.

use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;
use sys::SysError;
use sys::processes::process::{INTERRUPT, TERMINATE};
use sys::processes::signals::{Blocked, ReportRequests, Watch, block, with_flag};

const REQUESTS: [i32; 3] = [INTERRUPT, TERMINATE, libc::SIGUSR1];

/// The requests received since the run began. Dropping it restores the previous signal handlers.
#[derive(Debug)]
pub(crate) struct Signals {
    watch: Watch,
    reports: ReportRequests,
    first: OnceLock<i32>,
}

impl Signals {
    /// Installs the handlers.
    pub(crate) fn install() -> Result<Self, SysError> {
        Ok(Signals { watch: Watch::begin()?, reports: ReportRequests::begin()?, first: OnceLock::new() })
    }

    /// The first signal that ends the run, if one arrived.
    pub(crate) fn received(&self) -> Option<i32> {
        if let (None, Some(caught)) = (self.first.get(), self.watch.caught()) {
            let _ = self.first.set(caught);
        }
        self.first.get().copied()
    }

    /// Returns true if a report was requested since the last call.
    pub(crate) fn report_wanted(&self) -> bool {
        self.reports.take()
    }

    /// Number of signals that end the run.
    pub(crate) fn count(&self) -> u32 {
        self.watch.count()
    }
}

/// Installs handlers in a worker's process that set these bits in `flag`, for the duration of `work`.
pub(crate) fn with_signal_bits<R>(flag: &AtomicU32, bits: u32, work: impl FnOnce() -> R) -> Result<R, SysError> {
    with_flag(&REQUESTS, flag, bits, work)
}

/// Blocks the signals in a worker's thread while the guard lives, so that the main thread gets them.
pub(crate) fn block_in_thread() -> Result<Blocked, SysError> {
    block(&REQUESTS)
}

//! Requests from outside: SIGINT and SIGTERM to end, SIGUSR1 to report.

use std::sync::atomic::AtomicU32;
use sys::SysError;
use sys::process::{INTERRUPT, TERMINATE};
use sys::signals::{Blocked, ReportRequests, Watch, block, with_flag};

const REQUESTS: [i32; 3] = [INTERRUPT, TERMINATE, libc::SIGUSR1];

/// The requests that came in since the run began. When this is dropped, the signals do again what they did before.
#[derive(Debug)]
pub(crate) struct Signals {
    watch: Watch,
    reports: ReportRequests,
    first: std::cell::Cell<Option<i32>>,
}

impl Signals {
    /// Starts to notice them.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn watch() -> Result<Self, SysError> {
        Ok(Signals { watch: Watch::begin()?, reports: ReportRequests::begin()?, first: std::cell::Cell::new(None) })
    }

    /// The first that was seen, if one came.
    pub(crate) fn received(&self) -> Option<i32> {
        if self.first.get().is_none() {
            self.first.set(self.watch.caught());
        }
        self.first.get()
    }

    /// Whether a report was asked for since the last call.
    pub(crate) fn report_wanted(&self) -> bool {
        self.reports.take()
    }

    /// How many came.
    pub(crate) fn count(&self) -> u32 {
        self.watch.count()
    }
}

/// In a worker's process: they set these bits in `flag` while `work` lasts.
///
/// # Errors
/// When the kernel refuses.
pub(crate) fn noticed_in<R>(flag: &AtomicU32, bits: u32, work: impl FnOnce() -> R) -> Result<R, SysError> {
    with_flag(&REQUESTS, flag, bits, work)
}

/// In a worker's thread: they are the main thread's, as long as the guard lives.
///
/// # Errors
/// When the kernel refuses.
pub(crate) fn leave_to_main_thread() -> Result<Blocked, SysError> {
    block(&REQUESTS)
}

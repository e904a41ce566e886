//! Requests to end from outside: SIGINT and SIGTERM.

use sys::SysError;
use sys::process::{INTERRUPT, TERMINATE};
use sys::signals;

const REQUESTS: [i32; 2] = [INTERRUPT, TERMINATE];

/// The requests that came in since the run began. When this is dropped, the signals end the process again.
#[derive(Debug)]
pub(crate) struct Signals;

impl Signals {
    /// Starts to notice them.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn watch() -> Result<Self, SysError> {
        signals::forget();
        signals::watch(&REQUESTS)?;
        Ok(Signals)
    }

    /// The first that came, if one did.
    pub(crate) fn received(&self) -> Option<i32> {
        signals::first()
    }

    /// How many came.
    pub(crate) fn count(&self) -> u32 {
        signals::count()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // It worked when they were watched; the numbers are the same.
        let _ = signals::restore(&REQUESTS);
    }
}

/// In a worker's process: they are the parent's to act upon, also when a terminal sends them to everyone.
///
/// # Errors
/// When the kernel refuses.
pub(crate) fn leave_to_parent() -> Result<(), SysError> {
    signals::ignore(&REQUESTS)
}

/// In a worker's thread: they are the main thread's, as long as the guard lives.
///
/// # Errors
/// When the kernel refuses.
pub(crate) fn leave_to_main_thread() -> Result<signals::Blocked, SysError> {
    signals::block(&REQUESTS)
}

//! Requests to end from outside: SIGINT and SIGTERM.

use sys::SysError;

/// The signals that came in since the run began.
#[derive(Debug)]
pub(crate) struct Signals {
    first: Option<i32>,
    count: u32,
}

impl Signals {
    /// Starts to catch them.
    pub(crate) fn watch() -> Result<Self, SysError> {
        Ok(Signals { first: None, count: 0 })
    }

    /// The first that came, if one did.
    pub(crate) fn received(&mut self) -> Option<i32> {
        self.first
    }

    /// How many came.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }
}

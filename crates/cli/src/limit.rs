//! The line that says what held a run back, and who wants to read it.

use model::{LimitedBy, RunResult};
use std::io::IsTerminal;

/// Whether remarks go to standard error: where a person reads it, or as `PLUMB_REMARKS` says.
pub(crate) fn remarks_are_wanted() -> bool {
    match std::env::var("PLUMB_REMARKS").as_deref() {
        Ok("always") => true,
        Ok("never") => false,
        _ => std::io::stderr().is_terminal(),
    }
}

/// `limited by the device (99 %): sda was at work …`.
pub(crate) fn line(limited_by: &LimitedBy) -> String {
    format!("limited by {} ({:.0} %): {}", limited_by.limiter.title(), limited_by.share_percent, limited_by.sentence)
}

/// The line of a result; `None` where nothing stood out.
pub(crate) fn line_of(result: &RunResult) -> Option<String> {
    result.limited_by.as_ref().map(line)
}

//! The line with the limiting resource of a run, and when it is printed.

use model::{LimitedBy, RunResult};
use std::io::IsTerminal;

/// Returns true if remarks go to standard error: if it is a terminal, or as the environment variable `PLUMB_REMARKS`
/// says.
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

/// Returns the line of a result; `None` if no resource was the limit.
pub(crate) fn line_of(result: &RunResult) -> Option<String> {
    result.limited_by.as_ref().map(line)
}

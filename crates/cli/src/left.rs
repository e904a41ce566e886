//! Workers that are stuck in the kernel when a run is ended by force: what a person is told, and the end of it all.

use formats::printable;
use model::RunResult;
use std::io::Write;

/// Names them on standard error, keeps what was found, and ends this process without another look at the device: whatever is
/// tidied up there would be stuck as well.
#[expect(clippy::exit, reason = "whoever returned would wait for the device")]
pub(crate) fn behind(result: &RunResult, keep: impl FnOnce()) -> ! {
    for error in result.jobs.iter().filter_map(|job| job.error.as_ref()) {
        say(&error.message);
    }
    say("what was made on the target stays there");
    keep();
    std::process::exit(result.ended_by_signal.map_or(1, |signal| 128 + signal))
}

/// A line more about it.
pub(crate) fn say(text: &str) {
    // Whoever closed standard error does not want to read it.
    let _ = writeln!(std::io::stderr(), "plumb: {}", printable::lines(text));
}

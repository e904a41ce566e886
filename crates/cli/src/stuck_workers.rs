//! The end of a run whose workers are blocked in uninterruptible I/O: messages, the partial result, and exit.

use formats::printable;
use model::RunResult;
use std::io::Write;

/// Reports the stuck workers on standard error, saves the partial result and exits. The target is not touched again:
/// cleaning up there would block on the same device.
#[expect(clippy::exit, reason = "a caller would wait for the device")]
pub(crate) fn report_stuck(result: &RunResult, keep: impl FnOnce()) -> ! {
    for error in result.jobs.iter().filter_map(|job| job.error.as_ref()) {
        print_line(&error.message);
    }
    print_line("what was made on the target stays there");
    keep();
    std::process::exit(result.ended_by_signal.map_or(1, |signal| 128 + signal))
}

/// Prints one line to standard error.
pub(crate) fn print_line(text: &str) {
    // Errors are ignored: standard error may be closed.
    let _ = writeln!(std::io::stderr(), "plumb: {}", printable::lines(text));
}

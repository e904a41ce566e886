//! The end of a run whose workers are blocked in uninterruptible I/O: messages, the partial result, and exit.

use crate::output::print_error;
use model::RunResult;

/// Reports the stuck workers on standard error, saves the partial result and exits. The target is not touched again:
/// cleaning up there would block on the same device.
#[expect(clippy::exit, reason = "a caller would wait for the device")]
pub fn report_stuck(result: &RunResult, keep: impl FnOnce()) -> ! {
    for error in result.jobs.iter().filter_map(|job| job.error.as_ref()) {
        print_error(&format!("plumb: {}", error.message));
    }
    print_error("plumb: files on the target are not removed");
    keep();
    std::process::exit(result.ended_by_signal.map_or(1, |signal| 128 + signal))
}

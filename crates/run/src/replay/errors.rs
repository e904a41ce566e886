//! Errors of a job about the I/O logs and traces it replays.

use crate::files::refusal;
use model::JobError;
use plan::JobPlan;

/// An error of a job about its I/O log.
pub(super) fn wrong(job: &JobPlan, errno: i32, message: &str) -> JobError {
    refusal(errno, "read_iolog", format!("job `{}` ({}): {message}", job.name, job.origin))
}

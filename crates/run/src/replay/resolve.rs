//! Reads the I/O logs of all jobs once, and adapts the plan of each job that replays one.

use super::log_contents::{self, ReplayLog, greatest_common};
use super::traces;
use crate::error::job_refusal;
use measure::{Direction, PerDirection};
use model::JobError;
use plan::Plan;
use plan::{BlockSize, JobPlan, Mix, VerifyMethod};
use std::path::Path;

/// The logs that each job replays: one entry per job, `None` for jobs that generate their I/Os.
pub(crate) type Replays = Vec<Option<Result<Vec<ReplayLog>, JobError>>>;

/// Reads the I/O logs of all jobs; `None` if no job replays one. The returned plan has the directions and block sizes
/// of the logs.
pub(crate) fn resolve(plan: &Plan, root: &Path) -> Option<(Plan, Replays)> {
    if plan.jobs.iter().all(|job| job.replay.is_none()) {
        return None;
    }
    let mut plan = plan.clone();
    let replays = plan.jobs.iter_mut().map(|job| resolve_job(job, root)).collect();
    Some((plan, replays))
}

fn resolve_job(job: &mut JobPlan, root: &Path) -> Option<Result<Vec<ReplayLog>, JobError>> {
    let replay = job.replay.clone()?;
    let logs = match &replay.merge {
        None => replay.logs.clone(),
        Some(merge) => match traces::merge_job(job, &replay, merge) {
            Ok(_) => vec![merge.file.clone()],
            Err(error) => return Some(Err(error)),
        },
    };
    let replayed = log_contents::read_logs(job, &replay, &logs, root);
    Some(replayed.and_then(|workers| take_over(job, &workers).map(|()| workers)))
}

/// The smallest write, in bytes, that has room for every verify header.
const ROOM_FOR_HEADER: u32 = 256;

/// Sets directions, block size and verify interval of a replaying job from its logs.
///
/// # Errors
/// If the job verifies, and a recorded write is too small for a header.
fn take_over(job: &mut JobPlan, workers: &[ReplayLog]) -> Result<(), JobError> {
    let moves = |direction: Direction| workers.iter().any(|worker| worker.moves[direction]);
    let largest = workers.iter().map(|worker| worker.largest).max().unwrap_or(0).max(1);
    job.load.mix = match Direction::ALL.map(moves) {
        [_, false, false] => Mix::Only(Direction::Read),
        [false, true, false] => Mix::Only(Direction::Write),
        [false, false, true] => Mix::Only(Direction::Trim),
        _ => Mix::ReadWrite,
    };
    job.load.block_size = PerDirection::all(BlockSize::Fixed(largest));
    let Some(verify) = &mut job.verify else { return Ok(()) };
    // Headers are placed at a common divisor of all writes, so that every write begins with one.
    let step = workers.iter().fold(0, |step, worker| greatest_common(step, worker.step));
    if step > 0 && step != largest && verify.interval.is_none_or(|interval| step % interval != 0) {
        verify.interval = Some(step);
    }
    let room = verify.interval.or(workers.iter().filter_map(|worker| worker.smallest_write).min());
    match room
        .filter(|&room| room < ROOM_FOR_HEADER && !matches!(verify.method, VerifyMethod::Pattern | VerifyMethod::Null))
    {
        Some(room) => {
            let what = format!(
                "verify puts headers into what is written, and the record writes in steps of {room} bytes; use \
                 verify=pattern"
            );
            Err(job_refusal(job, libc::EINVAL, "read_iolog", what))
        }
        None => Ok(()),
    }
}

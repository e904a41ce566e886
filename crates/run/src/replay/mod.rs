//! Replay: which records a job reads, which files they lead to, and the way from their lines to the load.
//!
//! Before anything starts every record is read through once: what is wrong in it is told before the first I/O, and
//! the files, the sizes of buffers and the directions follow from it. Nothing of a record's length is kept in memory.

mod player;
mod recorder;
mod source;
mod survey;
mod traces;

pub(crate) use player::Player;
pub(crate) use recorder::Recorder;
pub(crate) use survey::Replayed;
pub use traces::merge_traces;

use crate::files::refusal;
use job::Plan;
use job::plan::{BlockSize, JobPlan, Mix, VerifyMethod};
use measure::{Direction, PerDirection};
use model::JobError;
use std::path::Path;
use survey::greatest_common;

/// What each job replays: one entry per job, `None` for those that draw their I/Os.
pub(crate) type Replays = Vec<Option<Result<Vec<Replayed>, JobError>>>;

/// Reads the records of all jobs; `None` when no job replays anything. The plan that comes back says of each replay
/// what it moves.
pub(crate) fn resolve(plan: &Plan, root: &Path) -> Option<(Plan, Replays)> {
    if plan.jobs.iter().all(|job| job.replay.is_none()) {
        return None;
    }
    let mut plan = plan.clone();
    let replays = plan.jobs.iter_mut().map(|job| resolve_job(job, root)).collect();
    Some((plan, replays))
}

fn resolve_job(job: &mut JobPlan, root: &Path) -> Option<Result<Vec<Replayed>, JobError>> {
    let replay = job.replay.clone()?;
    let logs = match &replay.merge {
        None => replay.logs.clone(),
        Some(merge) => match traces::merge_job(job, &replay, merge) {
            Ok(_) => vec![merge.file.clone()],
            Err(error) => return Some(Err(error)),
        },
    };
    let replayed = survey::survey(job, &replay, &logs, root);
    Some(replayed.and_then(|workers| take_over(job, &workers).map(|()| workers)))
}

/// A write of so many bytes has room for every header of verify.
const ROOM_FOR_HEADER: u32 = 256;

/// The plan of a replay moves what its records move.
///
/// # Errors
/// When the job verifies, and a recorded write is too small for that.
fn take_over(job: &mut JobPlan, workers: &[Replayed]) -> Result<(), JobError> {
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
    // Headers lie so that every write begins with one.
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
            Err(wrong(job, libc::EINVAL, &what))
        }
        None => Ok(()),
    }
}

/// An error of a job about its records.
fn wrong(job: &JobPlan, errno: i32, message: &str) -> JobError {
    refusal(errno, "read_iolog", format!("job `{}` ({}): {message}", job.name, job.origin))
}

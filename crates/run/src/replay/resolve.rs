//! Reads the I/O logs of all jobs once, and adapts the plan of each job that replays one.

use super::log_contents;
use super::log_contents::{ReplayLog, greatest_common};
use super::source::Source;
use crate::error::{file_error, job_refusal};
use formats::FormatError;
use formats::iolog::{Trace, merge};
use measure::{Direction, PerDirection};
use model::JobError;
use plan::{BlockSize, JobPlan, MergePlan, Mix, Plan, ReplayPlan, VerifyMethod};
use std::io::BufWriter;
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
        Some(merge) => match merge_job(job, &replay, merge) {
            Ok(_) => vec![merge.file.clone()],
            Err(error) => return Some(Err(error)),
        },
    };
    let replayed = log_contents::read_logs(job, &replay, &logs, root);
    Some(replayed.and_then(|workers| take_over(job, &workers).map(|()| workers)))
}

/// The smallest write, in bytes, that has room for every verify header.
const ROOM_FOR_HEADER: u32 = 256;

/// Sets directions, block size and verify interval of a replaying job from its logs. Fails if the job verifies, and a
/// recorded write is too small for a header.
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

/// Merges the traces of every job that asks for it; returns the number of I/Os in each merged trace.
///
/// # Errors
/// If a trace is damaged, or a merged one cannot be written.
pub fn merge_traces(plan: &Plan) -> Result<Vec<u64>, JobError> {
    let mut counts = Vec::new();
    for job in &plan.jobs {
        if let Some(replay) = &job.replay
            && let Some(plan) = &replay.merge
        {
            counts.push(merge_job(job, replay, plan)?);
        }
    }
    Ok(counts)
}

/// Merges the traces of one job; returns the number of I/Os in the merged one.
fn merge_job(job: &JobPlan, replay: &ReplayPlan, plan: &MergePlan) -> Result<u64, JobError> {
    let mut traces = Vec::with_capacity(replay.logs.len());
    for (index, log) in replay.logs.iter().enumerate() {
        let source = Source::open(job, log)?;
        if log == &plan.file {
            let message = format!("merge_blktrace_file={} is one of the traces to be merged", log.display());
            return Err(job_refusal(job, libc::EINVAL, "read_iolog", message));
        }
        traces.push(Trace {
            name: source.name.clone(),
            open: Box::new(move || Ok(Box::new(source.read()))),
            scalar: plan.scalars.get(index).copied().unwrap_or(100.0),
            rounds: plan.rounds.get(index).copied().unwrap_or(1),
        });
    }
    let not_written = |error| file_error("merge_blktrace_file", &plan.file, error, "");
    let mut out = BufWriter::new(sys::files::output_file::create(&plan.file).map_err(not_written)?);
    merge(&traces, &mut out).map_err(|error| match error {
        FormatError::Io(error) => not_written(error),
        error => job_refusal(job, error.errno(), "read_iolog", error),
    })
}

//! The state files of verify jobs: read before the first I/O, written after the last.

use crate::error::{file_error, refusal};
use load::verify::state::{Order, State};
use model::JobError;
use plan::JobPlan;
use std::path::PathBuf;

/// Size limit of a state file in bytes: far more than the deepest job writes.
const LARGEST: u64 = 64 << 20;

/// The saved writes of an earlier run of this job, if the job asks for them (`verify_state_load`).
///
/// # Errors
/// If there is no such file, or if it cannot be used.
pub(crate) fn load(job: &JobPlan, number: u32) -> Result<Option<State>, JobError> {
    if !job.verify.as_ref().is_some_and(|plan| plan.state_load) {
        return Ok(None);
    }
    let name = State::file_name(&job.name, u64::from(number) - 1);
    let advice =
        " (verify_state_load reads what a job of this name and number left in the current directory or --aux-path)";
    let name = path(job, &name);
    let bytes =
        sys::files::read_limited::read(&name, LARGEST).map_err(|error| file_error("read", &name, error, advice))?;
    let wrong = |what: String| refusal(libc::EINVAL, "read", format!("state file {}: {what}", name.display()));
    let state = State::from_bytes(&bytes).map_err(|error| wrong(error.to_string()))?;
    match state.order {
        Order::Foreign if job.load.random => {
            Err(wrong("fio drew the random order of its writes, and plumb draws another from the same seed".to_owned()))
        }
        Order::Ours(seed) if job.load.random && Some(seed) != job.load.seed => {
            Err(wrong(format!("its writes were drawn from the seed {seed}; give randseed={seed}")))
        }
        _ => Ok(Some(state)),
    }
}

/// The path of a state file with this name: in the directory of `--aux-path`, or in the current directory.
pub(crate) fn path(job: &JobPlan, name: &str) -> PathBuf {
    job.record.states_in.as_ref().map_or_else(|| PathBuf::from(name), |folder| folder.join(name))
}

/// The state of this worker, without its writes.
pub(crate) fn describe(job: &JobPlan, number: u32) -> State {
    let seed = job.load.seed.unwrap_or(0);
    State {
        index: u64::from(number) - 1,
        name: job.name.clone(),
        depth: job.depth.depth,
        order: if job.load.random { Order::Ours(seed) } else { Order::Sequential },
        ..State::default()
    }
}

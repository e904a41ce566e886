//! Capabilities of a job's engine, looked up by its name.

use plan::option::Effect;
use plan::{Capabilities, EngineSpec, JobPlan, Submission};

/// The table entry of the job's engine; `None` for an unknown name.
pub(crate) fn spec(job: &JobPlan) -> Option<&'static EngineSpec> {
    engine::spec(job.engine)
}

fn capabilities(job: &JobPlan) -> Option<&'static Capabilities> {
    spec(job).map(|engine| &engine.capabilities)
}

/// True if an option that the job gives to its engine has this effect.
pub(crate) fn has(job: &JobPlan, effect: Effect) -> bool {
    spec(job).is_some_and(|engine| engine.has(effect, &job.engine_options))
}

/// True if the job's engine does I/O on files.
pub(crate) fn needs_files(job: &JobPlan) -> bool {
    capabilities(job).is_some_and(|capabilities| capabilities.needs_files)
}

/// The depth that the job's engine can use: 1 for those that complete each I/O before the next.
pub(crate) fn usable_depth(job: &JobPlan) -> u32 {
    match capabilities(job).map(|capabilities| capabilities.submission) {
        Some(Submission::Synchronous) if !job.depth.offload => 1,
        _ => job.depth.depth,
    }
}

/// True if the job's engine distinguishes submission from completion.
pub(crate) fn is_queued(job: &JobPlan) -> bool {
    if job.depth.offload {
        return false;
    }
    match capabilities(job).map(|capabilities| capabilities.submission) {
        Some(Submission::Asynchronous) => true,
        Some(Submission::ByDepth) => job.depth.depth > 1 || job.shares_threads(),
        Some(Submission::Synchronous) | None => false,
    }
}

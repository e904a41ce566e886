//! Merges the traces of a job into one, before anything is replayed.

use super::source::Source;
use crate::error::{file_error, job_refusal};
use formats::FormatError;
use formats::iolog::{Trace, merge};
use model::JobError;
use plan::Plan;
use plan::{JobPlan, MergePlan, ReplayPlan};
use std::io::BufWriter;

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
pub(super) fn merge_job(job: &JobPlan, replay: &ReplayPlan, plan: &MergePlan) -> Result<u64, JobError> {
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

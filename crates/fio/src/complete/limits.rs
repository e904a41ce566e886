//! When a job ends, and which errors it continues after.

use super::{Findings, about};
use crate::draft::Draft;
use plan::{ContinueOnError, EngineSpec, Limits, Work};

/// Builds the limits of a draft.
pub(super) fn plan(draft: &Draft) -> Limits {
    let limits = &draft.job.limits;
    Limits {
        time_based: limits.time_based && limits.runtime.is_some(),
        continue_on_error: forgiving(draft),
        ..limits.clone()
    }
}

/// The error classes after which the job continues. A class with listed errors (`ignore_error`) is included; verify
/// errors never are with `verify_fatal`.
fn forgiving(draft: &Draft) -> ContinueOnError {
    let (asked, listed) = (draft.job.limits.continue_on_error, &draft.job.limits.ignored);
    ContinueOnError {
        read: asked.read || !listed.read.is_empty(),
        write: asked.write || !listed.write.is_empty(),
        verify: (asked.verify || !listed.verify.is_empty()) && !draft.verify.plan.fatal,
    }
}

/// Rejects or warns about limits that exclude each other or have no effect.
pub(super) fn check(draft: &Draft, engine: &EngineSpec, findings: &mut Findings<'_>) {
    let limits = &draft.job.limits;
    if limits.time_based && limits.runtime.is_none() {
        let help = Some("set runtime, or leave time_based out".to_owned());
        findings.doubts.push(about(draft, &["time_based"], "time_based without runtime has no effect", help));
    }
    if limits.ramp_bytes > 0 && !limits.ramp.is_zero() {
        let help = Some("give one of the two".to_owned());
        let what = "ramp_time and ramp_size exclude each other";
        findings.problems.push(about(draft, &["ramp_time", "ramp_size"], what, help));
    }
    if limits.ramp_bytes > 0 && engine.capabilities.work == Work::Background {
        let what = format!("engine {} moves no bytes, and a ramp of bytes would never end", engine.name);
        findings.problems.push(about(draft, &["ramp_size", "ioengine"], what, Some("give ramp_time".to_owned())));
    }
}

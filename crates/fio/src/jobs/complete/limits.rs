//! When a job ends, and which errors it continues after.

use super::Findings;
use crate::options::draft::Draft;
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
        findings.warn(
            &["time_based"],
            "time_based without runtime has no effect",
            "set runtime, or leave time_based out",
        );
    }
    if limits.ramp_bytes > 0 && !limits.ramp.is_zero() {
        let what = "ramp_time and ramp_size exclude each other";
        findings.reject(&["ramp_time", "ramp_size"], what, "give one of the two");
    }
    if limits.ramp_bytes > 0 && engine.capabilities.work == Work::Background {
        let what = format!("engine {} moves no bytes, and a ramp of bytes would never end", engine.name);
        findings.reject(&["ramp_size", "ioengine"], what, "give ramp_time");
    }
}

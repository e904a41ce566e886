//! When a job ends: limits, a latency target, a steady state; and which errors it continues after.

use super::Findings;
use crate::options::draft::Draft;
use measure::Nanos;
use plan::{ContinueOnError, EngineSpec, LatencyPlan, Limits, SteadyPlan, Work};

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

/// Window of each step of a latency search if `latency_window` is not set.
const LATENCY_WINDOW: Nanos = Nanos::SECOND;

/// Builds the latency plan: a limit per I/O, or a search for the depth that meets a target.
pub(super) fn latency(draft: &Draft) -> LatencyPlan {
    let window = if draft.job.latency.window.is_zero() { LATENCY_WINDOW } else { draft.job.latency.window };
    match draft.job.latency.target {
        Some(_) => LatencyPlan { window, ..draft.job.latency.clone() },
        None => draft.job.latency.clone(),
    }
}

/// Warns about a search without a window.
pub(super) fn check_latency(draft: &Draft, findings: &mut Findings<'_>) {
    if draft.job.latency.target.is_some() && draft.job.latency.window.is_zero() {
        let what = "latency_target without latency_window: each step of the search lasts a second";
        findings.warn(&["latency_target"], what, "set latency_window");
    }
}

/// Builds the plan for steady-state detection; `None` if it is off.
pub(super) fn steady(draft: &Draft, findings: &mut Findings<'_>) -> Option<SteadyPlan> {
    let steady = &draft.steady;
    if steady.duration.is_zero() {
        if draft.given("steadystate") {
            let what = "steadystate without steadystate_duration has no effect";
            findings.warn(&["steadystate"], what, "set steadystate_duration, like 30s");
        }
        return None;
    }
    let options = ["steadystate_duration", "steadystate_check_interval"];
    if !steady.duration.get().is_multiple_of(steady.interval.get()) {
        let what = "steadystate_duration is not a multiple of steadystate_check_interval";
        findings.reject(&options, what, "make the duration a multiple of the interval");
    }
    if steady.intervals() as u64 > SteadyPlan::MOST_INTERVALS {
        let what = format!("the window has {} samples; {} is the most", steady.intervals(), SteadyPlan::MOST_INTERVALS);
        findings.reject(&options, what, "make steadystate_check_interval longer");
    }
    Some(*steady)
}

//! Steady-state detection that ends a job.

use super::Findings;
use crate::options::draft::Draft;
use plan::SteadyPlan;

/// Builds the plan for steady-state detection; `None` if it is off.
pub(super) fn plan(draft: &Draft, findings: &mut Findings<'_>) -> Option<SteadyPlan> {
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

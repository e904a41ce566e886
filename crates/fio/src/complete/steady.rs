//! Steady-state detection that ends a job.

use super::{Findings, about};
use crate::draft::Draft;
use plan::SteadyPlan;

/// Builds the plan for steady-state detection; `None` if it is off.
pub(super) fn plan(draft: &Draft, findings: &mut Findings<'_>) -> Option<SteadyPlan> {
    let steady = &draft.steady;
    if steady.duration.is_zero() {
        if draft.given("steadystate") {
            let what = "steadystate without steadystate_duration has no effect";
            let help = Some("set steadystate_duration, like 30s".to_owned());
            findings.doubts.push(about(draft, &["steadystate"], what, help));
        }
        return None;
    }
    let options = ["steadystate_duration", "steadystate_check_interval"];
    if !steady.duration.get().is_multiple_of(steady.interval.get()) {
        let help = Some("make the duration a multiple of the interval".to_owned());
        let what = "steadystate_duration is no multiple of steadystate_check_interval";
        findings.problems.push(about(draft, &options, what, help));
    }
    if steady.intervals() as u64 > SteadyPlan::MOST_INTERVALS {
        let what =
            format!("this is a window of {} samples; {} is the most", steady.intervals(), SteadyPlan::MOST_INTERVALS);
        let help = Some("make steadystate_check_interval longer".to_owned());
        findings.problems.push(about(draft, &options, what, help));
    }
    Some(*steady)
}

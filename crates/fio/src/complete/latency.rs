//! Latency targets of a job.

use super::{Findings, about};
use crate::draft::Draft;
use measure::Nanos;
use plan::LatencyPlan;

/// Window of each step of a latency search if `latency_window` is not set.
const WINDOW: Nanos = Nanos::SECOND;

/// Builds the latency plan: a limit per I/O, or a search for the depth that meets a target.
pub(super) fn plan(draft: &Draft) -> LatencyPlan {
    let window = if draft.job.latency.window.is_zero() { WINDOW } else { draft.job.latency.window };
    match draft.job.latency.target {
        Some(_) => LatencyPlan { window, ..draft.job.latency.clone() },
        None => draft.job.latency.clone(),
    }
}

/// Warns about a search without a window.
pub(super) fn check(draft: &Draft, findings: &mut Findings<'_>) {
    if draft.job.latency.target.is_some() && draft.job.latency.window.is_zero() {
        let what = "latency_target without latency_window: each step of the search lasts a second";
        findings.doubts.push(about(draft, &["latency_target"], what, Some("set latency_window".to_owned())));
    }
}

//! Where and with which priority the workers of a job run.

use super::{Findings, about};
use crate::draft::Draft;
use plan::{CgroupPlan, PlacePlan};

/// Builds the place plan of a draft's workers.
pub(super) fn plan(draft: &Draft) -> PlacePlan {
    let place = &draft.job.place;
    // A level or a hint without a class applies to best effort, IOPRIO_CLASS_BE (2) of ioprio_set(2).
    let io_priority = match (draft.place.io_class, draft.place.io_level) {
        (None, None) => place.io_priority.or((place.io_hint > 0).then_some((2, 0))),
        (class, level) => Some((class.unwrap_or(2), level.unwrap_or(0))),
    };
    PlacePlan {
        io_priority,
        cgroup: if draft.given("cgroup") { Some(draft.place.cgroup.clone()) } else { place.cgroup.clone() },
        ..place.clone()
    }
}

/// Warns about cgroup options without `cgroup`.
pub(super) fn check(draft: &Draft, findings: &mut Findings<'_>) {
    if !draft.given("cgroup") && draft.place.cgroup != CgroupPlan::default() {
        let what = "cgroup_weight and cgroup_nodelete have no effect without cgroup";
        findings.doubts.push(about(draft, &["cgroup_weight", "cgroup_nodelete"], what, None));
    }
}

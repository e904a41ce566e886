//! Where and with which priority the workers of a job run.

use super::{Findings, about};
use crate::draft::Draft;
use plan::{CgroupPlan, PlacePlan};

/// Builds the place plan of a draft's workers.
pub(super) fn plan(draft: &Draft) -> PlacePlan {
    let place = &draft.place;
    // A level or a hint without a class applies to best effort, IOPRIO_CLASS_BE (2) of ioprio_set(2).
    let io_priority = match (place.io_class, place.io_level) {
        (None, None) => (place.io_hint > 0).then_some((2, 0)),
        (class, level) => Some((class.unwrap_or(2), level.unwrap_or(0))),
    };
    let cgroup = place.cgroup.clone();
    let (weight, keep) = (place.cgroup_weight, place.cgroup_keep);
    PlacePlan {
        io_priority,
        cgroup: cgroup.map(|name| CgroupPlan { name, weight, keep }),
        cpus: place.cpus.clone(),
        split_cpus: place.split_cpus,
        nice: place.nice,
        lock_memory: place.lock_memory,
        name: place.name.clone(),
        io_hint: place.io_hint,
        nodes: place.nodes.clone(),
        memory: place.memory.clone(),
        user: place.user,
        group: place.group,
        clock: place.clock,
    }
}

/// Warns about cgroup options without `cgroup`.
pub(super) fn check(draft: &Draft, findings: &mut Findings<'_>) {
    if draft.place.cgroup.is_none() && (draft.place.cgroup_weight.is_some() || draft.place.cgroup_keep) {
        let what = "cgroup_weight and cgroup_nodelete have no effect without cgroup";
        findings.doubts.push(about(draft, &["cgroup_weight", "cgroup_nodelete"], what, None));
    }
}

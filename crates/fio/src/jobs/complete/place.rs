//! Where and with which priority the workers of a job run, and which of its clones may take turns on one thread
//! (`jobs_per_thread`).

use super::{Findings, about};
use crate::options::draft::Draft;
use measure::Direction;
use plan::{CgroupPlan, EngineSpec, FileLock, PlacePlan};

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

/// Options with which a job keeps its thread for a while, or needs one to itself; and why.
const ALONE: &[(&str, &str)] = &[
    ("io_submit_mode", "offload starts a thread for each I/O"),
    ("cpus_allowed_policy", "split gives each clone a processor of its list, and a thread is on one"),
    ("thinktime_spin", "a job that spins keeps the thread from the others"),
    ("thinkcycles", "a job that spins keeps the thread from the others"),
    ("verify_async", "a job that waits for verify threads keeps the thread from the others"),
    ("lockfile", "a job that waits for a lock keeps the thread from the one that has it"),
    ("sync_file_range", "it is a call that waits for the device, and keeps the thread from the others"),
    ("trim_percentage", "a trim is a call that waits for the device, and keeps the thread from the others"),
    ("exec_postrun", "a job that waits for its command keeps the thread from the others"),
    ("lockmem", "each clone would lock its part, and a thread locks once"),
];

/// Entries that the largest ring has (IORING_MAX_ENTRIES of io_uring).
const MOST_IN_FLIGHT: u64 = 32_768;

/// Rejects what clones that share a thread cannot do.
pub(super) fn check_sharing(draft: &Draft, engine: &EngineSpec, findings: &mut Findings<'_>) {
    let job = &draft.job;
    if !job.shares_threads() {
        return;
    }
    if !engine.capabilities.shares_queue {
        let able = findings.engines.iter().filter(|engine| engine.capabilities.shares_queue).map(|engine| engine.name);
        let able = able.collect::<Vec<&str>>().join(", ");
        let what = format!(
            "engine {} cannot be shared by the jobs of a thread: its calls keep the thread, or its queue is one job's",
            engine.name
        );
        return findings.reject(&["jobs_per_thread", "ioengine"], what, format!("it works with {able}"));
    }
    let has = |name: &str| match name {
        "io_submit_mode" => job.depth.offload,
        "cpus_allowed_policy" => job.place.split_cpus,
        "thinktime_spin" => !job.pace.think_spin.is_zero(),
        "thinkcycles" => job.pace.think_cycles > 0,
        "verify_async" => draft.verify.plan.threads > 0,
        "lockfile" => job.files.handling.lock != FileLock::None,
        "sync_file_range" => job.load.range_sync.is_some(),
        "trim_percentage" => draft.verify.trim.percent > 0,
        "exec_postrun" => job.start.after.is_some(),
        _ => job.place.lock_memory > 0,
    };
    for (name, why) in ALONE.iter().filter(|(name, _)| has(name)) {
        findings.reject(
            &["jobs_per_thread", name],
            format!("{name} with jobs_per_thread: {why}"),
            "leave one of the two out",
        );
    }
    for name in engine.capabilities.alone_options.iter().filter(|name| job.engine_options.get(name).is_some()) {
        let what = format!(
            "{name} with jobs_per_thread: it says how one job waits, and jobs that share a ring wait in one call"
        );
        findings.reject(&["jobs_per_thread", name], what, "leave one of the two out");
    }
    if job.load.mix.contains(Direction::Trim) && engine.capabilities.needs_files {
        let what = "trims with jobs_per_thread: a trim is a call that waits for the device, and keeps the thread from the others";
        findings.reject(&["jobs_per_thread", "rw"], what, "leave jobs_per_thread out");
    }
    let in_flight = u64::from(job.jobs_per_thread.min(job.clones)) * u64::from(job.depth.depth);
    if in_flight > MOST_IN_FLIGHT {
        let what = format!(
            "jobs_per_thread and iodepth would keep {in_flight} I/Os in one queue; {MOST_IN_FLIGHT} is the most"
        );
        findings.reject(&["jobs_per_thread", "iodepth"], what, "use a smaller jobs_per_thread");
    }
}

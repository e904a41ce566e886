//! Queue depth of a job: I/Os in flight, batches, and whether threads can carry them out (`io_submit_mode=offload`).

use super::Findings;
use crate::options::draft::Draft;
use plan::{DepthPlan, EngineSpec, PlacementChoice, PlacementKind, PlacementPlan, Submission, Work};

/// Builds the depth plan of a draft, with fio's special values resolved: 0 means the depth.
pub(super) fn plan(draft: &Draft, engine: &EngineSpec, findings: &mut Findings<'_>) -> DepthPlan {
    let asked = &draft.job.depth;
    let mut depth = asked.depth;
    if engine.capabilities.submission == Submission::Synchronous && depth > 1 && !asked.offload {
        let what = format!("engine {} does one I/O at a time; iodepth={depth} is capped at 1", engine.name);
        findings.warn(&["iodepth", "ioengine"], what, "use libaio or io_uring for more, or more jobs");
        depth = 1;
    }
    let or_depth = |value: u32| if value == 0 || value > depth { depth } else { value };
    let reap_min = asked.reap_min.min(depth);
    // iodepth_batch_complete_max defaults to the minimum. If both are 0 the job only polls and may reap up to the
    // depth.
    let reap_max = match draft.reap_max.unwrap_or(0).max(reap_min) {
        0 => depth,
        most => most.min(depth),
    };
    DepthPlan {
        depth,
        capped_from: (depth < asked.depth).then_some(asked.depth),
        batch: or_depth(asked.batch),
        reap_min,
        reap_max,
        low: or_depth(draft.low),
        // With a depth of 1 no two I/Os can overlap.
        serialises_overlap: asked.serialises_overlap && depth > 1,
        offload: asked.offload,
    }
}

/// The largest depth with offload, which starts one thread per I/O. Larger values are almost certainly mistakes, and
/// each thread maps a stack: vm.max_map_count (default 65530) limits the threads of a process.
const MOST_OFFLOADED: u32 = 4096;

/// Rejects offload for engines whose I/Os other threads cannot issue: those with virtual time, and those that do not
/// read and write independent blocks.
pub(super) fn check(draft: &Draft, engine: &EngineSpec, findings: &mut Findings<'_>) {
    if !draft.job.depth.offload {
        return;
    }
    if engine.capabilities.virtual_time || !matches!(engine.capabilities.work, Work::Data | Work::Null) {
        let what = format!("engine {} cannot be driven by other threads", engine.name);
        findings.reject(
            &["io_submit_mode", "ioengine"],
            what,
            "io_submit_mode=offload is for engines that read and write files, psync say",
        );
    }
    if draft.job.depth.depth > MOST_OFFLOADED {
        let what = format!(
            "iodepth={} with io_submit_mode=offload would be as many threads; {MOST_OFFLOADED} is the most",
            draft.job.depth.depth
        );
        findings.reject(&["iodepth", "io_submit_mode"], what, "use a smaller iodepth, or several jobs");
    }
    let shared = engine.capabilities.one_queue_options.iter();
    if let Some(name) = shared.copied().find(|name| draft.job.engine_options.get(name).is_some()) {
        let what = format!("{name} is for one queue, and with io_submit_mode=offload each thread has its own");
        findings.reject(&["io_submit_mode", name], what, "leave one of the two out");
    }
}

/// Builds the placement plan of a draft. `dp_scheme` goes before the identifiers.
pub(super) fn placement(draft: &Draft, engine: &EngineSpec, findings: &mut Findings<'_>) -> Option<PlacementPlan> {
    let asked = &draft.placement;
    let kind = asked.kind?;
    if !engine.capabilities.places_writes {
        let what = format!("engine {} cannot tell a device where to place writes", engine.name);
        let help = "use io_uring_cmd with filename=/dev/ng0n1";
        findings.reject(&["dataplacement", "fdp", "ioengine"], what, help);
    }
    if draft.job.depth.offload {
        let what = "placement is for one queue, and with io_submit_mode=offload each thread has its own";
        findings.reject(&["io_submit_mode", "dataplacement", "fdp"], what, "leave one of the two out");
    }
    let choice = match (&asked.scheme, &asked.choice) {
        (Some(file), PlacementChoice::ByOffset(_)) => PlacementChoice::ByOffset(file.clone()),
        (None, PlacementChoice::ByOffset(_)) => {
            findings.reject(&["plid_select"], "plid_select=scheme has no scheme", "give dp_scheme=FILE");
            PlacementChoice::InTurn
        }
        (_, choice) => choice.clone(),
    };
    if kind == PlacementKind::Streams && asked.identifiers.is_empty() && !matches!(choice, PlacementChoice::ByOffset(_))
    {
        findings.reject(&["dataplacement"], "the streams are missing", "give plids=1,2");
    }
    Some(PlacementPlan { kind, identifiers: asked.identifiers.clone(), choice })
}

//! Queue depth of a job: I/Os in flight, batches, and whether threads can carry them out (`io_submit_mode=offload`).

use super::{Findings, about};
use crate::draft::Draft;
use plan::{DepthPlan, EngineSpec, Submission, Work};

/// Builds the depth plan of a draft, with fio's special values resolved: 0 means the depth.
pub(super) fn plan(draft: &Draft, engine: &EngineSpec, findings: &mut Findings<'_>) -> DepthPlan {
    let asked = &draft.job.depth;
    let mut depth = asked.depth;
    if engine.capabilities.submission == Submission::Synchronous && depth > 1 && !asked.offload {
        let what = format!("engine {} does one I/O at a time; iodepth={depth} is capped at 1", engine.name);
        let help = Some("use libaio or io_uring for more, or more jobs".to_owned());
        findings.doubts.push(about(draft, &["iodepth", "ioengine"], what, help));
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
        let help = Some("io_submit_mode=offload is for engines that read and write files, psync say".to_owned());
        findings.problems.push(about(draft, &["io_submit_mode", "ioengine"], what, help));
    }
    if draft.job.depth.depth > MOST_OFFLOADED {
        let what = format!(
            "iodepth={} with io_submit_mode=offload would be as many threads; {MOST_OFFLOADED} is the most",
            draft.job.depth.depth
        );
        let help = Some("use a smaller iodepth, or several jobs".to_owned());
        findings.problems.push(about(draft, &["iodepth", "io_submit_mode"], what, help));
    }
    let shared = engine.capabilities.one_queue_options.iter();
    if let Some(name) = shared.copied().find(|name| draft.job.engine_options.get(name).is_some()) {
        let what = format!("{name} is for one queue, and with io_submit_mode=offload each thread has its own");
        findings.problems.push(about(
            draft,
            &["io_submit_mode", name],
            what,
            Some("leave one of the two out".to_owned()),
        ));
    }
}

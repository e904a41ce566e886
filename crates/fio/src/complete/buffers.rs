//! Buffers of a job: fill, refill and scramble depend on each other.

use super::{Findings, about};
use crate::draft::{BufferDraft, Draft};
use plan::{BufferPlan, Fill, WorkingSet};

/// Builds the buffer plan of a draft.
pub(super) fn plan(draft: &Draft) -> BufferPlan {
    let buffers = &draft.buffers;
    let fill = fill(buffers);
    let varied = (1..100).contains(&buffers.compress_percent) || buffers.dedupe_percent > 0;
    let refill = buffers.refill.unwrap_or(varied) && fill == Fill::Random;
    // Zeros are scrambled only if the job sets scramble_buffers explicitly.
    let wanted = buffers.scramble
        && match fill {
            Fill::Random => true,
            Fill::Zero => draft.given("scramble_buffers") && buffers.compress_percent == 0,
            Fill::Pattern(_) => false,
        };
    BufferPlan {
        fill,
        refill,
        scramble: wanted && !refill,
        compress_percent: buffers.compress_percent,
        compress_chunk: buffers.compress_chunk,
        dedupe_percent: buffers.dedupe_percent,
        working_set: (buffers.dedupe_by_set || buffers.set_shared)
            .then_some(WorkingSet { percent: buffers.set_percent, shared: buffers.set_shared }),
        placed: None,
        memory: buffers.memory.clone(),
        align: buffers.align,
        huge_page: buffers.huge_page,
    }
}

/// The fill of buffers; a pattern takes precedence over zeros.
fn fill(buffers: &BufferDraft) -> Fill {
    match &buffers.pattern {
        Some(bytes) => Fill::Pattern(bytes.clone()),
        None if buffers.zero || buffers.compress_percent == 100 => Fill::Zero,
        None => Fill::Random,
    }
}

/// Rejects a dedupe percentage that cannot be reached. With dedupe_mode=working_set the blocks of the set are
/// themselves unique, so at most 100 % minus the set can repeat.
pub(super) fn check(draft: &Draft, findings: &mut Findings<'_>) {
    let buffers = &draft.buffers;
    let (repeats, set) = (u32::from(buffers.dedupe_percent), u32::from(buffers.set_percent));
    if (buffers.dedupe_by_set || buffers.set_shared) && repeats > 0 && repeats + set > 100 {
        let what = format!("{repeats}% of the blocks cannot repeat others where {set}% are unique as the working set");
        let help = Some(format!("the two may be 100 together: dedupe_percentage={} at most", 100 - set));
        let words = ["dedupe_percentage", "dedupe_working_set_percentage", "dedupe_mode"];
        findings.problems.push(about(draft, &words, what, help));
    }
}

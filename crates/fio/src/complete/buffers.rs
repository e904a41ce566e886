//! Buffers of a job: fill, refill and scramble depend on each other.

use super::{Findings, about};
use crate::draft::Draft;
use plan::{BufferPlan, Fill, WorkingSet};

/// Builds the buffer plan of a draft.
pub(super) fn plan(draft: &Draft) -> BufferPlan {
    let (buffers, asked) = (&draft.job.buffers, &draft.buffers);
    // A pattern takes precedence over zeros.
    let fill = match &buffers.fill {
        Fill::Random if asked.zero || buffers.compress_percent == 100 => Fill::Zero,
        fill => fill.clone(),
    };
    let varied = (1..100).contains(&buffers.compress_percent) || buffers.dedupe_percent > 0;
    let refill = asked.refill.unwrap_or(buffers.refill || varied) && fill == Fill::Random;
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
        working_set: working_set(draft).or(buffers.working_set),
        ..buffers.clone()
    }
}

/// The working set of repeated buffers, if the options ask for one.
fn working_set(draft: &Draft) -> Option<WorkingSet> {
    let asked = &draft.buffers;
    (asked.dedupe_by_set || asked.working_set.shared).then_some(asked.working_set)
}

/// Rejects a dedupe percentage that cannot be reached. With dedupe_mode=working_set the blocks of the set are
/// themselves unique, so at most 100 % minus the set can repeat.
pub(super) fn check(draft: &Draft, findings: &mut Findings<'_>) {
    let Some(set) = working_set(draft).map(|set| u32::from(set.percent)) else { return };
    let repeats = u32::from(draft.job.buffers.dedupe_percent);
    if repeats > 0 && repeats + set > 100 {
        let what = format!("{repeats}% of the blocks cannot repeat others where {set}% are unique as the working set");
        let help = Some(format!("the two may be 100 together: dedupe_percentage={} at most", 100 - set));
        let words = ["dedupe_percentage", "dedupe_working_set_percentage", "dedupe_mode"];
        findings.problems.push(about(draft, &words, what, help));
    }
}

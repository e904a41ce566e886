//! Replay of recorded I/O (`read_iolog`), and the options that it excludes.

use super::{Findings, about};
use crate::draft::Draft;
use plan::{Hold, MergePlan, ReplayPlan, Timing};

/// Builds the replay plan; `None` if the job generates its own I/O.
pub(super) fn plan(draft: &Draft) -> Option<ReplayPlan> {
    let replay = &draft.replay;
    if replay.plan.logs.is_empty() {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the setter takes whole numbers from 1 to a million"
    )]
    let rounds = replay.rounds.iter().map(|&rounds| rounds as u64).collect();
    let merge = |file| MergePlan { file, scalars: replay.scalars.clone(), rounds };
    Some(ReplayPlan {
        hold: if replay.chunked { Hold::Pieces } else { Hold::Ahead },
        timing: if replay.no_stall { Timing::None } else { Timing::Percent(replay.percent) },
        merge: replay.merged.clone().map(merge),
        ..replay.plan.clone()
    })
}

/// Rejects options that contradict a log. The log already sets operations, offsets and times.
pub(super) fn check(draft: &Draft, findings: &mut Findings<'_>) {
    if draft.replay.plan.logs.is_empty() {
        return;
    }
    let pace = &draft.pace;
    let paced = [
        ("rate", pace.rate.iter().any(|(_, &rate)| rate > 0)),
        ("rate_iops", pace.iops.iter().any(|(_, &iops)| iops > 0)),
    ];
    for (name, _) in paced.into_iter().filter(|&(_, given)| given) {
        let what = format!("{name} and read_iolog exclude each other: the record says when each I/O is done");
        let help = Some("leave it out, or use replay_time_scale, or replay_no_stall with thinktime".to_owned());
        findings.problems.push(about(draft, &[name, "read_iolog"], what, help));
    }
    // These options need the writes of a generated sequence, or change it.
    let drawn = ["verify_only", "verify_state_load", "experimental_verify", "trim_percentage"];
    for name in drawn.into_iter().filter(|name| draft.given(name)) {
        let what = format!("{name} and read_iolog exclude each other: what is written is what the record says");
        findings.problems.push(about(draft, &[name, "read_iolog"], what, Some("leave it out".to_owned())));
    }
    let logs = draft.replay.plan.logs.len();
    for (name, given) in
        [("merge_blktrace_scalars", draft.replay.scalars.len()), ("merge_blktrace_iters", draft.replay.rounds.len())]
    {
        if given > logs {
            let what = format!("{name} has {given} values for the {logs} records of read_iolog");
            findings.problems.push(about(draft, &[name, "read_iolog"], what, None));
        }
    }
    let from_input = draft.replay.plan.logs.iter().any(|log| log.as_os_str() == "-");
    if from_input && (logs > 1 || draft.clones > 1) {
        let what = "standard input can be replayed by one worker only";
        let help = Some("give it as the only record of a job without numjobs".to_owned());
        findings.problems.push(about(draft, &["read_iolog", "numjobs"], what, help));
    }
}

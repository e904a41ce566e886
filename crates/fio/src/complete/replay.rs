//! Replay of recorded I/O (`read_iolog`), and the options that it excludes.

use super::{Findings, about};
use crate::draft::Draft;
use plan::{ReplayPlan, Timing};

/// Builds the replay plan; `None` if the job generates its own I/O.
pub(super) fn plan(draft: &Draft) -> Option<ReplayPlan> {
    let replay = &draft.replay;
    if replay.plan.logs.is_empty() {
        return None;
    }
    Some(ReplayPlan {
        timing: if replay.no_stall { Timing::None } else { replay.plan.timing },
        merge: draft.given("merge_blktrace_file").then(|| replay.merge.clone()),
        ..replay.plan.clone()
    })
}

/// Rejects options that contradict a log. The log already sets operations, offsets and times.
pub(super) fn check(draft: &Draft, findings: &mut Findings<'_>) {
    if draft.replay.plan.logs.is_empty() {
        return;
    }
    let pace = &draft.job.pace;
    let paced = [
        ("rate", pace.rate.iter().any(|(_, rate)| rate.is_some())),
        ("rate_iops", pace.iops.iter().any(|(_, iops)| iops.is_some())),
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
    for (name, given) in [
        ("merge_blktrace_scalars", draft.replay.merge.scalars.len()),
        ("merge_blktrace_iters", draft.replay.merge.rounds.len()),
    ] {
        if given > logs {
            let what = format!("{name} has {given} values for the {logs} records of read_iolog");
            findings.problems.push(about(draft, &[name, "read_iolog"], what, None));
        }
    }
    let from_input = draft.replay.plan.logs.iter().any(|log| log.as_os_str() == "-");
    if from_input && (logs > 1 || draft.job.clones > 1) {
        let what = "standard input can be replayed by one worker only";
        let help = Some("give it as the only record of a job without numjobs".to_owned());
        findings.problems.push(about(draft, &["read_iolog", "numjobs"], what, help));
    }
}

//! Pace of a job: rates, think time and flows.

use super::{Findings, about};
use crate::options::draft::Draft;
use measure::{BytesPerSecond, Direction};
use plan::{FlowPlan, PacePlan};

/// Builds the pace plan of a draft; a rate of 0 means no limit.
pub(super) fn plan(draft: &Draft) -> PacePlan {
    let pace = &draft.job.pace;
    // With thinktime_iotime alone, the default of thinktime_blocks must not end the I/O phase early.
    let by_time_alone = !pace.think_io_time.is_zero() && !draft.given("thinktime_blocks");
    PacePlan {
        think_spin: pace.think_spin.min(pace.think),
        think_blocks: if by_time_alone { u64::MAX } else { pace.think_blocks.max(1) },
        flow: (draft.flow.weight > 0).then_some(draft.flow),
        ..pace.clone()
    }
}

/// Rejects rates that exclude each other and warns about options that have no effect.
pub(super) fn check(draft: &Draft, findings: &mut Findings<'_>) {
    let pace = &draft.job.pace;
    if pace.rate.iter().any(|(_, rate)| rate.is_some()) && pace.iops.iter().any(|(_, iops)| iops.is_some()) {
        findings.reject(&["rate", "rate_iops"], "rate and rate_iops exclude each other", "give one of the two");
    }
    for rate in ["rate", "rate_iops"] {
        if !pace.profile.is_empty() && draft.given(rate) {
            let what = format!("{rate} and rate_profile exclude each other");
            findings.reject(&[rate, "rate_profile"], what, "give one of the two");
        }
    }
    if pace.think_spin > pace.think {
        let what = "thinktime_spin is longer than thinktime; it is cut to it";
        findings.doubts.push(about(draft, &["thinktime_spin", "thinktime"], what, None));
    }
    least_rates(draft, findings);
    if draft.flow.weight == 0 && draft.flow != FlowPlan::default() {
        let what = "flow_id and flow_sleep have no effect without flow";
        findings.warn(&["flow_id", "flow_sleep"], what, "give the job a weight with flow=");
    }
}

/// A rate as a number.
fn bytes(rate: Option<BytesPerSecond>) -> Option<u64> {
    rate.map(BytesPerSecond::get)
}

/// Rejects a minimum rate above the rate limit: it can never be met.
fn least_rates(draft: &Draft, findings: &mut Findings<'_>) {
    let pace = &draft.job.pace;
    let pairs = [
        (pace.least_rate.map(bytes), pace.rate.map(bytes), ["rate_min", "rate"]),
        (pace.least_iops, pace.iops, ["rate_iops_min", "rate_iops"]),
    ];
    for (least, most, options) in pairs {
        if Direction::ALL.into_iter().any(|each| most[each].is_some() && least[each] > most[each]) {
            let what = format!("{} is above {}: minimum rate exceeds rate", options[0], options[1]);
            findings.reject(&options, what, "lower the minimum");
        }
    }
}

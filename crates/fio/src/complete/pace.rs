//! Pace of a job: rates, think time and flows.

use super::{Findings, about};
use crate::draft::Draft;
use measure::{BytesPerSecond, Direction, Nanos};
use plan::{FlowPlan, PacePlan};

/// Builds the pace plan of a draft; a rate of 0 means no limit.
pub(super) fn plan(draft: &Draft) -> PacePlan {
    let pace = &draft.pace;
    let positive = |value: u64| (value > 0).then_some(value);
    // With thinktime_iotime alone, the default of thinktime_blocks must not end the I/O phase early.
    let by_time_alone = !pace.think_io_time.is_zero() && !draft.given("thinktime_blocks");
    PacePlan {
        rate: pace.rate.map(|rate| positive(rate).map(BytesPerSecond)),
        iops: pace.iops.map(positive),
        think_spin: pace.think_spin.min(pace.think),
        think_blocks: if by_time_alone { u64::MAX } else { u64::from(pace.think_blocks).max(1) },
        least_rate: pace.least_rate.map(|rate| positive(rate).map(BytesPerSecond)),
        least_iops: pace.least_iops.map(positive),
        flow: (pace.flow > 0).then(|| FlowPlan {
            id: pace.flow_id,
            weight: pace.flow,
            pause: Nanos::from_micros(pace.flow_sleep_us.into()),
        }),
        poisson: pace.poisson,
        think: pace.think,
        rate_ignores_think: pace.rate_ignores_think,
        think_counts: pace.think_counts,
        think_io_time: pace.think_io_time,
        think_cycles: pace.think_cycles,
        rate_cycle: Nanos::from_millis(pace.rate_cycle_ms.into()),
    }
}

/// Rejects rates that exclude each other and warns about options that have no effect.
pub(super) fn check(draft: &Draft, findings: &mut Findings<'_>) {
    let rated = draft.pace.rate.iter().any(|(_, &rate)| rate > 0);
    let iops = draft.pace.iops.iter().any(|(_, &iops)| iops > 0);
    if rated && iops {
        let help = Some("give one of the two".to_owned());
        findings.problems.push(about(draft, &["rate", "rate_iops"], "rate and rate_iops exclude each other", help));
    }
    if draft.pace.think_spin > draft.pace.think {
        let what = "thinktime_spin is longer than thinktime; it is cut to it";
        findings.doubts.push(about(draft, &["thinktime_spin", "thinktime"], what, None));
    }
    least_rates(draft, findings);
    if draft.pace.flow == 0 && (draft.pace.flow_id > 0 || draft.pace.flow_sleep_us > 0) {
        let what = "flow_id and flow_sleep have no effect without flow";
        let help = Some("give the job a weight with flow=".to_owned());
        findings.doubts.push(about(draft, &["flow_id", "flow_sleep"], what, help));
    }
}

/// Rejects a minimum rate above the rate limit: it can never be met.
fn least_rates(draft: &Draft, findings: &mut Findings<'_>) {
    let pace = &draft.pace;
    let pairs = [
        (&pace.least_rate, &pace.rate, ["rate_min", "rate"]),
        (&pace.least_iops, &pace.iops, ["rate_iops_min", "rate_iops"]),
    ];
    for (least, most, options) in pairs {
        let impossible = |direction: &Direction| most[*direction] > 0 && least[*direction] > most[*direction];
        if Direction::ALL.iter().any(impossible) {
            let what = format!("{} is above {}: minimum rate exceeds rate", options[0], options[1]);
            findings.problems.push(about(draft, &options, what, Some("lower the minimum".to_owned())));
        }
    }
}

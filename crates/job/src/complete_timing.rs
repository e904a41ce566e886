//! What options about timing mean together: rates, latency targets, steady state, and where a worker runs.

use crate::complete::{Findings, about};
use crate::draft::Draft;
use crate::plan::{CgroupPlan, FlowPlan, LatencyPlan, PacePlan, PlacePlan, SteadyPlan};
use measure::{BytesPerSecond, Direction, Nanos};

/// A latency search without a window takes this one.
const WINDOW: Nanos = Nanos::SECOND;

/// Contradictions among options about timing.
pub(crate) fn check(draft: &Draft, findings: &mut Findings<'_>) {
    least_rates(draft, findings);
    if draft.ramp_bytes > 0 && !draft.ramp.is_zero() {
        let help = Some("give one of the two".to_owned());
        let what = "ramp_time and ramp_size exclude each other";
        findings.problems.push(about(draft, &["ramp_time", "ramp_size"], what, help));
    }
    if draft.latency.target.is_some() && draft.latency.window.is_zero() {
        let what = "latency_target without latency_window: each step of the search lasts a second";
        findings.doubts.push(about(draft, &["latency_target"], what, Some("set latency_window".to_owned())));
    }
    if draft.place.cgroup.is_none() && (draft.place.cgroup_weight.is_some() || draft.place.cgroup_keep) {
        let what = "cgroup_weight and cgroup_nodelete have no effect without cgroup";
        findings.doubts.push(about(draft, &["cgroup_weight", "cgroup_nodelete"], what, None));
    }
    if draft.pace.flow == 0 && (draft.pace.flow_id > 0 || draft.pace.flow_sleep_us > 0) {
        let what = "flow_id and flow_sleep have no effect without flow";
        let help = Some("give the job a weight with flow=".to_owned());
        findings.doubts.push(about(draft, &["flow_id", "flow_sleep"], what, help));
    }
}

/// A rate cannot be at least what it can never be.
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

/// The latencies to keep.
pub(crate) fn latency_plan(draft: &Draft) -> LatencyPlan {
    let window = if draft.latency.window.is_zero() { WINDOW } else { draft.latency.window };
    match draft.latency.target {
        Some(_) => LatencyPlan { window, ..draft.latency.clone() },
        None => draft.latency.clone(),
    }
}

/// What must settle; `None` where nothing is waited for.
pub(crate) fn steady_plan(draft: &Draft, findings: &mut Findings<'_>) -> Option<SteadyPlan> {
    let steady = &draft.steady;
    if steady.duration.is_zero() {
        if draft.given("steadystate") {
            let what = "steadystate without steadystate_duration has no effect";
            let help = Some("set steadystate_duration, like 30s".to_owned());
            findings.doubts.push(about(draft, &["steadystate"], what, help));
        }
        return None;
    }
    let words = steady.words;
    let plan = SteadyPlan {
        measure: words.measure,
        criterion: words.criterion,
        limit: words.limit,
        relative: words.relative,
        duration: steady.duration,
        ramp: steady.ramp,
        interval: steady.interval,
    };
    let options = ["steadystate_duration", "steadystate_check_interval"];
    if !steady.duration.get().is_multiple_of(steady.interval.get()) {
        let help = Some("make the duration a multiple of the interval".to_owned());
        let what = "steadystate_duration is no multiple of steadystate_check_interval";
        findings.problems.push(about(draft, &options, what, help));
    }
    if plan.intervals() as u64 > SteadyPlan::MOST_INTERVALS {
        let what =
            format!("this is a window of {} samples; {} is the most", plan.intervals(), SteadyPlan::MOST_INTERVALS);
        let help = Some("make steadystate_check_interval longer".to_owned());
        findings.problems.push(about(draft, &options, what, help));
    }
    Some(plan)
}

/// Adds what the options about think time, least rates and flows say.
pub(crate) fn complete_pace(draft: &Draft, plan: PacePlan) -> PacePlan {
    let pace = &draft.pace;
    let positive = |value: u64| (value > 0).then_some(value);
    // Blocks that nobody gave a number of do not cut the time of I/O short.
    let by_time_alone = !pace.think_io_time.is_zero() && !draft.given("thinktime_blocks");
    PacePlan {
        think_blocks: if by_time_alone { u64::MAX } else { plan.think_blocks },
        think_counts: pace.think_counts,
        think_io_time: pace.think_io_time,
        think_cycles: pace.think_cycles,
        least_rate: pace.least_rate.map(|rate| positive(rate).map(BytesPerSecond)),
        least_iops: pace.least_iops.map(positive),
        rate_cycle: Nanos::from_millis(pace.rate_cycle_ms.into()),
        flow: (pace.flow > 0).then(|| FlowPlan {
            id: pace.flow_id,
            weight: pace.flow,
            pause: Nanos::from_micros(pace.flow_sleep_us.into()),
        }),
        ..plan
    }
}

/// Adds what the options about rights, nodes and groups say.
pub(crate) fn complete_place(draft: &Draft, plan: PlacePlan) -> PlacePlan {
    let place = &draft.place;
    PlacePlan {
        name: place.name.clone(),
        io_hint: place.io_hint,
        io_priority: plan.io_priority.or((place.io_hint > 0).then_some((2, 0))),
        nodes: place.nodes.clone(),
        memory: place.memory.clone(),
        cgroup: place.cgroup.as_ref().map(|name| CgroupPlan {
            name: name.clone(),
            weight: place.cgroup_weight,
            keep: place.cgroup_keep,
        }),
        user: place.user,
        group: place.group,
        clock: place.clock,
        ..plan
    }
}

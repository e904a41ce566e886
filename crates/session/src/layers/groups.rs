//! What was recorded as plain data: the form that `plumb why` and the results of runs share.

use measure::Nanos;
use model::{GroupLimit, IoGroup, IoSum, Named, RecordingCost, SomeIos};
use observe::{By, Cost, Group, PARTS, Parts, Slow};
use sys::processes::cgroup::IoLimit;

const PERCENTILES: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999), ("max", 1.0)];

/// I/Os of one direction.
pub fn group(group: &Group) -> IoGroup {
    let time = |(name, share): &(&str, f64)| ((*name).to_owned(), group.percentile(*share));
    IoGroup {
        direction: group.direction.name().to_owned(),
        reach: group.reach.name().to_owned(),
        count: group.count,
        failed: group.failed,
        bytes: group.bytes,
        calls: group.calls.iter().map(sum).collect(),
        frequent_bytes: group.size.map(|size| size.bytes),
        frequent_count: group.size.map(|size| size.count),
        mean_depth: group.depth,
        p99_depth: group.depth_p99,
        sequential_share: group.sequential,
        from_memory: group.cached,
        times: Named(PERCENTILES.iter().map(time).collect()),
        parts: times(&group.parts),
        around: Named(group.around.iter().map(|one| (one.name.to_owned(), some(&one.ios))).collect()),
        middle: some(&group.middle),
        slowest: some(&group.slowest),
    }
}

/// Sums of a call or a program.
pub fn sum(by: &By) -> IoSum {
    IoSum { name: by.name.clone(), count: by.count, bytes: by.bytes, time: by.time }
}

/// I/Os between two ranks.
pub fn some(slow: &Slow) -> SomeIos {
    let largest = slow.largest.iter().map(|one| (one.part.name().to_owned(), one.count));
    SomeIos {
        count: slow.count,
        least: slow.least,
        time: slow.time,
        parts: times(&slow.parts),
        largest: Named(largest.collect()),
    }
}

/// All parts, in their order.
pub fn times(parts: &Parts) -> Named<Nanos> {
    Named(PARTS.iter().map(|part| (part.name().to_owned(), parts[*part])).collect())
}

/// Costs of a recording.
pub fn cost(cost: &Cost) -> RecordingCost {
    RecordingCost {
        processor: cost.processor,
        events: cost.events,
        lost: cost.lost,
        unrecorded: cost.unrecorded,
        broken_calls: cost.broken,
        events_by: cost.way.map(|way| way.name().to_owned()),
        not_by_bpf: cost.why_not_bpf.clone(),
    }
}

/// A limit that held I/Os back.
pub fn limit(limit: &IoLimit) -> GroupLimit {
    GroupLimit {
        group: limit.group.clone(),
        device: limit.device.to_string(),
        reads_per_second: limit.read_iops,
        writes_per_second: limit.write_iops,
        bytes_read_per_second: limit.read_bytes_per_second,
        bytes_written_per_second: limit.write_bytes_per_second,
    }
}

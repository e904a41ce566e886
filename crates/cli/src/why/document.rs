//! The answer as JSON.

use super::answer::Answer;
use super::{sentences, shown};
use crate::failure::Failure;
use crate::streams;
use observe::{By, Group, PARTS, Parts, Slow};
use serde_json::{Map, Value, json};
use sys::processes::cgroup::IoLimit;

const PERCENTILES: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999), ("max", 1.0)];

/// The document.
pub(super) fn document(answer: &Answer) -> Result<String, Failure> {
    let Answer { target, seen, summary, .. } = answer;
    let cost = &seen.cost;
    let parts = json!({
        "target": target,
        "host": answer.host,
        "ended_unix_ms": answer.ended_unix_ms,
        "recorded_ns": cost.time.0,
        "status": answer.status().map(|status| status.to_string()),
        "ios": seen.ios.len(),
        "groups": summary.groups.iter().map(group).collect::<Vec<Value>>(),
        "programs": summary.programs.iter().map(by).collect::<Vec<Value>>(),
        "parts_ns": times(&summary.parts),
        "in_calls_share": summary.in_calls,
        "limits": seen.limits.iter().map(limit).collect::<Vec<Value>>(),
        "disks": answer.disks,
        "cost": {
            "processor_ns": cost.processor.0, "events": cost.events, "events_lost": cost.lost,
            "unrecorded_ns": cost.unrecorded.0, "broken_calls": cost.broken,
        },
        "open_calls": seen.open_calls,
        "outside_of_calls": seen.outside,
        "not_followed": seen.not_followed,
        "unknown_descriptors": seen.unknown,
        "ended_before_asked": seen.ended_before,
        "unclear_requests": seen.unclear,
        "missing_events": seen.missing,
        "remarks": shown::remarks(answer),
        "sentences": sentences::sentences(answer),
    });
    streams::document("why", parts)
}

fn group(group: &Group) -> Value {
    let percentile = |share| group.percentile(share).map(|time| time.0);
    let percentiles: Map<String, Value> =
        PERCENTILES.iter().map(|(name, share)| ((*name).to_owned(), Value::from(percentile(*share)))).collect();
    json!({
        "direction": group.direction.name(), "reach": group.reach.name(), "count": group.count, "failed": group.failed, "bytes": group.bytes,
        "calls": group.calls.iter().map(by).collect::<Vec<Value>>(),
        "frequent_bytes": group.size.map(|size| size.bytes), "frequent_count": group.size.map(|size| size.count),
        "mean_depth": group.depth, "p99_depth": group.depth_p99, "sequential_share": group.sequential,
        "from_memory": group.cached, "time_ns": percentiles, "parts_ns": times(&group.parts),
        "around": group.around.iter().map(|one| (one.name.to_owned(), slow(&one.ios))).collect::<Map<String, Value>>(),
        "middle": slow(&group.middle), "slowest": slow(&group.slowest),
    })
}

fn by(by: &By) -> Value {
    json!({ "name": by.name, "count": by.count, "bytes": by.bytes, "time_ns": by.time.0 })
}

fn slow(slow: &Slow) -> Value {
    let largest: Map<String, Value> =
        slow.largest.iter().map(|one| (one.part.name().to_owned(), Value::from(one.count))).collect();
    json!({ "count": slow.count, "least_ns": slow.least.0, "time_ns": slow.time.0, "parts_ns": times(&slow.parts),
        "largest": largest })
}

fn times(parts: &Parts) -> Map<String, Value> {
    PARTS.iter().map(|part| (part.name().to_owned(), Value::from(parts[*part].0))).collect()
}

fn limit(limit: &IoLimit) -> Value {
    json!({ "group": limit.group, "device": limit.device.to_string(), "reads_per_second": limit.read_iops,
        "writes_per_second": limit.write_iops, "bytes_read_per_second": limit.read_bytes_per_second,
        "bytes_written_per_second": limit.write_bytes_per_second })
}

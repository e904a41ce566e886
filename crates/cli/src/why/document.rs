//! The answer as JSON.

use super::answer::Answer;
use super::sentences;
use crate::failure::Failure;
use crate::streams;
use serde_json::json;
use session::layers;

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
        "groups": summary.groups.iter().map(layers::group).collect::<Vec<_>>(),
        "programs": summary.programs.iter().map(layers::sum).collect::<Vec<_>>(),
        "parts_ns": layers::times(&summary.parts),
        "in_calls_share": summary.in_calls,
        "limits": seen.limits.iter().map(layers::limit).collect::<Vec<_>>(),
        "disks": answer.disks,
        "cost": layers::cost(cost),
        "open_calls": seen.open_calls,
        "outside_of_calls": seen.outside,
        "not_followed": seen.not_followed,
        "unknown_descriptors": seen.unknown,
        "ended_before_asked": seen.ended_before,
        "unclear_requests": seen.unclear,
        "missing_events": seen.missing,
        "remarks": layers::remarks(seen, answer.is_full),
        "sentences": sentences::sentences(answer),
    });
    streams::document("why", parts)
}

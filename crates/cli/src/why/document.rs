//! The answer as JSON.

use super::answer::Answer;
use super::gains::Gain;
use super::sentences;
use crate::failure::Failure;
use crate::streams;
use serde_json::json;
use session::layers::{self, Recorded};

/// The document.
pub(super) fn document(answer: &Answer) -> Result<String, Failure> {
    let (Recorded { target, seen, .. }, summary) = (&answer.recorded, &answer.summary);
    let cost = &seen.cost;
    let parts = json!({
        "target": target,
        "host": answer.recorded.host,
        "ended_unix_ms": answer.recorded.ended_unix_ms,
        "recorded_ns": cost.time.0,
        "status": answer.status().map(|status| status.to_string()),
        "ios": seen.ios.len(),
        "groups": summary.groups.iter().map(layers::group).collect::<Vec<_>>(),
        "programs": summary.programs.iter().map(layers::sum).collect::<Vec<_>>(),
        "parts_ns": layers::times(&summary.parts),
        "in_calls_share": summary.in_calls,
        "limits": seen.limits.iter().map(layers::limit).collect::<Vec<_>>(),
        "gains": answer.gains.iter().map(Gain::document).collect::<Vec<_>>(),
        "page_cache_bytes": seen.cache.as_ref().map(|cache| cache.bytes),
        "disks": answer.recorded.disks,
        "cost": layers::cost(cost),
        "open_calls": seen.open_calls,
        "outside_of_calls": seen.outside,
        "not_followed": seen.not_followed,
        "unknown_descriptors": seen.unknown,
        "ended_before_asked": seen.ended_before,
        "unclear_requests": seen.unclear,
        "missing_events": seen.missing,
        "remarks": layers::remarks(seen, answer.recorded.is_full),
        "sentences": sentences::sentences(answer),
    });
    streams::document("why", parts)
}

//! Models as JSON: fitted parameters in base units, and each point.

use analysis::Load;
use analysis::costs::{self, AccessModel, Estimate, Mixture, Scalability};
use model::RunResult;
use serde_json::{Value, json};

/// A value with its 95 % confidence interval; no interval if there are as many parameters as points.
fn estimate(found: Estimate) -> Value {
    let interval = Some(found.half_width).filter(|width| width.is_finite());
    json!({ "value": found.value, "interval": interval })
}

/// The line over block sizes.
pub(super) fn access(model: &AccessModel, result: &RunResult) -> Value {
    let points = model.points.iter().map(|(point, predicted_s)| {
        json!({ "block_bytes": point.bytes, "measured_s": point.seconds, "predicted_s": predicted_s })
    });
    json!({
        "model": "access",
        "of": if costs::is_memory(result) { "memory" } else { "device" },
        "fixed_s": estimate(model.fixed_s),
        "bytes_per_second": estimate(model.bytes_per_second),
        "points": points.collect::<Vec<_>>(),
    })
}

/// Runs that start cold and end cached.
pub(super) fn mixture(mixture: &Mixture) -> Value {
    let points = mixture.points.iter().map(|(point, part)| {
        json!({
            "block_bytes": point.bytes, "seconds": point.seconds, "measured_ios": point.ios, "predicted_ios": part.ios,
            "cached_from_s": part.crossing_s,
        })
    });
    json!({
        "model": "mixture",
        "device_bytes_per_second": mixture.device_bytes_per_second,
        "call_s": estimate(mixture.call_s),
        "copy_bytes_per_second": estimate(mixture.copy_bytes_per_second),
        "points": points.collect::<Vec<_>>(),
    })
}

/// The scalability law over users or depth.
pub(super) fn scaling(law: &Scalability, load: Load) -> Value {
    let points = law.points.iter().map(|(point, predicted_iops)| {
        json!({ "load": point.users, "measured_iops": point.iops, "predicted_iops": predicted_iops })
    });
    json!({
        "model": "scaling",
        "load": load.plural(),
        "alone_iops": estimate(law.alone),
        "contention": estimate(law.contention),
        "coherency": estimate(law.coherency),
        "peak": law.peak.map(|(load, iops)| json!({ "load": load, "iops": iops })),
        "points": points.collect::<Vec<_>>(),
    })
}

//! Models as text and as JSON: fitted parameters with confidence intervals, and measured value, prediction and error of
//! each point. JSON is in base units.

use analysis::costs::{self, AccessModel, Estimate, Mixture, Scalability};
use analysis::{Load, NotStorage, grade_title};
use measure::text;
use model::RunResult;
use serde_json::{Value, json};
use std::fmt::Write;

/// A fitted model for a person and for a program.
pub(super) struct FittedModel {
    pub(super) text: String,
    pub(super) document: Value,
}

impl FittedModel {
    /// The same, named by the results that it is of.
    pub(super) fn of(mut self, source: &str, title: &str) -> Self {
        self.document["source"] = Value::from(source);
        self.document["title"] = Value::from(title);
        FittedModel { text: format!("{source}: {title}\n{}", self.text), ..self }
    }
}

impl FittedModel {
    /// The same; of results that are not of the storage it says so before its numbers.
    pub(super) fn but(mut self, not_storage: Option<&NotStorage>) -> Self {
        let Some(why) = not_storage else { return self };
        self.document["not_storage"] = Value::from(why.to_string());
        let grade = grade_title(why.note.grade);
        FittedModel { text: format!("  No answer about the storage: {why} [{grade}]\n{}", self.text), ..self }
    }
}

/// The fitted line, the device's request limit that bends it, and each point.
pub(super) fn access(model: &AccessModel, result: &RunResult) -> FittedModel {
    let (fixed, rate) =
        if costs::is_memory(result) { ("system call", "copy rate") } else { ("access time", "transfer rate") };
    let mut text = format!(
        "  {fixed:<14}{} µs\n  {rate:<14}{} MB/s\n",
        estimate(model.fixed_s, 1e6),
        estimate(model.bytes_per_second, 1e-6)
    );
    let bends = |device: &&model::DeviceFacts| device.top && !costs::is_memory(result);
    let devices = || result.monitored.iter().flat_map(|monitored| &monitored.devices).filter(bends);
    for device in devices() {
        let kib =
            |bytes: Option<u64>| bytes.map_or_else(|| "unknown".to_owned(), |bytes| format!("{} KiB", bytes / 1024));
        let _ = writeln!(
            text,
            "  {}: requests up to {} (max_sectors_kb), read-ahead {}: beyond these the line bends",
            device.name,
            kib(device.request_max_bytes),
            kib(device.read_ahead_bytes)
        );
    }
    let limit = devices().filter_map(|device| device.request_max_bytes).min();
    let points = model.points.iter().map(|(point, predicted)| {
        let pieces = limit.map_or(String::new(), |limit| pieces(point.bytes, limit));
        (point.bytes, point.seconds * 1e6, predicted * 1e6, pieces)
    });
    text += &table(["block B", "measured µs", "predicted µs", ""], 2, points);
    let points = model.points.iter().map(|(point, predicted_s)| {
        json!({ "block_bytes": point.bytes, "measured_s": point.seconds, "predicted_s": predicted_s })
    });
    let document = json!({
        "model": "access",
        "of": if costs::is_memory(result) { "memory" } else { "device" },
        "fixed_s": parameter(model.fixed_s),
        "bytes_per_second": parameter(model.bytes_per_second),
        "points": points.collect::<Vec<_>>(),
    });
    FittedModel { text, document }
}

/// The scalability law over users or depth, and each point.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of users; saturates")]
pub(super) fn scaling(law: &Scalability, load: Load) -> FittedModel {
    let peak = law.peak.map_or_else(
        || "none: the rate never falls".to_owned(),
        |(level, iops)| format!("{} IOPS with {}", text::number(iops), load.counted(level.round() as u32)),
    );
    let one = match load {
        Load::Users => "one user",
        Load::Depth => "depth 1",
    };
    let text = format!(
        "  {one:<14}{} IOPS\n  contention    {}\n  coherency     {}\n  peak          {peak}\n",
        estimate(law.alone, 1.0),
        digits(law.contention, 4),
        digits(law.coherency, 6)
    );
    let points = law.points.iter().map(|(point, predicted)| (point.users, point.iops, *predicted, String::new()));
    let text = text + &table([load.plural(), "measured IOPS", "predicted IOPS", ""], 0, points);
    let points = law.points.iter().map(|(point, predicted_iops)| {
        json!({ "load": point.users, "measured_iops": point.iops, "predicted_iops": predicted_iops })
    });
    let document = json!({
        "model": "scaling",
        "load": load.plural(),
        "alone_iops": parameter(law.alone),
        "contention": parameter(law.contention),
        "coherency": parameter(law.coherency),
        "peak": law.peak.map(|(load, iops)| json!({ "load": load, "iops": iops })),
        "points": points.collect::<Vec<_>>(),
    });
    FittedModel { text, document }
}

/// Predicted rate of a run that starts with a cold cache, from the costs of device and memory, and the point from which
/// memory dominates.
pub(super) fn mixture(mixture: &Mixture) -> FittedModel {
    let text = format!(
        "  device rate   {:.3} MB/s, in order\n  system call   {} µs\n  copy rate     {} MB/s\n",
        mixture.device_bytes_per_second / 1e6,
        estimate(mixture.call_s, 1e6),
        estimate(mixture.copy_bytes_per_second, 1e-6)
    );
    let points = mixture.points.iter().map(|(point, part)| {
        let crossing = part.crossing_s.map_or_else(|| "never".to_owned(), |seconds| format!("{seconds:.3} s"));
        (point.bytes, point.ios / point.seconds, part.ios / point.seconds, format!(" {crossing:>12}"))
    });
    let text = text + &table(["block B", "measured IOPS", "predicted IOPS", "  cached from"], 0, points);
    let points = mixture.points.iter().map(|(point, part)| {
        json!({
            "block_bytes": point.bytes, "seconds": point.seconds, "measured_ios": point.ios, "predicted_ios": part.ios,
            "cached_from_s": part.crossing_s,
        })
    });
    let document = json!({
        "model": "mixture",
        "device_bytes_per_second": mixture.device_bytes_per_second,
        "call_s": parameter(mixture.call_s),
        "copy_bytes_per_second": parameter(mixture.copy_bytes_per_second),
        "points": points.collect::<Vec<_>>(),
    });
    FittedModel { text, document }
}

/// A table of points: what is varied, measured value, prediction, and text after the error; below it the mean and the
/// largest error.
fn table(heads: [&str; 4], digits: usize, points: impl Iterator<Item = (f64, f64, f64, String)>) -> String {
    let [varied, measured, predicted, more] = heads;
    let mut text = format!("  {varied:>12} {measured:>14} {predicted:>14} {:>8}{more}\n", "error %");
    let mut errors = Vec::new();
    for (at, measured, predicted, more) in points {
        let error = 100.0 * (predicted / measured - 1.0);
        errors.push((at, error));
        let _ = writeln!(text, "  {at:>12.0} {measured:>14.digits$} {predicted:>14.digits$} {error:>+8.2}{more}");
    }
    let Some((at, largest)) = errors.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())) else { return text };
    let mean = errors.iter().map(|(_, error)| error.abs()).sum::<f64>() / measure::float(errors.len() as u64);
    text + &format!("  mean error {mean:.2} %, largest {largest:+.2} % at {at:.0}\n")
}

/// `  4 requests`: the number of device requests that a block larger than the request limit is split into.
fn pieces(bytes: f64, limit: u64) -> String {
    let limit = u32::try_from(limit).map_or(f64::INFINITY, f64::from);
    let pieces = (bytes / limit).ceil();
    if pieces > 1.0 { format!("  {pieces:.0} requests") } else { String::new() }
}

fn estimate(found: Estimate, unit: f64) -> String {
    digits(Estimate { value: found.value * unit, half_width: found.half_width * unit, ..found }, 3)
}

/// `100.000 ± 0.120`; without the interval if there are as many parameters as points.
fn digits(found: Estimate, digits: usize) -> String {
    let interval =
        if found.half_width.is_finite() { format!(" ± {:.digits$}", found.half_width) } else { String::new() };
    format!("{:.digits$}{interval}", found.value)
}

/// A value with its 95 % confidence interval; no interval if there are as many parameters as points.
fn parameter(found: Estimate) -> Value {
    let interval = Some(found.half_width).filter(|width| width.is_finite());
    json!({ "value": found.value, "interval": interval })
}

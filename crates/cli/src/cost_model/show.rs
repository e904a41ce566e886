//! Models as text: fitted parameters with confidence intervals, and measured value, prediction and error of each point.

use analysis::Load;
use analysis::costs::{self, AccessModel, Estimate, Mixture, Scalability};
use measure::text;
use model::RunResult;
use std::fmt::Write;

/// The fitted line, the device's request limit that bends it, and each point.
pub(super) fn access(model: &AccessModel, result: &RunResult) -> String {
    let (fixed, rate) =
        if costs::is_memory(result) { ("system call", "copy rate") } else { ("access time", "transfer rate") };
    let mut text = format!(
        "  {fixed:<14}{} µs\n  {rate:<14}{} MB/s\n",
        estimate(model.fixed_s, 1e6),
        estimate(model.bytes_per_second, 1e-6)
    );
    let bends = |device: &&model::DeviceFacts| device.top && !costs::is_memory(result);
    for device in result.monitored.iter().flat_map(|monitored| &monitored.devices).filter(bends) {
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
    let limit = result.monitored.iter().flat_map(|monitored| &monitored.devices).filter(|device| device.top);
    let limit = limit.filter_map(|device| device.request_max_bytes).min().filter(|_| !costs::is_memory(result));
    let points = model.points.iter().map(|(point, predicted)| {
        let pieces = limit.map_or(String::new(), |limit| pieces(point.bytes, limit));
        (point.bytes, point.seconds * 1e6, predicted * 1e6, pieces)
    });
    text + &table(["block B", "measured µs", "predicted µs", ""], 2, points)
}

/// The scalability law over users or depth, and each point.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of users; saturates")]
pub(super) fn scaling(law: &Scalability, load: Load) -> String {
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
    text + &table([load.plural(), "measured IOPS", "predicted IOPS", ""], 0, points)
}

/// Predicted rate of a run that starts with a cold cache, from the costs of device and memory, and the point from which
/// memory dominates.
pub(super) fn mixture(mixture: &Mixture) -> String {
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
    text + &table(["block B", "measured IOPS", "predicted IOPS", "  cached from"], 0, points)
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
    text + &summary(&errors)
}

/// `  mean error 3.1 %, largest +12.4 % at 512`.
fn summary(errors: &[(f64, f64)]) -> String {
    let Some((at, largest)) = errors.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())) else {
        return String::new();
    };
    let count = u32::try_from(errors.len()).map_or(f64::INFINITY, f64::from);
    let mean = errors.iter().map(|(_, error)| error.abs()).sum::<f64>() / count;
    format!("  mean error {mean:.2} %, largest {largest:+.2} % at {at:.0}\n")
}

/// `  4 requests`: the number of device requests that a block larger than the request limit is split into.
fn pieces(bytes: f64, limit: u64) -> String {
    let limit = u32::try_from(limit).map_or(f64::INFINITY, f64::from);
    let pieces = (bytes / limit).ceil();
    if pieces > 1.0 { format!("  {pieces:.0} requests") } else { String::new() }
}

fn estimate(found: Estimate, unit: f64) -> String {
    let scaled = |value: f64| value * unit;
    digits(
        Estimate {
            value: scaled(found.value),
            standard_error: scaled(found.standard_error),
            half_width: scaled(found.half_width),
        },
        3,
    )
}

/// `100.000 ± 0.120`; without the interval if there are as many parameters as points.
fn digits(found: Estimate, digits: usize) -> String {
    let interval =
        if found.half_width.is_finite() { format!(" ± {:.digits$}", found.half_width) } else { String::new() };
    format!("{:.digits$}{interval}", found.value)
}

//! Data of a block-size sweep with its fitted cost model.

use super::measured::size;
use analysis::costs::{AccessModel, SizePoint, access_model};
use measure::text;
use serde::{Deserialize, Serialize};

/// I/O times by block size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Blocks {
    /// For example `nvme0 · sequential read · 4 KiB to 1 MiB`.
    pub title: String,
    /// Sentences under the title.
    pub sentences: Vec<String>,
    /// Ascending by size.
    pub points: Vec<BlockPoint>,
    /// The fitted curve; empty if no fit was possible.
    pub curve: Vec<CurvePoint>,
    /// Footnotes.
    pub notes: Vec<String>,
}

/// Measurement at one block size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockPoint {
    /// For example `8 KiB`.
    pub label: String,
    /// Block size in bytes.
    pub bytes: f64,
    /// Mean time of an I/O in nanoseconds.
    pub time_ns: f64,
    /// Throughput in bytes per second.
    pub rate: f64,
    /// Time predicted by the model, in nanoseconds.
    pub model_ns: Option<f64>,
    /// Relative error of the model: (model − measured) ÷ measured.
    pub error: Option<f64>,
}

/// A point of the fitted curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Block size in bytes.
    pub bytes: f64,
    /// Time of an I/O in nanoseconds.
    pub time_ns: f64,
}

impl Blocks {
    /// Builds the data from tuples of (block size in bytes, mean nanoseconds, bytes per second).
    pub fn of(title: &str, measured: &[(u64, f64, f64)], notes: Vec<String>) -> Blocks {
        let mut measured = measured.to_vec();
        measured.sort_by_key(|&(bytes, ..)| bytes);
        let times: Vec<SizePoint> =
            measured.iter().map(|&(bytes, time, _)| SizePoint { bytes: bytes as f64, seconds: time / 1e9 }).collect();
        let model = access_model(&times);
        let point = |&(bytes, time_ns, rate): &(u64, f64, f64)| {
            let model_ns = model.as_ref().map(|model| model.seconds(bytes as f64) * 1e9);
            let error = model_ns.map(|model| model / time_ns - 1.0);
            BlockPoint { label: size(bytes), bytes: bytes as f64, time_ns, rate, model_ns, error }
        };
        let points: Vec<BlockPoint> = measured.iter().map(point).collect();
        let worst = points.iter().filter_map(|point| point.error).map(f64::abs).fold(0.0, f64::max);
        let sentences = model.as_ref().map(|model| tell(model, worst)).unwrap_or_default();
        let curve = model.as_ref().map(|model| curve(model, &times)).unwrap_or_default();
        Blocks { title: title.to_owned(), sentences, points, curve, notes }
    }
}

fn tell(model: &AccessModel, worst: f64) -> Vec<String> {
    let rate = model.bytes_per_second.value;
    vec![
        format!(
            "An I/O costs {} whatever its size; every KiB {} more, so no block size exceeds {}.",
            text::time(model.fixed_s.value * 1e9),
            text::time(1024.0 * 1e9 / rate),
            text::rate(rate)
        ),
        format!("The model misses no point by more than {}.", text::percent(worst)),
    ]
}

/// Fifty points from the smallest to the largest size, evenly spaced on a log axis.
fn curve(model: &AccessModel, times: &[SizePoint]) -> Vec<CurvePoint> {
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return Vec::new() };
    let (low, high) = (first.bytes, last.bytes);
    let bytes = |at: i32| low * (high / low).powf(f64::from(at) / 49.0);
    (0..50).map(bytes).map(|bytes| CurvePoint { bytes, time_ns: model.seconds(bytes) * 1e9 }).collect()
}

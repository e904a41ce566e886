//! Data of the table that compares counters of fio with those of the devices.

use measure::{Direction, text};
use model::{DeviceUsage, RunResult};
use serde::{Deserialize, Serialize};

/// A table with a row per quantity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Devices {
    /// For example `run.fio · the program and the devices`.
    pub title: String,
    /// Sentences under the title.
    pub sentences: Vec<String>,
    /// Rows in the order of the table.
    pub rows: Vec<DeviceRow>,
    /// Footnotes.
    pub notes: Vec<String>,
}

/// Quantity of a row, which decides its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Rate,
    /// Latency in nanoseconds.
    Latency,
    /// Mean number of I/Os in flight.
    Queue,
    /// Fraction of time with at least one I/O in flight.
    Utilisation,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceRow {
    /// Label, for example `reads`.
    pub what: String,
    /// Quantity.
    pub quantity: Quantity,
    /// Value counted by the program.
    pub program: Option<f64>,
    /// Value counted by each device, with the device's name.
    pub devices: Vec<(String, f64)>,
    /// Sum over the devices ÷ program, if both are known and the quantity is additive.
    pub ratio: Option<f64>,
}

/// A device, and the seconds over which it was sampled.
type Timed<'a> = (&'a DeviceUsage, f64);

impl Devices {
    /// Builds the table from a run; `None` if no device was sampled.
    pub fn of(title: &str, result: &RunResult) -> Option<Devices> {
        let timed = |device: &'_ DeviceUsage| Some(device.elapsed_ms? as f64 / 1e3);
        let watched: Vec<Timed<'_>> =
            result.devices.iter().filter_map(|device| Some((device, timed(device)?))).collect();
        if watched.is_empty() {
            return None;
        }
        let mut rows = Vec::new();
        for (at, direction) in [Direction::Read, Direction::Write].into_iter().enumerate() {
            rows.extend(of_direction(result, &watched, direction, at));
        }
        let each = |of: &dyn Fn(&Timed<'_>) -> f64| watched.iter().map(|one| (one.0.name.clone(), of(one))).collect();
        let plain = |what: &str, quantity, devices| DeviceRow {
            what: what.to_owned(),
            quantity,
            program: None,
            devices,
            ratio: None,
        };
        rows.push(plain(
            "queue",
            Quantity::Queue,
            each(&|(device, seconds)| device.in_queue_ms as f64 / (seconds * 1e3)),
        ));
        let busy = |(device, _): &Timed<'_>| device.utilisation_percent().unwrap_or(0.0) / 100.0;
        rows.push(plain("utilisation", Quantity::Utilisation, each(&busy)));
        let notes = vec!["A ratio under 1 in throughput: the page cache served the rest. Over 1: read-ahead, metadata, journal, or other processes. Requests differ from I/Os where the kernel merges or splits.".to_owned()];
        Some(Devices { title: title.to_owned(), sentences: tell(&rows), rows, notes })
    }
}

/// Rows for I/Os, bytes and latency of one direction; empty if neither side counted any I/O.
fn of_direction(result: &RunResult, watched: &[Timed<'_>], direction: Direction, at: usize) -> Vec<DeviceRow> {
    let moved: Vec<_> =
        result.jobs.iter().map(|job| &job.directions[direction]).filter(|moved| moved.ios > 0).collect();
    let sum = |of: &dyn Fn(&Timed<'_>) -> f64| -> Vec<(String, f64)> {
        watched.iter().map(|one| (one.0.name.clone(), of(one))).collect()
    };
    if moved.is_empty() && watched.iter().all(|(device, _)| device.ios[at] == 0) {
        return Vec::new();
    }
    let window = moved.iter().map(|moved| moved.runtime.as_secs_f64()).fold(0.0, f64::max);
    let rate = |total: u64| (window > 0.0).then(|| total as f64 / window);
    let row = |what: String, quantity, program: Option<f64>, devices: Vec<(String, f64)>| {
        let all: f64 = devices.iter().map(|(_, value)| value).sum();
        let ratio =
            program.filter(|&program| program > 0.0 && quantity != Quantity::Latency).map(|program| all / program);
        DeviceRow { what, quantity, program, devices, ratio }
    };
    let latency = || {
        let of = |moved: &&&model::DirectionResult| moved.latency()?.moments.mean();
        let weights: Vec<(f64, f64)> = moved.iter().filter_map(|moved| Some((moved.ios as f64, of(&moved)?))).collect();
        let ios: f64 = weights.iter().map(|(ios, _)| ios).sum();
        (ios > 0.0).then(|| weights.iter().map(|(ios, mean)| ios * mean).sum::<f64>() / ios)
    };
    let word = direction.word();
    let wait = |(device, _): &Timed<'_>| {
        if device.ios[at] == 0 { 0.0 } else { device.ticks_ms[at] as f64 * 1e6 / device.ios[at] as f64 }
    };
    let moved_by =
        |(device, seconds): &Timed<'_>| Some((device.name.clone(), 512.0 * device.sectors?[at] as f64 / seconds));
    vec![
        row(
            format!("{word}s"),
            Quantity::Iops,
            rate(moved.iter().map(|moved| moved.ios).sum()),
            sum(&|(device, seconds)| device.ios[at] as f64 / seconds),
        ),
        row(
            format!("{word} throughput"),
            Quantity::Rate,
            rate(moved.iter().map(|moved| moved.bytes).sum()),
            watched.iter().filter_map(moved_by).collect(),
        ),
        row(format!("{word} latency"), Quantity::Latency, latency(), sum(&wait)),
    ]
}

fn tell(rows: &[DeviceRow]) -> Vec<String> {
    let ratios = rows.iter().filter(|row| row.quantity == Quantity::Rate).filter_map(|row| Some((row, row.ratio?)));
    ratios
        .map(|(row, ratio)| match ratio {
            ratio if ratio < 0.9 => {
                format!("{}: the devices moved only {} of what the program counted.", row.what, text::percent(ratio))
            }
            ratio if ratio > 1.1 => {
                format!("{}: the devices moved {} times what the program counted.", row.what, text::number(ratio))
            }
            _ => format!("{}: the devices moved what the program counted ({}).", row.what, text::percent(ratio)),
        })
        .collect()
}

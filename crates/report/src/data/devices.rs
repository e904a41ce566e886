//! The data of the table that compares what fio counted with what the devices counted.

use measure::Direction;
use model::{DeviceUsage, RunResult};
use serde::{Deserialize, Serialize};

/// A table, a row per quantity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Devices {
    /// `run.fio · the program and the devices`.
    pub title: String,
    /// Plain sentences under the title.
    pub sentences: Vec<String>,
    /// In the order of the table.
    pub rows: Vec<DeviceRow>,
    /// In small type below.
    pub notes: Vec<String>,
}

/// What a row is about, which decides its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Rate,
    /// Nanoseconds.
    Latency,
    /// Mean number in flight.
    Queue,
    /// Share of time with an I/O in flight.
    Utilisation,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceRow {
    /// `reads`.
    pub what: String,
    /// Its unit.
    pub quantity: Quantity,
    /// As the program counted it.
    pub program: Option<f64>,
    /// As each device counted it, by its name.
    pub devices: Vec<(String, f64)>,
    /// All devices ÷ program, where both are known and sums make sense.
    pub ratio: Option<f64>,
}

impl Devices {
    /// From a run; `None` where no device was watched.
    pub fn of(title: &str, result: &RunResult) -> Option<Devices> {
        let watched: Vec<&DeviceUsage> = result.devices.iter().filter(|device| device.elapsed_ms > 0).collect();
        if watched.is_empty() {
            return None;
        }
        let mut rows = Vec::new();
        for (at, direction) in [Direction::Read, Direction::Write].into_iter().enumerate() {
            rows.extend(of_direction(result, &watched, direction, at));
        }
        let each =
            |of: &dyn Fn(&DeviceUsage) -> f64| watched.iter().map(|device| (device.name.clone(), of(device))).collect();
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
            each(&|device| device.in_queue_ms as f64 / device.elapsed_ms as f64),
        ));
        let busy = |device: &DeviceUsage| device.utilisation_percent().unwrap_or(0.0) / 100.0;
        rows.push(plain("utilisation", Quantity::Utilisation, each(&busy)));
        let notes = vec!["A ratio under 1 in throughput: the page cache served the rest. Over 1: read-ahead, metadata, journal, or somebody else. Requests differ from I/Os where the kernel merges or splits.".to_owned()];
        Some(Devices { title: title.to_owned(), sentences: tell(&rows), rows, notes })
    }
}

/// I/Os, bytes and latency of one direction; nothing where neither side moved anything.
fn of_direction(result: &RunResult, watched: &[&DeviceUsage], direction: Direction, at: usize) -> Vec<DeviceRow> {
    let moved: Vec<_> =
        result.jobs.iter().map(|job| &job.directions[direction]).filter(|moved| moved.ios > 0).collect();
    let sum = |of: &dyn Fn(&DeviceUsage) -> f64| -> Vec<(String, f64)> {
        watched.iter().map(|device| (device.name.clone(), of(device))).collect()
    };
    if moved.is_empty() && watched.iter().all(|device| device.ios[at] == 0) {
        return Vec::new();
    }
    let seconds = |device: &DeviceUsage| device.elapsed_ms as f64 / 1e3;
    let window = moved.iter().map(|moved| moved.runtime.as_secs_f64()).fold(0.0, f64::max);
    let rate = |total: u64| (window > 0.0).then(|| total as f64 / window);
    let row = |what: String, quantity, program: Option<f64>, devices: Vec<(String, f64)>| {
        let all: f64 = devices.iter().map(|(_, value)| value).sum();
        let ratio =
            program.filter(|&program| program > 0.0 && quantity != Quantity::Latency).map(|program| all / program);
        DeviceRow { what, quantity, program, devices, ratio }
    };
    let latency = || {
        let of = |moved: &&&model::DirectionResult| moved.total.as_ref().or(moved.completion.as_ref())?.moments.mean();
        let weights: Vec<(f64, f64)> = moved.iter().filter_map(|moved| Some((moved.ios as f64, of(&moved)?))).collect();
        let ios: f64 = weights.iter().map(|(ios, _)| ios).sum();
        (ios > 0.0).then(|| weights.iter().map(|(ios, mean)| ios * mean).sum::<f64>() / ios)
    };
    let word = direction.word();
    let wait = |device: &DeviceUsage| {
        if device.ios[at] == 0 { 0.0 } else { device.ticks_ms[at] as f64 * 1e6 / device.ios[at] as f64 }
    };
    vec![
        row(
            format!("{word}s"),
            Quantity::Iops,
            rate(moved.iter().map(|moved| moved.ios).sum()),
            sum(&|device| device.ios[at] as f64 / seconds(device)),
        ),
        row(
            format!("{word} throughput"),
            Quantity::Rate,
            rate(moved.iter().map(|moved| moved.bytes).sum()),
            sum(&|device| 512.0 * device.sectors[at] as f64 / seconds(device)),
        ),
        row(format!("{word} latency"), Quantity::Latency, latency(), sum(&wait)),
    ]
}

fn tell(rows: &[DeviceRow]) -> Vec<String> {
    let ratios = rows.iter().filter(|row| row.quantity == Quantity::Rate).filter_map(|row| Some((row, row.ratio?)));
    ratios
        .map(|(row, ratio)| match ratio {
            ratio if ratio < 0.9 => {
                format!("{}: the devices moved only {:.0} % of what the program counted.", row.what, 100.0 * ratio)
            }
            ratio if ratio > 1.1 => {
                format!("{}: the devices moved {ratio:.2} times what the program counted.", row.what)
            }
            _ => format!("{}: the devices moved what the program counted ({:.0} %).", row.what, 100.0 * ratio),
        })
        .collect()
}

//! `--latency`, an option of plumb's iostat: a table of percentiles after the devices, and members in JSON.

use crate::printable;
use measure::{Nanos, float, text};
use model::{DeviceLatency, LatencyPercentiles, OperationLatency};
use serde_json::{Value, json};

/// Latencies of the devices of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// The devices, in display order.
    pub devices: Vec<NamedLatency>,
    /// Events that were lost in the interval.
    pub lost: u64,
    /// I/Os without an end because of that.
    pub forgotten: u64,
}

/// A device with its latencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedLatency {
    /// Its name, as the report shows it.
    pub name: String,
    /// Its latencies.
    pub latency: DeviceLatency,
}

impl Latencies {
    /// The rows, each with its unit.
    pub(super) fn table(&self) -> String {
        let heads = ["I/Os", "queue p50", "p99", "p99.9", "device p50", "p99", "p99.9"];
        let mut text = row("Latency", heads.map(str::to_owned));
        for device in &self.devices {
            let name = printable::line(&device.name);
            text += &direction(&format!("{name} read"), &device.latency.read);
            text += &direction(&format!("{name} write"), &device.latency.write);
        }
        if self.lost > 0 || self.forgotten > 0 {
            let count = text::counted(self.lost, "event");
            let ios = text::counted(self.forgotten, "I/O");
            text += &format!("! {count} lost in this interval, at least {ios} left out\n");
        }
        text
    }

    /// The members of a report, without the line break at the end.
    pub(super) fn members(&self) -> String {
        let line = |device: &NamedLatency| {
            let latency = device.latency;
            let value: Value = json!({ "disk_device": device.name, "read": latency.read, "write": latency.write });
            format!("\t\t\t\t\t\t{value}")
        };
        let lines: Vec<String> = self.devices.iter().map(line).collect();
        format!(
            "\t\t\t\t\t\"latency_events_lost\": {},\n\t\t\t\t\t\"latency_ios_left_out\": {},\n\
             \t\t\t\t\t\"latency\": [\n{}\n\t\t\t\t\t]",
            self.lost,
            self.forgotten,
            lines.join(",\n")
        )
    }
}

fn direction(name: &str, times: &OperationLatency) -> String {
    let [first, second, third] = spelled(&times.queue);
    let [fourth, fifth, sixth] = spelled(&times.device);
    row(name, [text::grouped(float(times.ios)), first, second, third, fourth, fifth, sixth])
}

/// Percentiles in words; `-` for one that no I/O is beyond.
fn spelled(times: &LatencyPercentiles) -> [String; 3] {
    times.all().map(|time| time.map_or_else(|| "-".to_owned(), |time: Nanos| text::time(time.as_f64())))
}

fn row(name: &str, cells: [String; 7]) -> String {
    let widths = [9, 10, 8, 8, 11, 8, 8];
    let cells: String = cells.iter().zip(widths).map(|(cell, width)| format!(" {cell:>width$}")).collect();
    format!("{name:<15}{cells}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy() -> Latencies {
        let times = |p50, p99, p99_9: Option<u64>| LatencyPercentiles {
            p50: Some(Nanos(p50)),
            p99: Some(Nanos(p99)),
            p99_9: p99_9.map(Nanos),
        };
        let read = OperationLatency {
            ios: 1204,
            queue: times(3120, 41_000, Some(90_500)),
            device: times(83_100, 310_000, Some(1_250_000)),
        };
        let latency = DeviceLatency { read, ..DeviceLatency::default() };
        Latencies { devices: vec![NamedLatency { name: "nvme0n1".to_owned(), latency }], lost: 0, forgotten: 0 }
    }

    #[test]
    fn rows_have_units_and_a_dash_without_ios() {
        let expected = "\
Latency              I/Os  queue p50      p99    p99.9  device p50      p99    p99.9
nvme0n1 read        1,204    3.12 µs    41 µs  90.5 µs     83.1 µs   310 µs  1.25 ms
nvme0n1 write           0          -        -        -           -        -        -
";
        assert_eq!(busy().table(), expected);
        let lost = Latencies { lost: 2104, forgotten: 1, ..busy() }.table();
        assert!(lost.ends_with("! 2104 events lost in this interval, at least 1 I/O left out\n"), "{lost}");
    }

    #[test]
    fn json_has_nanoseconds_and_null() {
        let value: Value = serde_json::from_str(&format!("{{{}}}", busy().members())).unwrap();
        let device = &value["latency"][0];
        assert_eq!((&device["disk_device"], &device["read"]["ios"]), (&"nvme0n1".into(), &1204.into()));
        assert_eq!(device["read"]["device_ns"]["p99.9"], 1_250_000);
        assert_eq!(device["write"]["queue_ns"]["p50"], Value::Null);
        assert_eq!(value["latency_events_lost"], 0);
    }
}

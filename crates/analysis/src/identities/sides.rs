//! Comparison of the jobs' numbers with the device's, by quantity.

use crate::run_facts::{float, latency_sum_ns, watched_devices, window};
use measure::Direction;
use model::{DeviceUsage, RunResult};

/// One quantity as measured on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// Name of the quantity, with its unit.
    pub quantity: &'static str,
    /// iostat's column name for it.
    pub column: &'static str,
    /// Value measured by the jobs.
    pub jobs: Option<f64>,
    /// Value counted by the device.
    pub device: Option<f64>,
}

/// The device's name and the quantities; `None` unless all files of the jobs are on one sampled device.
pub fn sides(result: &RunResult) -> Option<(String, Vec<Side>)> {
    let watched = watched_devices(result);
    let [device] = watched.as_slice() else { return None };
    let elapsed_ms = float(device.elapsed_ms?);
    let seconds = elapsed_ms / 1e3;
    let asked = result.jobs.iter().map(window).max()?.as_secs_f64();
    if asked <= 0.0 {
        return None;
    }
    let mut found: Vec<Side> = Vec::new();
    for (at, direction) in [Direction::Read, Direction::Write].into_iter().enumerate() {
        found.extend(of_direction(result, device, at, direction, asked, seconds));
    }
    if found.is_empty() {
        return None;
    }
    let sums: Option<Vec<f64>> = result.jobs.iter().map(latency_sum_ns).collect();
    found.push(Side {
        quantity: "in flight",
        column: "aqu-sz",
        jobs: sums.map(|sums| sums.iter().sum::<f64>() / 1e9 / asked),
        device: Some(float(device.in_queue_ms) / elapsed_ms),
    });
    found.push(Side { quantity: "% busy", column: "%util", jobs: None, device: device.utilisation_percent() });
    Some((device.name.clone(), found))
}

const COLUMNS: [[(&str, &str); 4]; 2] = [
    [("reads/s", "r/s"), ("read KiB/s", "rkB/s"), ("KiB per read", "rareq-sz"), ("ms per read", "r_await")],
    [("writes/s", "w/s"), ("written KiB/s", "wkB/s"), ("KiB per write", "wareq-sz"), ("ms per write", "w_await")],
];

fn of_direction(
    result: &RunResult,
    device: &DeviceUsage,
    at: usize,
    direction: Direction,
    asked: f64,
    seconds: f64,
) -> Vec<Side> {
    let rows = || result.jobs.iter().map(|job| &job.directions[direction]);
    let ios = float(rows().map(|row| row.ios).fold(0, u64::saturating_add));
    let bytes = float(rows().map(|row| row.bytes).fold(0, u64::saturating_add));
    let (requests, sectors) = (float(device.ios[at]), device.sectors.map(|both| float(both[at])));
    if ios == 0.0 && requests == 0.0 {
        return Vec::new();
    }
    let latencies = rows().filter(|row| row.ios > 0).map(|row| row.latency());
    let latency: Option<f64> = latencies
        .map(|latency| latency.and_then(|latency| Some(latency.moments.mean()? * float(latency.moments.count()))))
        .sum();
    let per = |sum: f64, count: f64| (count > 0.0).then(|| sum / count);
    let values = [
        (Some(ios / asked), Some(requests / seconds)),
        (Some(bytes / 1024.0 / asked), sectors.map(|sectors| sectors / 2.0 / seconds)),
        (per(bytes / 1024.0, ios), sectors.and_then(|sectors| per(sectors / 2.0, requests))),
        (latency.and_then(|sum| per(sum / 1e6, ios)), per(float(device.ticks_ms[at]), requests)),
    ];
    let named = COLUMNS[at].into_iter().zip(values);
    named.map(|((quantity, column), (jobs, device))| Side { quantity, column, jobs, device }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::watched_random_read;

    #[test]
    fn both_sides_of_a_direct_run_say_the_same() {
        let mut result = watched_random_read();
        let monitored = result.monitored.take();
        assert_eq!(sides(&result), None, "how long the device was watched is not known");
        result.monitored = monitored;
        let (_, found) = sides(&result).unwrap();
        assert_eq!((found[0].device, found[3].device), (Some(2_000.0), Some(4.0)), "as the monitor saw it");
        let device = &mut result.devices[0];
        (device.ios, device.ticks_ms, device.in_queue_ms) = ([20_000, 0], [80_000, 0], 80_000);
        (device.busy_ms, device.elapsed_ms) = (9_900, Some(10_000));
        let (name, found) = sides(&result).unwrap();
        assert_eq!((name.as_str(), found.len()), ("sda", 6));
        for side in &found[..5] {
            let (jobs, device) = (side.jobs.unwrap(), side.device.unwrap());
            assert!((jobs / device - 1.0).abs() < 0.001, "{side:?}");
        }
        assert_eq!((found[0].jobs, found[3].device, found[5].device), (Some(2_000.0), Some(4.0), Some(99.0)));
    }

    #[test]
    fn several_devices_are_not_added_up() {
        let mut result = watched_random_read();
        result.devices.push(result.devices[0].clone());
        assert_eq!(sides(&result), None);
    }
}

//! Results with a known truth, for the tests of all checks.

use measure::{Histogram, Moments, Nanos};
use model::{DeviceUsage, DirectionResult, Echo, JobResult, LatencyStatistics, RunResult};

/// `users` workers merged into one job that did `ios` reads of 8 KiB, each of the same `latency`, in `window`.
pub(crate) fn closed_loop(users: u32, ios: u64, latency: Nanos, window: Nanos) -> RunResult {
    let mut histogram = Histogram::new();
    histogram.record_many(latency, ios);
    let (each, count) = (u128::from(latency.get()), u128::from(ios));
    let moments = Moments::from_parts(ios, latency.get(), latency.get(), each * count, each * each * count);
    let read = DirectionResult {
        bytes: ios * 8192,
        ios,
        runtime: window,
        total: Some(LatencyStatistics { moments, histogram: Some(Box::new(histogram)) }),
        ..DirectionResult::default()
    };
    let mut job = JobResult {
        echo: Echo {
            name: "reads".into(),
            engine: "psync".into(),
            iodepth: 1,
            paths: vec!["a".into()],
            ..Echo::default()
        },
        workers: users,
        ..JobResult::default()
    };
    job.directions.read = read;
    RunResult { jobs: vec![job], devices: vec![device(ios * 16, 0)], ..RunResult::default() }
}

/// 8 users, 1 ms per read, all busy for a second, every byte from the device.
pub(crate) fn clean_random_read() -> RunResult {
    closed_loop(8, 8_000, Nanos::MILLISECOND, Nanos::SECOND)
}

/// A device that moved so many sectors.
pub(crate) fn device(read_sectors: u64, written_sectors: u64) -> DeviceUsage {
    DeviceUsage { name: "sda".into(), sectors: [read_sectors, written_sectors], ..DeviceUsage::default() }
}

/// One row of a sweep published between 2012 and 2013, and whether its users can have been busy.
#[derive(Debug)]
pub(crate) struct PublishedRow {
    users: u32,
    latency: Nanos,
    iops: u64,
    pub(crate) impossible: bool,
}

impl PublishedRow {
    /// The row as ten seconds of a closed loop.
    pub(crate) fn result(&self) -> RunResult {
        closed_loop(self.users, self.iops * 10, self.latency, Nanos::from_secs(10))
    }
}

/// The sample of published rows, `impossible` judged by hand.
pub(crate) fn published_rows() -> Vec<PublishedRow> {
    let text = include_str!("../tests/data/published_sweeps.csv");
    let rows: Vec<PublishedRow> = text.lines().filter(|line| !line.starts_with(['#', 's'])).map(parse).collect();
    assert!(rows.len() >= 20, "the sample is there");
    rows
}

fn parse(line: &str) -> PublishedRow {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let latency_ms: f64 = fields[5].parse().unwrap();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "milliseconds of a table")]
    let latency = Nanos((latency_ms * 1e6).round() as u64);
    PublishedRow {
        users: fields[2].parse().unwrap(),
        latency,
        iops: fields[6].parse().unwrap(),
        impossible: fields[7] == "impossible",
    }
}

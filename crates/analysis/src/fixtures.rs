//! Results with known properties, for the tests of all checks.

use measure::{Histogram, Moments, Nanos};
use model::reading::{ReadJob, ReadRun};
use model::{
    Bottom, DeviceFacts, DeviceGain, DeviceUsage, DirectionResult, Echo, Interval, JobResult, LatencyStatistics, Layer,
    Monitored, Origin, RequestGain, RunResult, TargetFacts, WorkerGain,
};
use plan::Workload;

/// `users` workers merged into one job that completed `ios` reads of 8 KiB, each with the same `latency`, in `window`.
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
        workload: Some(Workload::default()),
        ..JobResult::default()
    };
    job.directions.read = read;
    RunResult { jobs: vec![job], devices: vec![device(ios * 16, 0)], ..RunResult::default() }
}

/// The workload of the first job, for modification.
pub(crate) fn workload(result: &mut RunResult) -> &mut Workload {
    result.jobs[0].workload.as_mut().unwrap()
}

/// The result as read from a report of another program that states these users.
pub(crate) fn printed(mut result: RunResult, workers: Option<f64>, depth: Option<f64>) -> RunResult {
    for (number, job) in (1..).zip(&mut result.jobs) {
        job.echo.number = number;
    }
    let job = ReadJob { workers, depth, ..ReadJob::default() };
    let jobs = vec![job; result.jobs.len()];
    result.origin = Origin::Report(Box::new(ReadRun { jobs, ..ReadRun::default() }));
    result
}

/// The first job of that report, for modification.
pub(crate) fn printed_job(result: &mut RunResult) -> &mut ReadJob {
    match &mut result.origin {
        Origin::Report(printed) => &mut printed.jobs[0],
        _ => panic!("no report"),
    }
}

/// 8 users, 1 ms per read, all busy for a second, every byte read from the device.
pub(crate) fn clean_random_read() -> RunResult {
    closed_loop(8, 8_000, Nanos::MILLISECOND, Nanos::SECOND)
}

/// Ten seconds of 2,000 direct reads of 8 KiB per second by 8 users, sampled every second.
pub(crate) fn watched_random_read() -> RunResult {
    let mut result = closed_loop(8, 20_000, Nanos::from_millis(4), Nanos::from_secs(10));
    result.jobs[0].runtime = Nanos::from_secs(80);
    let tool = model::Calibration { total_ns: Some([400, 900]), reap_ns: Some(0.0), ..model::Calibration::default() };
    result.jobs[0].calibration = Some(Box::new(tool));
    let interval = |second: u64| Interval {
        until: Nanos::from_secs(second),
        measuring: 8,
        bytes: [2_000 * 8192, 0, 0],
        ios: [1_950 + second % 3 * 40, 0, 0],
        devices: vec![DeviceGain {
            reads: RequestGain { ios: 2_000, merges: 0, sectors: 32_000, ticks_ms: 8_000 },
            busy_ms: 990,
            in_queue_ms: 8_000,
            ..DeviceGain::default()
        }],
        workers: vec![
            WorkerGain {
                on_cpu: Some(Nanos::from_millis(50)),
                run_delay: Some(Nanos::from_millis(1)),
                switches: Some(500),
                io_bytes: Some([0, 0, 250 * 8192, 0]),
                ios: 250,
            };
            8
        ],
        ..Interval::default()
    };
    let region_bytes = 64 << 20;
    result.monitored = Some(Monitored {
        devices: vec![DeviceFacts { name: "sda".into(), leaf: true, top: true, ..DeviceFacts::default() }],
        targets: vec![TargetFacts {
            path: "a".into(),
            unwritten_bytes: Some(0),
            region_bytes,
            layers: vec![Layer {
                name: "sda".into(),
                kind: "disk".into(),
                device: true,
                bottom: Some(Bottom::Disk),
                ..Layer::default()
            }],
            ..TargetFacts::default()
        }],
        intervals: (1..=10).map(interval).collect(),
        ..Monitored::default()
    });
    result
}

/// The same as writes.
pub(crate) fn watched_random_write() -> RunResult {
    let mut result = watched_random_read();
    let job = &mut result.jobs[0];
    job.directions.write = std::mem::take(&mut job.directions.read);
    result
}

/// A device that transferred these sectors.
pub(crate) fn device(read_sectors: u64, written_sectors: u64) -> DeviceUsage {
    DeviceUsage { name: "sda".into(), sectors: Some([read_sectors, written_sectors]), ..DeviceUsage::default() }
}

/// One row of a sweep published between 2012 and 2013, and if it is impossible that all its users were busy.
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

/// The sample of published rows; `impossible` was determined by hand.
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

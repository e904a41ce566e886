//! Readings → rows of measurements, for those readings that have a row.

use crate::from_printed::rounded;
use crate::iostat::{are_short, bytes_of_unit};
use crate::local_time::{sortable, utc};
use model::Measurement;
use model::measurement::{BUCKETS, PERCENTS, TestName, bucket_below, ns_of_ms};
use model::reading::{
    Content, IostatRow, IozoneRow, IozoneThroughput, IozoneUnit, LogDirection, LogSummary, ReadDirection, ReadJob,
    ReadKind, ReadLatency, ReadRun, Reading,
};

const KIB: f64 = 1024.0;

/// Quantity of the values in a fio log; only the file name has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
    /// Bandwidth in KiB per second.
    Bandwidth,
    /// I/Os per second.
    Iops,
    /// Total latency in nanoseconds (`lat`).
    Total,
    /// Submission or completion latency in nanoseconds (`slat`, `clat`).
    Part,
}

impl LogKind {
    /// Derives the quantity from fio's naming of log files.
    pub fn of_file(name: &str) -> Option<LogKind> {
        const NAMES: [(&str, LogKind); 6] = [
            ("_bw.", LogKind::Bandwidth),
            ("_iops.", LogKind::Iops),
            ("_lat.", LogKind::Total),
            ("_clat", LogKind::Part),
            ("_slat.", LogKind::Part),
            ("_hist.", LogKind::Part),
        ];
        NAMES.iter().find(|(part, _)| name.contains(part)).map(|&(_, kind)| kind)
    }
}

/// The rows of one reading; a log has rows only if its file name identifies the quantity.
pub fn measurements(reading: &Reading, log: Option<LogKind>) -> Vec<Measurement> {
    match &reading.found {
        Content::Run(run) => of_run(run),
        Content::Row(row) => vec![(**row).clone()],
        Content::Iozone(row) => of_iozone(row),
        Content::Throughput(block) => vec![of_throughput(block)],
        Content::Device(row) => of_device(row),
        Content::Processors(_) => Vec::new(),
        Content::Log(summary) => of_log(summary, log),
    }
}

fn of_run(run: &ReadRun) -> Vec<Measurement> {
    let mut rows = Vec::with_capacity(run.jobs.iter().map(|job| job.directions.len()).sum());
    for job in &run.jobs {
        rows.extend(job.directions.iter().map(|direction| of_direction(run, job, direction)));
        let failed = job.errno.is_some_and(|errno| errno != 0.0) || job.signal.is_some();
        let is_block = failed || !job.issued.is_empty() || !job.depth_percent.is_empty();
        if job.directions.is_empty() && is_block {
            // A job that failed, or did no I/O, is a row without rates.
            rows.push(of_job(run, job));
        }
    }
    rows
}

/// Facts of a row that are of its job.
fn of_job(run: &ReadRun, job: &ReadJob) -> Measurement {
    Measurement {
        test: job.pattern.as_deref().or(job.name.as_deref()).unwrap_or_default().into(),
        users: job.workers,
        block: job.block_sizes.first().map(|&(low, high)| block(low, high)),
        engine: job.engine.clone(),
        depth: job.depth,
        errno: job.errno.filter(|errno| *errno != 0.0),
        host: run.host.clone(),
        time: run.ended_unix_s.map(utc).or_else(|| job.date.as_deref().map(sortable)),
        round: run.round,
        ..Measurement::default()
    }
}

fn of_direction(run: &ReadRun, job: &ReadJob, direction: &ReadDirection) -> Measurement {
    let at = match direction.kind {
        ReadKind::Read | ReadKind::Mixed => 0,
        ReadKind::Write => 1,
        ReadKind::Trim => 2,
    };
    let total = direction.total.as_ref();
    let of_group = || {
        let group = run.groups.iter().find(|group| group.group == job.group && group.kind == direction.kind)?;
        let is_alone = run.jobs.iter().filter(|other| other.group == job.group).count() == 1;
        group.bytes_per_second.filter(|_| is_alone)
    };
    let rate = direction.bytes_per_second.or_else(of_group);
    // Text states the I/Os of a job in its line `issued rwts`.
    let issued = match direction.kind {
        ReadKind::Mixed if !job.issued.is_empty() => Some(job.issued.iter().take(2).sum()),
        _ => job.issued.get(at).copied(),
    };
    let of_job = of_job(run, job);
    let mut row = Measurement {
        block: job.block_sizes.get(at).or(job.block_sizes.first()).map(|&(low, high)| block(low, high)),
        kind: Some(direction.kind),
        bytes_per_second: rate,
        mean_ns: total.and_then(|total| total.mean_ns),
        min_ns: total.and_then(|total| total.min_ns),
        max_ns: total.and_then(|total| total.max_ns),
        deviation_ns: total.and_then(|total| total.deviation_ns),
        iops: direction.iops,
        percentiles_ns: with_percentiles(direction).map_or([None; PERCENTS.len()], percentiles),
        percentiles_count: with_percentiles(direction).and_then(|latency| latency.count).or(direction.ios).or(issued),
        percentiles_mean_ns: with_percentiles(direction).and_then(|latency| latency.mean_ns),
        ..of_job
    };
    if let Some(buckets) = buckets(job, direction) {
        row.set_buckets(&buckets);
    }
    row
}

/// Smallest and largest block in whole bytes; reports that round to KiB have fractions.
fn block(low: f64, high: f64) -> (u64, u64) {
    (rounded(low), rounded(high))
}

/// Latency buckets. The coarse bins cover all directions: only a job with one has these. Fine ones have their own.
fn buckets(job: &ReadJob, direction: &ReadDirection) -> Option<[f64; BUCKETS]> {
    let mut buckets = [0.0; BUCKETS];
    if job.directions.len() == 1 && !job.latency_shares.is_empty() {
        for share in &job.latency_shares {
            buckets[bucket_below(share.below_ns)] += share.percent;
        }
        // The shares have two decimals; rounding removes the float error of their sum.
        return Some(buckets.map(|share| (share * 1e6).round() / 1e6));
    }
    let bins = &direction.completion.as_ref().or(direction.total.as_ref())?.bins;
    let total: f64 = bins.iter().map(|(_, count)| count).sum();
    if total == 0.0 {
        return None;
    }
    for &(ns, count) in bins {
        // A bin starts at its latency: one that starts on a bucket edge belongs to the bucket above.
        buckets[bucket_below(Some(ns.next_up()))] += 100.0 * count / total;
    }
    Some(buckets)
}

/// The completion latency, or the total latency if only that one has percentiles, as in a survey.
fn with_percentiles(direction: &ReadDirection) -> Option<&ReadLatency> {
    let latencies = [&direction.completion, &direction.total];
    latencies.into_iter().flatten().find(|latency| !latency.percentiles.is_empty())
}

fn percentiles(latency: &ReadLatency) -> [Option<f64>; PERCENTS.len()] {
    PERCENTS.map(|wanted| {
        latency.percentiles.iter().find(|(percent, _)| (percent - wanted).abs() < 1e-9).map(|&(_, ns)| ns)
    })
}

fn kind_of(test: &str) -> Option<ReadKind> {
    if test.contains("mixed") {
        Some(ReadKind::Mixed)
    } else if test.contains("write") {
        Some(ReadKind::Write)
    } else if test.contains("read") {
        Some(ReadKind::Read)
    } else {
        None
    }
}

/// Stores an iozone value in the field for its unit.
fn put(row: &mut Measurement, unit: IozoneUnit, value: Option<f64>) {
    match unit {
        IozoneUnit::KibPerSecond => row.bytes_per_second = value.map(|kib| kib * KIB),
        IozoneUnit::OperationsPerSecond => row.iops = value,
        IozoneUnit::MicrosecondsPerOperation => row.mean_ns = value.map(|us| us * 1e3),
    }
}

fn of_iozone(row: &IozoneRow) -> Vec<Measurement> {
    let one = |&(test, value): &(&'static str, f64)| {
        let mut line = Measurement {
            test: TestName::Other(test.to_owned()),
            block: Some(block(row.record_bytes, row.record_bytes)),
            // A name with both words is a write, such as "record rewrite".
            kind: kind_of(test),
            ..Measurement::default()
        };
        put(&mut line, row.head.unit, Some(value));
        line
    };
    row.values.iter().map(one).collect()
}

fn of_throughput(found: &IozoneThroughput) -> Measurement {
    let mut line = Measurement {
        test: TestName::Other(found.test.clone()),
        users: found.workers,
        block: found.head.record_bytes.map(|size| block(size, size)),
        kind: kind_of(&found.test),
        ..Measurement::default()
    };
    put(&mut line, found.head.unit, found.children);
    line
}

/// iostat's column names for one direction. Those of rates are `rkB/s`, `rMB/s`, `rsec/s` or `kB_read/s`, `Blk_read/s`.
struct Columns {
    kind: ReadKind,
    /// The first letter of a rate of `-x`; none for all operations together.
    letter: &'static str,
    /// The end of a rate without `-x`.
    end: &'static str,
    per_second: &'static str,
    mean_ms: &'static str,
}

const COLUMNS: &[Columns] = &[
    Columns { kind: ReadKind::Read, letter: "r", end: "_read/s", per_second: "r/s", mean_ms: "r_await" },
    Columns { kind: ReadKind::Write, letter: "w", end: "_wrtn/s", per_second: "w/s", mean_ms: "w_await" },
    Columns { kind: ReadKind::Trim, letter: "d", end: "_dscd/s", per_second: "d/s", mean_ms: "d_await" },
    // Of `-s`, whose rates are `kB/s`, or `kB_read/s` and `kB_w+d/s`: all of them.
    Columns { kind: ReadKind::Mixed, letter: "", end: "", per_second: "tps", mean_ms: "await" },
];

impl Columns {
    /// The rate of a row in bytes per second.
    fn rate(&self, row: &IostatRow) -> Option<f64> {
        let is_rate = |name: &str| name.ends_with("/s") && (name.starts_with(self.letter) || name.ends_with(self.end));
        let rates = row.columns.iter().zip(&row.values).filter(|(name, _)| is_rate(name));
        let rates = rates.filter_map(|(name, value)| Some(value * bytes_of_unit(name)?));
        rates.reduce(|one, other| one + other)
    }
}

/// Reads, writes and discards of a device, each if the row has it; discards if there were any. Only where writes and
/// discards are one number, the row is of all together.
fn of_device(row: &IostatRow) -> Vec<Measurement> {
    let line = |columns: &Columns| {
        let iops = row.value(&[columns.per_second]);
        let bytes_per_second = columns.rate(row);
        (iops.is_some() || bytes_per_second.is_some()).then(|| Measurement {
            test: TestName::Other(row.device.clone()),
            kind: Some(columns.kind),
            bytes_per_second,
            iops,
            mean_ns: row.value(&[columns.mean_ms]).map(ns_of_ms),
            time: row.date.clone(),
            ..Measurement::default()
        })
    };
    let is_short = are_short(&row.columns);
    let happened = |line: &Measurement| [line.iops, line.bytes_per_second].into_iter().flatten().any(|rate| rate > 0.0);
    let mut lines: Vec<Measurement> =
        COLUMNS.iter().filter(|columns| is_short == (columns.kind == ReadKind::Mixed)).filter_map(line).collect();
    lines.retain(|line| line.kind != Some(ReadKind::Trim) || happened(line));
    lines
}

fn of_log(summary: &LogSummary, kind: Option<LogKind>) -> Vec<Measurement> {
    summary.directions.iter().map(|direction| of_log_direction(summary, direction, kind)).collect()
}

fn of_log_direction(summary: &LogSummary, found: &LogDirection, kind: Option<LogKind>) -> Measurement {
    let test = TestName::Other("log".to_owned());
    let mut line = Measurement { test, kind: Some(found.kind), ..Measurement::default() };
    if summary.histograms {
        // Histogram logs contain completion latency, not total latency.
        line.percentiles_count = Some(found.count);
        line.percentiles_ns = PERCENTS.map(|percent| percentile_of_bins(&found.bins, found.count, percent));
        return line;
    }
    match kind {
        Some(LogKind::Bandwidth) => line.bytes_per_second = Some(found.mean * KIB),
        Some(LogKind::Iops) => line.iops = Some(found.mean),
        Some(LogKind::Total) => {
            line.mean_ns = Some(found.mean);
            line.min_ns = Some(found.min);
            line.max_ns = Some(found.max);
        }
        Some(LogKind::Part) | None => {}
    }
    line
}

fn percentile_of_bins(bins: &[(f64, f64)], count: f64, percent: f64) -> Option<f64> {
    let mut below = 0.0;
    let reached = |&&(_, inside): &&(f64, f64)| {
        below += inside;
        below >= percent / 100.0 * count
    };
    bins.iter().find(reached).map(|&(ns, _)| ns)
}

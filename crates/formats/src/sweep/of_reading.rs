//! What was found → lines of measurements, as far as each thing has one.

use super::{BUCKET_NAMES, PERCENTILE_NAMES, bucket_below};
use model::reading::{
    BUCKETS, Found, IostatRow, IozoneRow, IozoneThroughput, IozoneUnit, LogDirection, LogSummary, Measurement,
    PERCENTILES, ReadDirection, ReadJob, ReadKind, ReadLatency, ReadRun, Reading,
};

const MIB: f64 = 1024.0 * 1024.0;
const MS: f64 = 1e6;

/// What the values of a log are, which only the name of its file tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
    /// KiB per second.
    Bandwidth,
    /// I/Os per second.
    Iops,
    /// Nanoseconds from issue to end.
    Total,
    /// Nanoseconds of one part of it.
    Part,
}

impl LogKind {
    /// By fio's names of logs.
    pub fn of_file(name: &str) -> Option<LogKind> {
        const NAMES: [(&str, LogKind); 5] = [
            ("_bw.", LogKind::Bandwidth),
            ("_iops.", LogKind::Iops),
            ("_lat.", LogKind::Total),
            ("_clat", LogKind::Part),
            ("_slat.", LogKind::Part),
        ];
        NAMES.iter().find(|(part, _)| name.contains(part)).map(|&(_, kind)| kind)
    }
}

/// The lines that one reading gives; a log only if the name of its file says what it is.
pub fn measurements(reading: &Reading, log: Option<LogKind>) -> Vec<Measurement> {
    match &reading.found {
        Found::Run(run) => run.jobs.iter().flat_map(|job| of_job(run, job)).collect(),
        Found::Row(row) => vec![(**row).clone()],
        Found::Iozone(row) => of_iozone(row),
        Found::Throughput(block) => vec![of_throughput(block)],
        Found::Device(row) => of_device(row),
        Found::Processors(_) => Vec::new(),
        Found::Log(summary) => of_log(summary, log),
    }
}

fn of_job(run: &ReadRun, job: &ReadJob) -> Vec<Measurement> {
    job.directions.iter().map(|direction| of_direction(run, job, direction)).collect()
}

fn of_direction(run: &ReadRun, job: &ReadJob, direction: &ReadDirection) -> Measurement {
    let at = match direction.kind {
        ReadKind::Read | ReadKind::Mixed => 0,
        ReadKind::Write => 1,
        ReadKind::Trim => 2,
    };
    let total = direction.total.as_ref();
    let ms = |ns: Option<f64>| ns.map(|ns| ns / MS);
    let group = run.groups.iter().find(|group| group.group == job.group && group.kind == direction.kind);
    let alone = run.jobs.iter().filter(|other| other.group == job.group).count() == 1;
    let rate = direction.bytes_per_second.or(group.filter(|_| alone).and_then(|group| group.bytes_per_second));
    Measurement {
        name: job.pattern.clone().or_else(|| job.name.clone()).unwrap_or_default(),
        users: job.workers,
        block_size: job.block_sizes.get(at).or(job.block_sizes.first()).map(|&sizes| spelled(sizes)),
        kind: Some(direction.kind),
        mib_per_second: rate.map(|rate| rate / MIB),
        mean_ms: ms(total.and_then(|total| total.mean_ns)),
        min_ms: ms(total.and_then(|total| total.min_ns)),
        max_ms: ms(total.and_then(|total| total.max_ns)),
        deviation_ms: ms(total.and_then(|total| total.deviation_ns)),
        iops: direction.iops,
        buckets: buckets(job, direction),
        percentiles_ms: direction.completion.as_ref().map_or([None; PERCENTILES], percentiles),
        engine: job.engine.clone(),
        depth: job.depth,
        errno: job.errno.filter(|errno| *errno != 0.0),
        ..Measurement::default()
    }
}

/// `8K`, `4K-16K`, `512B`.
fn spelled((low, high): (f64, f64)) -> String {
    let one = |size: f64| match whole_bytes(size) {
        Some(bytes) if bytes >= 1 << 20 && bytes % (1 << 20) == 0 => format!("{}M", bytes >> 20),
        Some(bytes) if bytes >= 1 << 10 && bytes % (1 << 10) == 0 => format!("{}K", bytes >> 10),
        Some(bytes) => format!("{bytes}B"),
        None => format!("{size}B"),
    };
    if (low - high).abs() < 0.5 { one(low) } else { format!("{}-{}", one(low), one(high)) }
}

/// A size that integers hold; they are spelled much faster than floats.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number below 2^53")]
fn whole_bytes(size: f64) -> Option<u64> {
    const MOST: f64 = 9_007_199_254_740_992.0;
    ((0.0..MOST).contains(&size) && size.fract() == 0.0).then_some(size as u64)
}

/// The coarse bins are over all directions: they are a direction's own only if there is no other. Fine bins are.
fn buckets(job: &ReadJob, direction: &ReadDirection) -> Option<[f64; BUCKETS]> {
    let mut buckets = [0.0; BUCKETS];
    if job.directions.len() == 1 && !job.latency_shares.is_empty() {
        for share in &job.latency_shares {
            buckets[bucket_below(share.below_ns)] += share.percent;
        }
        // Hundredths that were added up stay hundredths.
        return Some(buckets.map(|share| (share * 1e6).round() / 1e6));
    }
    let bins = &direction.completion.as_ref().or(direction.total.as_ref())?.bins;
    let total: f64 = bins.iter().map(|(_, count)| count).sum();
    if total == 0.0 {
        return None;
    }
    for &(ns, count) in bins {
        let at = BUCKET_NAMES.iter().position(|&(_, edge)| ns < edge).unwrap_or(BUCKETS - 1);
        buckets[at] += 100.0 * count / total;
    }
    Some(buckets)
}

fn percentiles(latency: &ReadLatency) -> [Option<f64>; PERCENTILES] {
    PERCENTILE_NAMES.map(|(_, wanted)| {
        latency.percentiles.iter().find(|(percent, _)| (percent - wanted).abs() < 1e-9).map(|&(_, ns)| ns / MS)
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

/// A value of iozone where its unit puts it.
fn put(row: &mut Measurement, unit: IozoneUnit, value: Option<f64>) {
    match unit {
        IozoneUnit::KibPerSecond => row.mib_per_second = value.map(|kib| kib / 1024.0),
        IozoneUnit::OperationsPerSecond => row.iops = value,
        IozoneUnit::MicrosecondsPerOperation => row.mean_ms = value.map(|us| us / 1000.0),
    }
}

fn of_iozone(row: &IozoneRow) -> Vec<Measurement> {
    let one = |&(test, value): &(&'static str, f64)| {
        let mut line = Measurement {
            name: test.to_owned(),
            block_size: Some(spelled((row.record_bytes, row.record_bytes))),
            // "record rewrite" and the like; a name with both words is a write.
            kind: kind_of(test),
            ..Measurement::default()
        };
        put(&mut line, row.head.unit, Some(value));
        line
    };
    row.values.iter().map(one).collect()
}

fn of_throughput(block: &IozoneThroughput) -> Measurement {
    let mut line = Measurement {
        name: block.test.clone(),
        users: block.workers,
        block_size: block.head.record_bytes.map(|size| spelled((size, size))),
        kind: kind_of(&block.test),
        ..Measurement::default()
    };
    put(&mut line, block.head.unit, block.children);
    line
}

/// iostat's names of one direction's columns, oldest last.
struct Columns {
    kind: ReadKind,
    per_second: &'static str,
    /// Amounts, and how many of their unit are a MiB: `MB` and `kB` of iostat are binary, sectors have 512 bytes.
    rates: [(&'static [&'static str], f64); 3],
    mean_ms: &'static str,
}

const COLUMNS: &[Columns] = &[
    Columns {
        kind: ReadKind::Read,
        per_second: "r/s",
        rates: [(&["rMB/s", "MB_read/s"], 1.0), (&["rkB/s", "kB_read/s"], 1024.0), (&["rsec/s", "Blk_read/s"], 2048.0)],
        mean_ms: "r_await",
    },
    Columns {
        kind: ReadKind::Write,
        per_second: "w/s",
        rates: [(&["wMB/s", "MB_wrtn/s"], 1.0), (&["wkB/s", "kB_wrtn/s"], 1024.0), (&["wsec/s", "Blk_wrtn/s"], 2048.0)],
        mean_ms: "w_await",
    },
];

/// Reads and writes of a device, each if the line has it.
fn of_device(row: &IostatRow) -> Vec<Measurement> {
    let line = |columns: &Columns| {
        let iops = row.value(&[columns.per_second]);
        let rates = columns.rates.iter();
        let mib_per_second = rates.filter_map(|(names, per_mib)| Some(row.value(names)? / per_mib)).next();
        (iops.is_some() || mib_per_second.is_some()).then(|| Measurement {
            name: row.device.clone(),
            kind: Some(columns.kind),
            mib_per_second,
            iops,
            mean_ms: row.value(&[columns.mean_ms]),
            ..Measurement::default()
        })
    };
    COLUMNS.iter().filter_map(line).collect()
}

fn of_log(summary: &LogSummary, kind: Option<LogKind>) -> Vec<Measurement> {
    summary.directions.iter().map(|direction| of_log_direction(summary, direction, kind)).collect()
}

fn of_log_direction(summary: &LogSummary, found: &LogDirection, kind: Option<LogKind>) -> Measurement {
    let mut line = Measurement { name: "log".to_owned(), kind: Some(found.kind), ..Measurement::default() };
    if summary.histograms {
        // Histogram logs are of completion latency: of the total latency they say nothing.
        line.percentiles_ms =
            PERCENTILE_NAMES.map(|(_, percent)| percentile_of_bins(&found.bins, found.count, percent));
        return line;
    }
    match kind {
        Some(LogKind::Bandwidth) => line.mib_per_second = Some(found.mean / 1024.0),
        Some(LogKind::Iops) => line.iops = Some(found.mean),
        Some(LogKind::Total) => {
            line.mean_ms = Some(found.mean / MS);
            line.min_ms = Some(found.min / MS);
            line.max_ms = Some(found.max / MS);
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
    bins.iter().find(reached).map(|&(ns, _)| ns / MS)
}

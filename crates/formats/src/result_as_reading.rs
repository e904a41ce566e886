//! A [`RunResult`] as the [`Reading`] of an exact report: the values that a parser would find if nothing were rounded.
//!
//! Owns the conversion between results and readings, in both directions.

use crate::echoed;
use crate::fio::percent_rows;
use crate::fio::percent_rows::{LEAST_DEPTH_SHARE, LEAST_LATENCY_SHARE};
use crate::from_printed::{self, LARGEST, histogram_of_bins, histogram_of_percentiles, rounded, share_of};
use measure::{Direction, Histogram, Nanos, SampleStatistics};
use model::reading::{
    Content, LatencyShare, PriorityTime, ReadDirection, ReadDisk, ReadJob, ReadKind, ReadLatency, ReadPriority,
    ReadRun, ReadSamples, Reading,
};
use model::{
    CpuUsage, DepthStatistics, DeviceUsage, DirectionResult, JobError, JobResult, LatencyBins, LatencyStatistics,
    Origin, PriorityLatency, ReportStyle, RunResult, Unified,
};

/// Converts a count to a float; exact up to 2^53.
pub(crate) const fn float(count: u64) -> f64 {
    count as f64
}

/// The reading of this result.
pub fn reading(result: &RunResult, format: &'static str, line: u64) -> Reading {
    let program = &result.environment.program;
    let mut run = ReadRun {
        version: (!program.is_empty()).then(|| program.clone()),
        host: result.environment.host.clone(),
        ended_unix_s: (result.ended_unix_ms > 0).then(|| float(result.ended_unix_ms) / 1000.0),
        jobs: result.reported_kinds().iter().map(|job| read_job(job, line)).collect(),
        ..ReadRun::default()
    };
    run.disks = result.devices.iter().map(read_disk).collect();
    Reading::new(format, line, Content::Run(Box::new(run)))
}

fn read_job(job: &JobResult, line: u64) -> ReadJob {
    let (ns, us, ms) = percent_rows::latency(job);
    let mut latency_shares = Vec::new();
    for (unit, bins) in [(1.0, &ns[..]), (1e3, &us[..]), (1e6, &ms[..])] {
        let bounds =
            LatencyBins::BOUNDS.map(float).into_iter().map(|bound| Some(bound * unit)).chain([Some(2e9), None]);
        latency_shares.extend(
            bounds
                .zip(bins)
                .filter(|(_, share)| **share > 0.0)
                .map(|(below_ns, &percent)| LatencyShare { below_ns, percent }),
        );
    }
    let runtime = job.runtime.as_f64();
    let share = |time: Nanos| (runtime > 0.0).then(|| 100.0 * time.as_f64() / runtime);
    let counts = |get: fn(&DirectionResult) -> u64, sync: u64| -> Vec<f64> {
        let each = Direction::ALL.map(|direction| get(&job.directions[direction]));
        each.into_iter().chain([sync]).map(float).collect()
    };
    let priority_time = if job.style.total_percentiles { PriorityTime::Total } else { PriorityTime::Completion };
    ReadJob {
        line,
        name: Some(job.echo.name.clone()),
        group: Some(f64::from(job.echo.group)),
        workers: Some(f64::from(job.workers)),
        errno: Some(f64::from(job.errno())),
        signal: job.error.as_ref().and_then(|error| error.signal).map(f64::from),
        pid: (job.pid != 0).then(|| f64::from(job.pid)),
        description: job.echo.description.clone(),
        pattern: echoed::pattern(job).map(str::to_owned),
        engine: Some(job.echo.engine.clone()).filter(|engine| !engine.is_empty()),
        depth: (job.echo.iodepth > 0).then(|| f64::from(job.echo.iodepth)),
        block_sizes: Direction::ALL
            .into_iter()
            .map(|direction| job.echo.block_sizes[direction])
            .filter(|sizes| sizes.1 > 0)
            .map(|(low, high)| (f64::from(low), f64::from(high)))
            .collect(),
        directions: Direction::ALL
            .into_iter()
            .filter_map(|direction| read_direction(&job.directions[direction], direction.into(), priority_time))
            .collect(),
        sync: latency(Some(&job.sync.latency), &job.style.percentiles),
        latency_shares,
        user_percent: share(job.cpu.user),
        system_percent: share(job.cpu.system),
        switches: Some(float(job.cpu.switches)),
        major_faults: Some(float(job.cpu.major_faults)),
        minor_faults: Some(float(job.cpu.minor_faults)),
        depth_percent: percent_rows::level(job).to_vec(),
        submit_percent: percent_rows::submit(&job.depth).to_vec(),
        complete_percent: percent_rows::complete(&job.depth).to_vec(),
        issued: counts(|direction| direction.ios, job.sync.count),
        short: counts(|direction| direction.short_ios, 0),
        dropped: counts(|direction| direction.dropped_ios, 0),
        forgiven_errors: job.style.shows_errors.then(|| float(job.forgiven_errors)),
        ..ReadJob::default()
    }
}

fn read_direction(found: &DirectionResult, kind: ReadKind, time: PriorityTime) -> Option<ReadDirection> {
    if found.bytes == 0 && found.ios == 0 {
        return None;
    }
    let samples = |samples: &SampleStatistics, unit: f64| {
        (samples.count > 0).then(|| ReadSamples {
            min: Some(float(samples.minimum) * unit),
            max: Some(float(samples.maximum) * unit),
            percent_of_group: None,
            mean: Some(samples.mean * unit),
            deviation: Some(samples.deviation() * unit),
            count: Some(float(samples.count)),
        })
    };
    let percentiles = &model::ReportStyle::default().percentiles;
    Some(ReadDirection {
        bytes: Some(float(found.bytes)),
        bytes_per_second: found.bytes_per_second().map(float),
        iops: found.iops(),
        runtime_ms: Some(float(found.runtime.as_millis_ceil())),
        ios: Some(float(found.ios)),
        zone_resets: found.zone_resets.map(float),
        submission: latency(found.submission.as_ref(), percentiles),
        completion: latency(found.completion.as_ref(), percentiles),
        total: latency(found.total.as_ref(), percentiles),
        priorities: priorities(found, time, percentiles),
        bandwidth: samples(&found.bandwidth_samples, 1024.0),
        iops_samples: samples(&found.iops_samples, 1.0),
        ..ReadDirection::new(kind)
    })
}

/// Latencies per priority; empty if all I/Os had the same priority.
fn priorities(found: &DirectionResult, time: PriorityTime, percentiles: &[f64]) -> Vec<ReadPriority> {
    let read = |of: &PriorityLatency| {
        let latency = latency(Some(&of.latency), percentiles)?;
        Some(ReadPriority {
            class: f64::from(of.class),
            level: f64::from(of.level),
            hint: Some(f64::from(of.hint)),
            percent: latency.count.filter(|_| found.ios > 0).map(|count| 100.0 * count / float(found.ios)),
            time,
            latency,
        })
    };
    found.priorities.iter().filter(|_| found.priorities.len() > 1).filter_map(read).collect()
}

fn latency(found: Option<&LatencyStatistics>, wanted: &[f64]) -> Option<ReadLatency> {
    let found = found.filter(|found| found.moments.count() > 0)?;
    let moments = &found.moments;
    let points = found.histogram.as_ref().and_then(|histogram| histogram.percentiles(wanted)).unwrap_or_default();
    let bins = found.histogram.iter().flat_map(|histogram| histogram.iter());
    Some(ReadLatency {
        count: Some(float(moments.count())),
        min_ns: moments.minimum().map(Nanos::as_f64),
        max_ns: moments.maximum().map(Nanos::as_f64),
        mean_ns: moments.mean(),
        deviation_ns: moments.deviation(),
        percentiles: wanted.iter().copied().zip(points.into_iter().map(Nanos::as_f64)).collect(),
        bins: bins.map(|(bucket, count)| (Histogram::bucket_value(bucket).as_f64(), float(count))).collect(),
    })
}

fn read_disk(disk: &DeviceUsage) -> ReadDisk {
    let pair = |[reads, writes]: [u64; 2]| Some((float(reads), float(writes)));
    ReadDisk {
        name: disk.name.clone(),
        ios: pair(disk.ios),
        sectors: disk.sectors.and_then(pair),
        merges: pair(disk.merges),
        ticks_ms: pair(disk.ticks_ms),
        in_queue_ms: Some(float(disk.in_queue_ms)),
        utilisation_percent: disk.utilisation_percent(),
    }
}

/// The result described by a report: counts that it lacks are rebuilt from its rates, other missing values keep their
/// defaults. A sum over the directions, reported alone, is stored as reads, see [`Unified`].
pub fn result(run: ReadRun) -> RunResult {
    let result = rebuilt(&run);
    RunResult { origin: Origin::Report(Box::new(run)), ..result }
}

/// The same without the report.
pub(crate) fn rebuilt(run: &ReadRun) -> RunResult {
    let settings = |job| JobResult { style: style(job), runtime: longest(job), ..JobResult::default() };
    rebuilt_over(run, run.jobs.iter().map(settings))
}

/// The same. `settings` has one per job: what the report states elsewhere, and the run time.
pub(crate) fn rebuilt_over(run: &ReadRun, settings: impl Iterator<Item = JobResult>) -> RunResult {
    let mut result = RunResult::default();
    result.environment.program = run.version.clone().unwrap_or_default();
    result.environment.host.clone_from(&run.host);
    result.ended_unix_ms = count(run.ended_unix_s.map(|seconds| seconds * 1000.0));
    for ((number, job), mut found) in (1..).zip(&run.jobs).zip(settings) {
        found.echo.number = number;
        complete(&mut found, job);
        result.jobs.push(found);
    }
    result.devices = run.disks.iter().map(usage_of).collect();
    result
}

pub(crate) fn count(value: Option<f64>) -> u64 {
    rounded(value.unwrap_or(0.0)).min(LARGEST)
}

pub(crate) fn small(value: Option<f64>) -> u32 {
    u32::try_from(count(value)).unwrap_or(u32::MAX)
}

/// Shows the percentiles that the report shows; those of a job without I/O are unknown.
fn style(job: &ReadJob) -> ReportStyle {
    if job
        .directions
        .iter()
        .all(|direction| [direction.bytes, direction.iops].iter().flatten().all(|&moved| moved == 0.0))
    {
        return ReportStyle::default();
    }
    let shows = |latency: fn(&ReadDirection) -> &Option<ReadLatency>| {
        let latencies = job.directions.iter().filter_map(|direction| latency(direction).as_ref());
        latencies.into_iter().any(|latency| !latency.percentiles.is_empty())
    };
    ReportStyle {
        submission_percentiles: shows(|direction| &direction.submission),
        completion_percentiles: shows(|direction| &direction.completion),
        total_percentiles: shows(|direction| &direction.total),
        ..ReportStyle::default()
    }
}

/// Run time of the longest direction.
pub(crate) fn longest(job: &ReadJob) -> Nanos {
    from_printed::milliseconds(job.directions.iter().filter_map(|direction| direction.runtime_ms).fold(0.0, f64::max))
}

fn complete(found: &mut JobResult, job: &ReadJob) {
    let errno = i32::try_from(count(job.errno)).unwrap_or(0);
    found.workers = job.workers.map_or(found.workers, |workers| small(Some(workers))).max(1);
    found.pid = small(job.pid);
    found.forgiven_errors = count(job.forgiven_errors);
    // With `continue_on_error`, the error repeats the first of the ignored errors.
    if found.forgiven_errors > 0 {
        found.first_forgiven_errno = errno;
    } else if errno != 0 {
        found.error = Some(JobError { errno, operation: String::new(), message: String::new(), signal: None });
    }
    if let Some(signal) = job.signal {
        let (message, signal) = (format!("killed by signal {signal}"), i32::try_from(count(job.signal)).ok());
        found.error = Some(JobError { errno, operation: String::new(), message, signal });
    }
    found.style.shows_errors |= job.forgiven_errors.is_some();
    let echo = &mut found.echo;
    echo.name = job.name.clone().unwrap_or_default();
    echo.description = job.description.clone().or(echo.description.take());
    echo.group = small(job.group);
    echo.engine = job.engine.clone().unwrap_or_default();
    echo.iodepth = small(job.depth);
    let engine = job.engine.as_deref().unwrap_or_default();
    let of_pattern = || echoed::of_pattern(job.pattern.as_deref()?, engine);
    // fio prints no pattern of engines that do no I/O.
    let of_engine = || echoed::of_pattern("read", engine).filter(|workload| workload.work == plan::Work::Background);
    found.workload = found.workload.take().or_else(of_pattern).or_else(of_engine);
    for (direction, slot) in Direction::ALL.into_iter().zip(0..) {
        let sizes = job.block_sizes.get(slot).or(job.block_sizes.last()).copied().unwrap_or_default();
        found.echo.block_sizes[direction] = (small(Some(sizes.0)), small(Some(sizes.1)));
        if let Some(read) = job.directions.iter().find(|read| read.kind == direction.into()) {
            found.directions[direction] = result_of_direction(read, job.issued.get(slot).copied());
        }
        found.directions[direction].short_ios = count(job.short.get(slot).copied());
        found.directions[direction].dropped_ios = count(job.dropped.get(slot).copied());
    }
    if let Some(mixed) = job.directions.iter().find(|read| read.kind == ReadKind::Mixed) {
        // The report does not say which of the modes was used; the sum is the same.
        found.style.unified = if job.directions.len() > 1 { Unified::Both } else { Unified::Mixed };
        if found.style.unified == Unified::Mixed {
            found.directions.read = result_of_direction(mixed, job.issued.first().copied());
        }
    }
    found.sync.count = count(job.issued.get(3).copied());
    found.sync.latency = job.sync.as_ref().and_then(|sync| statistics(sync, found.sync.count)).unwrap_or_default();
    if let Some(percentiles) = percentiles(job) {
        found.style.percentiles = percentiles;
    }
    found.cpu = CpuUsage {
        user: share_of(found.runtime, job.user_percent.unwrap_or(0.0)),
        system: share_of(found.runtime, job.system_percent.unwrap_or(0.0)),
        switches: count(job.switches),
        major_faults: count(job.major_faults),
        minor_faults: count(job.minor_faults),
    };
    let ios = found.ios();
    found.depth = depth_of(job, ios);
    found.latency_bins = bins_of(job, ios);
}

/// The list of percentiles that the job's latencies have.
fn percentiles(job: &ReadJob) -> Option<Vec<f64>> {
    let measured = job.directions.iter().flat_map(|read| [&read.completion, &read.total, &read.submission]);
    let latency = measured.chain([&job.sync]).flatten().find(|latency| !latency.percentiles.is_empty())?;
    Some(latency.percentiles.iter().map(|&(percent, _)| percent).collect())
}

/// Submit and reap sizes are stored as counts out of this many calls: a percentage with six decimals.
const PARTS: u64 = 100_000_000;

fn depth_of(job: &ReadJob, ios: u64) -> DepthStatistics {
    let counts = |stated: &[f64], total: u64| {
        let stated: [f64; 7] = std::array::from_fn(|bin| stated.get(bin).copied().unwrap_or(0.0));
        from_printed::counts(&stated, total, LEAST_DEPTH_SHARE)
    };
    DepthStatistics {
        level: counts(&job.depth_percent, ios),
        submit: counts(&job.submit_percent, PARTS),
        complete: counts(&job.complete_percent, PARTS),
        ..DepthStatistics::default()
    }
}

fn bins_of(job: &ReadJob, ios: u64) -> LatencyBins {
    let (mut ns, mut us, mut ms) = ([0.0; 10], [0.0; 10], [0.0; 12]);
    for share in &job.latency_shares {
        let bin = |unit: f64| {
            LatencyBins::BOUNDS
                .iter()
                .position(|&bound| share.below_ns.is_some_and(|ns| (ns / unit - float(bound)).abs() < 0.5))
        };
        match (bin(1.0), bin(1e3), bin(1e6)) {
            (Some(bin), _, _) => ns[bin] += share.percent,
            (_, Some(bin), _) => us[bin] += share.percent,
            (_, _, Some(bin)) => ms[bin] += share.percent,
            _ => ms[if share.below_ns.is_some() { 10 } else { 11 }] += share.percent,
        }
    }
    LatencyBins {
        ns: from_printed::counts(&ns, ios, LEAST_LATENCY_SHARE),
        us: from_printed::counts(&us, ios, LEAST_LATENCY_SHARE),
        ms: from_printed::counts(&ms, ios, LEAST_LATENCY_SHARE),
    }
}

fn result_of_direction(read: &ReadDirection, issued: Option<f64>) -> DirectionResult {
    let seconds = read.runtime_ms.unwrap_or(0.0) / 1000.0;
    let ios = count(issued.or(read.ios).or(read.iops.map(|iops| iops * seconds)));
    let statistics = |latency: &Option<ReadLatency>| latency.as_ref().and_then(|latency| statistics(latency, ios));
    let samples = |samples: &Option<ReadSamples>, unit: f64| {
        samples.as_ref().map_or_else(SampleStatistics::default, |samples| {
            let value = |value: Option<f64>| value.unwrap_or(0.0) / unit;
            // Reports without the number of samples have at least one, and two if they deviate.
            let fewest = if value(samples.deviation) > 0.0 { 2.0 } else { 1.0 };
            from_printed::samples(
                count(samples.count.or(Some(fewest))),
                [rounded(value(samples.min)), rounded(value(samples.max))],
                [value(samples.mean), value(samples.deviation)],
            )
        })
    };
    DirectionResult {
        bytes: count(read.bytes),
        ios,
        // fio up to 3.41 prints 0 of jobs without zones, too.
        zone_resets: Some(count(read.zone_resets)).filter(|&resets| resets > 0),
        runtime: from_printed::milliseconds(read.runtime_ms.unwrap_or(0.0)),
        submission: statistics(&read.submission),
        completion: statistics(&read.completion),
        total: statistics(&read.total),
        priorities: read.priorities.iter().filter_map(|of| priority_of(of, ios)).collect(),
        bandwidth_samples: samples(&read.bandwidth, 1024.0),
        iops_samples: samples(&read.iops_samples, 1.0),
        stated: from_printed::stated(read.bytes_per_second, read.iops),
        ..DirectionResult::default()
    }
}

fn priority_of(read: &ReadPriority, ios: u64) -> Option<PriorityLatency> {
    let number = |value: f64| u16::try_from(count(Some(value))).unwrap_or(u16::MAX);
    let share = read.percent.map_or(0, |percent| count(Some(percent / 100.0 * float(ios))));
    Some(PriorityLatency {
        class: number(read.class),
        level: number(read.level),
        hint: number(read.hint.unwrap_or(0.0)),
        latency: statistics(&read.latency, share)?,
    })
}

fn statistics(latency: &ReadLatency, ios: u64) -> Option<LatencyStatistics> {
    let number = latency.count.map_or(ios, |stated| count(Some(stated)));
    if number == 0 {
        return None;
    }
    let mean = latency.mean_ns.unwrap_or(0.0);
    // A maximum may be printed in whole microseconds, but not the mean.
    let bounds = [count(latency.min_ns), count(latency.max_ns).max(rounded(mean).min(LARGEST))];
    let moments = from_printed::moments(number, bounds, [mean, latency.deviation_ns.unwrap_or(0.0)]);
    let points: Vec<(f64, u64)> = latency.percentiles.iter().map(|&(percent, ns)| (percent, count(Some(ns)))).collect();
    let histogram = if !latency.bins.is_empty() {
        Some(histogram_of_bins(&latency.bins))
    } else {
        (!points.is_empty()).then(|| histogram_of_percentiles(&points, number, bounds[1]))
    };
    Some(LatencyStatistics { moments, histogram })
}

fn usage_of(disk: &ReadDisk) -> DeviceUsage {
    let pair =
        |pair: Option<(f64, f64)>| pair.map_or([0, 0], |(reads, writes)| [count(Some(reads)), count(Some(writes))]);
    DeviceUsage {
        name: disk.name.clone(),
        ios: pair(disk.ios),
        merges: pair(disk.merges),
        sectors: disk.sectors.map(|both| pair(Some(both))),
        ticks_ms: pair(disk.ticks_ms),
        in_queue_ms: count(disk.in_queue_ms),
        stated_utilisation_percent: disk.utilisation_percent,
        ..DeviceUsage::default()
    }
}

//! plumb's result files → measurements, computed from the counters without rounding.
//!
//! Leaves the name of the test and its users to the caller, who may know them from a survey.

use crate::percentile_as_fact;
use measure::{Direction, Histogram, Nanos};
use model::measurement::{LATENCY_EDGES_NS, PERCENTS};
use model::reading::LatencyShare;
use model::{JobResult, Measurement, RunResult};

/// Merges all jobs of a result; `None` without a job.
pub fn merged(result: &RunResult) -> Option<JobResult> {
    let (first, rest) = result.jobs.split_first()?;
    let mut all = first.clone();
    rest.iter().for_each(|job| all.merge(job));
    Some(all)
}

/// The measurement of a job in one direction; `None` if the direction has no I/O.
///
/// A percentile is absent if fewer than a hundred I/Os were slower.
pub fn measurement(job: &JobResult, direction: Direction) -> Option<Measurement> {
    let moved = &job.directions[direction];
    if moved.bytes == 0 && moved.ios == 0 {
        return None;
    }
    let moments = moved.latency().map(|latency| &latency.moments);
    let distribution = moved.latency_distribution();
    let sizes = [direction, Direction::Read, Direction::Write, Direction::Trim].map(|of| job.echo.block_sizes[of]);
    let block = sizes.into_iter().find(|sizes| sizes.1 > 0);
    Some(Measurement {
        users: Some(f64::from(job.workers)),
        block: block.map(|(low, high)| (u64::from(low), u64::from(high))),
        kind: Some(direction.into()),
        bytes_per_second: moved.bytes_per_second().map(|rate| rate as f64),
        mean_ns: moments.and_then(measure::Moments::mean),
        min_ns: moments.and_then(measure::Moments::minimum).map(Nanos::as_f64),
        max_ns: moments.and_then(measure::Moments::maximum).map(Nanos::as_f64),
        deviation_ns: moments.and_then(measure::Moments::deviation),
        iops: moved.iops(),
        shares: distribution.and_then(|latency| latency.histogram.as_deref()).map(shares).unwrap_or_default(),
        percentiles_ns: PERCENTS.map(|percent| percentile_as_fact(distribution?, percent).map(Nanos::as_f64)),
        percentiles_mean_ns: distribution.and_then(|latency| latency.moments.mean()),
        engine: Some(job.echo.engine.clone()).filter(|engine| !engine.is_empty()),
        depth: (job.echo.iodepth > 0).then(|| f64::from(job.echo.iodepth)),
        errno: Some(f64::from(job.errno())).filter(|&errno| errno != 0.0),
        ..Measurement::default()
    })
}

/// The fraction of I/Os in each latency bucket; empty for an empty histogram.
pub fn shares(histogram: &Histogram) -> Vec<LatencyShare> {
    let mut counts = [0_u64; LATENCY_EDGES_NS.len() + 1];
    for (bucket, count) in histogram.iter() {
        let value = Histogram::bucket_value(bucket).as_f64();
        counts[LATENCY_EDGES_NS.iter().position(|&edge| value <= edge).unwrap_or(LATENCY_EDGES_NS.len())] += count;
    }
    let total = histogram.total();
    let percent = |count: u64| 100.0 * count as f64 / total as f64;
    let edges = LATENCY_EDGES_NS.into_iter().map(Some).chain([None]);
    let all = edges.zip(counts).map(|(below_ns, count)| LatencyShare { below_ns, percent: percent(count) });
    if total == 0 { Vec::new() } else { all.collect() }
}

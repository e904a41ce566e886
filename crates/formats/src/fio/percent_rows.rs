//! Counts → percentages as fio prints them: depths, submit and reap sizes, coarse latency bins.

use super::group::ios_done;
use model::{DepthStatistics, JobResult};

/// Percentages of the seven depth or batch bins.
pub(crate) type DepthShares = [f64; 7];

/// Names of the depth bins, in order.
pub(crate) const LEVEL_NAMES: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
/// Names of the submit and reap bins, in order.
pub(crate) const BATCH_NAMES: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];
/// Names of the bins of `latency_ms`; the other two units have the first ten.
pub(crate) const LATENCY_NAMES: [&str; 12] =
    ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"];

/// A non-zero share of a depth bin is printed as at least this percentage.
pub(crate) const LEAST_DEPTH_SHARE: f64 = 0.1;
/// A non-zero share of a latency bin is printed as at least this percentage.
pub(crate) const LEAST_LATENCY_SHARE: f64 = 0.01;

/// Depths at issue in percent of the I/Os issued. Syncs are in the bins, not in the count: the sum may exceed 100.
pub(crate) fn level(job: &JobResult) -> DepthShares {
    shares(&job.depth.level, ios_done(job), LEAST_DEPTH_SHARE)
}

/// Sizes of submit calls in percent of the calls.
pub(crate) fn submit(depth: &DepthStatistics) -> DepthShares {
    shares(&depth.submit, calls(depth.submits, &depth.submit), LEAST_DEPTH_SHARE)
}

/// Sizes of reap calls in percent of the calls.
pub(crate) fn complete(depth: &DepthStatistics) -> DepthShares {
    shares(&depth.complete, calls(depth.completes, &depth.complete), LEAST_DEPTH_SHARE)
}

/// Coarse latency bins (ns, us, ms) in percent of the I/Os issued.
pub(crate) fn latency(job: &JobResult) -> ([f64; 10], [f64; 10], [f64; 12]) {
    let (bins, total) = (&job.latency_bins, ios_done(job));
    (
        shares(&bins.ns, total, LEAST_LATENCY_SHARE),
        shares(&bins.us, total, LEAST_LATENCY_SHARE),
        shares(&bins.ms, total, LEAST_LATENCY_SHARE),
    )
}

/// All latencies below 1 µs in percent of the I/Os issued, for formats that have a single bin for them. At most 100: in
/// fio's JSON each bin that is not empty has at least 0.01 %, so that the bins read from it may add up to more.
pub(crate) fn below_a_microsecond(job: &JobResult) -> f64 {
    let count = job.latency_bins.ns.iter().fold(0, |sum: u64, &count| sum.saturating_add(count));
    shares(&[count.min(ios_done(job))], ios_done(job), LEAST_LATENCY_SHARE)[0]
}

/// Number of calls; the sum of the bins if an imported result has only shares.
fn calls(counted: u64, bins: &[u64]) -> u64 {
    if counted > 0 { counted } else { bins.iter().sum() }
}

fn shares<const BINS: usize>(counts: &[u64; BINS], total: u64, least: f64) -> [f64; BINS] {
    counts.map(|count| match (count, total) {
        (0, _) | (_, 0) => 0.0,
        (count, total) => (100.0 * count as f64 / total as f64).max(least),
    })
}

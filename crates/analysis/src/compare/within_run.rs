//! Interval of a run's rate and percentiles within the run, from its samples over time. The noise between runs is not in it.

use super::Metric;
use crate::statistics::{percentile_shares, series_interval};
use measure::{Direction, float};
use model::{Interval, LatencyCounts, RunResult};
use serde::Serialize;

/// Ends of an interval within a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Within {
    /// Lower end.
    pub low: f64,
    /// Upper end; `None` if the run cannot bound the number above.
    pub high: Option<f64>,
}

/// The intervals of the rate and of those percentiles that have one. Empty without samples.
pub(super) fn of(result: &RunResult, direction: Direction) -> Vec<(Metric, Within)> {
    let Some(slot) = Direction::ALL.iter().position(|&known| known == direction) else { return Vec::new() };
    let Some(monitored) = &result.monitored else { return Vec::new() };
    let steady = monitored.steady();
    let seconds = |length: measure::Nanos| length.as_secs_f64().max(1e-9);
    let rates: Vec<f64> =
        steady.iter().map(|(length, interval)| float(interval.ios[slot]) / seconds(*length)).collect();
    let mut found = Vec::new();
    // A run that is shorter than its own fluctuations has no interval.
    if let Some(rate) = series_interval(&rates).filter(|rate| rate.half <= rate.mean / 2.0) {
        let within = Within { low: rate.mean - rate.half, high: Some(rate.mean + rate.half) };
        found.push((Metric::Iops, within));
    }
    let intervals: Vec<&Interval> = steady.iter().map(|(_, interval)| *interval).collect();
    for metric in Metric::USUAL {
        let Metric::Percentile(percent) = metric else { continue };
        found.extend(percentile(&intervals, slot, percent).map(|within| (metric, within)));
    }
    found
}

fn percentile(intervals: &[&Interval], slot: usize, percent: f64) -> Option<Within> {
    let mut all = LatencyCounts::default();
    intervals.iter().for_each(|interval| all.add(&interval.latencies[slot]));
    if all.total() < model::samples_needed(percent) {
        return None;
    }
    let value = all.percentile(percent)?;
    let counts: Vec<(f64, f64)> = intervals
        .iter()
        .map(|interval| &interval.latencies[slot])
        .map(|counts| (float(counts.total()), float(counts.slower_than(value))))
        .collect();
    let bounds = percentile_shares(percent / 100.0, &counts)?;
    let at = |share: f64| all.percentile(100.0 * share).map(measure::Nanos::as_f64);
    Some(Within { low: at(bounds.low)?, high: bounds.high.and_then(at) })
}

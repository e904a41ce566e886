//! A run over time, from the monitor's samples: rates, latency percentiles, devices and CPUs.

use crate::data::{Line, Panel, Series, Unit};
use model::{Interval, LatencyCounts, Monitored};

/// Most intervals drawn; if there are more, adjacent intervals are merged.
const MOST: usize = 1500;
const MOST_DEVICES: usize = 6;

/// Latency percentiles that are drawn.
pub(super) const PERCENTILES: [(&str, f64); 4] = [("p50", 50.0), ("p95", 95.0), ("p99", 99.0), ("p99.9", 99.9)];
/// Fewest I/Os above a percentile; with fewer the percentile is noise.
pub(super) const LEAST_BEYOND: f64 = 10.0;

/// A part of the run: one or more merged intervals.
struct Stretch<'run> {
    seconds: f64,
    middle: f64,
    intervals: &'run [Interval],
}

impl Stretch<'_> {
    fn sum(&self, of: impl Fn(&Interval) -> Option<u64>) -> Option<f64> {
        self.intervals.iter().map(of).sum::<Option<u64>>().map(|sum| sum as f64)
    }
}

/// The panels of a run; `None` if too few intervals were sampled.
pub(super) fn series(title: &str, monitored: &Monitored) -> Option<Series> {
    let stretches = stretches(&monitored.intervals);
    if stretches.len() < 4 {
        return None;
    }
    let per_second = |of: &dyn Fn(&Interval) -> Option<u64>, unit: f64| -> Vec<(f64, Option<f64>)> {
        stretches.iter().map(|one| (one.middle, one.sum(of).map(|sum| sum * unit / one.seconds))).collect()
    };
    let mut panels = vec![
        jobs("IOPS", Unit::Count, |at| per_second(&|interval| interval.ios.get(at).copied(), 1.0)),
        jobs("throughput", Unit::Rate, |at| per_second(&|interval| interval.bytes.get(at).copied(), 1.0)),
    ];
    panels.push(latencies(&stretches));
    let devices = |name: &str, unit, scale: f64, of: fn(&model::DeviceGain) -> u64| Panel {
        name: name.to_owned(),
        unit,
        lines: (0..monitored.devices.len().min(MOST_DEVICES))
            .map(|at| Line {
                name: monitored.devices[at].name.clone(),
                points: per_second(&|interval| interval.devices.get(at).map(of), scale),
            })
            .collect(),
    };
    panels.push(devices("device queue", Unit::Count, 1e-3, |gain| gain.in_queue_ms));
    panels.push(devices("utilisation", Unit::Share, 1e-3, |gain| gain.busy_ms));
    panels.push(processors(&stretches));
    panels.retain(|panel| panel.lines.iter().any(|line| line.points.iter().any(|point| point.1.is_some())));
    let notes = vec![
        "Rates and latencies are those of the interval in which the I/O finished; the queue is the mean of the interval. A percentile with fewer than ten I/Os beyond it is left out."
            .to_owned(),
    ];
    Some(Series::of(title, panels, notes))
}

fn jobs(name: &str, unit: Unit, of: impl Fn(usize) -> Vec<(f64, Option<f64>)>) -> Panel {
    let lines = ["reads", "writes", "trims"]
        .iter()
        .enumerate()
        .map(|(at, name)| Line { name: (*name).to_owned(), points: of(at) });
    let moved = |line: &Line| line.points.iter().any(|point| point.1.is_some_and(|value| value > 0.0));
    Panel { name: name.to_owned(), unit, lines: lines.filter(moved).collect() }
}

/// Latency percentiles for each direction with I/O.
fn latencies(stretches: &[Stretch<'_>]) -> Panel {
    let counted: Vec<[LatencyCounts; 3]> = stretches
        .iter()
        .map(|one| {
            let mut sum: [LatencyCounts; 3] = Default::default();
            for interval in one.intervals {
                sum.iter_mut().zip(&interval.latencies).for_each(|(sum, more)| sum.add(more));
            }
            sum
        })
        .collect();
    let moved = |at: &usize| counted.iter().any(|sum| !sum[*at].is_empty());
    let moved: Vec<usize> = (0..3).filter(moved).collect();
    let line = |(at, (name, percent)): (usize, (&str, f64))| {
        let point = |sum: &LatencyCounts| {
            let beyond = sum.total() as f64 * (100.0 - percent) / 100.0;
            sum.percentile(percent).filter(|_| beyond >= LEAST_BEYOND).map(|ns| ns.as_f64())
        };
        let points = stretches.iter().zip(&counted).map(|(one, sum)| (one.middle, point(&sum[at]))).collect();
        let whose = ["reads", "writes", "trims"][at];
        Line { name: if moved.len() > 1 { format!("{whose} {name}") } else { name.to_owned() }, points }
    };
    let all = moved.iter().flat_map(|&at| PERCENTILES.map(|percentile| (at, percentile)));
    let known = |line: &Line| line.points.iter().any(|point| point.1.is_some());
    Panel { name: "latency".to_owned(), unit: Unit::Latency, lines: all.map(line).filter(known).collect() }
}

fn processors(stretches: &[Stretch<'_>]) -> Panel {
    let share = |of: fn(&model::CpuTicks) -> u64| -> Vec<(f64, Option<f64>)> {
        let all = |ticks: &model::CpuTicks| ticks.user + ticks.system + ticks.iowait + ticks.steal + ticks.idle;
        let point = |one: &Stretch<'_>| {
            let part = one.sum(|interval| interval.cpu.as_ref().map(of))?;
            let whole = one.sum(|interval| interval.cpu.as_ref().map(all))?;
            (whole > 0.0).then(|| part / whole)
        };
        stretches.iter().map(|one| (one.middle, point(one))).collect()
    };
    let line = |name: &str, points| Line { name: name.to_owned(), points };
    Panel {
        name: "processors".to_owned(),
        unit: Unit::Share,
        lines: vec![
            line("user", share(|ticks| ticks.user)),
            line("system", share(|ticks| ticks.system)),
            line("iowait", share(|ticks| ticks.iowait)),
        ],
    }
}

fn stretches(intervals: &[Interval]) -> Vec<Stretch<'_>> {
    let together = intervals.len().div_ceil(MOST).max(1);
    let mut from = 0.0;
    let mut all = Vec::new();
    for chunk in intervals.chunks(together) {
        let Some(until) = chunk.last().map(|last| last.until.as_secs_f64()) else { continue };
        if until > from {
            all.push(Stretch { seconds: until - from, middle: (from + until) / 2.0, intervals: chunk });
        }
        from = until.max(from);
    }
    all
}

//! Data of load/latency curves: latency as a function of throughput.

use super::Sweep;
use analysis::knee;
use measure::text;
use serde::{Deserialize, Serialize};

/// One or more overlaid curves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// For example `ssd · random read 8 KiB`.
    pub title: String,
    /// Sentences under the title.
    pub sentences: Vec<String>,
    /// The latency target in nanoseconds.
    pub target_ns: Option<f64>,
    /// One per result; the legend shows and hides them.
    pub systems: Vec<LoadCurve>,
    /// Footnotes.
    pub notes: Vec<String>,
}

/// One curve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadCurve {
    /// Name in the legend.
    pub name: String,
    /// Points in order of load.
    pub points: Vec<LoadPoint>,
    /// Index of the knee in `points`.
    pub knee: Option<usize>,
}

/// One load level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadPoint {
    /// For example `8 users`.
    pub label: String,
    /// I/Os per second.
    pub iops: f64,
    /// Throughput in bytes per second.
    pub rate: f64,
    /// Mean latency in nanoseconds.
    pub average_ns: f64,
    /// 99th percentile of latency in nanoseconds.
    pub p99_ns: Option<f64>,
}

impl Curve {
    /// Builds the curves from named load sweeps.
    pub fn of(title: &str, sweeps: &[(String, &Sweep)]) -> Curve {
        let systems: Vec<LoadCurve> = sweeps.iter().map(|(name, sweep)| LoadCurve::of(name, sweep)).collect();
        let tell = |curve: &LoadCurve| {
            let at = &curve.points[curve.knee?];
            let rate = text::number(at.iops);
            Some(format!(
                "{}: the knee is at {} with {rate} IOPS; beyond it latency grows faster than the rate.",
                curve.name, at.label
            ))
        };
        Curve {
            title: title.to_owned(),
            sentences: systems.iter().filter_map(tell).take(3).collect(),
            target_ns: sweeps.first().and_then(|(_, sweep)| sweep.target_ns),
            notes: vec!["Knee: the level with the largest rate ÷ average latency (Kleinrock's power).".to_owned()],
            systems,
        }
    }
}

impl LoadCurve {
    fn of(name: &str, sweep: &Sweep) -> LoadCurve {
        let point = |level: &super::Level| LoadPoint {
            label: level.label.clone(),
            iops: level.iops,
            rate: level.rate,
            average_ns: level.average_ns,
            p99_ns: level.p99_ns,
        };
        let powers: Vec<(f64, f64)> = sweep.levels.iter().map(|level| (level.iops, level.average_ns)).collect();
        let knee = if sweep.flag.is_some() { None } else { knee(&powers) };
        LoadCurve { name: name.to_owned(), points: sweep.levels.iter().map(point).collect(), knee }
    }
}

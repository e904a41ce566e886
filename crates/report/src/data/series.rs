//! Data of a run over time.

use analysis::regime::lasting;
use analysis::statistics::level_changes;
use measure::text;
use model::Phase;
use serde::{Deserialize, Serialize};

/// Panels with a common time axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// For example `run.fio · 60 s`.
    pub title: String,
    /// Sentences under the title.
    pub sentences: Vec<String>,
    /// Panels from top to bottom.
    pub panels: Vec<Panel>,
    /// Detected change points.
    pub changes: Vec<Change>,
    /// Phases of the run, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Band>,
    /// Footnotes.
    pub notes: Vec<String>,
    /// Unit of the time axis.
    #[serde(default)]
    pub ticks: Ticks,
}

/// Unit of a time axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ticks {
    /// Seconds.
    #[default]
    Seconds,
    /// Report numbers, for a program that printed no timestamps.
    Reports,
}

/// Unit of a panel's axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A plain number: I/Os per second, queue length.
    #[default]
    Count,
    /// Bytes per second.
    Rate,
    /// Nanoseconds, on a log axis.
    Latency,
    /// A fraction of 1.
    Share,
}

/// One panel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// For example `IOPS`.
    pub name: String,
    /// Unit of its axis.
    pub unit: Unit,
    /// Lines drawn in the panel.
    pub lines: Vec<Line>,
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Name in the legend, which shows and hides lines of the same name in all panels together.
    pub name: String,
    /// (seconds, value), ascending; `None` is a gap.
    pub points: Vec<(f64, Option<f64>)>,
}

/// A change point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Time in seconds.
    pub at_s: f64,
    /// Description, `IOPS of write: 90,120 → 12,040`.
    pub says: String,
    /// Kind of the phase that begins; empty if it is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// A phase of the run: a band behind the lines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// Its begin in seconds.
    pub from_s: f64,
    /// Its end in seconds.
    pub until_s: f64,
    /// Its kind.
    pub name: String,
}

/// Smallest ratio that counts as a jump of latency: histogram buckets resolve latency to 1/32 only.
const LEAST_FACTOR: f64 = 1.5;

impl Series {
    /// Builds panels on one axis. Marks changes of the first panel, and of the median latency where the rate stays.
    pub fn of(title: &str, panels: Vec<Panel>, notes: Vec<String>) -> Series {
        let first = panels.first();
        let of_first: Vec<Option<Vec<Change>>> =
            first.iter().flat_map(|panel| panel.lines.iter().map(|line| of_line(panel, line, 1.0))).collect();
        let is_known = !of_first.is_empty() && of_first.iter().all(Option::is_some);
        let mut changes: Vec<Change> = of_first.into_iter().flatten().flatten().collect();
        // A jump of the median latency is marked only if the throughput does not jump at the same time.
        let latency = panels.iter().skip(1).find(|panel| panel.unit == Unit::Latency);
        let usual = latency.and_then(|panel| Some((panel, panel.lines.first()?)));
        for change in usual.iter().filter_map(|(panel, line)| of_line(panel, line, LEAST_FACTOR)).flatten() {
            let near = duration(&panels) / 20.0;
            if changes.iter().all(|known| (known.at_s - change.at_s).abs() > near) {
                changes.push(change);
            }
        }
        changes.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
        let sentence =
            changes.iter().take(2).map(|change| format!("At {} it changes: {}.", text::span(change.at_s), change.says));
        let sentences = if changes.is_empty() && is_known {
            vec!["No change found: the rate stays what it is from beginning to end.".to_owned()]
        } else {
            sentence.collect()
        };
        let title = title.to_owned();
        Series { title, sentences, panels, changes, phases: Vec::new(), notes, ticks: Ticks::Seconds }
    }

    /// The series with these phases of the run: the rate that lasts, a sentence and a band for each, and marks.
    pub(crate) fn with_phases(mut self, phases: &[Phase]) -> Series {
        /// Most sentences of phases.
        const MOST: usize = 4;
        if phases.is_empty() {
            return self;
        }
        let near = duration(&self.panels) / 50.0;
        for phase in &phases[1..] {
            let (at_s, name) = (phase.from.as_secs_f64(), phase.kind.title().to_owned());
            match self.changes.iter_mut().find(|change| (change.at_s - at_s).abs() <= near) {
                Some(change) => change.name = name,
                None => self.changes.push(Change { at_s, says: phase.sentence.clone(), name }),
            }
        }
        self.changes.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
        if phases.len() > 1 {
            let band = |phase: &Phase| Band {
                from_s: phase.from.as_secs_f64(),
                until_s: phase.until.as_secs_f64(),
                name: phase.kind.title().to_owned(),
            };
            self.phases = phases.iter().map(band).collect();
        }
        let all = phases.iter().take(MOST).map(|phase| format!("{}: {}.", phase.kind.title(), phase.sentence));
        let lasting = lasting(phases).map(|lasting| format!("{}.", lasting.sentence));
        self.sentences = lasting.into_iter().chain(all).collect();
        self
    }
}

/// Seconds from the first to the last point.
fn duration(panels: &[Panel]) -> f64 {
    let times = || panels.iter().flat_map(|panel| &panel.lines).flat_map(|line| &line.points).map(|point| point.0);
    (times().fold(f64::NEG_INFINITY, f64::max) - times().fold(f64::INFINITY, f64::min)).max(0.0)
}

/// Change points of a line: the mean changes by a factor of `least`. `None` if too short or too slow to tell.
fn of_line(panel: &Panel, line: &Line, least: f64) -> Option<Vec<Change>> {
    let known: Vec<(f64, f64)> = line.points.iter().filter_map(|&(at, value)| Some((at, value?))).collect();
    let values: Vec<f64> = known.iter().map(|&(_, value)| value).collect();
    let cuts = level_changes(&values)?;
    let mean = |from: usize, to: usize| values[from..to].iter().sum::<f64>() / (to - from) as f64;
    let shown = |value: f64| match panel.unit {
        Unit::Count => text::number(value),
        Unit::Rate => text::rate(value),
        Unit::Latency => text::time(value),
        Unit::Share => text::percent(value),
    };
    let edges: Vec<usize> = std::iter::once(0).chain(cuts.iter().copied()).chain([values.len()]).collect();
    let changes = edges
        .windows(3)
        .filter(|edge| {
            let (before, after) = (mean(edge[0], edge[1]), mean(edge[1], edge[2]));
            before.max(after) >= least * before.min(after)
        })
        .map(|edge| Change {
            at_s: known[edge[1]].0,
            says: format!(
                "{} of {}: {} → {}",
                panel.name,
                line.name,
                shown(mean(edge[0], edge[1])),
                shown(mean(edge[1], edge[2]))
            ),
            name: String::new(),
        })
        .collect();
    Some(changes)
}

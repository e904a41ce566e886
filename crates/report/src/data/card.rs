//! Data of the report card: one row per workload.

use super::{AtWork, Axis, Bin, Level};
use analysis::{WorkloadGrades, queueing, verdict};
use measure::text;
use serde::{Deserialize, Serialize};

/// In place of a letter: measured, but there are no bounds.
pub const NO_GRADE: &str = "–";

/// A report card.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// For example `ssd: storage report card`.
    pub title: String,
    /// The verdict in two sentences.
    pub sentences: Vec<String>,
    /// One row per workload.
    pub rows: Vec<CardRow>,
    /// Grade thresholds, and remarks on missing data.
    pub notes: Vec<String>,
}

/// One workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CardRow {
    /// For example `Index lookups`.
    pub workload: String,
    /// For example `random read 8 KiB`.
    pub detail: String,
    /// For example `16 users → 32 users`.
    pub load: String,
    /// Latency distribution.
    pub bins: Vec<Bin>,
    /// Grade bands of latency, ascending.
    pub bands: Vec<Band>,
    /// Grade of the 95th percentile, drawn large; the mean and the 99th percentile follow.
    pub p95: Option<Mark>,
    /// Grade of the mean.
    pub average: Option<Mark>,
    /// Grade of the 99th percentile.
    pub p99: Option<Mark>,
    /// Throughput in bytes per second.
    pub rate: f64,
    /// I/Os per second.
    pub iops: f64,
    /// Effect of more load; `None` if there is only one load level.
    pub scaling: Option<Scaling>,
    /// Reason for a `?` as the grade of the 95th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A grade and the latency on which it is based.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Letter, `A+` to `D`.
    pub letter: String,
    /// Latency in nanoseconds.
    pub ns: f64,
}

/// Range of latencies with one grade.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// Letter, `A+` to `D`.
    pub letter: String,
    /// Inclusive upper bound in nanoseconds; `None` for the last band.
    pub to_ns: Option<f64>,
}

/// Effect of more load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// Letter, `A+` to `D`, or `?` if not graded.
    pub letter: String,
    /// Fraction of the added load that only queued, as [`super::Step::queueing`].
    pub queueing: f64,
    /// Ratio of the loads: higher level ÷ base level.
    pub load_ratio: f64,
    /// Ratio of the throughputs: higher level ÷ base level.
    pub rate_ratio: f64,
    /// Reason for a `?`, for example `not graded: only 5 of 8 users busy`.
    pub reason: Option<String>,
    /// Unit of the load: `users`.
    pub load: String,
}

/// Grades of a workload, as computed by the analysis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Letters {
    /// Grade of the mean.
    pub average: Option<String>,
    /// Grade of the 95th percentile.
    pub p95: Option<String>,
    /// Grade of the 99th percentile.
    pub p99: Option<String>,
    /// Grade of scaling.
    pub scaling: Option<String>,
    /// Reason for a missing grade of scaling.
    pub reason: Option<String>,
    /// Reason for a missing grade of the 95th percentile.
    pub latency_reason: Option<String>,
}

/// A workload and its grades, from which a row is made.
#[derive(Clone, Debug)]
pub struct Workload {
    /// For example `Index lookups`.
    pub name: String,
    /// For example `random read 8 KiB`.
    pub detail: String,
    /// Meaning of the load numbers.
    pub axis: Axis,
    /// The graded load level.
    pub base: Level,
    /// The higher load level for the scaling grade.
    pub more: Option<Level>,
    /// Grade bands of its latency.
    pub bands: Vec<Band>,
    /// Its grades.
    pub letters: Letters,
}

impl Card {
    /// Builds a card from graded workloads.
    pub fn of(system: &str, workloads: &[Workload], notes: Vec<String>) -> Card {
        let rows: Vec<CardRow> = workloads.iter().map(CardRow::of).collect();
        let is_grade = |letter: &String| letter != "?" && letter != NO_GRADE;
        let judged = |row: &CardRow| WorkloadGrades {
            workload: lower_first(&row.workload),
            latency: row.p95.as_ref().map(|mark| mark.letter.clone()).filter(is_grade),
            scaling: row.scaling.as_ref().map(|scaling| scaling.letter.clone()).filter(is_grade),
        };
        let sentences = verdict(&rows.iter().map(judged).collect::<Vec<_>>());
        Card { title: format!("{system} · storage report card"), sentences, rows, notes }
    }
}

impl CardRow {
    fn of(workload: &Workload) -> CardRow {
        let (base, letters) = (&workload.base, &workload.letters);
        let mark = |letter: &Option<String>, ns: Option<f64>| {
            ns.map(|ns| Mark { letter: letter.clone().unwrap_or_else(|| "?".to_owned()), ns })
        };
        let load = match &workload.more {
            Some(more) => format!("{} → {}", workload.axis.label(base.count()), workload.axis.label(more.count())),
            None => workload.axis.label(base.count()),
        };
        let scaling = workload.more.as_ref().and_then(|more| scaling(workload, more));
        // Scaling starts from the same level: its reason is said once.
        let is_open = letters.p95.is_none() && scaling.as_ref().is_none_or(|scaling| scaling.reason.is_none());
        CardRow {
            workload: workload.name.clone(),
            detail: workload.detail.clone(),
            load,
            bins: base.bins.clone(),
            bands: workload.bands.clone(),
            p95: mark(&letters.p95, base.p95_ns),
            average: mark(&letters.average, Some(base.average_ns)),
            p99: mark(&letters.p99, base.p99_ns),
            rate: base.rate,
            iops: base.iops,
            scaling,
            reason: letters.latency_reason.clone().filter(|_| is_open),
        }
    }
}

/// Scaling of the 95th percentile, on which the scaling grade is based.
fn scaling(workload: &Workload, more: &Level) -> Option<Scaling> {
    let base = &workload.base;
    let load_ratio = more.load / base.load;
    let queueing = queueing(more.p95_ns? / base.p95_ns?, load_ratio)?;
    let idle = [base, more].into_iter().find_map(|level| level.at_work);
    let idle = idle.map(|AtWork { busy, asked }| {
        format!("not graded: only {} of {} busy", text::number(busy), text::number(asked))
    });
    let reason = || workload.letters.reason.clone().unwrap_or_else(|| "not graded".to_owned());
    Some(Scaling {
        letter: workload.letters.scaling.clone().unwrap_or_else(|| "?".to_owned()),
        queueing,
        load_ratio,
        rate_ratio: more.rate / base.rate,
        reason: workload.letters.scaling.is_none().then(|| idle.unwrap_or_else(reason)),
        load: workload.axis.plural().to_owned(),
    })
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

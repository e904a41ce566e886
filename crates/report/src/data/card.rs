//! The data of the report card: one row per workload.

use super::{AtWork, Axis, Bin, Measured};
use analysis::{Judged, queueing, verdict};
use serde::{Deserialize, Serialize};

/// A report card.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// `ssd: storage report card`.
    pub title: String,
    /// The verdict, two plain sentences.
    pub sentences: Vec<String>,
    /// One per workload.
    pub rows: Vec<Row>,
    /// Thresholds, and what is not known.
    pub notes: Vec<String>,
}

/// One workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// `Index lookups`.
    pub workload: String,
    /// `random read 8 KiB`.
    pub detail: String,
    /// `16 users → 32 users`.
    pub load: String,
    /// Where the I/Os fell.
    pub bins: Vec<Bin>,
    /// The grade bands over latency, ascending.
    pub bands: Vec<Band>,
    /// The letter of the 95th percentile, large; then mean and 99th percentile.
    pub p95: Option<Mark>,
    /// Of the mean.
    pub average: Option<Mark>,
    /// Of the 99th percentile.
    pub p99: Option<Mark>,
    /// Bytes per second.
    pub rate: f64,
    /// I/Os per second.
    pub iops: f64,
    /// What more load brings; none where there is only one level.
    pub scaling: Option<Scaling>,
}

/// A grade and the latency that earned it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// `A+` to `D`.
    pub letter: String,
    /// Latency in nanoseconds.
    pub ns: f64,
}

/// The latencies that earn a letter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// `A+` to `D`.
    pub letter: String,
    /// Inclusive upper bound in nanoseconds; none for the last.
    pub to_ns: Option<f64>,
}

/// What more load brings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// `A+` to `D`, or `?`.
    pub letter: String,
    /// Share of the added load that only queued.
    pub queueing: f64,
    /// Load there ÷ here.
    pub load_ratio: f64,
    /// Bytes per second there ÷ here.
    pub rate_ratio: f64,
    /// Why the letter is `?`: `not graded: only 5 of 8 users busy`.
    pub reason: Option<String>,
    /// What the levels count: `users`.
    pub load: String,
}

/// The letters of a workload, as its judge gave them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Letters {
    /// Of the mean.
    pub average: Option<String>,
    /// Of the 95th percentile.
    pub p95: Option<String>,
    /// Of the 99th percentile.
    pub p99: Option<String>,
    /// Of scaling.
    pub scaling: Option<String>,
    /// Why a letter is missing.
    pub reason: Option<String>,
}

/// A workload and its letters, from which a row is made.
#[derive(Clone, Debug)]
pub struct Workload {
    /// `Index lookups`.
    pub name: String,
    /// `random read 8 KiB`.
    pub detail: String,
    /// What the loads count.
    pub axis: Axis,
    /// The level that is graded.
    pub base: Measured,
    /// The level that it is compared with.
    pub more: Option<Measured>,
    /// The bounds of its latency.
    pub bands: Vec<Band>,
    /// As judged.
    pub letters: Letters,
}

impl Card {
    /// A card of workloads that were judged.
    pub fn of(system: &str, workloads: &[Workload], notes: Vec<String>) -> Card {
        let rows: Vec<Row> = workloads.iter().map(Row::of).collect();
        let judged = |row: &Row| Judged {
            workload: lower_first(&row.workload),
            latency: row.p95.as_ref().map(|mark| mark.letter.clone()).filter(|letter| letter != "?"),
            scaling: row.scaling.as_ref().map(|scaling| scaling.letter.clone()).filter(|letter| letter != "?"),
        };
        let sentences = verdict(&rows.iter().map(judged).collect::<Vec<_>>());
        Card { title: format!("{system} · storage report card"), sentences, rows, notes }
    }
}

impl Row {
    fn of(workload: &Workload) -> Row {
        let (base, letters) = (&workload.base, &workload.letters);
        let mark = |letter: &Option<String>, ns: Option<f64>| {
            ns.map(|ns| Mark { letter: letter.clone().unwrap_or_else(|| "?".to_owned()), ns })
        };
        let load = match &workload.more {
            Some(more) => format!("{} → {}", workload.axis.label(base.load), workload.axis.label(more.load)),
            None => workload.axis.label(base.load),
        };
        Row {
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
            scaling: workload.more.as_ref().and_then(|more| scaling(workload, more)),
        }
    }
}

/// Scaling on the 95th percentile, of which its letter tells.
fn scaling(workload: &Workload, more: &Measured) -> Option<Scaling> {
    let base = &workload.base;
    let load_ratio = more.load as f64 / base.load as f64;
    let queueing = queueing(more.p95_ns? / base.p95_ns?, load_ratio)?;
    let idle = [base, more].into_iter().find_map(|level| level.at_work);
    let idle = idle.map(|AtWork { busy, asked }| format!("not graded: only {busy:.0} of {asked:.0} busy"));
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

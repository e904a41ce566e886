//! The trials as a picture, and the page with their numbers.

use super::search::{TrialRow, stage_words};
use super::shown::Report;
use crate::failure::Failure;
use crate::pages;
use report::data::{Capacity, RateTrial, ResponseLimit};
use report::page::{Numbers, Page};
use serde_json::{Value, json};

pub(super) fn page(report: &Report<'_>) -> Result<Page, Failure> {
    let title = format!("{} · {}", report.target, report.load());
    let sentences = report.sentences();
    let picture = pages::picture("capacity", &title, "Response time over the rate", data(report, &title, &sentences))?;
    Ok(Page {
        sentences: sentences.get(1..).unwrap_or_default().to_vec(),
        // With one I/O at a time alone there is no rate to draw.
        pictures: if report.rows().is_empty() { Vec::new() } else { vec![picture] },
        numbers: numbers(report),
        remarks: report.remarks(),
        ..pages::begun(format!("Capacity: {title}"), sentences.first().cloned().unwrap_or_default())
    })
}

fn data(report: &Report<'_>, title: &str, sentences: &[String]) -> Capacity {
    let limit = report.limit();
    let crossing = report.conclusion().and_then(|found| found.crossing);
    let trial = |row: &&TrialRow| {
        let [p50_ns, p99_ns, p99_9_ns] = row.measured.percentiles;
        RateTrial {
            offered: row.offered,
            done: row.measured.done,
            over: Report::share(row, limit),
            p50_ns,
            p99_ns,
            p99_9_ns,
        }
    };
    let slos = report.found.question.slos.iter();
    Capacity {
        title: title.to_owned(),
        sentences: sentences.to_vec(),
        trials: report.rows().iter().map(trial).collect(),
        limits: slos.map(|slo| ResponseLimit { label: slo.words(), limit_ns: slo.limit.as_f64() }).collect(),
        capacity: crossing.map(|crossing| crossing.rate),
        low: crossing.map(|crossing| crossing.low),
        high: crossing.map(|crossing| crossing.high),
        notes: report.remarks(),
    }
}

/// The columns of the table: id, title, unit.
const COLUMNS: &[(&str, &str, &str)] = &[
    ("stage", "stage", ""),
    ("offered", "offered", "1/s"),
    ("done", "done", "1/s"),
    ("seconds", "time", "s"),
    ("over", "over the limit", "%"),
    ("p50", "p50", "µs"),
    ("p99", "p99", "µs"),
    ("p99_9", "p99.9", "µs"),
];

fn numbers(report: &Report<'_>) -> Numbers {
    let limit = report.limit();
    let rounded = |number: f64, digits: i32| json!((number * 10_f64.powi(digits)).round() / 10_f64.powi(digits));
    let row = |row: &&TrialRow| {
        let [p50, p99, p999] =
            row.measured.percentiles.map(|found| found.map_or(Value::Null, |ns| rounded(ns / 1e3, 1)));
        vec![
            json!(row.stage.map_or_else(String::new, stage_words)),
            rounded(row.offered, 0),
            rounded(row.measured.done, 0),
            rounded(row.seconds, 1),
            rounded(100.0 * Report::share(row, limit), 2),
            p50,
            p99,
            p999,
        ]
    };
    pages::numbers(COLUMNS, report.rows().iter().map(row).collect())
}

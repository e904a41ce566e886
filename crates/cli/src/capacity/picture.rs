//! The trials as a picture, and the page with their numbers.

use super::search::{Row, stage_words};
use super::shown::Report;
use crate::failure::Failure;
use report::Chart;
use report::data::{Capacity, RateTrial, ResponseLimit};
use report::page::{Column, Numbers, Page, Picture, Verdict};
use serde_json::{Value, json};

/// The page of a search.
pub(super) fn page(report: &Report<'_>) -> Result<Page, Failure> {
    let chart = Chart::named("capacity").ok_or_else(|| Failure::new("there is no chart of a capacity"))?;
    let title = format!("{} · {}", report.target, report.load());
    let sentences = report.sentences();
    let picture = Picture {
        chart,
        title: title.clone(),
        heading: "Response time over the rate".to_owned(),
        mark: None,
        size: chart.size,
        paper: chart.paper,
        data: serde_json::to_value(data(report, &title, &sentences))?,
    };
    Ok(Page {
        verdict: Verdict { line: sentences.first().cloned().unwrap_or_default(), findings: Vec::new() },
        sentences: sentences.get(1..).unwrap_or_default().to_vec(),
        // With one I/O at a time alone there is no rate to draw.
        pictures: if report.rows().is_empty() { Vec::new() } else { vec![picture] },
        numbers: numbers(report),
        remarks: report.remarks(),
        ..crate::pages::begun(format!("Capacity: {title}"))
    })
}

fn data(report: &Report<'_>, title: &str, sentences: &[String]) -> Capacity {
    let limit = report.limit();
    let crossing = report.conclusion().and_then(|found| found.crossing);
    let trial = |row: &&Row| {
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
const COLUMNS: [(&str, &str, &str); 8] = [
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
    let row = |row: &&Row| {
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
    let columns = COLUMNS.map(|(id, title, unit)| Column { id, title, unit }).to_vec();
    Numbers { columns, rows: report.rows().iter().map(row).collect() }
}

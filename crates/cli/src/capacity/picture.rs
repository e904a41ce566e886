//! The trials as a picture, and the page with their numbers.

use super::search::{Row, stage_words};
use super::shown::Report;
use super::words::{percent, rate, time};
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
        title: format!("Capacity: {title}"),
        made_by: concat!("plumb ", env!("CARGO_PKG_VERSION")).to_owned(),
        made_at: jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        verdict: Verdict { line: sentences.first().cloned().unwrap_or_default(), findings: Vec::new() },
        sentences: sentences.get(1..).unwrap_or_default().to_vec(),
        pictures: vec![picture],
        numbers: numbers(report),
        remarks: report.remarks().to_vec(),
        ..Page::default()
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
        notes: report.remarks().to_vec(),
    }
}

/// The columns of the table.
const COLUMNS: [(&str, &str); 8] = [
    ("stage", "stage"),
    ("offered", "offered"),
    ("done", "done"),
    ("seconds", "seconds"),
    ("over", "over the limit"),
    ("p50", "p50"),
    ("p99", "p99"),
    ("p99_9", "p99.9"),
];

fn numbers(report: &Report<'_>) -> Numbers {
    let limit = report.limit();
    let row = |row: &&Row| {
        let [p50, p99, p999] = row.measured.percentiles.map(|found| found.map_or(Value::Null, |ns| json!(time(ns))));
        vec![
            json!(row.stage.map_or_else(String::new, stage_words)),
            json!(rate(row.offered)),
            json!(rate(row.measured.done)),
            json!((row.seconds * 10.0).round() / 10.0),
            json!(percent(Report::share(row, limit))),
            p50,
            p99,
            p999,
        ]
    };
    let columns = COLUMNS.map(|(id, title)| Column { id, title, unit: "" }).to_vec();
    Numbers { columns, rows: report.rows().iter().map(row).collect() }
}

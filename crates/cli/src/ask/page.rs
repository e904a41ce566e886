//! The answer as a page to send to others, with the picture of its rounds.

use super::Question;
use super::shown::Report;
use crate::failure::Failure;
use report::Chart;
use report::page::{Column, Numbers, Page, Picture, Verdict};
use serde_json::{Value, json};
use std::path::Path;

/// Refuses a file of no known kind, or a picture without limits to draw, before anything is measured.
pub(super) fn check(path: &Path, question: &Question) -> Result<(), Failure> {
    let judges = question.profile.tests.iter().any(|test| !test.rules.is_empty());
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension {
        Some("html" | "pdf") => {}
        Some("svg" | "png") if judges => {}
        Some("svg" | "png") => {
            let name = &question.name;
            return Err(Failure::at(path, format!("{name} has no limits to draw; a page is .html or .pdf")));
        }
        _ => return Err(Failure::at(path, "the page of an answer is .html or .pdf, its picture alone .svg or .png")),
    }
    crate::drawing::check_output(path)
}

/// The columns of the table: id, title, unit.
const COLUMNS: [(&str, &str, &str); 7] = [
    ("test", "test", ""),
    ("number", "number", ""),
    ("lowest", "lowest round", ""),
    ("highest", "highest round", ""),
    ("limit", "limit", ""),
    ("answer", "answer", ""),
    ("source", "source", ""),
];

/// Writes the page.
pub(super) fn write(path: &Path, report: &Report<'_>) -> Result<(), Failure> {
    let [answer, rest @ ..] = &report.answers()[..] else { return Ok(()) };
    let title = format!("{} · {}", report.question.name, report.path.display());
    let page = Page {
        verdict: Verdict { line: answer.clone(), findings: Vec::new() },
        sentences: rest.to_vec(),
        pictures: picture(report, &title, answer)?.into_iter().collect(),
        numbers: Numbers {
            columns: COLUMNS.map(|(id, title, unit)| Column { id, title, unit }).to_vec(),
            rows: report.rows().into_iter().map(|row| row.into_iter().map(cell).collect()).collect(),
        },
        remarks: report.found.findings.refused.clone(),
        ..crate::pages::begun(format!("{}: {}", report.question.name, report.path.display()))
    };
    crate::drawing::drawn(path, &page)
}

/// The rounds against their limits; none without limits.
fn picture(report: &Report<'_>, title: &str, answer: &str) -> Result<Option<Picture>, Failure> {
    let data = report.limits(title, answer);
    let Some(chart) = Chart::named("limits").filter(|_| !data.rules.is_empty()) else { return Ok(None) };
    Ok(Some(Picture {
        chart,
        title: title.to_owned(),
        heading: "Rounds against limits".to_owned(),
        mark: None,
        size: chart.size,
        paper: chart.paper,
        data: serde_json::to_value(data)?,
    }))
}

fn cell(text: String) -> Value {
    if text.is_empty() { Value::Null } else { json!(text) }
}

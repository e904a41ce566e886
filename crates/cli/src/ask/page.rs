//! The answer as a page to send to others, with the picture of its rounds.

use super::Question;
use super::shown::Report;
use crate::failure::Failure;
use crate::pages;
use report::page::Page;
use serde_json::Value;
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
const COLUMNS: &[(&str, &str, &str)] = &[
    ("test", "test", ""),
    ("number", "number", ""),
    ("lowest", "lowest round", ""),
    ("highest", "highest round", ""),
    ("limit", "limit", ""),
    ("answer", "answer", ""),
    ("source", "source", ""),
];

/// Writes the page, with a picture of the rounds against their limits if there are any.
pub(super) fn write(path: &Path, report: &Report<'_>) -> Result<(), Failure> {
    let [answer, rest @ ..] = &report.answers()[..] else { return Ok(()) };
    let title = format!("{} · {}", report.question.name, report.path.display());
    let data = report.limits(&title, answer);
    let picture = |data| pages::picture("limits", &title, "Rounds against limits", data);
    let cell = |text: String| if text.is_empty() { Value::Null } else { Value::from(text) };
    let page = Page {
        sentences: rest.to_vec(),
        pictures: Some(data).filter(|data| !data.rules.is_empty()).map(picture).transpose()?.into_iter().collect(),
        numbers: pages::numbers(COLUMNS, report.rows().into_iter().map(|row| row.map(cell).to_vec()).collect()),
        remarks: report.found.findings.refused.clone(),
        ..pages::begun(format!("{}: {}", report.question.name, report.path.display()), answer.clone())
    };
    crate::drawing::drawn(path, &page)
}

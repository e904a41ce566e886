//! The answer as a page that one can mail.

use super::shown::Report;
use crate::failure::Failure;
use report::page::{Column, Numbers, Page, Verdict};
use serde_json::{Value, json};
use std::path::Path;

/// Refuses a file that is neither HTML nor PDF, before anything is measured.
pub(super) fn check(path: &Path) -> Result<(), Failure> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    if !matches!(extension, Some("html" | "pdf")) {
        return Err(Failure::at(path, "the page of an answer is .html or .pdf"));
    }
    crate::report::check_output(path)
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
    let page = Page {
        verdict: Verdict { line: answer.clone(), findings: Vec::new() },
        sentences: rest.to_vec(),
        numbers: Numbers {
            columns: COLUMNS.map(|(id, title, unit)| Column { id, title, unit }).to_vec(),
            rows: report.rows().into_iter().map(|row| row.into_iter().map(cell).collect()).collect(),
        },
        remarks: report.found.findings.clone(),
        ..crate::pages::begun(format!("{}: {}", report.question.name, report.path.display()))
    };
    crate::report::drawn(path, &page)
}

fn cell(text: String) -> Value {
    if text.is_empty() { Value::Null } else { json!(text) }
}

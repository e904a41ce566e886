//! What all pages of commands have in common: their beginning, and the form of those to send to others.

use crate::failure::Failure;
use report::Chart;
use report::page::{Column, Numbers, Page, Picture, Verdict};
use report::sources::PlaceFacts;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

/// The program that makes pages.
pub(crate) const MADE_BY: &str = concat!("plumb ", env!("CARGO_PKG_VERSION"));

/// A moment to the second, for [`moment`].
pub(crate) const SECONDS: &str = "%Y-%m-%d %H:%M:%S UTC";

pub(crate) fn now() -> String {
    moment(measure::unix_ms(), SECONDS)
}

/// A moment in milliseconds since 1970 in this form of strftime(3), in UTC; empty if there is no such day.
pub(crate) fn moment(unix_ms: u64, form: &str) -> String {
    let moment = i64::try_from(unix_ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    moment.map(|moment| moment.strftime(form).to_string()).unwrap_or_default()
}

/// A page with a title and the answer, made now by this program.
pub(crate) fn begun(title: String, answer: String) -> Page {
    let verdict = Verdict { line: answer, findings: Vec::new() };
    Page { title, verdict, made_by: MADE_BY.to_owned(), made_at: now(), ..Page::default() }
}

/// A picture of this data, with its title and the one on the page.
pub(crate) fn picture(chart: &str, title: &str, heading: &str, data: impl Serialize) -> Result<Picture, Failure> {
    let chart = Chart::named(chart).ok_or_else(|| Failure::new(format!("there is no chart {chart}")))?;
    let (title, heading) = (title.to_owned(), heading.to_owned());
    let data = serde_json::to_value(data)?;
    Ok(Picture { chart, title, heading, mark: None, size: chart.size, paper: chart.paper, data })
}

/// A table with those of these columns, id, title and unit, in which a row has something.
pub(crate) fn numbers(columns: &[(&'static str, &'static str, &'static str)], rows: Vec<Vec<Value>>) -> Numbers {
    let is_empty = |cell: &Value| cell.is_null() || cell.as_str() == Some("");
    let has = |at: usize| rows.is_empty() || rows.iter().any(|row| !is_empty(&row[at]));
    let kept: Vec<usize> = (0..columns.len()).filter(|&at| has(at)).collect();
    let column = |&at: &usize| Column { id: columns[at].0, title: columns[at].1, unit: columns[at].2 };
    let row = |row: &Vec<Value>| kept.iter().map(|&at| row[at].clone()).collect();
    Numbers { columns: kept.iter().map(column).collect(), rows: rows.iter().map(row).collect() }
}

/// The place at the top of a page, for JSON: target, host, measured, disk.
pub(crate) fn place_document(place: &PlaceFacts, target: &str) -> Value {
    let facts = place.place(target.to_owned()).facts;
    facts
        .into_iter()
        .map(|(name, value)| (name.to_owned(), Value::from(value)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Refuses a page of an answer that is neither HTML nor PDF, before anything is measured.
pub(crate) fn check_to_mail(path: &Path) -> Result<(), Failure> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    if !matches!(extension, Some("html" | "pdf")) {
        return Err(Failure::at(path, "the page of an answer is .html or .pdf"));
    }
    crate::drawing::check_output(path)
}

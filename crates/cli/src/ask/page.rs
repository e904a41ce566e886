//! The page of an answer: where and when it was measured, the rounds against their limits, and all numbers.

use super::question::Question;
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

/// A number of a test, in texts.
#[derive(Clone, Debug, Default)]
pub(super) struct NumberRow {
    pub(super) test: String,
    pub(super) number: String,
    /// The smallest and the largest of the rounds.
    pub(super) ends: [String; 2],
    /// Limit, answer and source, if it has a limit.
    pub(super) limit: String,
    pub(super) answer: String,
    pub(super) source: String,
}

/// The columns of the table: id, title, unit. One without any text is left out.
const COLUMNS: &[(&str, &str, &str)] = &[
    ("test", "test", ""),
    ("number", "number", ""),
    ("value", "value", ""),
    ("lowest", "lowest round", ""),
    ("highest", "highest round", ""),
    ("limit", "limit", ""),
    ("answer", "answer", ""),
    ("source", "source", ""),
];

impl NumberRow {
    /// Its cells: of a single round the value, of several both ends.
    fn cells(self, rounds: u32) -> Vec<Value> {
        let [low, high] = self.ends;
        let none = String::new;
        let ends = if rounds == 1 { [low, none(), none()] } else { [none(), low, high] };
        let [value, low, high] = ends;
        let all = [self.test, self.number, value, low, high, self.limit, self.answer, self.source];
        all.map(|text| if text.is_empty() { Value::Null } else { Value::from(text) }).to_vec()
    }
}

/// Writes the page, with a picture of the rounds against their limits if there are any.
pub(super) fn write(path: &Path, report: &Report<'_>) -> Result<(), Failure> {
    let [answer, rest @ ..] = &report.answers()[..] else { return Ok(()) };
    let (target, rounds) = (report.path.display().to_string(), report.question.rounds);
    let title = format!("{} · {target}", report.question.name);
    let data = report.limits(&title, answer);
    let picture = |data| pages::picture("limits", &title, "Rounds against limits", data);
    let page = Page {
        places: vec![report.found.place.place(target.clone())],
        sentences: rest.to_vec(),
        pictures: Some(data).filter(|data| !data.rules.is_empty()).map(picture).transpose()?.into_iter().collect(),
        numbers: pages::numbers(COLUMNS, report.rows().into_iter().map(|row| row.cells(rounds)).collect()),
        remarks: report.findings(),
        ..pages::begun(format!("{}: {target}", report.question.name), answer.clone())
    };
    crate::drawing::drawn(path, &page)
}

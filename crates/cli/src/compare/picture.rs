//! A comparison as a picture: the changes with their intervals, in a page, a drawing, an image or on paper.

use super::Comparison;
use super::shown::on_intervals;
use crate::failure::Failure;
use crate::pages;
use analysis::compare::{ComparedTest, Metric, MetricRow, RunOrder};
use report::data::{ChangedTest, Changes, NumberChange, Unit};
use report::page::{Numbers, Page, Surroundings};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Most facts about the surroundings that stand under the picture.
const MOST_FACTS: usize = 6;

/// Words for the files of a side: the first one, and how many more.
fn name(files: &[PathBuf]) -> String {
    let files: Vec<PathBuf> = files.iter().flat_map(|word| crate::sides::files(word)).collect();
    let of = |file: &PathBuf| file.file_name().map(|name| name.to_string_lossy().into_owned());
    let first = files.first().and_then(of).unwrap_or_default();
    match files.len().saturating_sub(1) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// The page of the comparison of these files.
pub(super) fn page(comparison: &Comparison, sides: [&[PathBuf]; 2]) -> Result<Page, Failure> {
    let title = sides.map(name).join(" → ");
    let sentences = comparison.sentences.to_vec();
    let facts: Vec<(String, String)> =
        comparison.surroundings.iter().map(|one| (one.fact.clone(), format!("{} → {}", one.old, one.new))).collect();
    let noted = facts.iter().take(MOST_FACTS).map(|(fact, values)| format!("{fact}: {values}"));
    let mut tests = Vec::new();
    for test in &comparison.tests {
        tests.push(changed(test, test.label.clone()));
        let shift = comparison.shifts.iter().find(|shift| shift.label == test.label);
        tests.extend(shift.map(|shift| changed(shift, "shift of the latency".to_owned())));
    }
    let data = Changes {
        title: title.clone(),
        sentences: sentences.clone(),
        tolerance: comparison.tolerance,
        tests,
        notes: std::iter::once(on_intervals(comparison)).chain(noted).chain(comparison.notes.clone()).collect(),
    };
    let source = "Around the runs, old → new".to_owned();
    let around = (!facts.is_empty()).then_some(Surroundings { source, facts, command: None });
    Ok(Page {
        sentences: sentences[1..].to_vec(),
        pictures: vec![pages::picture("changes", &title, "What changed", data)?],
        numbers: numbers(comparison),
        runs: around.into_iter().collect(),
        remarks: comparison.notes.clone(),
        ..pages::begun(format!("Comparison: {title}"), sentences[0].clone())
    })
}

fn changed(test: &ComparedTest, label: String) -> ChangedTest {
    let turns = if test.order == RunOrder::Turns { ", in turns" } else { "" };
    ChangedTest {
        label,
        runs: format!("{} and {} runs{turns}", test.runs[0], test.runs[1]),
        rows: test.rows.iter().map(row).collect(),
    }
}

fn row(row: &MetricRow) -> NumberChange {
    let [change, low, high] = row.shares();
    NumberChange {
        name: row.metric.title(),
        unit: if row.metric == Metric::Iops { Unit::Count } else { Unit::Latency },
        old: row.old,
        new: row.new,
        change,
        low,
        high,
        verdict: row.verdict,
    }
}

/// The columns of the table: id, title, unit.
const COLUMNS: &[(&str, &str, &str)] = &[
    ("test", "test", ""),
    ("number", "number", ""),
    ("old", "old", ""),
    ("new", "new", ""),
    ("change", "change", ""),
    ("interval_percent", "95 % interval", ""),
    ("verdict", "verdict", ""),
];

/// All numbers, as `plumb compare` prints them.
fn numbers(comparison: &Comparison) -> Numbers {
    let mut rows = Vec::new();
    for test in comparison.tests.iter().chain(&comparison.shifts) {
        for row in &test.rows {
            let of = |number: Option<f64>| number.map_or(Value::Null, |number| json!(row.metric.text(number)));
            rows.push(vec![
                json!(test.label),
                json!(row.metric.title()),
                of(row.old),
                of(row.new),
                json!(row.change_text()),
                json!(row.interval_text()),
                json!(row.reason.as_deref().unwrap_or_else(|| row.verdict.word())),
            ]);
        }
    }
    pages::numbers(COLUMNS, rows)
}

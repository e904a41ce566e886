//! A comparison as a picture: the changes with their intervals, in a page, a drawing, an image or on paper.

use super::Comparison;
use super::text::on_intervals;
use crate::drawing::{drawn, svg_of};
use crate::failure::Failure;
use analysis::compare::{ComparedTest, Metric, Order, Row, Verdict};
use analysis::statistics::ALPHA;
use report::Chart;
use report::data::{ChangedTest, Changes, NumberChange, Outcome, Unit};
use report::page::{Column, Numbers, Page, Picture, Surroundings, Verdict as PageVerdict};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Most facts about the surroundings that stand under the picture.
const MOST_FACTS: usize = 6;

/// Draws the comparison of these files.
pub(super) fn write(comparison: &Comparison, sides: [&[PathBuf]; 2], file: &Path) -> Result<(), Failure> {
    drawn(file, &page(comparison, &sides.map(name).join(" → "))?)
}

/// The drawing of the comparison, as SVG.
pub(super) fn svg(comparison: &Comparison, sides: [&[PathBuf]; 2]) -> Result<String, Failure> {
    svg_of(&page(comparison, &sides.map(name).join(" → "))?)
}

/// Words for the files of a side: the first one, and how many more.
fn name(files: &[PathBuf]) -> String {
    let files: Vec<PathBuf> = files.iter().flat_map(|word| super::read::files(word)).collect();
    let of = |file: &PathBuf| file.file_name().map(|name| name.to_string_lossy().into_owned());
    let first = files.first().and_then(of).unwrap_or_default();
    match files.len().saturating_sub(1) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

fn page(comparison: &Comparison, title: &str) -> Result<Page, Failure> {
    let chart = Chart::named("changes").ok_or_else(|| Failure::new("there is no chart of changes"))?;
    let sentences = comparison.summary.sentences.to_vec();
    let facts = comparison.surroundings.iter().map(|one| format!("{}: {} → {}", one.fact, one.old, one.new));
    let remarks: Vec<String> = comparison.summary.remarks.iter().chain(&comparison.notes).cloned().collect();
    let notes = std::iter::once(on_intervals(comparison)).chain(facts.take(MOST_FACTS)).chain(remarks.clone());
    let mut tests = Vec::new();
    for test in &comparison.tests {
        tests.push(changed(test, test.label.clone()));
        let shift = comparison.shifts.iter().find(|shift| shift.label == test.label);
        tests.extend(shift.map(|shift| changed(shift, "shift of the latency".to_owned())));
    }
    let data = Changes {
        title: title.to_owned(),
        sentences: sentences.clone(),
        tolerance: comparison.tolerance,
        tests,
        notes: notes.collect(),
    };
    let picture = Picture {
        chart,
        title: title.to_owned(),
        heading: "What changed".to_owned(),
        mark: None,
        size: chart.size,
        paper: chart.paper,
        data: serde_json::to_value(&data)?,
    };
    let surroundings = Surroundings {
        source: "Around the runs, old → new".to_owned(),
        facts: comparison
            .surroundings
            .iter()
            .map(|one| (one.fact.clone(), format!("{} → {}", one.old, one.new)))
            .collect(),
        command: None,
    };
    Ok(Page {
        verdict: PageVerdict { line: sentences[0].clone(), findings: Vec::new() },
        sentences: sentences[1..].to_vec(),
        pictures: vec![picture],
        numbers: numbers(comparison),
        runs: if comparison.surroundings.is_empty() { Vec::new() } else { vec![surroundings] },
        remarks,
        ..crate::pages::begun(format!("Comparison: {title}"))
    })
}

fn changed(test: &ComparedTest, label: String) -> ChangedTest {
    let turns = if test.order == Order::Turns { ", in turns" } else { "" };
    ChangedTest {
        label,
        runs: format!("{} and {} runs{turns}", test.runs[0], test.runs[1]),
        rows: test.rows.iter().map(row).collect(),
    }
}

fn row(row: &Row) -> NumberChange {
    let share = |logarithm: f64| Some(logarithm.exp_m1()).filter(|share| share.is_finite());
    let ends = row.change.map(|change| change.interval(ALPHA));
    NumberChange {
        name: row.metric.title(),
        unit: if row.metric == Metric::Iops { Unit::Count } else { Unit::Latency },
        old: row.old,
        new: row.new,
        change: row.ratio().and_then(share),
        low: ends.and_then(|(low, _)| share(low)),
        high: ends.and_then(|(_, high)| share(high)),
        verdict: match row.verdict {
            Verdict::Same => Outcome::Same,
            Verdict::Better => Outcome::Better,
            Verdict::Worse => Outcome::Worse,
            Verdict::Slight => Outcome::Slight,
            Verdict::CannotTell => Outcome::CannotTell,
        },
    }
}

/// The columns of the table.
const COLUMNS: [(&str, &str); 7] = [
    ("test", "test"),
    ("number", "number"),
    ("old", "old"),
    ("new", "new"),
    ("change", "change"),
    ("interval_percent", "95 % interval"),
    ("verdict", "verdict"),
];

/// All numbers, as `plumb compare` prints them.
fn numbers(comparison: &Comparison) -> Numbers {
    let columns = COLUMNS.map(|(id, title)| Column { id, title, unit: "" }).to_vec();
    let mut rows = Vec::new();
    for test in comparison.tests.iter().chain(&comparison.shifts) {
        for row in &test.rows {
            let of = |number: Option<f64>| number.map_or(Value::Null, |number| json!(row.metric.text(number)));
            let change = row.change_text();
            rows.push(vec![
                json!(test.label),
                json!(row.metric.title()),
                of(row.old),
                of(row.new),
                json!(change),
                json!(row.interval_text()),
                json!(row.reason.clone().unwrap_or_else(|| row.verdict.word().to_owned())),
            ]);
        }
    }
    Numbers { columns, rows }
}

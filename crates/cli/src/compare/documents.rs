//! A comparison as Markdown and as JSON.

use super::Comparison;
use super::text::on_intervals;
use crate::failure::Failure;
use analysis::compare::{ComparedTest, Difference, Order, Row, Verdict};
use analysis::statistics::ALPHA;
use serde_json::{Value, json};

/// Number of the JSON document's form.
const SCHEMA: u32 = 1;

/// Markdown for a pull request: the sentences first, then the numbers.
pub(super) fn markdown(comparison: &Comparison) -> String {
    let [first, second] = &comparison.summary.sentences;
    let mut text = format!("**{first}** {second}\n\n");
    text.push_str("| test | number | old | new | change | 95 % interval | verdict | visible from |\n");
    text.push_str("|---|---|--:|--:|--:|--:|---|--:|\n");
    for test in comparison.tests.iter().chain(&comparison.shifts) {
        for row in &test.rows {
            let of = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |number| row.metric.text(number));
            let cells = [
                test.label.clone(),
                row.metric.title(),
                of(row.old),
                of(row.new),
                row.change_text().unwrap_or_default(),
                row.interval_text().unwrap_or_default(),
                row.reason.clone().unwrap_or_else(|| row.verdict.word().to_owned()),
                row.visible_text().unwrap_or_default(),
            ];
            text.push_str(&format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | ")));
        }
    }
    text.push_str(&format!("\n{}\n", on_intervals(comparison)));
    let shown = |one: &Difference| format!("- {}: {} → {}\n", one.fact, one.old, one.new);
    if !comparison.surroundings.is_empty() {
        text.push_str("\nAround the runs:\n\n");
        text.extend(comparison.surroundings.iter().map(shown));
    }
    let remarks: Vec<String> =
        comparison.summary.remarks.iter().chain(&comparison.notes).map(|note| format!("- {note}\n")).collect();
    if !remarks.is_empty() {
        text.push_str("\nRemarks:\n\n");
        text.extend(remarks);
    }
    text
}

/// JSON, with shares in place of percent.
pub(super) fn json(comparison: &Comparison) -> Result<String, Failure> {
    let rows = |tests: &[ComparedTest]| -> Vec<Value> {
        tests.iter().flat_map(|test| test.rows.iter().map(move |row| row_of(test, row))).collect()
    };
    let document = json!({
        "compare_schema": SCHEMA,
        "tolerance": comparison.tolerance,
        "results": comparison.results,
        "pairs": rows(&comparison.tests),
        "shift": rows(&comparison.shifts),
        "surroundings": surroundings(&comparison.surroundings),
        "sentences": comparison.summary.sentences,
        "notes": comparison.summary.remarks.iter().chain(&comparison.notes).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// `[["scheduler", "none", "mq-deadline"]]`.
pub(crate) fn surroundings(differences: &[Difference]) -> Vec<[&str; 3]> {
    differences.iter().map(|one| [one.fact.as_str(), one.old.as_str(), one.new.as_str()]).collect()
}

/// One number of a test.
pub(crate) fn row_of(test: &ComparedTest, row: &Row) -> Value {
    let share = |logarithm: f64| Some(logarithm.exp_m1()).filter(|share| share.is_finite());
    let ends = row.change.map(|change| change.interval(ALPHA));
    let within: Vec<Value> = row
        .within
        .iter()
        .map(|within| within.map_or(Value::Null, |within| json!({ "low": within.low, "high": within.high })))
        .collect();
    json!({
        "test": test.label,
        "metric": row.metric.word(),
        "unit": if row.metric.grows_better() { "1/s" } else { "ns" },
        "runs": test.runs,
        "order": order(test.order),
        "old": row.old,
        "new": row.new,
        "change": row.ratio().and_then(share),
        "low": ends.and_then(|(low, _)| share(low)),
        "high": ends.and_then(|(_, high)| share(high)),
        "p": row.change.map(|change| change.probability()),
        "differs_together": row.is_sure,
        "smallest_seen": row.change.and_then(|change| share(change.smallest_visible())),
        "verdict": verdict(row.verdict),
        "reason": row.reason,
        "within_run": within,
    })
}

fn order(order: Order) -> &'static str {
    match order {
        Order::Turns => "turns",
        Order::OldFirst => "old_first",
        Order::NewFirst => "new_first",
        Order::Mixed => "mixed",
        Order::NotKnown => "not_known",
    }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Same => "same",
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Slight => "slight",
        Verdict::CannotTell => "cannot_tell",
    }
}

//! A comparison as text, as Markdown and as JSON.

use super::Comparison;
use crate::failure::Failure;
use analysis::compare::{ComparedTest, Difference, Metric, MetricRow, RunOrder, Within, is_one_run_each};
use serde_json::json;

/// Text: what differs around the runs, a block per test, and two sentences.
pub(super) fn text(comparison: &Comparison) -> String {
    let [old, new] = comparison.results;
    let mut text = format!("{old} old and {new} new results.\n");
    for difference in &comparison.surroundings {
        text.push_str(&format!("  {}: {} → {}\n", difference.fact, difference.old, difference.new));
    }
    if comparison.surroundings.is_empty() {
        text.push_str("  All facts that both sides state are equal.\n");
    }
    if is_one_run_each(&comparison.tests) {
        let table = analysis::compare::table(ONCE, once(&comparison.tests).into_iter());
        text.push_str(&format!("\n{table}"));
        for shift in &comparison.shifts {
            text.push_str(&format!("\n{}\n  shift of the latency\n{}", shift.label, table_of(&shift.rows)));
        }
        return text + &end(comparison);
    }
    for test in &comparison.tests {
        text.push_str(&format!("\n{}\n", heading(test)));
        text.push_str(&table_of(&test.rows));
        if let Some(shift) = comparison.shifts.iter().find(|shift| shift.label == test.label) {
            text.push_str("  shift of the latency, of the percentiles that both sides state\n");
            text.push_str(&table_of(&shift.rows));
        }
        for (side, failed) in ["old", "new"].iter().zip(&test.failed) {
            text.push_str(&failed.as_ref().map_or_else(String::new, |why| format!("  {side}: {why}\n")));
        }
    }
    text + &end(comparison)
}

/// The sentences and remarks.
fn end(comparison: &Comparison) -> String {
    let mut text = format!("\n{}\n{}\n", comparison.sentences.join("\n"), on_intervals(comparison));
    comparison.notes.iter().for_each(|note| text.push_str(&format!("! {note}\n")));
    text
}

/// The columns of a table of single runs.
const ONCE: [&str; 7] = ["", "old IOPS", "new IOPS", "change", "at least", "", "p99"];

/// Single runs: a line per test, the largest change of the rate first.
fn once(tests: &[ComparedTest]) -> Vec<[String; 7]> {
    let row = |test: &ComparedTest, metric: Metric| test.rows.iter().find(|row| row.metric == metric).cloned();
    let mut all: Vec<_> = tests.iter().map(|test| (test, row(test, Metric::Iops))).collect();
    let size = |rate: &Option<MetricRow>| rate.as_ref().and_then(MetricRow::ratio).map_or(0.0, f64::abs);
    all.sort_by(|(_, one), (_, other)| size(other).total_cmp(&size(one)));
    let cells = |(test, rate): &(&ComparedTest, Option<MetricRow>)| {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let number = |number: Option<f64>| or_dash(number.map(|number| Metric::Iops.text(number)));
        let p99 = row(test, Metric::Percentile(99.0)).and_then(|row| row.change_text());
        let failed = ["old", "new"].iter().zip(&test.failed);
        let failed: Vec<String> = failed.filter_map(|(side, why)| Some(format!("{side}: {}", why.as_ref()?))).collect();
        [
            test.label.clone(),
            number(rate.as_ref().and_then(|row| row.old)),
            number(rate.as_ref().and_then(|row| row.new)),
            or_dash(rate.as_ref().and_then(MetricRow::change_text)),
            or_dash(rate.as_ref().and_then(MetricRow::at_least_text)),
            failed.join("; "),
            or_dash(p99),
        ]
    };
    all.iter().map(cells).collect()
}

/// How the intervals and the sentences are meant.
pub(super) fn on_intervals(comparison: &Comparison) -> String {
    if is_one_run_each(&comparison.tests) {
        return "At least: what the noise within both runs leaves of the change; -: their intervals overlap, or are not known.".to_owned();
    }
    let share = measure::text::chosen_percent(comparison.tolerance);
    format!(
        "Intervals: 95 % each; tolerance {share}. The first sentence names what differs when all numbers are taken together (Holm)."
    )
}

/// `random reads 8K ×16    5 and 5 runs, in turns`.
fn heading(test: &ComparedTest) -> String {
    let turns = if test.order == RunOrder::Turns { ", in turns" } else { "" };
    format!("{}    {} and {} runs{turns}", test.label, test.runs[0], test.runs[1])
}

fn table_of(rows: &[MetricRow]) -> String {
    let head = ["", "old", "new", "change", "95 % interval", "", "visible from"];
    let mut text = analysis::compare::table(head, rows.iter().map(MetricRow::cells));
    for row in rows {
        text.push_str(&under(row).map_or_else(String::new, |line| format!("    {line}\n")));
    }
    text
}

/// Why there is no interval, with the one within the run.
fn under(row: &MetricRow) -> Option<String> {
    let reason = row.reason.as_ref()?;
    let within: Vec<String> = row.within.iter().flatten().map(|within| range(row.metric, *within)).collect();
    let within = if within.is_empty() { String::new() } else { format!("; within the run {}", within.join(" and ")) };
    let is_about_noise = row.old.is_some() && row.new.is_some();
    // The reason of rows that have both numbers is the same for the whole test: it is printed with the rate.
    let needed = !is_about_noise || row.metric == Metric::Iops || !within.is_empty();
    let reason = if is_about_noise { format!("{}: {reason}", row.metric.title()) } else { reason.clone() };
    needed.then(|| format!("{reason}{within}"))
}

fn range(metric: Metric, within: Within) -> String {
    match within.high {
        Some(high) => format!("{} to {}", metric.text(within.low), metric.text(high)),
        None => format!("at least {}", metric.text(within.low)),
    }
}

/// Markdown for a pull request: the sentences first, then the numbers.
pub(super) fn markdown(comparison: &Comparison) -> String {
    let [first, second] = &comparison.sentences;
    let mut text = format!("**{first}** {second}\n\n");
    let is_once = is_one_run_each(&comparison.tests);
    if is_once {
        text.push_str("| test | old IOPS | new IOPS | change | at least | | p99 |\n|---|--:|--:|--:|--:|---|--:|\n");
        for cells in once(&comparison.tests) {
            text.push_str(&format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | ")));
        }
        text.push('\n');
    }
    let tests: &[ComparedTest] = if is_once { &[] } else { &comparison.tests };
    if tests.is_empty() && comparison.shifts.is_empty() {
        return text + &around(comparison);
    }
    text.push_str("| test | number | old | new | change | 95 % interval | verdict | visible from |\n");
    text.push_str("|---|---|--:|--:|--:|--:|---|--:|\n");
    for test in tests.iter().chain(&comparison.shifts) {
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
    text.push('\n');
    text + &around(comparison)
}

/// How the intervals are meant, what differs around the runs, and the remarks.
fn around(comparison: &Comparison) -> String {
    let mut text = format!("{}\n", on_intervals(comparison));
    let shown = |one: &Difference| format!("- {}: {} → {}\n", one.fact, one.old, one.new);
    if !comparison.surroundings.is_empty() {
        text.push_str("\nAround the runs:\n\n");
        text.extend(comparison.surroundings.iter().map(shown));
    }
    if !comparison.notes.is_empty() {
        text.push_str("\nRemarks:\n\n");
        text.extend(comparison.notes.iter().map(|note| format!("- {note}\n")));
    }
    text
}

/// JSON, with shares in place of percent.
pub(super) fn json(comparison: &Comparison) -> Result<String, Failure> {
    let rows = |tests: &[ComparedTest]| json!(tests.iter().flat_map(ComparedTest::documents).collect::<Vec<_>>());
    let document = json!({
        "compare_schema": 1,
        "tolerance": comparison.tolerance,
        "results": comparison.results,
        "pairs": rows(&comparison.tests),
        "shift": rows(&comparison.shifts),
        "surroundings": comparison.surroundings,
        "sentences": comparison.sentences,
        "notes": comparison.notes,
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

//! A comparison as text: what differs around the runs, a block per test, and two sentences.

use super::Comparison;
use analysis::compare::{ComparedTest, Metric, Row, Within};

/// The whole comparison.
pub(super) fn render(comparison: &Comparison) -> String {
    let [old, new] = comparison.results;
    let mut text = format!("{old} old and {new} new results.\n");
    for difference in &comparison.surroundings {
        text.push_str(&format!("  {}: {} → {}\n", difference.fact, difference.old, difference.new));
    }
    if comparison.surroundings.is_empty() {
        text.push_str("  All facts that both sides state are equal.\n");
    }
    for test in &comparison.tests {
        text.push_str(&format!("\n{}\n", heading(test)));
        text.push_str(&table(&test.rows));
        if let Some(shift) = comparison.shifts.iter().find(|shift| shift.label == test.label) {
            text.push_str("  shift of the latency, of the percentiles that both sides state\n");
            text.push_str(&table(&shift.rows));
        }
        for (side, failed) in ["old", "new"].iter().zip(&test.failed) {
            text.push_str(&failed.as_ref().map_or_else(String::new, |why| format!("  {side}: {why}\n")));
        }
    }
    text.push_str(&format!("\n{}\n{}\n", comparison.summary.sentences[0], comparison.summary.sentences[1]));
    text.push_str(&format!("{}\n", on_intervals(comparison)));
    let remarks = comparison.summary.remarks.iter().chain(&comparison.notes);
    remarks.for_each(|remark| text.push_str(&format!("! {remark}\n")));
    text
}

/// How the intervals and the sentences are meant.
pub(super) fn on_intervals(comparison: &Comparison) -> String {
    let share = measure::text::chosen_percent(comparison.tolerance);
    format!(
        "Intervals: 95 % each; tolerance {share}. The first sentence names what differs when all numbers are taken together (Holm)."
    )
}

/// `random reads 8K ×16    5 and 5 runs, in turns`.
fn heading(test: &ComparedTest) -> String {
    let turns = if test.order == analysis::compare::Order::Turns { ", in turns: compared as pairs" } else { "" };
    format!("{}    {} and {} runs{turns}", test.label, test.runs[0], test.runs[1])
}

fn table(rows: &[Row]) -> String {
    let head = ["", "old", "new", "change", "95 % interval", "", "visible from"];
    let mut text = analysis::compare::table(head, rows.iter().map(Row::cells));
    for row in rows {
        text.push_str(&under(row).map_or_else(String::new, |line| format!("    {line}\n")));
    }
    text
}

/// Why there is no interval, with the one within the run.
fn under(row: &Row) -> Option<String> {
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

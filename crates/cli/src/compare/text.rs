//! A comparison as text: what differs around the runs, a block per test, and two sentences.

use super::Comparison;
use analysis::compare::{ComparedTest, Metric, Row, Verdict, Within, percent_of};
use analysis::statistics::ALPHA;
use measure::text::thousands;

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

/// Lines of number, old, new, change, interval, verdict and smallest change in columns: words to the left, numbers to the right.
pub(crate) fn aligned(lines: &[[String; 7]]) -> String {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(width);
    let mut text = String::new();
    for line in lines {
        let mut row = String::from(" ");
        for (column, cell) in line.iter().enumerate() {
            let pad = " ".repeat(widths[column].saturating_sub(cell.chars().count()));
            row.push_str(&if [0, 5].contains(&column) { format!(" {cell}{pad} ") } else { format!(" {pad}{cell} ") });
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

fn table(rows: &[Row]) -> String {
    let head = ["", "old", "new", "change", "95 % interval", "", "visible from"].map(str::to_owned);
    let lines: Vec<[String; 7]> = std::iter::once(head).chain(rows.iter().map(cells)).collect();
    let mut text = aligned(&lines);
    for row in rows {
        text.push_str(&under(row).map_or_else(String::new, |line| format!("    {line}\n")));
    }
    text
}

fn cells(row: &Row) -> [String; 7] {
    let value = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |number| value(row.metric, number));
    let visible = row.change.map(|change| percent_of(change.smallest_visible()));
    let visible = visible.filter(|visible| visible.is_finite()).map(up_to_999);
    [
        row.metric.title(),
        value(row.old),
        value(row.new),
        row.ratio().map_or_else(|| "-".to_owned(), |ratio| format!("{} %", signed(percent_of(ratio)))),
        interval(row).unwrap_or_default(),
        if row.old.is_some() && row.new.is_some() { word(row.verdict).to_owned() } else { String::new() },
        visible.unwrap_or_default(),
    ]
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
        Some(high) => format!("{} to {}", value(metric, within.low), value(metric, high)),
        None => format!("at least {}", value(metric, within.low)),
    }
}

/// `(−13.1 to −10.1)`, in percent; `None` without an interval.
pub(crate) fn interval(row: &Row) -> Option<String> {
    let (low, high) = row.change?.interval(ALPHA);
    let ends = [low, high].map(percent_of);
    ends.iter().all(|end| end.is_finite()).then(|| format!("({} to {})", signed(ends[0]), signed(ends[1])))
}

/// A change in percent, at most 999 %: `2.1 %`.
fn up_to_999(percent: f64) -> String {
    if percent > 999.0 { "> 999 %".to_owned() } else { format!("{percent:.1} %") }
}

/// A number with its sign: `−11.6`, `+0.8`, `> 999`.
pub(crate) fn signed(percent: f64) -> String {
    if percent > 999.0 {
        return "> 999".to_owned();
    }
    let digits = format!("{:.1}", percent.abs());
    match digits.as_str() {
        "0.0" => digits,
        _ if percent < 0.0 => format!("−{digits}"),
        _ => format!("+{digits}"),
    }
}

/// The verdict with its sign.
pub(crate) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Same => "= same",
        Verdict::Better => "▲ better",
        Verdict::Worse => "▼ worse",
        Verdict::Slight => "≈ differs slightly",
        Verdict::CannotTell => "? cannot tell",
    }
}

/// A rate or a latency with its unit.
pub(crate) fn value(metric: Metric, number: f64) -> String {
    match metric {
        Metric::Iops => thousands(number),
        _ if number < 1e6 => format!("{} µs", digits(number / 1e3)),
        _ if number < 1e9 => format!("{} ms", digits(number / 1e6)),
        _ => format!("{} s", digits(number / 1e9)),
    }
}

/// Three significant digits.
fn digits(value: f64) -> String {
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_three_digits_and_their_unit() {
        assert_eq!(value(Metric::Iops, 81_020.4), "81,020");
        for (ns, expected) in
            [(411_300.0, "411 µs"), (1_912_000.0, "1.91 ms"), (83_217.0, "83.2 µs"), (2.5e9, "2.50 s")]
        {
            assert_eq!(value(Metric::Mean, ns), expected);
        }
        assert_eq!([-11.62, 0.84, 0.02, -0.04, 2e6].map(signed), ["−11.6", "+0.8", "0.0", "0.0", "> 999"]);
    }
}

//! The two sentences that end a comparison: what changed, and what would settle the rest.

use super::rows::is_within;
use super::{ComparedTest, Metric, MetricRow, RunOrder, Verdict, percent_of};
use crate::statistics::runs_to_settle;
use measure::text;

/// Most tests that a sentence names.
const MOST_NAMED: usize = 4;

/// The conclusion of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Two sentences.
    pub sentences: [String; 2],
    /// Remarks on how the runs were made.
    pub remarks: Vec<String>,
}

/// The conclusion from these tests; `tolerance` is a share (0.05).
pub fn summary(tests: &[ComparedTest], tolerance: f64) -> Summary {
    let mut remarks = Vec::new();
    // Of one run each, nothing is concluded that a drift could spoil.
    let any = |order: RunOrder| tests.iter().any(|test| test.order == order && test.runs != [1, 1]);
    let drift = "a drift of the machine looks like a change. Take turns: old, new, new, old, ...";
    if any(RunOrder::OldFirst) {
        remarks.push(format!("All old runs were made before all new ones: {drift}"));
    }
    if any(RunOrder::NewFirst) {
        remarks.push(format!("All new runs were made before all old ones: {drift}"));
    }
    if any(RunOrder::NotKnown) {
        remarks.push(format!("The times of the runs are not known. If all old ones were made first: {drift}"));
    }
    Summary { sentences: conclusion(tests, tolerance), remarks }
}

/// Of tests whose numbers are not of the storage, the sentence says only that.
fn conclusion(tests: &[ComparedTest], tolerance: f64) -> [String; 2] {
    let (refused, judged): (Vec<&ComparedTest>, Vec<&ComparedTest>) =
        tests.iter().partition(|test| test.refusal().is_some());
    let judged: Vec<ComparedTest> = judged.into_iter().cloned().collect();
    let Some((first, why)) = refused.first().and_then(|first| Some((first, first.refusal()?))) else {
        return [changes(&judged, tolerance), rest(&judged, tolerance)];
    };
    let of = match refused.len() - 1 {
        _ if judged.is_empty() => String::new(),
        0 => format!(" for {}", first.label),
        more => format!(" for {} and {more} more tests", first.label),
    };
    let errors = new_errors(refused.iter().copied());
    let errors = errors.map_or_else(String::new, |errors| text::capitalised(&errors) + ". ");
    let no_answer = format!("{errors}No answer{of}: {why}.");
    match judged.as_slice() {
        [] => [no_answer, "The numbers are shown without a verdict.".to_owned()],
        judged => [format!("{no_answer} Of the others: {}", changes(judged, tolerance)), rest(judged, tolerance)],
    }
}

fn changes(tests: &[ComparedTest], tolerance: f64) -> String {
    let of = |verdict: Verdict| named(tests, |row| row.verdict == verdict && row.is_sure);
    let differs = |is_such: fn(f64) -> bool| {
        let is_so = |row: &MetricRow| row.gain().is_some_and(|gain| is_such(gain.estimate));
        named(tests, |row| row.verdict == Verdict::Differs && row.is_sure && is_so(row))
    };
    let within = text::chosen_percent(tolerance);
    let mut parts = Vec::new();
    parts.extend(new_errors(tests.iter()));
    let changed = [
        ("worse".to_owned(), of(Verdict::Worse)),
        (format!("worse, perhaps by less than {within}"), differs(|gain| gain < 0.0)),
        ("better".to_owned(), of(Verdict::Better)),
        (format!("better, perhaps by less than {within}"), differs(|gain| gain > 0.0)),
    ];
    parts.extend(changed.iter().filter(|(_, rows)| !rows.is_empty()).map(|(how, rows)| format!("{how}: {rows}")));
    let rows = || tests.iter().flat_map(|test| &test.rows).filter(|row| row.old.is_some() && row.new.is_some());
    let is_inside = |row: &MetricRow| row.change.is_some_and(|change| is_within(&change, tolerance.ln_1p()));
    if parts.is_empty() && is_one_run_each(tests) {
        return of_single_runs(tests);
    }
    if parts.is_empty() {
        return match rows().all(is_inside) && rows().next().is_some() {
            true => format!("Nothing changed by more than {within}."),
            false => "No change beyond the noise can be shown.".to_owned(),
        };
    }
    text::capitalised(&parts.join("; ")) + "."
}

/// `new errors in random reads 8K ×16` of tests that failed on the new side alone.
fn new_errors<'tests>(tests: impl Iterator<Item = &'tests ComparedTest>) -> Option<String> {
    let failed: Vec<&str> = tests
        .filter(|test| test.failed[0].is_none() && test.failed[1].is_some())
        .map(|test| test.label.as_str())
        .collect();
    (!failed.is_empty()).then(|| format!("new errors in {}", failed.join(", ")))
}

/// True if each side has one run, so that the noise between runs is known of no test.
pub fn is_one_run_each(tests: &[ComparedTest]) -> bool {
    !tests.is_empty() && tests.iter().all(|test| test.runs == [1, 1])
}

/// The rates of single runs, the largest change first, with what the noise within the runs leaves of it.
fn of_single_runs(tests: &[ComparedTest]) -> String {
    let rate = |test: &ComparedTest| {
        let row = test.rows.iter().find(|row| row.metric == Metric::Iops)?;
        Some((test.label.clone(), row.clone(), row.ratio()?))
    };
    let mut rates: Vec<_> = tests.iter().filter_map(rate).collect();
    rates.sort_by(|(_, _, one), (_, _, other)| other.abs().total_cmp(&one.abs()));
    let shown = |(label, row, ratio): &(String, MetricRow, f64)| match row.at_least_text() {
        Some(least) => format!("{label} IOPS at least {least}"),
        None => format!("{label} IOPS {}", text::change(ratio.exp_m1())),
    };
    let parts: Vec<String> = rates.iter().take(MOST_NAMED).map(shown).collect();
    match rates.len().saturating_sub(MOST_NAMED) {
        _ if parts.is_empty() => "No number is known on both sides.".to_owned(),
        0 => format!("In one run each: {}.", parts.join("; ")),
        more => format!("In one run each: {}; and {more} more tests.", parts.join("; ")),
    }
}

/// `random reads 8K ×16 (IOPS −11.6 %, p99 +29.0 %)` for the tests with such rows.
fn named(tests: &[ComparedTest], is_such: impl Fn(&MetricRow) -> bool) -> String {
    let of = |test: &ComparedTest| {
        let rows = test.rows.iter().filter(|row| is_such(row));
        let shown: Vec<String> = rows
            .filter_map(|row| Some(format!("{} {} %", row.metric.title(), text::signed(percent_of(row.ratio()?)))))
            .collect();
        (!shown.is_empty()).then(|| format!("{} ({})", test.label, shown.join(", ")))
    };
    let all: Vec<String> = tests.iter().filter_map(of).collect();
    let more = all.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more tests") } else { String::new() };
    format!("{}{more}", all[..all.len().min(MOST_NAMED)].join(", "))
}

fn rest(tests: &[ComparedTest], tolerance: f64) -> String {
    let rows = || tests.iter().flat_map(|test| test.rows.iter().map(move |row| (test, row)));
    let compared = || rows().filter(|(_, row)| row.old.is_some() && row.new.is_some());
    let is_open = |row: &MetricRow| matches!(row.verdict, Verdict::CannotTell | Verdict::Differs);
    let open: Vec<_> = compared().filter(|(_, row)| is_open(row)).collect();
    let all = compared().count();
    if all == 0 {
        return "Cannot tell anything: no number is known on both sides.".to_owned();
    }
    if tests.iter().all(|test| test.runs.contains(&1)) && open.len() == all {
        return "What this machine does from run to run is not known: make five runs a side, in turns.".to_owned();
    }
    if open.is_empty() {
        let visible = compared().filter_map(|(_, row)| row.change).map(|change| change.smallest_visible());
        return match visible.fold(0.0, f64::max) {
            0.0 => "All runs of a side are equal, so any change would have been seen.".to_owned(),
            largest => format!("A change of {} would have been seen in every number.", text::percent(largest.exp_m1())),
        };
    }
    let needed = |row: &MetricRow| {
        let gain = row.gain()?;
        // Of a gain it is open if it is beyond the tolerance, which no gate asks.
        let is_gain = row.verdict == Verdict::Differs && gain.estimate > 0.0;
        Some(runs_to_settle(&if is_gain { gain.reversed() } else { gain }, tolerance))
    };
    let wanted: Vec<Option<usize>> = open.iter().filter_map(|(_, row)| needed(row)).collect();
    let within = text::chosen_percent(tolerance);
    let count = format!("Cannot tell for {} of {all} numbers if they changed by more than {within}", open.len());
    match wanted.iter().copied().collect::<Option<Vec<usize>>>() {
        _ if wanted.is_empty() => format!("{count}; make five runs a side, in turns."),
        Some(runs) => {
            let most = runs.into_iter().max().unwrap_or(0);
            format!("{count}; about {most} runs a side would settle {}.", if open.len() == 1 { "it" } else { "them" })
        }
        None => format!("{count}; 200 runs a side would not settle all of them."),
    }
}

//! `plumb trend`: since when a series is faster or slower, and what changed in its surroundings.

use super::series::{SeriesArgs, accepted, columns, comparable, head, logarithms, shown, title};
use crate::failure::Failure;
use crate::streams;
use ::store::{Decision, Point, Series, Store, changes};
use analysis::statistics::{Chance, FEWEST, HistoryChange, MOST, history_changes};
use clap::ValueEnum;
use measure::text;
use serde_json::{Value, json};
use std::fmt::Write;

/// Exit status if a change was found.
const FOUND: u8 = 1;
/// Exit status if no series has enough runs.
const CANNOT_TELL: u8 = 2;
const ERROR: u8 = 3;

/// Show since when a test is faster or slower, and what changed at that time
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb trend                                    all series
  plumb trend /data                              the tests of this directory or device
  plumb trend 4f1c --accept 2026-11-22-0001      the change is known: the history starts again there
  plumb trend 4f1c --dismiss 2026-11-22-0001     it is not a change: it is not shown again
  plumb trend --json /data | jq '.series[].changes'

0.2 % of histories without a change show one. Changes below 3 % are not shown. A trend needs 8 runs
since the last accepted change. Runs that are NOT A STORAGE RESULT are left out.
More: docs/history.md
Exit status: 0 no change; 1 a change; 2 cannot tell: no series has 8 runs; 3 an error")]
pub(crate) struct TrendArgs {
    #[command(flatten)]
    series: SeriesArgs,
    /// Accept the change at this run: the history starts again with it
    #[arg(long, value_name = "RUN", conflicts_with = "dismiss")]
    accept: Option<String>,
    /// Dismiss the change at this run: it is not shown again
    #[arg(long, value_name = "RUN")]
    dismiss: Option<String>,
    /// Format of the output
    #[arg(long, value_enum, default_value_t = Form::Text, conflicts_with = "json")]
    format: Form,
}

/// Format of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For people
    Text,
    /// For programs
    Json,
}

/// A change of one number of a series.
struct SeriesChange {
    name: String,
    change: HistoryChange,
    before: String,
    at: String,
}

struct Trend {
    series: Series,
    found: Vec<SeriesChange>,
    /// For each run with a change, the facts that differ from those of the run before it.
    facts: Vec<(String, Vec<::store::Change>)>,
    /// Runs that can be compared.
    runs: usize,
}

impl Trend {
    fn cannot_tell(&self) -> Option<String> {
        (self.runs < FEWEST)
            .then(|| format!("{} that can be compared; a trend needs {FEWEST}", text::counted(self.runs as u64, "run")))
    }
}

/// Prints the trend, or stores a decision about a change.
pub(crate) fn run(args: &TrendArgs) -> Result<u8, Failure> {
    answer(args).map_err(|failure| failure.with_status(ERROR))
}

fn answer(args: &TrendArgs) -> Result<u8, Failure> {
    let mut found = args.series.open()?;
    let is_json = found.is_json || args.format == Form::Json;
    let decision = match (&args.accept, &args.dismiss) {
        (Some(run), _) => Some((run, Decision::Accepted)),
        (_, Some(run)) => Some((run, Decision::Dismissed)),
        _ => None,
    };
    if let Some((run, decision)) = decision {
        let mut store = Store::to_write(found.store.path())?;
        let (id, decided) = decide(&mut store, &found.series, run, decision)?;
        let text = if is_json {
            let series: Vec<&String> = decided.iter().map(|one| &one.id).collect();
            streams::document("trend", json!({ "run": id, "decision": decision.word(), "series": series }))?
        } else if found.is_quiet {
            String::new()
        } else {
            let heads: Vec<String> = decided.into_iter().map(head).collect();
            format!("{} at {id}:\n  {}\n", decision.word(), heads.join("\n  "))
        };
        return found.print(text).map(|()| 0);
    }
    let trends = found.series.iter().map(|series| trend(&found.store, series)).collect::<Result<Vec<_>, Failure>>()?;
    let text = if is_json {
        streams::document("trend", json!({ "series": trends.iter().flat_map(as_json).collect::<Vec<Value>>() }))?
    } else {
        texts(trends.iter().filter(|trend| !found.is_quiet || !trend.found.is_empty()).collect())
    };
    let changed = trends.iter().any(|trend| !trend.found.is_empty());
    let known = trends.iter().any(|trend| trend.cannot_tell().is_none());
    found.print(text)?;
    Ok(if changed { FOUND } else { u8::from(!known) * CANNOT_TELL })
}

/// Stores a decision for all selected series that contain the run. Returns its ID and these series.
fn decide<'a>(
    store: &mut Store,
    all: &'a [Series],
    run: &str,
    decision: Decision,
) -> Result<(String, Vec<&'a Series>), Failure> {
    let id =
        store.find(run)?.ok_or_else(|| Failure::new(format!("there is no run `{run}`; plumb store list shows all")))?;
    let mut decided = Vec::new();
    for series in all {
        if store.points(series, u32::MAX)?.iter().any(|point| point.run == id) {
            store.decide(series, &id, decision)?;
            decided.push(series);
        }
    }
    if decided.is_empty() {
        return Err(Failure::new(format!("run {id} is in none of these series; plumb history shows its series")));
    }
    Ok((id, decided))
}

fn trend(store: &Store, series: &Series) -> Result<Trend, Failure> {
    // More than are looked at, because some may not be comparable.
    let most = u32::try_from(4 * MOST).unwrap_or(u32::MAX);
    let points = store.points(series, most)?;
    let accepted = accepted(store, series, &points)?;
    let decisions = store.decisions(series)?;
    let usable = comparable(&points, accepted.as_deref());
    let is_open = |run: &str| !decisions.iter().any(|(known, _)| known == run);
    let mut found = Vec::new();
    for name in columns(&points) {
        let (values, places) = logarithms(&usable, &name);
        for change in history_changes(&values, Chance::OneInFiveHundred).unwrap_or_default() {
            let run = |at: usize| usable[places[at]].run.clone();
            let (before, at) = (run(change.at - 1), run(change.at));
            if is_open(&at) {
                found.push(SeriesChange { name: name.clone(), change, before, at });
            }
        }
    }
    let mut facts: Vec<(String, Vec<::store::Change>)> = Vec::new();
    for one in &found {
        if !facts.iter().any(|(at, _)| *at == one.at) {
            facts.push((one.at.clone(), differences(store, &usable, one)?));
        }
    }
    Ok(Trend { series: series.clone(), found, facts, runs: usable.len() })
}

fn differences(store: &Store, points: &[&Point], found: &SeriesChange) -> Result<Vec<::store::Change>, Failure> {
    let facts = |run: &str| match points.iter().find(|point| point.run == run) {
        Some(point) => store.facts(point),
        None => Ok(Vec::new()),
    };
    Ok(changes(&facts(&found.before)?, &facts(&found.at)?))
}

/// The trends of which something can be said; the others in one line, if there are several.
fn texts(trends: Vec<&Trend>) -> String {
    let (short, long): (Vec<&Trend>, Vec<&Trend>) = trends.into_iter().partition(|trend| trend.cannot_tell().is_some());
    let mut shown: String = long.into_iter().map(text).collect();
    match short.as_slice() {
        [one] => shown.push_str(&text(one)),
        [] => {}
        several => {
            let _ = writeln!(
                shown,
                "no answer yet in {} series: each has fewer than {FEWEST} runs that can be compared",
                several.len()
            );
        }
    }
    shown
}

fn text(trend: &Trend) -> String {
    let mut text = format!("{}: {}\n", head(&trend.series), text::counted(trend.runs as u64, "run"));
    if let Some(why) = trend.cannot_tell() {
        return format!("{text}  cannot tell: {why}\n");
    }
    if trend.found.is_empty() {
        text.push_str("  no change found\n");
    }
    for (at, facts) in &trend.facts {
        for found in trend.found.iter().filter(|found| found.at == *at) {
            let SeriesChange { name, change, before, .. } = found;
            let (old, new) = (shown(name, change.before.exp()), shown(name, change.after.exp()));
            let by = text::signed(100.0 * (change.after - change.before).exp_m1());
            let (low, high) = (text::signed(100.0 * change.low.exp_m1()), text::signed(100.0 * change.high.exp_m1()));
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "  {} changed between {before} and {at}: {old} -> {new}, {by} % ({low} to {high})",
                title(name)
            );
        }
        let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "not known".to_owned());
        let listed: Vec<String> = facts
            .iter()
            .map(|fact| format!("    {}: {} -> {}\n", fact.key, known(&fact.before), known(&fact.after)))
            .collect();
        if listed.is_empty() {
            text.push_str("  In between nothing changed that plumb knows of.\n");
        } else {
            let _ = write!(text, "  In between:\n{}", listed.concat());
        }
    }
    text
}

/// One value for each number of the series, as in the documentation.
fn as_json(trend: &Trend) -> Vec<Value> {
    let mut names: Vec<&String> = trend.found.iter().map(|found| &found.name).collect();
    names.dedup();
    let of = |metric: &str, changes: Vec<Value>| {
        json!({
            "series": trend.series.id, "test": trend.series.label, "path": trend.series.path, "metric": metric,
            "changes": changes, "alpha": 0.002, "runs": trend.runs, "cannot_tell": trend.cannot_tell(),
        })
    };
    if names.is_empty() {
        return vec![of("iops", Vec::new())];
    }
    let change = |found: &SeriesChange| {
        let facts =
            trend.facts.iter().find(|(at, _)| *at == found.at).map(|(_, facts)| facts.as_slice()).unwrap_or_default();
        let facts: Vec<Value> = facts.iter().map(|fact| json!([fact.key, fact.before, fact.after])).collect();
        let change = &found.change;
        json!({
            "at": found.at, "after_run": found.before, "before": change.before.exp(), "after": change.after.exp(),
            "change": (change.after - change.before).exp_m1(), "low": change.low.exp_m1(), "high": change.high.exp_m1(),
            "facts": facts,
        })
    };
    let changes = |name: &str| trend.found.iter().filter(|found| found.name == name).map(change).collect();
    names.into_iter().map(|name| of(name, changes(name))).collect()
}

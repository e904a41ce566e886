//! `plumb history`: the runs of each series with their numbers.

use super::series::{SHOWN, SeriesArgs, accepted, columns, comparable, doubt, head, logarithms, shown, title};
use super::{day, moment};
use crate::failure::Failure;
use crate::streams;
use ::store::{Point, Series, Store};
use analysis::statistics::{Newest, newest};
use clap::ValueEnum;
use measure::text;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Runs that are read for the remark about the newest one.
const LOOKED_AT: u32 = 64;

/// Ends the list of all series.
const HINT: &str = "The runs of one: plumb history SERIES; changes: plumb trend\n";

/// Show earlier runs of the same test
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb history                 all series, a line each
  plumb history /data           the runs of all tests of this directory or device
  plumb history 4f1c            the runs of one series, by the start of its ID
  plumb history --last 100 --format csv -o runs.csv /data
  plumb history --redact        to show it to others: hashes in place of paths

A series is the same test of the same place on the same machine: operation, block size, users,
depth, engine, size of the data, permanent identity of device and file system, and plumb's way of
measuring. The newest run is `unusual` if it is outside of the range that 99 % of further runs
would be in: run it once more.
More: docs/history.md
Exit status: 0; 1 if there is no such series")]
pub(crate) struct HistoryArgs {
    #[command(flatten)]
    series: SeriesArgs,
    /// Number of runs of each series, the newest
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    last: u32,
    /// Format of the output
    #[arg(long, value_enum, default_value_t = Form::Table, conflicts_with = "json")]
    format: Form,
}

/// Format of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For people
    Table,
    /// A row for each number
    Csv,
    /// For programs
    Json,
}

pub(crate) fn run(args: &HistoryArgs) -> Result<u8, Failure> {
    let mut found = args.series.open()?;
    let (store, series) = (&found.store, found.series.as_slice());
    let text = match if found.is_json { Form::Json } else { args.format } {
        Form::Table if args.series.what.is_none() && series.len() > 1 => {
            overview(store, series)? + if found.is_quiet { "" } else { HINT }
        }
        Form::Table => tables(store, series, args.last)?,
        Form::Csv => csv(store, series, args.last)?,
        Form::Json => json(store, series, args.last)?,
    };
    found.print(text).map(|()| 0)
}

/// A line for each series, by place.
fn overview(store: &Store, all: &[Series]) -> Result<String, Failure> {
    let mut text = String::new();
    let width = all.iter().map(|series| series.label.chars().count()).max().unwrap_or(0);
    for group in all.chunk_by(|one, other| (&one.path, &one.device) == (&other.path, &other.device)) {
        let device = if group[0].device.is_empty() { String::new() } else { format!(" ({})", group[0].device) };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}{device}", group[0].path);
        for series in group {
            let points = store.points(series, 1)?;
            let numbers: Vec<String> = columns(&points)
                .iter()
                .filter_map(|name| Some(format!("{} {}", title(name), shown(name, points.first()?.value(name)?))))
                .collect();
            let id = &series.id[..SHOWN];
            let (label, runs, last) = (&series.label, text::counted(series.runs, "run"), moment(series.last_unix_ms));
            let _ = writeln!(text, "  {id}  {label:<width$}  {runs:>8}  last {last}  {}", numbers.join(", "));
        }
        text.push('\n');
    }
    Ok(text)
}

fn tables(store: &Store, all: &[Series], last: u32) -> Result<String, Failure> {
    let mut text = String::new();
    for series in all {
        let points = store.points(series, last.max(LOOKED_AT))?;
        let remark = remark(store, series, &points)?;
        let from = points.len().saturating_sub(usize::try_from(last).unwrap_or(usize::MAX));
        let points = &points[from..];
        let (names, runs) = (columns(points), text::counted(series.runs, "run"));
        let _ = writeln!(text, "{}: {runs} since {}", head(series), day(series.first_unix_ms));
        let _ = write!(text, "  {:<15}  {:<16}", "run", "began");
        for name in &names {
            let _ = write!(text, "  {:>10}", title(name));
        }
        text.push('\n');
        for (at, point) in points.iter().enumerate() {
            let _ = write!(text, "  {:<15}  {:<16}", point.run, moment(point.began_unix_ms));
            for name in &names {
                let value = point.value(name).map_or_else(|| "-".to_owned(), |value| shown(name, value));
                let _ = write!(text, "  {value:>10}");
            }
            let newest = at + 1 == points.len();
            let words = doubt(point.grade).map(str::to_owned).or_else(|| remark.clone().filter(|_| newest));
            let _ = writeln!(text, "{}", words.map(|words| format!("  ! {words}")).unwrap_or_default());
        }
        text.push('\n');
    }
    Ok(text)
}

/// The remark about the newest run, if it is unlike those before it.
fn remark(store: &Store, series: &Series, points: &[Point]) -> Result<Option<String>, Failure> {
    let accepted = accepted(store, series, points)?;
    let usable = comparable(points, accepted.as_deref());
    let is_newest = |point: &&Point| points.last().is_some_and(|last| last.run == point.run);
    if !usable.last().is_some_and(is_newest) {
        return Ok(None);
    }
    let remark = columns(points).iter().find_map(|name| {
        let (values, _) = logarithms(&usable, name);
        let last = values.last()?;
        let (word, before, runs, advice) = match newest(&values) {
            Newest::TooFew | Newest::Usual => return None,
            Newest::Unusual { before, runs } => ("unusual", before, runs, "; run it once more"),
            Newest::Changed { before, runs } => {
                ("changed, twice in a row", before, runs, "; plumb trend shows since when")
            }
        };
        let mean = shown(name, before.exp());
        Some(format!(
            "{word}: {} {} %, the {runs} runs before had {mean}{advice}",
            title(name),
            text::signed(100.0 * (last - before).exp_m1())
        ))
    });
    Ok(remark)
}

fn csv(store: &Store, all: &[Series], last: u32) -> Result<String, Failure> {
    let mut text = "series,test,path,run,began,grade,number,value\n".to_owned();
    let quoted = |field: &str| format!("\"{}\"", field.replace('"', "\"\""));
    for series in all {
        for point in store.points(series, last)? {
            for (name, value) in &point.values {
                let grade = analysis::grade_title(point.grade);
                let (label, path) = (quoted(&series.label), quoted(&series.path));
                let (run, began) = (&point.run, moment(point.began_unix_ms));
                let _ = writeln!(text, "{},{label},{path},{run},{began},{grade},{name},{value}", series.id);
            }
        }
    }
    Ok(text)
}

fn json(store: &Store, all: &[Series], last: u32) -> Result<String, Failure> {
    let mut list = Vec::new();
    for series in all {
        let points = store.points(series, last)?;
        let remark = remark(store, series, &points)?;
        let run = |point: &Point| {
            let values: Map<String, Value> =
                point.values.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
            json!({ "run": point.run, "began_unix_ms": point.began_unix_ms, "grade": point.grade, "values": values })
        };
        let runs: Vec<Value> = points.iter().map(run).collect();
        list.push(json!({
            "series": series.id, "test": series.label, "path": series.path, "device": series.device,
            "runs_in_all": series.runs, "remark": remark, "runs": runs,
        }));
    }
    streams::document("history", json!({ "series": list }))
}

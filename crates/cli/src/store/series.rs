//! The series that a word on the command line selects, and their numbers as text.

use super::RedactArgs;
use crate::failure::Failure;
use crate::output::Output;
use crate::streams::{OutputArgs, Streams};
use ::store::{Point, Series, Store};
use formats::printable;
use measure::text;
use model::Grade;
use session::colour::Tone;
use session::keep::{answers, store_of_option};
use std::path::{Path, PathBuf};

/// Fewest digits of a series that select it.
const DIGITS: usize = 4;
/// Digits of a series that are printed.
pub(super) const SHOWN: usize = 8;

/// Remarks on a run, and the answers of a trend.
const VERDICTS: [(&str, Tone); 5] = [
    ("  ! NOT A STORAGE RESULT", Tone::Bad),
    ("  ! unusual:", Tone::Limited),
    ("  ! changed,", Tone::Limited),
    ("  no change found", Tone::Good),
    ("  cannot tell:", Tone::Limited),
];

/// Options of the commands that show series.
#[derive(Debug, clap::Args)]
pub(super) struct SeriesArgs {
    /// Directory, file or device that was measured, or the start of a series' ID
    #[arg(value_name = "PATH|SERIES")]
    pub(super) what: Option<String>,
    #[command(flatten)]
    redact: RedactArgs,
    /// The store [default: PLUMB_STORE, or plumb/plumb.db in the user's directory for data]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    #[command(flatten)]
    written: OutputArgs,
}

/// The store of a command with the series that it shows, and its output.
pub(super) struct SelectedSeries {
    out: Output,
    redact: RedactArgs,
    pub(super) is_quiet: bool,
    pub(super) is_json: bool,
    pub(super) store: Store,
    pub(super) series: Vec<Series>,
}

impl SeriesArgs {
    /// Opens output and store, which must be there.
    pub(super) fn open(&self) -> Result<SelectedSeries, Failure> {
        let out = self.written.open()?;
        let path = store_of_option(self.store.as_deref())?;
        answers(&path)?;
        let store = super::open(&path)?;
        let series = selected(&store, self.what.as_deref())?;
        let Streams { json: is_json, quiet: is_quiet } = self.written.streams;
        Ok(SelectedSeries { out, redact: self.redact, is_quiet, is_json, store, series })
    }
}

impl SelectedSeries {
    /// Prints what was found.
    pub(super) fn print(&mut self, text: String) -> Result<(), Failure> {
        self.out.write_painted(&printable::lines(&self.redact.applied(text)), &VERDICTS)
    }
}

/// The series of a place (a path, and all below it), with an ID that starts like this, or of a run; all without a word.
fn selected(store: &Store, word: Option<&str>) -> Result<Vec<Series>, Failure> {
    let all = store.series()?;
    let Some(word) = word else { return Ok(all) };
    let is_id = word.len() >= DIGITS && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let by_id: Vec<Series> = all.iter().filter(|series| is_id && series.id.starts_with(word)).cloned().collect();
    if !by_id.is_empty() {
        return Ok(by_id);
    }
    let place = std::path::absolute(word).unwrap_or_else(|_| word.into());
    let real = std::fs::canonicalize(&place).unwrap_or_else(|_| place.clone());
    let is_below = |path: &str| path == word || [&place, &real].iter().any(|place| Path::new(path).starts_with(place));
    let below = |series: &Series| series.paths.split('\n').any(is_below);
    let found: Vec<Series> = all.into_iter().filter(below).collect();
    if found.is_empty() {
        return Err(Failure::new(format!(
            "there is no series of `{word}`: neither a path that was measured nor the start of a series; \
             plumb history lists all"
        )));
    }
    Ok(found)
}

/// The head of a series: ID, test and place.
pub(super) fn head(series: &Series) -> String {
    let device = if series.device.is_empty() { String::new() } else { format!(" ({})", series.device) };
    format!("{}  {}, {}{device}", &series.id[..SHOWN], series.label, series.path)
}

/// The columns that are printed: rates, and mean and p99 of latencies.
pub(super) fn columns(points: &[Point]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in points.iter().flat_map(|point| &point.values) {
        let shown = name == "iops" || name.ends_with("mean_ns") || name.ends_with("p99_ns");
        if shown && !names.contains(name) {
            names.push(name.clone());
        }
    }
    names.sort_by_key(|name| (name != "iops", name.contains("p99")));
    names
}

/// The name of a number for people: `p99`, `read mean`.
pub(super) fn title(name: &str) -> String {
    if name == "iops" {
        "IOPS".to_owned()
    } else {
        name.trim_end_matches("_ns").replace("p99_9", "p99.9").replace('_', " ")
    }
}

pub(super) fn shown(name: &str, value: f64) -> String {
    if name == "iops" { text::short_number(value) } else { text::time(value) }
}

/// Why a run is in no trend: it is not of the storage.
pub(super) fn doubt(grade: Grade) -> Option<&'static str> {
    analysis::denies_storage(grade).then(|| analysis::grade_title(grade))
}

/// The runs that can be compared, from the last accepted change on.
pub(super) fn comparable<'points>(points: &'points [Point], accepted: Option<&str>) -> Vec<&'points Point> {
    let from = points.iter().rposition(|point| Some(point.run.as_str()) == accepted).unwrap_or(0);
    points[from..].iter().filter(|point| doubt(point.grade).is_none()).collect()
}

/// The numbers of these runs with this name, as logarithms, with the positions of the runs that have it.
pub(super) fn logarithms(points: &[&Point], name: &str) -> (Vec<f64>, Vec<usize>) {
    let found = points.iter().enumerate().filter_map(|(at, point)| Some((point.value(name)?.ln(), at)));
    found.unzip()
}

/// The newest accepted change of a series.
pub(super) fn accepted(store: &Store, series: &Series, points: &[Point]) -> Result<Option<String>, Failure> {
    let decisions = store.decisions(series)?;
    let is_accepted = |point: &&Point| {
        decisions.iter().any(|(run, decision)| *run == point.run && *decision == ::store::Decision::Accepted)
    };
    Ok(points.iter().rev().find(is_accepted).map(|point| point.run.clone()))
}

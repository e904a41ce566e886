//! plumb's results in addition to iozone's output: percentiles per test, the limiting resource, remarks of checks, and
//! all of it as JSON.

use crate::failure::Failure;
use crate::output::{Output, Verbosity};
use crate::remarks;
use crate::result_file;
use crate::safe_files::is_block_device;
use crate::safe_files::{self, AtomicFile, Durability};
use crate::streams::is_stdout;
use analysis::percentile_as_fact;
use formats::printable;
use iozone::{Settings, Sizes};
use measure::{Direction, Histogram, Nanos};
use model::{LatencyStatistics, Note, RunResult};
use monitor::Places;
use serde_json::{Value, json};
use session::Session;
use session::keep::{KeepPolicy, keep_document};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

/// Maximum number of passes that are printed one by one; more are summarised.
const MOST_LINES: usize = 60;
/// The percentiles that are printed.
const PERCENTS: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// Results of all passes so far.
#[derive(Debug)]
pub(crate) struct JsonReport {
    tests: Vec<Value>,
    lines: Vec<String>,
    /// Remarks by the name of their check.
    remarks: BTreeMap<String, Remark>,
    /// Limiting resources of the passes, by title.
    limits: BTreeMap<&'static str, Remark>,
    /// The devices and file systems that were measured.
    places: Places,
    /// Time of the last write to the file.
    written: Instant,
}

impl Default for JsonReport {
    fn default() -> Self {
        let (tests, lines, places) = (Vec::new(), Vec::new(), Places::default());
        let (remarks, limits) = (BTreeMap::new(), BTreeMap::new());
        JsonReport { tests, lines, remarks, limits, places, written: Instant::now() }
    }
}

/// A remark that is printed once.
#[derive(Debug)]
struct Remark {
    /// The first test and sizes that it applies to.
    place: String,
    sentence: String,
    /// Number of further occurrences.
    more: usize,
}

impl JsonReport {
    /// Runs the checks on a finished pass and stores the parts that are printed or saved. Returns what the checks
    /// found.
    pub(crate) fn add(&mut self, title: &str, sizes: Sizes, mut result: RunResult, is_saved: bool) -> Vec<Note> {
        // A percentile is printed only if there are enough records for it.
        result.jobs.iter_mut().for_each(|job| job.style.percentiles.clear());
        analysis::judge(&mut result);
        let Sizes { file_kb, record_kb } = sizes;
        let latency = LatencyStatistics { histogram: merged(&result), ..LatencyStatistics::default() };
        let found = PERCENTS.map(|percent| percentile_as_fact(&latency, percent));
        let place = format!("{title} {file_kb}/{record_kb}");
        if latency.histogram.is_some() {
            let in_us = |value: &Option<Nanos>| match value {
                Some(value) => format!("{:9.1}", value.as_f64() / 1000.0),
                None => format!("{:>9}", "-"),
            };
            let microseconds: Vec<String> = found.iter().map(in_us).collect();
            self.lines.push(format!("{title:<18} {file_kb:>10} {record_kb:>6} {}", microseconds.join(" ")));
        }
        for note in remarks::shown(&result.notes) {
            add_remark(&mut self.remarks, note.check.clone(), &place, || remarks::line(note));
        }
        if let Some(limited_by) = &result.limited_by {
            add_remark(&mut self.limits, limited_by.limiter.title(), &place, || remarks::limit_line(limited_by));
        }
        let notes = result.notes.clone();
        if is_saved {
            result.monitored.iter().for_each(|monitored| self.places.add(monitored));
            let named = |(percent, value): (&f64, &Option<Nanos>)| {
                value.map(|value| (format!("p{percent}_ns"), json!(value.get())))
            };
            let latency: serde_json::Map<String, Value> = PERCENTS.iter().zip(&found).filter_map(named).collect();
            let test = test_of(title);
            let users: u32 = result.jobs.iter().map(|job| job.workers.max(1)).sum();
            self.tests.push(json!({
                "test": test, "users": users, "block_bytes": record_kb * 1024,
                "file_kb": file_kb, "record_kb": record_kb, "latency": latency, "result": result,
            }));
        }
        notes
    }

    /// Stores the partial result of a pass that a signal ended.
    pub(crate) fn cut_short(&mut self, title: &str, found: &RunResult) {
        if found.has_ios() {
            self.tests.push(under_way(title, found));
        }
    }

    /// Writes the results so far to the `--json` file. A run that failed at once prints none.
    pub(crate) fn save_now(&self, settings: &Settings, command: &str) -> Result<(), Failure> {
        let Some(path) = &settings.json else { return Ok(()) };
        if is_stdout(path) && !self.has_tests() {
            return Ok(());
        }
        self.save(path, command, self.ended(&[]))
    }

    /// The keys of a document whose passes have ended: the sentences about them, and the surroundings.
    pub(crate) fn ended(&self, sentences: &[String]) -> Value {
        let surroundings = result_file::surroundings_of(&self.places);
        json!({ "target": { "path": "iozone" }, "sentences": sentences, "surroundings": surroundings })
    }

    /// True if there are results to save.
    pub(crate) fn has_tests(&self) -> bool {
        !self.tests.is_empty()
    }

    /// True if it is time to write the results so far to the `--json` file; standard output gets them at the end.
    pub(crate) fn is_saving_due(&self, settings: &Settings) -> bool {
        settings.json.as_deref().is_some_and(|path| !is_stdout(path))
            && self.written.elapsed() >= result_file::SAVE_INTERVAL.as_duration()
    }

    /// Writes the results so far, including those of the running pass. An error is ignored here: it is reported at the
    /// end of the run, when the file is written again.
    pub(crate) fn save_where_due(&mut self, settings: &Settings, command: &str, under_way: Option<(&str, &RunResult)>) {
        let Some(path) = settings.json.as_ref().filter(|_| self.is_saving_due(settings)) else { return };
        self.written = Instant::now();
        let ended = self.tests.len();
        self.tests.extend(under_way.map(|(title, so_far)| self::under_way(title, so_far)));
        let _ = self.save(path, command, json!({ "target": { "path": "iozone" }, "sentences": [] }));
        self.tests.truncate(ended);
    }

    /// Writes the `--json` file and prints percentiles, limits and remarks.
    pub(crate) fn tell(&self, settings: &Settings, command: &str, verbosity: Verbosity) -> Result<(), Failure> {
        self.save_now(settings, command)?;
        if !remarks::are_wanted(verbosity) {
            return Ok(());
        }
        let mut text = String::new();
        if !self.lines.is_empty() && self.lines.len() <= MOST_LINES {
            let _ = writeln!(text, "plumb: latency in us      kB reclen       p50       p90       p99     p99.9");
            self.lines.iter().for_each(|line| text.push_str(&format!("plumb: {line}\n")));
        }
        for remark in self.remarks.values().chain(self.limits.values()) {
            let more = if remark.more > 0 { format!(" and {} more", remark.more) } else { String::new() };
            let _ = writeln!(text, "plumb: {}{more}: {}", remark.place, remark.sentence);
        }
        // A closed standard error is not an error.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), printable::lines(&text).as_bytes());
        Ok(())
    }

    /// Keeps the document in the store, if one is named. iozone's output has no line for the run's ID; plumb store list
    /// shows it.
    pub(crate) fn keep(&self, session: &Session, command: &str) {
        if self.has_tests() {
            let text = || self.document(command, self.ended(&[]));
            let _ = keep_document(text, &session.args().store, KeepPolicy::Asked);
        }
    }

    /// All tests, and the keys of `more`, in the format that `plumb report` reads.
    fn document(&self, command: &str, more: Value) -> Result<String, Failure> {
        let mut all = json!({
            "schema": model::SCHEMA, "program": format!("plumb {}", env!("CARGO_PKG_VERSION")), "command": command,
        });
        if let (Value::Object(all), Value::Object(more)) = (&mut all, more) {
            all.extend(more);
            all.insert("tests".to_owned(), Value::Array(self.tests.clone()));
        }
        Ok(serde_json::to_string_pretty(&all)? + "\n")
    }

    pub(crate) fn save(&self, path: &Path, command: &str, more: Value) -> Result<(), Failure> {
        let text = self.document(command, more)?;
        if is_stdout(path) {
            return Output::stdout().write(&text);
        }
        if !is_replaced(path) {
            return Output::made(path)?.write(&text);
        }
        check(path)?;
        AtomicFile::at(path)?.write(text.as_bytes(), Durability::Unsynced)
    }
}

fn under_way(title: &str, so_far: &RunResult) -> Value {
    let mut result = so_far.clone();
    result.notes.push(result_file::under_way());
    json!({ "test": title, "users": result.jobs.len(), "under_way": true, "result": result })
}

/// Checks before the run that a file can be written.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    if !is_stdout(path) && is_replaced(path) { safe_files::check(path) } else { Ok(()) }
}

/// True if the file is replaced by a rename; a pipe, for example, is written directly.
fn is_replaced(path: &Path) -> bool {
    std::fs::metadata(path).map_or(true, |found| found.is_file()) || is_block_device(path)
}

/// The test's name within a title, without the number of children.
pub(crate) fn test_of(title: &str) -> &str {
    title.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ' ')
}

/// Adds a remark, or one more occurrence to an existing one.
fn add_remark<K: Ord>(all: &mut BTreeMap<K, Remark>, key: K, place: &str, sentence: impl FnOnce() -> String) {
    match all.get_mut(&key) {
        Some(remark) => remark.more += 1,
        None => {
            all.insert(key, Remark { place: place.to_owned(), sentence: sentence(), more: 0 });
        }
    }
}

/// The latency histograms of all jobs of a pass, merged.
fn merged(result: &RunResult) -> Option<Box<Histogram>> {
    let mut all: Option<Box<Histogram>> = None;
    for job in &result.jobs {
        for direction in Direction::ALL {
            let found = job.directions[direction].completion.as_ref().and_then(|latency| latency.histogram.as_ref());
            match (&mut all, found) {
                (_, None) => {}
                (Some(all), Some(found)) => all.merge(found),
                (all @ None, Some(found)) => *all = Some(found.clone()),
            }
        }
    }
    all
}

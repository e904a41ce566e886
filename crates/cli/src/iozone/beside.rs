//! What iozone does not have: percentiles per test, what held it back, what speaks against a number, and all of it as
//! JSON.

use crate::failure::Failure;
use crate::kept;
use crate::made::{self, Lasting, Whole};
use crate::output::{Output, is_block_device};
use crate::{limit, remarks};
use formats::printable;
use iozone::Settings;
use measure::{Direction, Histogram, Nanos};
use model::{Note, RunResult};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

/// So many passes are told one by one; more are summed up.
const MOST_LINES: usize = 60;
/// The percentiles that are told.
const PERCENTS: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// What was found beside iozone's numbers.
#[derive(Debug)]
pub(crate) struct Beside {
    tests: Vec<Value>,
    lines: Vec<String>,
    /// What was found wrong, by the check: the first place, its sentence, and how many more there are.
    doubts: BTreeMap<String, Told>,
    /// What held passes back, likewise.
    limits: BTreeMap<&'static str, Told>,
    notes: Vec<Note>,
    /// When it was last written while the run lasted.
    written: Instant,
}

impl Default for Beside {
    fn default() -> Self {
        Beside {
            tests: Vec::new(),
            lines: Vec::new(),
            doubts: BTreeMap::new(),
            limits: BTreeMap::new(),
            notes: Vec::new(),
            written: Instant::now(),
        }
    }
}

#[derive(Debug)]
struct Told {
    place: String,
    sentence: String,
    more: usize,
}

impl Beside {
    /// A pass is over: judges it, and keeps of it what will be told or saved.
    pub(crate) fn add(&mut self, title: &str, size_kb: u64, record_kb: u64, mut result: RunResult, saves: Saves) {
        // The checks ask about what is shown.
        result.jobs.iter_mut().for_each(|job| job.style.percentiles = PERCENTS.to_vec());
        remarks::judge(&mut result);
        let latency = merged(&result);
        let found = latency.as_ref().and_then(|latency| latency.percentiles(&PERCENTS));
        let place = format!("{title} {size_kb}/{record_kb}");
        if let Some(found) = &found {
            let microseconds: Vec<String> = found.iter().map(|&value| format!("{:9.1}", in_us(value))).collect();
            self.lines.push(format!("{title:<18} {size_kb:>10} {record_kb:>6} {}", microseconds.join(" ")));
        }
        for note in remarks::findings(&result.notes) {
            tell_of(&mut self.doubts, note.check.clone(), &place, || remarks::line(note));
            self.notes.push(note.clone());
        }
        if let Some(limited_by) = &result.limited_by {
            tell_of(&mut self.limits, limited_by.limiter.title(), &place, || limit::line(limited_by));
        }
        if saves == Saves::All {
            let named = |(percent, value): (&f64, &Nanos)| (format!("p{percent}_ns"), json!(value.get()));
            let latency: serde_json::Map<String, Value> =
                found.iter().flatten().zip(&PERCENTS).map(|(value, percent)| named((percent, value))).collect();
            let test = test_of(title);
            let users: u32 = result.jobs.iter().map(|job| job.workers.max(1)).sum();
            self.tests.push(json!({
                "test": test, "users": users, "block_bytes": record_kb * 1024,
                "file_kb": size_kb, "record_kb": record_kb, "latency": latency, "result": result,
            }));
        }
    }

    /// A signal ended a pass: it is saved with what it had found.
    pub(crate) fn cut_short(&mut self, title: &str, found: &RunResult, saves: Saves) {
        if saves == Saves::All && found.has_ios() {
            self.tests.push(under_way(title, found));
        }
    }

    /// Writes what was found so far to the file that was named, whenever it was last written.
    pub(crate) fn save_now(&self, settings: &Settings, command: &str) -> Result<(), Failure> {
        let Some(path) = &settings.json else { return Ok(()) };
        self.save(path, command, json!({ "target": { "path": "iozone" }, "sentences": [] }))
    }

    /// Whether anything was measured that can be saved.
    pub(crate) fn has_tests(&self) -> bool {
        !self.tests.is_empty()
    }

    /// The status for `--strict`.
    pub(crate) fn strict_status(&self, status: u8) -> u8 {
        remarks::strict_status(status, &self.notes)
    }

    /// Whether what was found so far is to be written to the file that was named.
    pub(crate) fn is_saving_due(&self, settings: &Settings) -> bool {
        settings.json.is_some() && self.written.elapsed() >= kept::EVERY.as_duration()
    }

    /// Writes it, with the pass that has not ended where one is under way. What cannot be written is told at the end,
    /// which writes it once more.
    pub(crate) fn save_where_due(&mut self, settings: &Settings, command: &str, under_way: Option<(&str, &RunResult)>) {
        let Some(path) = settings.json.as_ref().filter(|_| self.is_saving_due(settings)) else { return };
        self.written = Instant::now();
        let ended = self.tests.len();
        self.tests.extend(under_way.map(|(title, so_far)| self::under_way(title, so_far)));
        let _ = self.save(path, command, json!({ "target": { "path": "iozone" }, "sentences": [] }));
        self.tests.truncate(ended);
    }

    /// Tells it: everything to the file that was named; percentiles, limits and doubts to a person.
    pub(crate) fn tell(&self, settings: &Settings, command: &str) -> Result<(), Failure> {
        self.save_now(settings, command)?;
        if !limit::remarks_are_wanted() {
            return Ok(());
        }
        let mut text = String::new();
        if !self.lines.is_empty() && self.lines.len() <= MOST_LINES {
            let _ = writeln!(text, "plumb: latency in us      kB reclen       p50       p90       p99     p99.9");
            self.lines.iter().for_each(|line| text.push_str(&format!("plumb: {line}\n")));
        }
        for told in self.doubts.values().chain(self.limits.values()) {
            let more = if told.more > 0 { format!(" and {} more", told.more) } else { String::new() };
            let _ = writeln!(text, "plumb: {}{more}: {}", told.place, told.sentence);
        }
        // Whoever closed standard error does not want to read it.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), printable::lines(&text).as_bytes());
        Ok(())
    }

    /// Writes all tests, with `more` beside them, as `plumb report` and the others read it.
    pub(crate) fn save(&self, path: &Path, command: &str, more: Value) -> Result<(), Failure> {
        let mut all = json!({
            "schema": model::SCHEMA, "program": format!("plumb {}", env!("CARGO_PKG_VERSION")), "command": command,
        });
        if let (Value::Object(all), Value::Object(more)) = (&mut all, more) {
            all.extend(more);
            all.insert("tests".to_owned(), Value::Array(self.tests.clone()));
        }
        let text = serde_json::to_string_pretty(&all).map_err(|error| Failure::new(error.to_string()))?;
        if !is_replaced(path) {
            return Output::made(path)?.write(&(text + "\n"));
        }
        check(path)?;
        let written = Whole::at(path)?.put((text + "\n").as_bytes(), Lasting::Unsynced);
        written.map_err(|error| Failure::writing(&path.display().to_string(), &error))
    }
}

/// A pass that has not ended, as it is saved.
fn under_way(title: &str, so_far: &RunResult) -> Value {
    let mut result = so_far.clone();
    result.notes.push(kept::under_way());
    json!({ "test": title, "users": result.jobs.len(), "under_way": true, "result": result })
}

/// Refuses a place for all tests, before anything is measured.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    if is_replaced(path) { made::check(path) } else { Ok(()) }
}

/// A file is replaced in one step; what is none, like a pipe, takes it as it is.
fn is_replaced(path: &Path) -> bool {
    std::fs::metadata(path).map_or(true, |found| found.is_file()) || is_block_device(path)
}

/// The test in a title: of children their number stands in front of it.
pub(crate) fn test_of(title: &str) -> &str {
    title.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ' ')
}

/// Whether the passes are kept for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Saves {
    /// With everything that was measured.
    All,
    /// What is told is enough.
    Nothing,
}

fn tell_of<K: Ord>(all: &mut BTreeMap<K, Told>, key: K, place: &str, sentence: impl FnOnce() -> String) {
    match all.get_mut(&key) {
        Some(told) => told.more += 1,
        None => {
            all.insert(key, Told { place: place.to_owned(), sentence: sentence(), more: 0 });
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "latencies are far below 2^53 ns")]
fn in_us(value: Nanos) -> f64 {
    value.get() as f64 / 1000.0
}

/// All latencies of a pass together.
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

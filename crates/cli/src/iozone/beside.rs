//! What iozone does not have: percentiles per test, what speaks against a number, and all of it as JSON.

use crate::failure::Failure;
use crate::kept;
use crate::output::is_block_device;
use iozone::Settings;
use measure::{Direction, Histogram, Nanos};
use model::{Grade, RunResult};
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
    passes: Vec<Value>,
    lines: Vec<String>,
    /// Sentences that speak against numbers: of which passes.
    doubts: BTreeMap<String, Vec<String>>,
    /// When it was last kept.
    kept: Instant,
}

impl Default for Beside {
    fn default() -> Self {
        Beside { passes: Vec::new(), lines: Vec::new(), doubts: BTreeMap::new(), kept: Instant::now() }
    }
}

impl Beside {
    /// A pass is over.
    pub(crate) fn add(&mut self, title: &str, size_kb: u64, record_kb: u64, result: RunResult, settings: &Settings) {
        let notes = analysis::judge(&result);
        let latency = merged(&result);
        let found = latency.as_ref().and_then(|latency| latency.percentiles(&PERCENTS));
        let place = format!("{title} {size_kb}/{record_kb}");
        if let Some(found) = &found {
            let microseconds: Vec<String> = found.iter().map(|&value| format!("{:9.1}", in_us(value))).collect();
            self.lines.push(format!("{title:<18} {size_kb:>10} {record_kb:>6} {}", microseconds.join(" ")));
        }
        for note in notes.iter().filter(|note| note.grade > Grade::Trusted) {
            self.doubts.entry(note.sentence.clone()).or_default().push(place.clone());
        }
        if settings.json.is_some() {
            self.passes.push(pass(title, Some((size_kb, record_kb)), RunResult { notes, ..result }));
        }
    }

    /// Whether what was found so far is to be kept in the file that was named.
    pub(crate) fn is_keeping_due(&self, settings: &Settings) -> bool {
        settings.json.is_some() && self.kept.elapsed() >= kept::EVERY.as_duration()
    }

    /// Keeps it, with the pass that has not ended where one is under way.
    pub(crate) fn keep(
        &mut self,
        settings: &Settings,
        command: &str,
        under_way: Option<(&str, &RunResult)>,
    ) -> Result<(), Failure> {
        let Some(path) = &settings.json else { return Ok(()) };
        self.kept = Instant::now();
        let last = under_way.map(|(title, so_far)| {
            let mut result = so_far.clone();
            result.notes.push(kept::under_way());
            let mut last = pass(title, None, result);
            last["under_way"] = json!(true);
            last
        });
        let passes: Vec<&Value> = self.passes.iter().chain(&last).collect();
        write(path, command, &passes)
    }

    /// Tells it: percentiles and doubts to standard error, everything to the file that was named.
    pub(crate) fn tell(&self, settings: &Settings, command: &str) -> Result<(), Failure> {
        let mut text = String::new();
        if !self.lines.is_empty() && self.lines.len() <= MOST_LINES {
            let _ = writeln!(text, "plumb: latency in us      kB reclen       p50       p90       p99     p99.9");
            self.lines.iter().for_each(|line| text.push_str(&format!("plumb: {line}\n")));
        }
        for (sentence, places) in &self.doubts {
            let first = places.first().map(String::as_str).unwrap_or_default();
            let more = if places.len() > 1 { format!(" and {} more", places.len() - 1) } else { String::new() };
            let _ = writeln!(text, "plumb: {first}{more}: {sentence}");
        }
        // Whoever closed standard error does not want to read it.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), formats::printable::lines(&text).as_bytes());
        let Some(path) = &settings.json else { return Ok(()) };
        let passes: Vec<&Value> = self.passes.iter().collect();
        write(path, command, &passes)
    }
}

/// A pass as it is written.
fn pass(title: &str, sizes_kb: Option<(u64, u64)>, result: RunResult) -> Value {
    let latency = merged(&result);
    let found = latency.as_ref().and_then(|latency| latency.percentiles(&PERCENTS));
    let named = |(percent, value): (&f64, &Nanos)| (format!("p{percent}_ns"), json!(value.get()));
    let latency: serde_json::Map<String, Value> =
        found.iter().flatten().zip(&PERCENTS).map(|(value, percent)| named((percent, value))).collect();
    let (file_kb, record_kb) = sizes_kb.unzip();
    json!({ "test": title, "file_kb": file_kb, "record_kb": record_kb, "latency": latency, "result": result })
}

/// The document in place of what was at `path`; what is no regular file, like a pipe, is written to as it is.
fn write(path: &Path, command: &str, passes: &[&Value]) -> Result<(), Failure> {
    let all = json!({ "schema": model::SCHEMA, "command": command, "passes": passes });
    let text = serde_json::to_string_pretty(&all).map_err(|error| Failure::new(error.to_string()))? + "\n";
    if is_block_device(path) {
        return Err(Failure::new(format!("{}: is a block device; results go to a file", path.display())));
    }
    let is_special = std::fs::metadata(path).is_ok_and(|found| !found.is_file());
    let written = if is_special { std::fs::write(path, text) } else { kept::replace(path, &text) };
    written.map_err(|error| Failure::writing(&path.display().to_string(), &error))
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

//! What iozone does not have: percentiles per test, what speaks against a number, and all of it as JSON.

use crate::failure::Failure;
use crate::output::Output;
use crate::remarks;
use iozone::Settings;
use measure::{Direction, Histogram, Nanos};
use model::RunResult;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// So many passes are told one by one; more are summed up.
const MOST_LINES: usize = 60;

/// What was found beside iozone's numbers.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    passes: Vec<Value>,
    lines: Vec<String>,
    /// Sentences that speak against numbers: of which passes.
    doubts: BTreeMap<String, Vec<String>>,
}

impl Beside {
    /// A pass is over.
    pub(crate) fn add(
        &mut self,
        title: &str,
        size_kb: u64,
        record_kb: u64,
        mut result: RunResult,
        settings: &Settings,
    ) {
        let percents = [50.0, 90.0, 99.0, 99.9];
        // The checks ask about what is shown.
        result.jobs.iter_mut().for_each(|job| job.style.percentiles = percents.to_vec());
        remarks::judge(&mut result);
        let latency = merged(&result);
        let found = latency.as_ref().and_then(|latency| latency.percentiles(&percents));
        let place = format!("{title} {size_kb}/{record_kb}");
        if let Some(found) = &found {
            let microseconds: Vec<String> = found.iter().map(|&value| format!("{:9.1}", in_us(value))).collect();
            self.lines.push(format!("{title:<18} {size_kb:>10} {record_kb:>6} {}", microseconds.join(" ")));
        }
        for note in remarks::findings(&result.notes) {
            self.doubts.entry(remarks::line(note)).or_default().push(place.clone());
        }
        if settings.json.is_some() {
            let named = |(percent, value): (&f64, &Nanos)| (format!("p{percent}_ns"), json!(value.get()));
            let latency: serde_json::Map<String, Value> =
                found.iter().flatten().zip(&percents).map(|(value, percent)| named((percent, value))).collect();
            self.passes.push(json!({
                "test": title, "file_kb": size_kb, "record_kb": record_kb, "latency": latency, "result": result,
            }));
        }
    }

    /// The status for `--strict`: `status` where that tells of a failure already, or nothing speaks against a number.
    pub(crate) fn strict_status(&self, status: u8) -> u8 {
        if status == 0 && !self.doubts.is_empty() { remarks::STRICT } else { status }
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
        let all = json!({ "schema": model::SCHEMA, "command": command, "passes": self.passes });
        let text = serde_json::to_string_pretty(&all).map_err(|error| Failure::new(error.to_string()))?;
        Output::file(path)?.write(&(text + "\n"))
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

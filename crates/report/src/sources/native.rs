//! plumb's result files: a run, or a survey with one run per test.

use super::Source;
use super::judged::CheckedResult;
use crate::data::measured::size;
use crate::data::of_measurements::{MeasuredRow, in_plural};
use crate::data::placed::{Coordinate, ENGINE, Value};
use crate::data::{Axis, Distribution, Level, Sweep, Table, of_result, test_in_words};
use crate::terminal;
use analysis::Load;
use analysis::report_card;
use measure::text::{self, binary_size};
use measure::{Direction, Histogram, Nanos};
use model::measurement::TestName;
use model::{Interval, JobResult, Measurement, RunResult};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value as Json;

/// One run of a result file.
#[derive(Clone, Debug)]
pub(super) struct Test {
    /// Number of the result in its source, from 1.
    pub(super) number: usize,
    /// For example `random read 8 KiB`.
    pub(super) workload: String,
    /// For example `random read`.
    pub(super) words: String,
    /// For example `random reads`; a name that is not a pattern stays unchanged.
    pub(super) plural: String,
    /// Options that a survey varied, and their values.
    pub(super) options: Vec<(String, String)>,
    /// Size of the data, if a survey varied it.
    pub(super) set_bytes: Option<u64>,
    /// Size of the data of a run that is not of a survey, if all of its jobs have the same.
    pub(super) region_bytes: Option<u64>,
    /// The pattern, or the job's name if it has no pattern.
    pub(super) test: TestName,
    pub(super) users: u64,
    pub(super) result: RunResult,
}

impl Test {
    /// Label, for example `random read 8 KiB, 16 users`.
    pub(super) fn shown(&self) -> String {
        format!("{}, {}", self.workload, text::counted(self.users, "user"))
    }

    /// Users and varied options, for example `16 users, iodepth=4`.
    pub(super) fn level(&self) -> String {
        let options = self.options.iter().map(|(name, value)| format!(", {name}={value}"));
        text::counted(self.users, "user") + &options.collect::<String>()
    }

    pub(super) fn coordinates(&self, direction: Direction) -> Vec<Coordinate> {
        let mut found = Vec::new();
        let mut add = |axis: Axis, value: Option<Value>| {
            found.extend(value.map(|value| Coordinate { axis, value }));
        };
        let echo = self.result.jobs.first().map(|job| &job.echo);
        add(Axis::Load(Load::Users), Some(Value::Number(self.users.max(1))));
        let depth = echo.map(|echo| u64::from(echo.iodepth)).filter(|&depth| depth > 0);
        add(Axis::Load(Load::Depth), depth.map(Value::Number));
        let sizes = echo.map(|echo| echo.block_sizes[direction]).filter(|sizes| sizes.1 > 0);
        add(Axis::BlockSize, sizes.map(|(low, high)| block(u64::from(low), u64::from(high))));
        let size = self.options.iter().find(|(name, _)| name == "size").and_then(|(_, size)| binary_size(size));
        add(Axis::DataSize, self.set_bytes.or(size).map(Value::Number));
        let engine = echo.map(|echo| echo.engine.clone()).filter(|engine| !engine.is_empty());
        add(Axis::Option(ENGINE.to_owned()), engine.map(Value::Word));
        for (name, value) in &self.options {
            let is_other = !["iodepth", "bs", "size", "numjobs", "ioengine"].contains(&name.as_str());
            add(Axis::Option(name.clone()), is_other.then(|| number_or_word(value)));
        }
        found
    }
}

/// True if a file begins like a plumb result file.
pub(super) fn begins(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&head[..head.len().min(64)]);
    let plain: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    plain.starts_with("{\"schema\":")
}

fn block(low: u64, high: u64) -> Value {
    if low == high { Value::Number(low) } else { Value::Range(low, high) }
}

fn number_or_word(text: &str) -> Value {
    text.parse().map_or_else(|_| Value::Word(text.to_owned()), Value::Number)
}

/// Which kind of result file it is, by the members that only one kind has; a result of thousands of jobs is read once.
#[derive(Deserialize)]
struct Kind {
    tests: Option<IgnoredAny>,
    result: Option<IgnoredAny>,
}

impl Source {
    /// Reads a plumb result file; false if it is not one.
    pub(super) fn native(&mut self, text: &[u8]) -> bool {
        let Ok(kind) = serde_json::from_slice::<Kind>(text) else { return false };
        if kind.tests.is_some() {
            let Ok(value) = serde_json::from_slice::<Json>(text) else { return false };
            let tests = value.get("tests").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
            self.is_survey = true;
            let path = value.pointer("/target/path").and_then(Json::as_str);
            self.name = path.map_or_else(|| self.name.clone(), str::to_owned);
            self.places.surveyed = path.map(str::to_owned);
            let sentences = value.get("sentences").and_then(Json::as_array);
            self.sentences = sentences.into_iter().flatten().filter_map(|one| Some(one.as_str()?.to_owned())).collect();
            for (number, test) in tests.iter().enumerate() {
                let Some(result) = test.get("result") else { continue };
                match formats::native::of_value(result) {
                    Ok(result) => self.take(test, result),
                    Err(error) => self.remarks.push(format!("{}: test {}: {error}", self.path, number + 1)),
                }
            }
        } else if kind.result.is_some() {
            match std::str::from_utf8(text).map_err(|error| error.to_string()).and_then(whole) {
                Ok(result) => self.take(&Json::Null, result),
                Err(error) => self.remarks.push(format!("{}: {error}", self.path)),
            }
        } else {
            return false;
        }
        true
    }

    fn take(&mut self, said: &Json, mut result: RunResult) {
        let number = self.tests.len() + 1;
        let mut judged = CheckedResult::of(number, String::new(), &mut result);
        self.places.add(&result);
        let parts = if said.is_null() { apart(number, &mut result) } else { Vec::new() };
        let Some(mut test) = test_of(number, said, result) else { return };
        let tests = if parts.is_empty() {
            judged.title = test.shown();
            vec![test]
        } else {
            test.workload = together(&parts);
            judged.title = test.shown();
            // What was counted for the whole run is drawn once.
            self.monitored_runs.push(test);
            parts
        };
        judged.last = number + tests.len() - 1;
        let mut rows: Vec<MeasuredRow> = tests.iter().flat_map(rows).collect();
        self.judged.push(judged.and_mark(&mut rows));
        self.rows.extend(rows);
        self.tests.extend(tests);
    }
}

fn whole(text: &str) -> Result<RunResult, String> {
    formats::native::read(text).map_err(|error| error.to_string())
}

/// The tests of a run of unlike jobs, one for each kind of them, numbered from `number`; empty if all jobs are alike.
/// What was counted for the whole run is in none of them.
fn apart(number: usize, result: &mut RunResult) -> Vec<Test> {
    let kinds = result.kinds_of_jobs();
    let count = kinds.iter().max().map_or(0, |last| last + 1);
    if count < 2 {
        return Vec::new();
    }
    let (jobs, monitored, layers) = (std::mem::take(&mut result.jobs), result.monitored.take(), result.layers.take());
    let of_kind = |kind: usize| {
        let of = jobs.iter().zip(&kinds).filter(|(_, of)| **of == kind).map(|(job, _)| job.clone()).collect();
        RunResult { jobs: of, ..result.clone() }
    };
    let mut tests: Vec<Test> = Vec::new();
    for kind in 0..count {
        tests.extend(test_of(number + tests.len(), &Json::Null, of_kind(kind)));
    }
    (result.jobs, result.monitored, result.layers) = (jobs, monitored, layers);
    // Jobs of one run are no levels of a sweep, so those of the same pattern have the names of their jobs, too.
    let all: Vec<String> = tests.iter().map(|test| test.words.clone()).collect();
    for test in &mut tests {
        if all.iter().filter(|words| **words == test.words).count() > 1 {
            let of = test.result.jobs.first().map(|job| format!(" of job {}", job.echo.name)).unwrap_or_default();
            test.workload.insert_str(test.words.len(), &of);
            [&mut test.words, &mut test.plural].into_iter().for_each(|name| name.push_str(&of));
        }
    }
    tests
}

/// The names of all tests of a run.
fn together(tests: &[Test]) -> String {
    text::listed(&tests.iter().map(|test| test.workload.as_str()).collect::<Vec<_>>())
}

/// A run as one test that has the names of all kinds of its jobs.
pub(super) fn whole_run(number: usize, mut result: RunResult) -> Option<Test> {
    let parts = apart(number, &mut result);
    let mut test = test_of(number, &Json::Null, result)?;
    if !parts.is_empty() {
        test.workload = together(&parts);
    }
    Some(test)
}

/// Converts a run to a test of its workload, with the names in the survey's entry (`said`) if there is one.
fn test_of(number: usize, said: &Json, result: RunResult) -> Option<Test> {
    let direction = Direction::ALL.into_iter().max_by_key(|&direction| moved(&result, direction));
    let (direction, first) = (direction?, result.jobs.first()?);
    let sizes = first.echo.block_sizes[direction];
    let block_bytes = (sizes.0 == sizes.1 && sizes.0 > 0).then(|| u64::from(sizes.0));
    let id = said.get("test").and_then(Json::as_str);
    let test = TestName::from(match (id, formats::echoed::pattern(first)) {
        (Some("random_read"), _) => "randread",
        (Some("sequential_read"), _) => "read",
        (Some("random_write"), _) => "randwrite",
        (Some("log_write" | "sequential_write"), _) => "write",
        (_, Some(pattern)) => pattern,
        _ => &first.echo.name,
    });
    let words = id.map_or_else(|| test_in_words(&test).to_owned(), |id| id.replace('_', " ").replace("mixed", "mix"));
    let users = said.get("users").and_then(Json::as_u64).unwrap_or_else(|| workers(&result));
    let mut workload = block_bytes.map_or_else(|| words.clone(), |bytes| format!("{words} {}", size(bytes)));
    if said.is_null() && first.echo.iodepth > 1 {
        workload.push_str(&format!(", depth {}", first.echo.iodepth));
    }
    let options = options(said);
    // Options varied by a survey make a separate workload.
    for (name, value) in &options {
        workload.push_str(&format!(", {name}={value}"));
    }
    let set_bytes = said.get("set_bytes").and_then(Json::as_u64);
    if let Some(bytes) = set_bytes {
        workload.push_str(&format!(" in {}", size(bytes)));
    }
    let plural = if test.pattern().is_some() { in_plural(&words) } else { words.clone() };
    let region = first.echo.region_bytes;
    let is_of_all = result.jobs.iter().all(|job| job.echo.region_bytes == region);
    let region_bytes = Some(region).filter(|&bytes| said.is_null() && bytes > 0 && is_of_all);
    Some(Test { number, workload, words, plural, options, set_bytes, region_bytes, test, users, result })
}

/// Bytes that all jobs of a run moved in a direction.
fn moved(result: &RunResult, direction: Direction) -> u64 {
    result.jobs.iter().map(|job| job.directions[direction].bytes).fold(0, u64::saturating_add)
}

/// The options that the entry of a survey names.
fn options(said: &Json) -> Vec<(String, String)> {
    let all = said.get("options").and_then(Json::as_array).into_iter().flatten();
    let word = |pair: &Json, at: usize| pair.get(at).and_then(Json::as_str).unwrap_or_default().to_owned();
    all.map(|pair| (word(pair, 0), word(pair, 1))).collect()
}

/// Number of concurrent workers, for a result that does not state its users.
fn workers(result: &RunResult) -> u64 {
    result.jobs.iter().map(|job| u64::from(job.workers.max(1))).sum()
}

/// A row per direction with I/O, of all jobs together.
fn rows(test: &Test) -> Vec<MeasuredRow> {
    let Some(merged) = of_result::merged(&test.result) else { return Vec::new() };
    let rows = Direction::ALL.into_iter().filter_map(|direction| row(test, &merged, direction));
    let mut rows: Vec<MeasuredRow> = rows.collect();
    report_card::mark_unstable_writes(&test.result, rows.iter_mut().map(|row| &mut row.numbers));
    rows
}

fn row(test: &Test, merged: &JobResult, direction: Direction) -> Option<MeasuredRow> {
    let numbers = of_result::measurement(merged, direction)?;
    let moved = &merged.directions[direction];
    let latency = moved.latency_distribution().and_then(|found| found.histogram.as_deref());
    let response = moved.response.as_ref().and_then(|found| found.histogram.as_deref());
    let drawn = |histogram| Some(Distribution::of("", histogram)).filter(|found| found.points.len() > 2);
    let response_ns = |percent| {
        let is_fact = |all: &&Histogram| all.total() >= analysis::samples_needed(percent);
        response.filter(is_fact)?.percentile(percent).map(Nanos::as_f64)
    };
    let tool_us = |percent| {
        let is_fact = moved.ios >= analysis::samples_needed(percent);
        analysis::tool_share::bar(merged, direction, percent).filter(|_| is_fact).map(|bar| bar.tool_ns / 1e3)
    };
    Some(MeasuredRow {
        numbers: Measurement { test: test.test.clone(), users: Some(test.users as f64), ..numbers },
        run: test.number,
        distribution: latency.and_then(drawn),
        response: response.and_then(drawn),
        response_ns: [50.0, 99.0].map(response_ns),
        tool_us: [50.0, 99.0].map(tool_us),
        count: None,
        region_bytes: test.region_bytes,
    })
}

// Terminal summary of a run.

/// Most columns of the sparkline over time, and those of the numbers before it.
const OVER_TIME: (usize, usize) = (48, 34);

/// Rates with a sparkline over time and the histogram of each direction with I/O; empty if there is none.
pub fn glance(result: &RunResult, columns: usize) -> String {
    let mut whole = result.clone();
    let parts = apart(1, &mut whole);
    let tests = if parts.is_empty() { test_of(1, &Json::Null, whole).into_iter().collect() } else { parts };
    let drawn = tests.iter().map(|test| {
        let others = tests.iter().filter(|other| other.number != test.number);
        // Intervals count the I/Os of all jobs.
        let alone = |direction| others.clone().all(|other| moved(&other.result, direction) == 0);
        let over_time = |direction| if alone(direction) { over_time(result, direction, columns) } else { Vec::new() };
        sketches(test, over_time, columns)
    });
    drawn.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The sketch of each direction of a test.
fn sketches(test: &Test, over_time: impl Fn(Direction) -> Vec<f64>, columns: usize) -> String {
    let result = &test.result;
    let level = |direction| Some((direction, Level::of(test.users as f64, result, direction, &result.notes)?));
    let levels: Vec<(Direction, Level)> = Direction::ALL.into_iter().filter_map(level).collect();
    let several = levels.len() > 1;
    let drawn = levels.into_iter().map(|(direction, level)| {
        let of = if several { format!(", {}s", direction.word()) } else { String::new() };
        let table = Table {
            system: result.jobs.first().map(|job| job.echo.name.clone()).unwrap_or_default(),
            workload: format!("{}{of}", test.workload),
            levels: vec![level],
            ..Table::default()
        };
        terminal::sketch_over_time(&Sweep::of(table), &over_time(direction), columns)
    });
    drawn.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// IOPS per interval, with intervals merged to at most as many values as there is room for.
fn over_time(result: &RunResult, direction: Direction, columns: usize) -> Vec<f64> {
    let most = columns.saturating_sub(OVER_TIME.1).clamp(6, OVER_TIME.0);
    let intervals: &[Interval] = result.monitored.as_ref().map_or(&[], |monitored| &monitored.intervals);
    let mut from = 0.0;
    let mut rates = Vec::new();
    for together in intervals.chunks(intervals.len().div_ceil(most).max(1)) {
        let Some(until) = together.last().map(|last| last.until.as_secs_f64()) else { continue };
        let ios: u64 = together.iter().map(|interval| interval.ios[direction as usize]).fold(0, u64::saturating_add);
        // The last interval may be only a few milliseconds long, with too few I/Os for a rate.
        if until - from >= 0.2 {
            rates.push(ios as f64 / (until - from));
        }
        from = until;
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_ours_is_known_by_its_first_key() {
        assert!(begins(b"{\n  \"schema\": 1,"));
        assert!(begins(b"{\"schema\":1,\"program\":\"plumb 0.1.0\"}"));
        assert!(!begins(b"{\"fio version\": \"fio-3.33\"}"));
    }
}

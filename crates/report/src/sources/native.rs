//! plumb's result files: a run, or a survey with one run per test.

use super::Source;
use crate::data::measured::size;
use crate::data::{of_result, test_in_words};
use measure::Direction;
use model::measurement::TestName;
use model::{JobResult, Measurement, RunResult};
use serde_json::Value;

/// One run of a result file.
#[derive(Clone, Debug)]
pub struct Test {
    /// For example `random read 8 KiB`.
    pub workload: String,
    /// The pattern, or the job's name if it has no pattern.
    pub test: TestName,
    /// Concurrent users.
    pub users: u64,
    /// Block size in bytes; `None` for a range of sizes.
    pub block_bytes: Option<u64>,
    /// Direction with most of the bytes.
    pub direction: Direction,
    /// The result with all counters.
    pub result: RunResult,
}

impl Test {
    /// Label, for example `random read 8 KiB, 16 users`.
    pub fn shown(&self) -> String {
        let users = if self.users == 1 { "1 user".to_owned() } else { format!("{} users", self.users) };
        format!("{}, {users}", self.workload)
    }

    /// All jobs merged.
    pub(super) fn merged(&self) -> Option<JobResult> {
        of_result::merged(&self.result)
    }
}

/// True if a file begins like a plumb result file.
pub(super) fn begins(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&head[..head.len().min(64)]);
    let plain: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    plain.starts_with("{\"schema\":")
}

/// True if a file may be a single JSON document.
pub(super) fn may_be_json(head: &[u8]) -> bool {
    head.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

impl Source {
    /// Reads the data under plumb's key in fio's JSON; the rest is parsed as fio's output.
    pub(super) fn read_monitored_run(&mut self, text: &[u8]) {
        let Some(mut result) = std::str::from_utf8(text).ok().and_then(|text| formats::fio::json::read(text).ok())
        else {
            return;
        };
        if result.was_monitored() {
            result.notes = analysis::judge(&result);
            self.monitored_runs.extend(test_of(&Value::Null, result));
        }
    }

    /// Reads a plumb result file; false if it is not one.
    pub(super) fn native(&mut self, text: &[u8]) -> bool {
        let Ok(value) = serde_json::from_slice::<Value>(text) else { return false };
        if let Some(tests) = value.get("tests").and_then(Value::as_array) {
            let path = value.pointer("/target/path").and_then(Value::as_str);
            self.name = path.map_or_else(|| self.name.clone(), str::to_owned);
            let sentences = value.get("sentences").and_then(Value::as_array);
            self.sentences = sentences.into_iter().flatten().filter_map(|one| Some(one.as_str()?.to_owned())).collect();
            for (number, test) in tests.iter().enumerate() {
                let Some(result) = test.get("result") else { continue };
                match formats::native::of_value(result) {
                    Ok(result) => self.take(test, result),
                    Err(error) => self.remarks.push(format!("{}: test {}: {error}", self.path, number + 1)),
                }
            }
        } else if let Some(result) = value.get("result") {
            match formats::native::of_value(result) {
                Ok(result) => self.take(&Value::Null, result),
                Err(error) => self.remarks.push(format!("{}: {error}", self.path)),
            }
        } else {
            return false;
        }
        true
    }

    fn take(&mut self, said: &Value, result: RunResult) {
        let Some(test) = test_of(said, result) else { return };
        self.rows.extend(rows(&test));
        self.tests.push(test);
    }
}

/// Converts a run to a test of its workload, with the names in the survey's entry (`said`) if there is one.
pub(super) fn test_of(said: &Value, result: RunResult) -> Option<Test> {
    let directions = || result.jobs.iter().flat_map(|job| job.directions.iter());
    let moved = |direction: Direction| -> u64 {
        directions().filter(|(of, _)| *of == direction).map(|(_, found)| found.bytes).sum()
    };
    let direction = Direction::ALL.into_iter().max_by_key(|&direction| moved(direction));
    let (direction, first) = (direction?, result.jobs.first()?);
    let sizes = first.echo.block_sizes[direction];
    let block_bytes = (sizes.0 == sizes.1 && sizes.0 > 0).then(|| u64::from(sizes.0));
    let id = said.get("test").and_then(Value::as_str);
    let test = TestName::from(match (id, formats::echoed::pattern(first)) {
        (Some("random_read"), _) => "randread",
        (Some("sequential_read"), _) => "read",
        (Some("random_write"), _) => "randwrite",
        (Some("log_write" | "sequential_write"), _) => "write",
        (_, Some(pattern)) => pattern,
        _ => &first.echo.name,
    });
    let words = id.map_or_else(|| test_in_words(&test).to_owned(), |id| id.replace('_', " "));
    let users = said.get("users").and_then(Value::as_u64).unwrap_or_else(|| workers(&result));
    let mut workload = block_bytes.map_or_else(|| words.clone(), |bytes| format!("{words} {}", size(bytes)));
    if said.is_null() && first.echo.iodepth > 1 {
        workload.push_str(&format!(", depth {}", first.echo.iodepth));
    }
    // Options varied by a survey make a separate workload.
    for extra in said.get("options").and_then(Value::as_array).into_iter().flatten() {
        let word = |at: usize| extra.get(at).and_then(Value::as_str).unwrap_or_default();
        workload.push_str(&format!(", {}={}", word(0), word(1)));
    }
    if let Some(bytes) = said.get("set_bytes").and_then(Value::as_u64) {
        workload.push_str(&format!(" in {}", size(bytes)));
    }
    Some(Test { workload, test, users, block_bytes, direction, result })
}

/// Number of concurrent workers, for a result that does not state its users.
fn workers(result: &RunResult) -> u64 {
    result.jobs.iter().map(|job| u64::from(job.workers.max(1))).sum()
}

/// One measurement per direction with I/O.
fn rows(test: &Test) -> Vec<Measurement> {
    let Some(merged) = test.merged() else { return Vec::new() };
    let of = |direction| {
        let row = of_result::measurement(&merged, direction)?;
        Some(Measurement { test: test.test.clone(), users: Some(test.users as f64), ..row })
    };
    Direction::ALL.into_iter().filter_map(of).collect()
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

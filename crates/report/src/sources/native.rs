//! plumb's own result files: a run, or a survey with a run per test.

use super::Source;
use measure::{Direction, PerDirection};
use model::reading::Measurement;
use model::{DirectionResult, JobResult, LatencyStatistics, RunResult};
use serde_json::Value;

/// One run of a result file.
#[derive(Clone, Debug)]
pub struct Test {
    /// `random read 8 KiB`.
    pub workload: String,
    /// As fio would call it, for the card: `randread`; the job's name where it has no such word.
    pub pattern: String,
    /// Users at once.
    pub users: u64,
    /// Bytes per I/O; 0 where they differ.
    pub block_bytes: u64,
    /// Which way most bytes went.
    pub direction: Direction,
    /// Everything that was counted.
    pub result: RunResult,
}

impl Test {
    /// `random read 8 KiB, 16 users`.
    pub fn shown(&self) -> String {
        let users = if self.users == 1 { "1 user".to_owned() } else { format!("{} users", self.users) };
        format!("{}, {users}", self.workload)
    }

    /// All workers as one.
    pub(super) fn merged(&self) -> Option<JobResult> {
        let mut jobs = self.result.jobs.iter();
        let mut all = jobs.next()?.clone();
        jobs.for_each(|job| all.merge(job));
        Some(all)
    }
}

/// Whether a file begins as ours do.
pub(super) fn begins(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&head[..head.len().min(64)]);
    let plain: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    plain.starts_with("{\"schema\":")
}

/// Whether a file may be one JSON document.
pub(super) fn may_be_json(head: &[u8]) -> bool {
    head.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

impl Source {
    /// Takes what plumb says under its own key of fio's JSON; the rest is read as anybody's.
    pub(super) fn beside(&mut self, text: &[u8]) {
        let Some(result) = std::str::from_utf8(text).ok().and_then(|text| formats::fio_json::read(text).ok()) else {
            return;
        };
        if result.monitored.is_some() {
            self.beside.extend(test_of(&Value::Null, result));
        }
    }

    /// Takes a file of ours; false when it is none.
    pub(super) fn native(&mut self, text: &[u8]) -> bool {
        let Ok(value) = serde_json::from_slice::<Value>(text) else { return false };
        if let Some(tests) = value.get("tests").and_then(Value::as_array) {
            let path = value.pointer("/target/path").and_then(Value::as_str);
            self.name = path.map_or_else(|| self.name.clone(), str::to_owned);
            let sentences = value.get("sentences").and_then(Value::as_array);
            self.sentences = sentences.into_iter().flatten().filter_map(|one| Some(one.as_str()?.to_owned())).collect();
            for (number, test) in tests.iter().enumerate() {
                let Some(result) = test.get("result").cloned() else { continue };
                match serde_json::from_value::<RunResult>(result) {
                    Ok(result) => self.take(test, result),
                    Err(error) => self.remarks.push(format!("{}: test {}: {error}", self.path, number + 1)),
                }
            }
        } else if let Some(result) = value.get("result").cloned() {
            match serde_json::from_value::<RunResult>(result) {
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

/// A run as a test of its workload, as far as somebody `said` what it was.
pub(super) fn test_of(said: &Value, result: RunResult) -> Option<Test> {
    let directions = || result.jobs.iter().flat_map(|job| job.directions.iter());
    let moved = |direction: Direction| -> u64 {
        directions().filter(|(of, _)| *of == direction).map(|(_, found)| found.bytes).sum()
    };
    let direction = Direction::ALL.into_iter().max_by_key(|&direction| moved(direction));
    let (direction, first) = (direction?, result.jobs.first()?);
    let sizes = first.echo.block_sizes[direction];
    let block_bytes = if sizes.0 == sizes.1 { u64::from(sizes.0) } else { 0 };
    let id = said.get("test").and_then(Value::as_str);
    let option = |name: &str| first.echo.options.iter().rev().find(|(found, _)| found == name);
    let pattern = match (id, option("rw").or_else(|| option("readwrite"))) {
        (Some("random_read"), _) => "randread".to_owned(),
        (Some("sequential_read"), _) => "read".to_owned(),
        (Some("random_write"), _) => "randwrite".to_owned(),
        (Some("log_write" | "sequential_write"), _) => "write".to_owned(),
        (_, Some((_, pattern))) => pattern.clone(),
        _ => first.echo.name.clone(),
    };
    let words = id.map_or_else(|| words(&pattern).to_owned(), |id| id.replace('_', " "));
    let users = said.get("users").and_then(Value::as_u64).unwrap_or_else(|| workers(&result));
    let mut workload = if block_bytes > 0 { format!("{words} {}", size(block_bytes)) } else { words };
    if said.is_null() && first.echo.iodepth > 1 {
        workload.push_str(&format!(", depth {}", first.echo.iodepth));
    }
    // What a survey set apart is a workload of its own.
    for extra in said.get("options").and_then(Value::as_array).into_iter().flatten() {
        let word = |at: usize| extra.get(at).and_then(Value::as_str).unwrap_or_default();
        workload.push_str(&format!(", {}={}", word(0), word(1)));
    }
    if let Some(bytes) = said.get("set_bytes").and_then(Value::as_u64) {
        workload.push_str(&format!(" in {}", size(bytes)));
    }
    Some(Test { workload, pattern, users, block_bytes, direction, result })
}

/// How many worked at once, where nobody says.
fn workers(result: &RunResult) -> u64 {
    result.jobs.iter().map(|job| u64::from(job.workers.max(1))).sum()
}

/// fio's word for a pattern in plain ones.
pub(super) fn words(pattern: &str) -> &str {
    match pattern {
        "randread" => "random read",
        "randwrite" => "random write",
        "read" => "sequential read",
        "write" => "sequential write",
        "randrw" => "random mix",
        "rw" | "readwrite" => "sequential mix",
        other => other,
    }
}

/// `8 KiB`.
pub(super) fn size(bytes: u64) -> String {
    let unit = [(30, "GiB"), (20, "MiB"), (10, "KiB")]
        .into_iter()
        .find(|&(shift, _)| bytes > 0 && bytes.trailing_zeros() >= shift);
    unit.map_or_else(|| format!("{bytes} B"), |(shift, name)| format!("{} {name}", bytes >> shift))
}

/// A line per direction in which anything moved.
fn rows(test: &Test) -> Vec<Measurement> {
    let reading = formats::exact::reading(&test.result, "native", 1);
    let Some(merged) = test.merged() else { return Vec::new() };
    // One job, or several of which the table has a line each.
    let mut rows = formats::sweep::measurements(&reading, None);
    if test.result.jobs.len() > 1 || rows.is_empty() {
        let one = RunResult { jobs: vec![merged.clone()], ..RunResult::default() };
        rows = formats::sweep::measurements(&formats::exact::reading(&one, "native", 1), None);
    }
    for row in &mut rows {
        row.name = test.pattern.clone();
        row.users = Some(test.users as f64);
        let of = row.kind.and_then(|kind| direction_of(&merged.directions, kind));
        if let Some(latency) = of.and_then(|moved| moved.total.as_ref().or(moved.completion.as_ref())) {
            facts(row, latency);
        }
    }
    rows
}

fn direction_of(
    directions: &PerDirection<DirectionResult>,
    kind: model::reading::ReadKind,
) -> Option<&DirectionResult> {
    Direction::ALL.into_iter().find(|direction| direction.word() == kind.word()).map(|at| &directions[at])
}

/// The percentiles of the latency that the row's mean is of, where there are samples enough.
fn facts(row: &mut Measurement, latency: &LatencyStatistics) {
    for (at, (_, percent)) in formats::sweep::PERCENTILE_NAMES.iter().enumerate() {
        row.percentiles_ms[at] = analysis::percentile_as_fact(latency, *percent).map(|ns| ns.as_f64() / 1e6);
    }
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

    #[test]
    fn sizes_are_spelled_as_the_charts_spell_them() {
        assert_eq!((size(8192), size(1 << 20), size(1000)), ("8 KiB".into(), "1 MiB".into(), "1000 B".into()));
    }
}

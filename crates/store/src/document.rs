//! A result as it was written → its tests, with what makes a test comparable and its numbers.

use crate::error::StoreError;
use crate::facts::of_result;
use measure::text::{SizeStyle, exact_size};
use measure::{Direction, Nanos};
use model::{DirectionResult, Fact, Grade, JobResult, Layer, MountFacts, RunResult, Surroundings};
use plan::{Mix, Order, Start, Workload};
use serde::Deserialize;
use serde_json::Value;

/// A result of plumb, read for the store.
#[derive(Clone, Debug)]
pub struct Document {
    /// Start of the run, in milliseconds since 1970 UTC; 0 if it is not known.
    pub began_unix_ms: u64,
    /// The command of plumb that wrote it: `survey`, `iozone`, `knee`, `fio` ...
    pub command: String,
    /// `plumb` and its version.
    pub program: String,
    /// The worst grade of its tests.
    pub grade: Grade,
    /// The tests in which there was I/O, in their order.
    pub tests: Vec<TestResult>,
    /// Facts about the surroundings in the results of its tests.
    pub(crate) facts: Vec<Fact>,
    /// The surroundings, as far as it states them.
    pub(crate) surroundings: Surroundings,
    pub(crate) bytes: Vec<u8>,
}

/// One test of a document: the jobs that are reported as one.
#[derive(Clone, Debug)]
pub struct TestResult {
    /// Name for people: `random reads 8k, 16 users`.
    pub label: String,
    /// The file, directory or device that was measured.
    pub path: String,
    /// Its grade.
    pub grade: Grade,
    /// Numbers by name, with the unit in the name.
    pub metrics: Vec<(String, f64)>,
    /// All of the test that makes it comparable, as text.
    pub(crate) work: String,
    pub(crate) place: Place,
}

/// The place that a test measured, as its result states it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The devices below which nothing is visible: kernel name, model, size.
    pub(crate) leaves: Vec<(String, Option<String>, Option<u64>)>,
    pub(crate) mount: Option<MountFacts>,
    /// Files that hold a layer: of loop devices.
    pub(crate) held_by: Vec<String>,
}

/// The percentiles that are kept, with their names.
const PERCENTILES: [(f64, &str); 3] = [(50.0, "p50_ns"), (99.0, "p99_ns"), (99.9, "p99_9_ns")];

impl Document {
    /// Reads a result: of a survey, of `plumb iozone --json`, or of a single run.
    ///
    /// # Errors
    /// The text is not a result of plumb, or there was no I/O.
    pub fn read(bytes: Vec<u8>) -> Result<Document, StoreError> {
        fn refused(why: impl ToString) -> StoreError {
            StoreError::NotAResult(why.to_string())
        }
        let text = std::str::from_utf8(&bytes).map_err(refused)?;
        let root: Value = serde_json::from_str(text).map_err(refused)?;
        if root.get("schema").is_none() {
            return Err(refused("it has no `schema`"));
        }
        let results = match root.get("tests").and_then(Value::as_array) {
            Some(tests) => tests
                .iter()
                .filter(|test| test.get("under_way").and_then(Value::as_bool) != Some(true))
                .filter_map(|test| Some(formats::native::of_value(test.get("result")?)))
                .collect::<Result<Vec<RunResult>, _>>()
                .map_err(refused)?,
            None => vec![formats::native::read(text).map_err(refused)?],
        };
        let stated = [root.get("surroundings"), root.pointer("/result/surroundings")].into_iter().flatten().next();
        let surroundings = stated.map(Surroundings::deserialize).transpose().map_err(refused)?;
        let target = root.pointer("/target/path").and_then(Value::as_str).filter(|path| path.starts_with('/'));
        let mut tests: Vec<TestResult> = results.iter().flat_map(|result| of_run(result, target)).collect();
        tests.retain(|test| !test.metrics.is_empty());
        if tests.is_empty() {
            return Err(refused("there was no I/O in it"));
        }
        Ok(Document {
            began_unix_ms: results.iter().filter_map(began).min().unwrap_or(0),
            command: command(root.get("command").and_then(Value::as_str)),
            program: root.get("program").and_then(Value::as_str).unwrap_or_default().to_owned(),
            grade: tests.iter().map(|test| test.grade).max().unwrap_or(Grade::NotChecked),
            facts: of_result(&results),
            surroundings: surroundings.unwrap_or_default(),
            tests,
            bytes,
        })
    }
}

/// The command of a document from its command line, as in `survey`, `iozone -a` or `plumb knee --iozone -i 0`. A single
/// run states none.
fn command(line: Option<&str>) -> String {
    let Some(line) = line else { return "fio".to_owned() };
    let mut words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let first = words.next().unwrap_or_default();
    let second = words.next().filter(|word| first == "plumb" && !word.starts_with('-'));
    second.unwrap_or(first).to_owned()
}

/// Start of a run; `None` if it states no time.
fn began(result: &RunResult) -> Option<u64> {
    let monitored = result.monitored.as_ref().map(|monitored| monitored.began_unix_ms);
    let jobs = result.jobs.iter().map(|job| job.started_unix_ms).filter(|&ms| ms > 0).min();
    monitored.filter(|&ms| ms > 0).or(jobs).or((result.ended_unix_ms > 0).then_some(result.ended_unix_ms))
}

fn of_run(result: &RunResult, target: Option<&str>) -> Vec<TestResult> {
    let jobs = result.reported_kinds();
    let mut all: Vec<String> = jobs.iter().map(work).collect();
    let together = if all.len() > 1 {
        all.sort();
        format!(" with {}", all.join(" and "))
    } else {
        String::new()
    };
    let grade = analysis::grade(&result.notes);
    jobs.iter()
        .map(|job| TestResult {
            label: label(job),
            path: path(result, job, target),
            grade,
            metrics: metrics(job),
            work: format!("{}{together}", work(job)),
            place: place(result, job),
        })
        .collect()
}

/// The parts of a job that make two of them comparable. Times of ramp and measurement are no part of it.
fn work(job: &JobResult) -> String {
    let workload = job.workload.as_ref().map(|workload| Workload {
        ramp: Nanos::ZERO,
        ramp_bytes: 0,
        runtime: None,
        start: Start::default(),
        ..workload.clone()
    });
    let echo = &job.echo;
    serde_json::json!([
        workload,
        echo.block_sizes,
        job.workers.max(1),
        echo.iodepth,
        echo.engine,
        echo.direct,
        echo.region_bytes
    ])
    .to_string()
}

fn label(job: &JobResult) -> String {
    let users = job.workers.max(1);
    let plural = if users == 1 { "" } else { "s" };
    let mut text = match job.workload.as_ref() {
        Some(workload) => pattern(workload),
        None => job.echo.name.clone(),
    };
    if let Some((low, high)) = block(job) {
        let size = |bytes: u32| exact_size(u64::from(bytes), SizeStyle::Option);
        text.push_str(&if low == high { format!(" {}", size(low)) } else { format!(" {}-{}", size(low), size(high)) });
    }
    text.push_str(&format!(", {users} user{plural}"));
    if job.echo.iodepth > 1 {
        text.push_str(&format!(", depth {}", job.echo.iodepth));
    }
    if job.workload.as_ref().is_some_and(|workload| workload.flushes.by_each_write) && job.directions.write.ios > 0 {
        text.push_str(", each write durable");
    }
    text
}

fn pattern(workload: &Workload) -> String {
    let order = if workload.order == Order::Sequential { "sequential" } else { "random" };
    match workload.mix {
        Mix::Only(Direction::Read) => format!("{order} reads"),
        Mix::Only(Direction::Write) => format!("{order} writes"),
        Mix::Only(Direction::Trim) => format!("{order} trims"),
        Mix::ReadWrite => format!("{order} mix of {} % reads", workload.read_percent),
        Mix::TrimWrite => format!("{order} trims and writes"),
    }
}

/// The block sizes of the directions that had I/O, smallest and largest.
fn block(job: &JobResult) -> Option<(u32, u32)> {
    let used = Direction::ALL.into_iter().filter(|&direction| job.directions[direction].ios > 0);
    let sizes = used.map(|direction| job.echo.block_sizes[direction]).filter(|&(_, high)| high > 0);
    sizes.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
}

fn metrics(job: &JobResult) -> Vec<(String, f64)> {
    let used: Vec<(&str, &DirectionResult)> = [Direction::Read, Direction::Write, Direction::Trim]
        .into_iter()
        .zip(["read_", "write_", "trim_"])
        .map(|(direction, prefix)| (prefix, &job.directions[direction]))
        .filter(|(_, direction)| direction.ios > 0)
        .collect();
    let mut found = Vec::new();
    let Some(iops) = job.mixed().iops().filter(|iops| !used.is_empty() && *iops > 0.0) else { return found };
    found.push(("iops".to_owned(), iops));
    for (prefix, direction) in &used {
        let prefix = if used.len() == 1 { "" } else { prefix };
        let mean = direction.latency().and_then(|latency| latency.moments.mean());
        found.extend(mean.map(|mean| (format!("{prefix}mean_ns"), mean)));
        let kinds = [("", direction.latency_distribution()), ("response_", direction.response.as_ref())];
        for (kind, latency) in kinds.into_iter().filter_map(|(kind, latency)| Some((kind, latency?))) {
            for (percent, name) in PERCENTILES {
                let value = analysis::percentile_as_fact(latency, percent);
                found.extend(value.map(|value: Nanos| (format!("{prefix}{kind}{name}"), value.as_f64())));
            }
        }
    }
    found.retain(|(_, value)| value.is_finite() && *value > 0.0);
    found
}

/// The target in messages: of the survey, or the first file of the job.
fn path(result: &RunResult, job: &JobResult, target: Option<&str>) -> String {
    if let Some(target) = target {
        return target.to_owned();
    }
    let monitored = result.monitored.as_ref();
    let mount = || monitored?.targets.first()?.mount.as_ref().map(|mount| mount.point.clone());
    let directory = || result.environment.file_systems.first().map(|system| system.path.clone());
    job.echo.paths.first().cloned().or_else(mount).or_else(directory).unwrap_or_default()
}

fn place(result: &RunResult, job: &JobResult) -> Place {
    let Some(monitored) = &result.monitored else { return Place::default() };
    let own = monitored.targets.iter().find(|target| job.echo.paths.contains(&target.path));
    let target = own.or(monitored.targets.first());
    let leaves = monitored.devices.iter().filter(|device| device.leaf);
    let mut leaves: Vec<_> =
        leaves.map(|device| (device.name.clone(), device.model.clone(), device.size_bytes)).collect();
    leaves.sort();
    let held = |layer: &Layer| layer.held_by.clone().filter(|_| layer.kind == "loop");
    Place {
        leaves,
        mount: target.and_then(|target| target.mount.clone()),
        held_by: target.map(|target| target.layers.iter().filter_map(held).collect()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::command;

    #[test]
    fn a_document_is_of_the_command_that_wrote_it() {
        for (line, expected) in [
            (None, "fio"),
            (Some("survey"), "survey"),
            (Some("iozone -a -g 16m"), "iozone"),
            (Some("/usr/bin/iozone -t 4"), "iozone"),
            (Some("plumb iozone -a"), "iozone"),
            (Some("plumb knee --iozone -i 0"), "knee"),
            (Some("/opt/plumb knee --iozone"), "knee"),
            (Some("plumb --version"), "plumb"),
            (Some(""), ""),
        ] {
            assert_eq!(command(line), expected, "{line:?}");
        }
    }
}

//! Output of any supported tool → results for analysis, as complete as the input allows.
//!
//! A report is one result, and so is a row of a sweep: users in a closed loop for ten seconds, at the stated rate.

use crate::from_printed::{moments, rounded, stated};
use crate::stream::{Event, Parser, Repeats};
use crate::{echoed, fio, native, result_as_reading};
use measure::{Nanos, PerDirection};
use model::measurement::PERCENTS;
use model::reading::{Content, Damage, IozoneRow, ReadDirection, ReadJob, ReadKind, ReadLatency, ReadRun, Reading};
use model::{JobResult, LatencyStatistics, Measurement, Origin, RunResult};
use serde_json::Value;

/// A result and its position in a file.
#[derive(Clone, Debug)]
pub struct LocatedResult {
    /// Line number, from 1.
    pub line: u64,
    /// Title for display.
    pub title: String,
    /// The result; values missing in the input are absent.
    pub result: RunResult,
}

/// The results in a text.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// The results, each run once.
    pub found: Vec<LocatedResult>,
    /// The parts that could not be read.
    pub damages: Vec<Damage>,
    /// The reports that are not counted.
    pub repeats: Repeats,
    /// The formats of readings without a result: rows of iozone and iostat, logs.
    pub without_result: Vec<&'static str>,
    /// The rows of iozone among these.
    pub iozone: Vec<LocatedRow>,
}

/// A row of iozone's table and its position in a file.
#[derive(Clone, Debug)]
pub struct LocatedRow {
    /// Line number, from 1.
    pub line: u64,
    /// The row.
    pub row: IozoneRow,
}

/// Returns all results in a text.
///
/// ```
/// let table = "name,users,bs,MB,lat,min,max,std,iops\nrandread,8,8K,10.5,5.943,1,9,1,1345\n";
/// let results = formats::results::results(table.as_bytes());
/// let first = &results.found[0];
/// assert_eq!((first.line, first.title.as_str(), results.damages.len()), (2, "randread, 8 users", 0));
/// ```
pub fn results(bytes: &[u8]) -> Results {
    let text = std::str::from_utf8(bytes).ok();
    if let Some(Own { found, .. }) = text.and_then(own) {
        return Results { found, ..Results::default() };
    }
    let mut results = Results::default();
    let mut parser = Parser::of_results(|event| match event {
        Event::Reading(reading) => {
            let format = reading.format;
            if let Content::Iozone(row) = &reading.found {
                results.iozone.push(LocatedRow { line: reading.line, row: IozoneRow::clone(row) });
            }
            match of_reading(reading) {
                Some(located) => results.found.push(located),
                None if results.without_result.contains(&format) => {}
                None => results.without_result.push(format),
            }
        }
        Event::Repeated(repeated) => results.repeats.add(&repeated),
        Event::Damage(damage) => results.damages.push(damage),
    });
    parser.feed(bytes);
    parser.finish();
    results
}

/// The content of a result file of plumb.
#[derive(Clone, Debug)]
pub struct Own {
    /// True for a survey: each result is one of its tests.
    pub is_survey: bool,
    /// The results, without loss.
    pub found: Vec<LocatedResult>,
}

/// Reads plumb's own JSON without loss: a result, or the tests of a survey. `None` for any other text.
pub fn own(text: &str) -> Option<Own> {
    if !text.trim_start().starts_with('{') || !text.contains("\"schema\"") {
        return None;
    }
    if let Ok(result) = native::read(text) {
        return Some(Own { is_survey: false, found: vec![LocatedResult { line: 1, title: title(&result), result }] });
    }
    let root: Value = serde_json::from_str(text).ok()?;
    let tests = root.get("tests")?.as_array()?;
    let test = |(number, test): (usize, &Value)| {
        let result = native::of_value(test.get("result")?).ok()?;
        Some(LocatedResult { line: 1, title: format!("test {number}, {}", title(&result)), result })
    };
    let found: Option<Vec<LocatedResult>> = (1..).zip(tests).map(test).collect();
    Some(Own { is_survey: true, found: found? })
}

/// The result that a reading states: a run, or a row of a sweep.
pub fn of_reading(reading: Reading) -> Option<LocatedResult> {
    let Reading { format, line, found, result } = reading;
    match found {
        Content::Run(run) => {
            let result = match result {
                Some(result) => *result,
                None if format == "fio-terse" => fio::terse::result(*run),
                None => result_as_reading::result(*run),
            };
            Some(LocatedResult { line, title: title(&result), result })
        }
        Content::Row(row) => of_row(&row).map(|result| {
            let users = row.users.map_or_else(String::new, |users| format!(", {users} users"));
            let system = row.system.as_ref().map_or_else(String::new, |system| format!("{system} "));
            LocatedResult { line, title: format!("{system}{}{users}", row.test.as_str()), result }
        }),
        _ => None,
    }
}

fn title(result: &RunResult) -> String {
    let mut names: Vec<&str> = result.jobs.iter().map(|job| job.echo.name.as_str()).collect();
    names.dedup();
    match names.as_slice() {
        [] => "no jobs".to_owned(),
        [one] => format!("job {one}"),
        [first, .., last] => format!("jobs {first} to {last}"),
    }
}

/// Converts a row to ten seconds of a closed loop; `None` without a rate.
fn of_row(row: &Measurement) -> Option<RunResult> {
    const SECONDS: f64 = 10.0;
    let iops = row.iops.filter(|iops| iops.is_finite() && *iops > 0.0)?;
    let whole = |value: f64| u32::try_from(rounded(value)).unwrap_or(u32::MAX).max(1);
    let ios = rounded(iops * SECONDS);
    let mut job = JobResult { workers: row.users.map_or(1, whole), ..JobResult::default() };
    let name = row.test.as_str();
    name.clone_into(&mut job.echo.name);
    job.echo.iodepth = row.depth.map_or(1, whole);
    job.echo.engine = row.engine.clone().unwrap_or_default();
    job.workload = echoed::of_pattern(name, &job.echo.engine);
    if let Some((low, high)) = row.block {
        let small = |bytes| u32::try_from(bytes).unwrap_or(u32::MAX);
        let sizes = (small(low), small(high));
        job.echo.block_sizes = PerDirection { read: sizes, write: sizes, trim: sizes };
    }
    let direction = match row.kind {
        Some(ReadKind::Write) => &mut job.directions.write,
        Some(ReadKind::Trim) => &mut job.directions.trim,
        None if name.contains("write") => &mut job.directions.write,
        _ => &mut job.directions.read,
    };
    direction.ios = ios;
    direction.bytes = rounded(row.bytes_per_second.unwrap_or(0.0) * SECONDS);
    direction.runtime = Nanos::from_secs(10);
    direction.stated = stated(row.bytes_per_second, Some(iops));
    // Below one I/O in twenty seconds, the ten seconds round to no I/O.
    direction.total = row.mean_ns.filter(|_| ios > 0).map(|mean_ns| {
        // No maximum latency: it is meaningful only for a run of known length.
        let moments = moments(ios, [rounded(mean_ns); 2], [mean_ns, 0.0]);
        LatencyStatistics { moments, histogram: None }
    });
    job.echo.number = 1;
    let printed = ReadRun { jobs: vec![printed_row(row, name)], ..ReadRun::default() };
    Some(RunResult { jobs: vec![job], origin: Origin::Report(Box::new(printed)), ..RunResult::default() })
}

/// A row as a report prints its numbers. Users without a depth have one I/O in flight each: engines are synchronous.
fn printed_row(row: &Measurement, name: &str) -> ReadJob {
    let points = PERCENTS.iter().zip(row.percentiles_ns).filter_map(|(&percent, ns)| Some((percent, ns?)));
    let completion = ReadLatency { percentiles: points.collect(), ..ReadLatency::default() };
    let total = ReadLatency {
        // Shortest and longest are in tenths or whole milliseconds in these tables, too coarse for the mean.
        mean_ns: row.mean_ns,
        deviation_ns: row.deviation_ns,
        ..ReadLatency::default()
    };
    let direction = ReadDirection {
        bytes_per_second: row.bytes_per_second,
        iops: row.iops,
        completion: (!completion.percentiles.is_empty()).then_some(completion),
        total: Some(total),
        ..ReadDirection::new(row.kind.unwrap_or(ReadKind::Read))
    };
    ReadJob {
        name: Some(name.to_owned()),
        workers: row.users,
        depth: row.depth.or(row.users.map(|_| 1.0)),
        directions: vec![direction],
        ..ReadJob::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_a_sweep_is_ten_seconds_of_a_closed_loop() {
        let row = Measurement {
            test: "randread".into(),
            users: Some(8.0),
            iops: Some(1345.0),
            mean_ns: Some(5_943_000.0),
            ..Measurement::default()
        };
        let result = of_row(&row).unwrap();
        let job = &result.jobs[0];
        assert_eq!((job.workers, job.ios()), (8, 13_450));
        let mean = job.directions.read.total.as_ref().unwrap().moments.mean().unwrap();
        assert!((mean / 5.943e6 - 1.0).abs() < 1e-6, "{mean}");
        assert!(of_row(&Measurement::default()).is_none());
    }

    #[test]
    fn text_that_holds_nothing_gives_nothing() {
        assert!(results(b"hello\nworld\n").found.is_empty());
    }
}

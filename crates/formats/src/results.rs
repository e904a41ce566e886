//! Anything that was ever printed → results to be judged, as far as each thing goes.
//!
//! A report is one result. A row of a sweep is one, too: its users in a closed loop for ten seconds at the stated rate
//! and latency.

use crate::inverse::{moments, rounded, stated};
use crate::{FormatError, exact, sniff, stream};
use measure::{Nanos, PerDirection};
use model::reading::{Damage, Found, Measurement, ReadKind};
use model::{JobResult, LatencyStatistics, RunResult};

/// A result in a file.
#[derive(Clone, Debug)]
pub struct Located {
    /// Its line, from 1.
    pub line: u64,
    /// What it is, for people.
    pub title: String,
    /// The result; what was not stated is missing.
    pub result: RunResult,
}

/// All results in a text, and what could not be read.
pub fn results(bytes: &[u8]) -> (Vec<Located>, Vec<Damage>) {
    if let Some(Ok(mut result)) = whole(bytes) {
        state_block_sizes(&mut result);
        return (vec![Located { line: 1, title: title(&result), result }], Vec::new());
    }
    let (readings, damages) = stream::parse(bytes);
    let found = readings.iter().filter_map(|reading| match &reading.found {
        Found::Run(run) => {
            let result = exact::result(run);
            Some(Located { line: reading.line, title: title(&result), result })
        }
        Found::Row(row) => of_row(row).map(|result| {
            let users = row.users.map_or_else(String::new, |users| format!(", {users} users"));
            let system = row.system.as_ref().map_or_else(String::new, |system| format!("{system} "));
            Located { line: reading.line, title: format!("{system}{}{users}", row.name), result }
        }),
        _ => None,
    });
    (found.collect(), damages)
}

/// A document that keeps what rounding loses: our own JSON, and fio's.
fn whole(bytes: &[u8]) -> Option<Result<RunResult, FormatError>> {
    let format = sniff(bytes).filter(|format| matches!(format.name, "native" | "fio-json" | "fio-json+"))?;
    let read = format.read?;
    std::str::from_utf8(bytes).ok().map(read)
}

/// fio's JSON states block sizes and regions as the jobs' own words alone.
fn state_block_sizes(result: &mut RunResult) {
    let last = |options: &[(String, String)], names: [&str; 2]| {
        options.iter().rev().find(|(name, _)| names.contains(&name.as_str())).map(|(_, value)| value.clone())
    };
    let word = |options: &[(String, String)]| last(options, ["bs", "blocksize"]);
    let (global, region) = (word(&result.global_options), last(&result.global_options, ["size", "filesize"]));
    for job in &mut result.jobs {
        let own = last(&job.echo.options, ["size", "filesize"]).or_else(|| region.clone());
        if let Some(bytes) = own.as_deref().and_then(bytes_of).filter(|_| job.echo.region_bytes == 0) {
            job.echo.region_bytes = bytes;
        }
        let stated = job.echo.block_sizes.iter().any(|(_, sizes)| sizes.1 > 0);
        let own = word(&job.echo.options).or_else(|| global.clone());
        if let Some(bytes) = own.as_deref().and_then(block_bytes).filter(|_| !stated) {
            job.echo.block_sizes = PerDirection { read: (bytes, bytes), write: (bytes, bytes), trim: (bytes, bytes) };
        }
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

/// The row as ten seconds of a closed loop; `None` without a rate.
fn of_row(row: &Measurement) -> Option<RunResult> {
    const SECONDS: f64 = 10.0;
    let iops = row.iops.filter(|iops| iops.is_finite() && *iops > 0.0)?;
    let whole = |value: f64| u32::try_from(rounded(value)).unwrap_or(u32::MAX).max(1);
    let ios = rounded(iops * SECONDS);
    let mut job = JobResult { workers: row.users.map_or(1, whole), ..JobResult::default() };
    job.echo.name.clone_from(&row.name);
    job.echo.iodepth = row.depth.map_or(1, whole);
    job.echo.engine = row.engine.clone().unwrap_or_default();
    job.echo.options.push(("rw".to_owned(), row.name.clone()));
    if let Some(bytes) = row.block_size.as_deref().and_then(block_bytes) {
        job.echo.block_sizes = PerDirection { read: (bytes, bytes), write: (bytes, bytes), trim: (bytes, bytes) };
    }
    let direction = match row.kind {
        Some(ReadKind::Write) => &mut job.directions.write,
        Some(ReadKind::Trim) => &mut job.directions.trim,
        None if row.name.contains("write") => &mut job.directions.write,
        _ => &mut job.directions.read,
    };
    direction.ios = ios;
    direction.bytes = rounded(row.mib_per_second.unwrap_or(0.0) * f64::from(1 << 20) * SECONDS);
    direction.runtime = Nanos::from_secs(10);
    direction.stated = stated(row.mib_per_second.map(|rate| rate * f64::from(1 << 20)), Some(iops));
    // A block in minutes: none of them in these ten seconds.
    direction.total = row.mean_ms.filter(|_| ios > 0).map(|mean| {
        // A longest latency says something of a run whose length is known; that of a row is not.
        let moments = moments(ios, [rounded(mean * 1e6); 2], [mean * 1e6, 0.0]);
        LatencyStatistics { moments, histogram: None }
    });
    Some(RunResult { jobs: vec![job], ..RunResult::default() })
}

/// `8K`, `1M`, `512B`; `None` for a range.
fn block_bytes(word: &str) -> Option<u32> {
    u32::try_from(bytes_of(word)?).ok()
}

/// `8K`, `1m`, `3G`, `512B`; `None` for anything else.
fn bytes_of(word: &str) -> Option<u64> {
    let end = word.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(word.len());
    let unit: u64 = match word[end..].to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        _ => return None,
    };
    word[..end].parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_a_sweep_is_ten_seconds_of_a_closed_loop() {
        let row = Measurement {
            name: "randread".into(),
            users: Some(8.0),
            iops: Some(1345.0),
            mean_ms: Some(5.943),
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
    fn a_block_size_is_taken_from_the_jobs_word() {
        let mut result = RunResult { jobs: vec![JobResult::default(); 2], ..RunResult::default() };
        result.global_options.push(("bs".into(), "4k".into()));
        result.jobs[1].echo.options.push(("bs".into(), "4k,8k".into()));
        state_block_sizes(&mut result);
        assert_eq!(result.jobs[0].echo.block_sizes.write, (4096, 4096));
        assert_eq!(result.jobs[1].echo.block_sizes.read, (0, 0), "a list is not one size");
        result.global_options.push(("size".into(), "3G".into()));
        result.jobs[1].echo.options.push(("size".into(), "10%".into()));
        state_block_sizes(&mut result);
        assert_eq!((result.jobs[0].echo.region_bytes, result.jobs[1].echo.region_bytes), (3 << 30, 0));
    }

    #[test]
    fn text_that_holds_nothing_gives_nothing() {
        assert!(results(b"hello\nworld\n").0.is_empty());
    }
}

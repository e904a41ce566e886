//! What must be true of the numbers of every run, whatever its options were.

use super::case::Ran;
use serde_json::{Value, json};
use std::path::Path;

/// What was looked at.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) ios: u64,
    pub(crate) bytes: u64,
    pub(crate) checks: u64,
}

const DIRECTIONS: [&str; 4] = ["read", "write", "trim", "mixed"];

/// Holds a run against the identities; the first that does not hold.
pub(crate) fn check(ran: &Ran, file: &str, directory: &Path) -> Result<Seen, String> {
    let Some(at) = ran.output.find("{\n") else {
        // Only what could not be begun has no result, and it says why.
        let explained = ran.status != Some(0) && !ran.stderr.trim().is_empty();
        return if explained { Ok(Seen::default()) } else { Err(format!("no result, status {:?}", ran.status)) };
    };
    let json = last_report(&ran.output[at..])?;
    let jobs = json["jobs"].as_array().ok_or("no jobs in the result")?;
    let mut seen = Seen::default();
    for job in jobs {
        of_job(job, file, &mut seen).map_err(|why| format!("job {}: {why}", job["jobname"]))?;
    }
    status(jobs, file, ran.status)?;
    intervals(&json, jobs, file, &mut seen)?;
    logs(jobs, file, directory, &mut seen)?;
    if let Ok(own) = std::fs::read(directory.join("own.json")) {
        serde_json::from_slice::<Value>(&own).map_err(|error| format!("own.json: {error}"))?;
        seen.checks += 1;
    }
    Ok(seen)
}

/// The report at the end; those of the run so far, and lines about failed jobs, stand before it.
fn last_report(text: &str) -> Result<Value, String> {
    let last = text.rfind("\n{\n").map_or(text, |at| &text[at..]);
    serde_json::from_str(last).map_err(|error| format!("out.json: {error}"))
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// The status is the number of failed jobs. A job that forgives errors shows the first of them and has not failed.
fn status(jobs: &[Value], file: &str, status: Option<i32>) -> Result<(), String> {
    let failed = jobs.iter().filter(|job| job["error"].as_i64() != Some(0)).count();
    let forgives = file.lines().any(|line| line.starts_with("continue_on_error=") || line.starts_with("ignore_error="));
    match status {
        Some(0) if failed > 0 && !forgives => Err(format!("status 0 with {failed} failed jobs")),
        _ => Ok(()),
    }
}

/// Whether each I/O of a job's engine is an I/O on data: names are counted once per block of their file, as fio does
/// it, and engines that keep others company count none of theirs. A group that is shown as one job is all of its jobs.
fn counts_ios(job: &Value, file: &str) -> bool {
    let name = job["jobname"].as_str().unwrap_or_default();
    let own = file.split_once(&format!("\n[{name}]\n")).and_then(|(_, rest)| rest.split("\n[").next());
    let jobs = if file.contains("group_reporting") { Some(file) } else { own };
    let mut engines =
        jobs.into_iter().flat_map(str::lines).filter_map(|line| line.strip_prefix("ioengine=")).peekable();
    let on_data = |name: &str| {
        let spec = engine::ENGINES.iter().find(|engine| engine.name == name);
        spec.is_some_and(|spec| !matches!(spec.capabilities.work, plan::Work::Metadata | plan::Work::Background))
    };
    engines.peek().is_some() && engines.all(on_data)
}

/// Sum of bins = count; issued = completed + failed; bytes within what blocks allow.
fn of_job(job: &Value, file: &str, seen: &mut Seen) -> Result<(), String> {
    let failed = job["error"].as_i64() != Some(0);
    for direction in DIRECTIONS {
        let part = &job[direction];
        if part.is_null() {
            continue;
        }
        let (ios, bytes) = (count(&part["total_ios"]), count(&part["io_bytes"]));
        if direction != "mixed" || job["read"].is_null() {
            seen.ios += ios;
            seen.bytes += bytes;
        }
        for kind in ["slat_ns", "clat_ns", "lat_ns"] {
            bins(&part[kind], seen).map_err(|why| format!("{direction} {kind}: {why}"))?;
        }
        let measured = ["clat_ns", "lat_ns"].map(|kind| count(&part[kind]["N"])).into_iter().max().unwrap_or(0);
        let errors = count(&job["total_err"]);
        // Ramps count an I/O that was issued before them and completed after; a job cut off leaves some in flight.
        let exact = counts_ios(job, file)
            && !failed
            && errors == 0
            && !file.contains("ramp_")
            && measured > 0
            && !file.contains("gtod_reduce");
        let dropped = count(&part["drop_ios"]);
        if exact {
            if measured + dropped != ios {
                return Err(format!("{direction}: {ios} issued, {measured} completed, {dropped} dropped, none failed"));
            }
            seen.checks += 1;
        } else if measured > 0 && !file.contains("ramp_") {
            if measured > ios {
                return Err(format!("{direction}: {ios} issued, and {measured} completed"));
            }
            seen.checks += 1;
        }
        if ios == 0 && bytes > 0 {
            return Err(format!("{direction}: {bytes} bytes without an I/O"));
        }
    }
    Ok(())
}

fn bins(latency: &Value, seen: &mut Seen) -> Result<(), String> {
    let Some(bins) = latency["bins"].as_object() else { return Ok(()) };
    let (sum, all) = (bins.values().map(count).sum::<u64>(), count(&latency["N"]));
    if sum != all {
        return Err(format!("{sum} in the bins, {all} in all"));
    }
    let (least, mean, most) = (&latency["min"], &latency["mean"], &latency["max"]);
    let [least, mean, most] = [least, mean, most].map(|value| value.as_f64().unwrap_or(f64::NAN));
    // JSON's mean has six digits after the point.
    if all > 0 && !(least <= mean + 1e-3 && mean <= most + 1e-3) {
        return Err(format!("least {least}, mean {mean}, most {most}"));
    }
    seen.checks += 1;
    Ok(())
}

/// Options after which intervals and logs hold more than the result: they count ramps, what a search for a depth did
/// before it settled, and jobs that are not shown.
const FORGETTING: &[&str] = &["ramp", "latency_target", "stats", "steadystate"];

/// Whether what was counted on the way is the result, or no less where the result forgot something.
fn agree(counted: u64, result: u64, file: &str) -> bool {
    counted == result || (counted > result && FORGETTING.iter().any(|word| file.contains(word)))
}

/// Σ intervals = total, or no less.
fn intervals(json: &Value, jobs: &[Value], file: &str, seen: &mut Seen) -> Result<(), String> {
    let Some(intervals) = json["plumb"]["monitored"]["intervals"].as_array() else { return Ok(()) };
    if jobs.iter().any(|job| job["error"].as_i64() != Some(0)) {
        return Ok(());
    }
    let sum = |key: &str| -> u64 {
        let of = |interval: &Value| interval[key].as_array().map_or(0, |all| all.iter().map(count).sum());
        intervals.iter().map(of).sum()
    };
    let (bytes, ios) = (sum("bytes"), sum("ios"));
    let total: u64 = jobs.iter().flat_map(|job| shown(job)).map(|part| count(&part["io_bytes"])).sum();
    let issued: u64 = jobs.iter().flat_map(|job| shown(job)).map(|part| count(&part["total_ios"])).sum();
    if !agree(bytes, total, file) {
        return Err(format!("{bytes} bytes in {} intervals, {total} in all", intervals.len()));
    }
    let errors: u64 = jobs.iter().map(|job| count(&job["total_err"])).sum();
    if errors == 0 && !agree(ios, issued, file) {
        return Err(format!("{ios} I/Os in {} intervals, {issued} in all", intervals.len()));
    }
    seen.checks += 2;
    Ok(())
}

/// The directions of a job, none of them twice.
fn shown(job: &Value) -> Vec<&Value> {
    let apart: Vec<&Value> =
        ["read", "write", "trim"].iter().map(|&name| &job[name]).filter(|part| !part.is_null()).collect();
    if apart.is_empty() { vec![&job["mixed"]] } else { apart }
}

/// Options that change what a log of latencies holds.
const SHAPING: &[&str] = &[
    "log_",
    "disable_",
    "gtod_reduce",
    "ramp",
    "stats",
    "loops",
    "steadystate",
    "group_reporting",
    "unified",
    "numjobs",
];

/// bytes = Σ sizes, count = rows: where every I/O is in a log.
fn logs(jobs: &[Value], file: &str, directory: &Path, seen: &mut Seen) -> Result<(), String> {
    if SHAPING.iter().any(|word| file.contains(word)) {
        return Ok(());
    }
    for (index, job) in jobs.iter().enumerate() {
        let Some(name) = job["jobname"].as_str() else { continue };
        let log = directory.join(format!("exact-{name}_lat.{}.log", index + 1));
        let Ok(text) = std::fs::read_to_string(&log) else { continue };
        if job["error"].as_i64() != Some(0) || count(&job["total_err"]) > 0 || !counts_ios(job, file) {
            continue;
        }
        let (mut rows, mut bytes) = (0_u64, 0_u64);
        for row in text.lines() {
            let field = row.split(',').nth(3).and_then(|field| field.trim().parse::<u64>().ok());
            (rows, bytes) = (rows + 1, bytes + field.ok_or_else(|| format!("{}: {row}", log.display()))?);
        }
        let of = |key: &str| shown(job).into_iter().map(|part| count(&part[key])).sum::<u64>();
        let (ios, all) = (of("total_ios"), of("io_bytes"));
        if !agree(rows, ios, file) || (of("short_ios") == 0 && !agree(bytes, all, file)) {
            return Err(format!(
                "job {name}: the log has {rows} rows of {bytes} bytes, the result {ios} I/Os of {all}"
            ));
        }
        seen.checks += 2;
    }
    Ok(())
}
pub(super) fn a_group_counts_single_ios_where_each_of_its_jobs_does() {
    let counts = |common: &str, second: &str| {
        let file = format!("[global]\n{common}\n[a]\nioengine=ftruncate\n[b]\nioengine={second}\n");
        counts_ios(&json!({"jobname": "a"}), &file)
    };
    assert!(counts("size=3m", "dirstat") && counts("group_reporting=1", "null"));
    assert!(!counts("group_reporting=1", "dirstat"), "the group is called a, and b looks at names");
}

pub(super) fn intervals_hold_more_than_the_result_after_forgetting_only() {
    let jobs_of = |ios: u64| [json!({"error": 0, "total_err": 0, "read": {"io_bytes": ios * 4096, "total_ios": ios}})];
    let three = json!([{"bytes": [4096, 0, 0], "ios": [1, 0, 0]}, {"bytes": [8192, 0, 0], "ios": [2, 0, 0]}]);
    let json = json!({"plumb": {"monitored": {"intervals": three}}});
    let accepted = |ios, option| intervals(&json, &jobs_of(ios), option, &mut Seen::default()).is_ok();
    for option in ["latency_target=20ms", "ramp_time=1", "stats=0"] {
        assert!(accepted(2, option), "{option}: the search, the ramp or the hidden job moved the third");
        assert!(!accepted(4, option), "{option}: no interval may lose an I/O");
    }
    assert!(accepted(3, "bs=4k") && !accepted(2, "bs=4k") && !accepted(4, "bs=4k"));
}

pub(super) fn a_log_has_more_rows_than_the_result_after_a_search_only() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("exact-a_lat.1.log"), "1, 9, 0, 4096\n2, 9, 0, 4096\n").unwrap();
    let accepted = |ios: u64, option: &str| {
        let job =
            json!({"jobname": "a", "error": 0, "total_err": 0, "read": {"io_bytes": ios * 4096, "total_ios": ios}});
        logs(&[job], &format!("[global]\n\n[a]\nioengine=null\n{option}\n"), directory.path(), &mut Seen::default())
            .is_ok()
    };
    assert!(accepted(2, "bs=4k") && !accepted(1, "bs=4k") && !accepted(3, "bs=4k"));
    assert!(accepted(1, "latency_target=1ms") && !accepted(3, "latency_target=1ms"));
}

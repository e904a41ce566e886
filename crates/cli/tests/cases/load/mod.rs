//! Much of everything: jobs, files, hours, rows of a log. Each row says what it took in time and memory, and how much
//! it may take; memory must not grow with the length of a run.
//!
//! Each row is a test: `load::NAME` with a slice of the amount, and on request (`--ignored`, `make load`)
//! `load::full::NAME` with all of it. `PLUMB_LOAD_PROGRAM` names the release build, which the full amounts want.

use crate::context::{measured_plumb, place};
use house::Cases;
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

/// One row: words, how often the full amount is of the slice, and what may be used.
struct Row {
    what: &'static str,
    /// `{n}` stands for the amount.
    words: &'static str,
    slice: u64,
    full: u64,
    /// Memory of all processes together, in the slice and in full.
    most_mib: (u64, u64),
    longest: Duration,
    /// Held against the result, with the amount.
    holds: fn(&Value, u64, &Path) -> Result<String, String>,
}

const fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row { what: "jobs as threads", words: "--name=a --numjobs={n} --thread --ioengine=null --size=64k --rw=read --group_reporting",
        slice: 256, full: 4096, most_mib: (1024, 4096), longest: minutes(5), holds: sixteen_each },
    Row { what: "jobs as processes", words: "--name=a --numjobs={n} --ioengine=null --size=64k --rw=read --group_reporting",
        slice: 256, full: 4096, most_mib: (2048, 12_288), longest: minutes(10), holds: sixteen_each },
    Row { what: "files of one job", words: "--name=a --nrfiles={n} --filesize=4k --openfiles=64 --rw=randread --file_service_type=random \
        --fallocate=none --size=400m --number_ios=20000 --create_fsync=0 --directory=files", slice: 1_000, full: 100_000,
        most_mib: (256, 512), longest: minutes(10), holds: files },
    Row { what: "hours, simulated", words: "--name=a --ioengine=sim --size=1t --rw=randread --norandommap --time_based --runtime={n}h \
        --sim_service_time=20ms --write_bw_log=bw --log_avg_msec=60000", slice: 1, full: 24, most_mib: (192, 192),
        longest: minutes(10), holds: hours },
    Row { what: "rows of per-I/O logs", words: "--name=a --ioengine=null --size=1t --rw=read --number_ios={n} --write_lat_log=log --log_offset=1",
        slice: 200_000, full: 100_000_000, most_mib: (192, 192), longest: minutes(20), holds: rows_of_logs },
];

/// I/Os of all jobs.
fn ios(json: &Value) -> u64 {
    let jobs = json["jobs"].as_array().cloned().unwrap_or_default();
    jobs.iter().filter_map(|job| job["read"]["total_ios"].as_u64()).sum()
}

fn equal(what: &str, found: u64, wanted: u64) -> Result<String, String> {
    if found == wanted { Ok(format!("{found} {what}")) } else { Err(format!("{found} {what}, not {wanted}")) }
}

fn sixteen_each(json: &Value, jobs: u64, _: &Path) -> Result<String, String> {
    equal("I/Os", ios(json), 16 * jobs)
}

fn files(json: &Value, count: u64, place: &Path) -> Result<String, String> {
    let made = std::fs::read_dir(place.join("files")).map_err(|error| error.to_string())?.count();
    equal("files", made as u64, count)?;
    equal("I/Os", ios(json), count.min(20_000))
}

/// 50 I/Os per second, exactly: the device is simulated.
fn hours(json: &Value, hours: u64, place: &Path) -> Result<String, String> {
    let rows = std::fs::read_to_string(place.join("bw_bw.1.log")).map_err(|error| error.to_string())?.lines().count();
    equal("rows of a minute each", rows as u64, 60 * hours)?;
    equal("I/Os", ios(json), 50 * 3600 * hours)
}

fn rows_of_logs(json: &Value, rows: u64, place: &Path) -> Result<String, String> {
    use std::io::BufRead;
    equal("I/Os", ios(json), rows)?;
    let log = std::fs::File::open(place.join("log_lat.1.log")).map_err(|error| error.to_string())?;
    let mut reader = std::io::BufReader::with_capacity(1 << 20, log);
    let (mut found, mut line) = (0_u64, Vec::new());
    while reader.read_until(b'\n', &mut line).map_err(|error| error.to_string())? > 0 {
        // Sequential blocks: the offset in the row shows which row it is.
        let row = String::from_utf8_lossy(&line);
        let offset = row.split(',').nth(4).and_then(|field| field.trim().parse::<u64>().ok());
        if offset != Some(found * 4096) {
            return Err(format!("row {found} says {row}"));
        }
        found += 1;
        line.clear();
    }
    equal("rows, none missing or out of place", found, rows)
}

/// Memory of a process and all that it started, in bytes: what each has for itself, and what they share once.
fn memory_of(group: &str) -> u64 {
    let mut found = 0;
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let of_group = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(2)) == Some(group);
        if of_group && let Ok(rollup) = std::fs::read_to_string(entry.path().join("smaps_rollup")) {
            let pss = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
            found += pss.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024;
        }
    }
    found
}

fn run(row: &Row, amount: u64, most_mib: u64) -> Result<String, String> {
    let place = place();
    place.directory("files");
    let run = measured_plumb(&place, "fio --output-format=json --output=out.json");
    let begun = Instant::now();
    let running = run.words(row.words.replace("{n}", &amount.to_string())).start();
    let group = running.id().to_string();
    let waiter = std::thread::spawn({
        let longest = row.longest;
        move || running.end_within(longest)
    });
    let mut most = 0;
    while !waiter.is_finished() {
        most = most.max(memory_of(&group));
        std::thread::sleep(Duration::from_millis(20));
    }
    let took = begun.elapsed();
    let ended = waiter.join().map_err(|_| "the waiting thread")?;
    let ended = ended.ok_or_else(|| format!("it has not ended after {took:?}"))?;
    if ended.status != Some(0) {
        let said = ended.to_string().chars().take(2000).collect::<String>();
        return Err(format!("after {took:?}: {said}"));
    }
    let text = std::fs::read_to_string(place.path().join("out.json")).map_err(|error| error.to_string())?;
    let json = serde_json::from_str(&text).map_err(|error| format!("out.json: {error}"))?;
    let held = (row.holds)(&json, amount, place.path())?;
    if most > most_mib * MIB {
        return Err(format!("took {} MiB, more than {most_mib}", most / MIB));
    }
    Ok(format!("{:.1} s | {} MiB | {held}", took.as_secs_f64(), most / MIB))
}

/// The rows, one at a time: memory and time are what they measure.
pub(super) fn groups() -> Vec<Cases> {
    let mut cases = Cases::new("load", 1);
    for row in ROWS {
        cases = cases.case(row.what, || carried(row, row.slice, row.most_mib.0));
        cases = cases.on_request(&format!("full::{}", row.what), || carried(row, row.full, row.most_mib.1));
    }
    vec![cases]
}

fn carried(row: &Row, amount: u64, most_mib: u64) -> Result<(), String> {
    println!("{} | {amount} | {}", row.what, run(row, amount, most_mib)?);
    Ok(())
}

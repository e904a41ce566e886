//! The store under bad conditions and with many runs: killed while it writes, on a full disk, with two writers.
//!
//! `store::NAME` is a slice, `store::full::NAME` (`--ignored`, `make store`) all of it. `PLUMB_LOAD_PROGRAM` names the
//! release build, which the limits of time are for.

use crate::context::{measured_plumb, place};
use house::{Cases, Place, Run, Tmpfs, Words};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Bytes of the store for each run of a short survey of simulated tests: 300 MB for 10,000.
const BYTES_PER_RUN: u64 = 30_000;
/// The same for a usual quick survey, of 1 to 64 users.
const BYTES_PER_QUICK_SURVEY: u64 = 30_000;
/// The same for a single test of 64 users.
const BYTES_PER_TEST: u64 = 9_000;
/// The first runs of a store, whose tables and series are new.
const FIRST: u64 = 5;

/// One row: what is tried, and how often.
struct Row {
    what: &'static str,
    slice: u64,
    full: u64,
    run: fn(u64) -> Result<String, String>,
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row { what: "killed while adding", slice: 40, full: 200, run: killed },
    Row { what: "a full disk", slice: 1, full: 5, run: full_disk },
    Row { what: "two writers", slice: 10, full: 100, run: two_writers },
    Row { what: "many surveys", slice: 200, full: 1_000, run: many_surveys },
    Row { what: "many real surveys", slice: 20, full: 10_000, run: many_real_surveys },
];

/// The rows, one at a time: time is what some of them measure.
pub(super) fn groups() -> Vec<Cases> {
    let mut cases = Cases::new("store", 1);
    for row in ROWS {
        cases = cases.case(row.what, || carried(row, row.slice));
        cases = cases.on_request(&format!("full::{}", row.what), || carried(row, row.full));
    }
    vec![cases]
}

fn carried(row: &Row, amount: u64) -> Result<(), String> {
    println!("{} | {amount} | {}", row.what, (row.run)(amount)?);
    Ok(())
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn plumb(store: &Path, words: impl Words) -> Run {
    measured_plumb(&std::env::temp_dir(), words).env("PLUMB_STORE", store)
}

fn add(store: &Path, document: &Path) -> Run {
    plumb(store, "store add").words([document])
}

/// Fails unless the command ends with status 0; returns what it printed.
fn good(run: Run) -> Result<String, String> {
    let ended = run.end();
    if ended.status == Some(0) { Ok(ended.stdout) } else { Err(ended.to_string()) }
}

/// A run that was measured here, in half a second.
fn measured(place: &Place) -> Result<Value, String> {
    let words =
        "fio --name=a --rw=randread --size=1m --runtime=500ms --time_based --output=/dev/null --result=one.json";
    good(measured_plumb(place, words).without_env("PLUMB_STORE"))?;
    Ok(place.json("one.json"))
}

/// A short survey of nine tests of four seconds: the run with other numbers of users, and each interval with other
/// counts.
fn survey(one: &Value, number: u64) -> Value {
    let mut random = measure::SplitMix::new(number);
    let began = 1_700_000_000_000_u64 + number * 86_400_000;
    let tests: Vec<Value> = (0..9_u64)
        .map(|test| {
            let mut result = one["result"].clone();
            result["jobs"][0]["workers"] = json!(1 + test);
            result["jobs"][0]["started_unix_ms"] = json!(began);
            result["jobs"][0]["directions"]["read"]["ios"] = json!(100_000 + random.next_word() % 1000);
            result["monitored"]["began_unix_ms"] = json!(began + test);
            result["notes"] = json!([]);
            let first = result["monitored"]["intervals"][0].clone();
            let intervals = (1..=8_u64).map(|at| {
                let mut interval = first.clone();
                interval["until"] = json!(at * 500_000_000 + random.next_word() % 100_000);
                interval["ios"][0] = json!(10_000 + random.next_word() % 500);
                let counts = (0..40).map(|bucket| json!([100 + bucket, random.next_word() % 2000]));
                interval["latencies"] = json!([counts.collect::<Vec<_>>(), [], []]);
                interval
            });
            result["monitored"]["intervals"] = Value::Array(intervals.collect());
            json!({ "test": "random_read", "users": 1 + test, "round": 1, "result": result })
        })
        .collect();
    json!({ "schema": 1, "program": "plumb 0.1.0", "command": "survey", "target": { "path": "/data" }, "tests": tests })
}

fn document(place: &Path, number: u64, one: &Value) -> Result<PathBuf, String> {
    let path = place.join(format!("survey-{number}.json"));
    std::fs::write(&path, survey(one, number).to_string()).map_err(said)?;
    Ok(path)
}

/// The number of runs, after a check of the whole store.
fn sound(store: &Path) -> Result<usize, String> {
    good(plumb(store, "store check"))?;
    Ok(good(plumb(store, "store list"))?.lines().count())
}

/// A program that is killed at any moment of adding leaves whole runs or none.
fn killed(tries: u64) -> Result<String, String> {
    let place = place();
    let store = place.file("plumb.db");
    let one = measured(&place)?;
    let begun = Instant::now();
    let first = document(place.path(), 0, &one)?;
    good(add(&store, &first))?;
    let usual = begun.elapsed().as_micros().max(1);
    let mut random = measure::SplitMix::new(11);
    let mut ended = 0;
    for number in 1..=tries {
        let path = document(place.path(), number, &one)?;
        let running = add(&store, &path).start();
        let after = u64::try_from(u128::from(random.next_word()) % (usual * 5 / 4)).unwrap_or(0);
        std::thread::sleep(Duration::from_micros(after));
        running.signal(Signal::KILL);
        ended += usize::from(running.end().status == Some(0));
        std::fs::remove_file(path).map_err(said)?;
        if number % 20 == 0 {
            sound(&store)?;
        }
    }
    let runs = sound(&store)?;
    if runs <= ended {
        return Err(format!("{runs} runs, but {ended} and the first were added"));
    }
    good(plumb(&store, "history /data"))?;
    Ok(format!("{tries} kills, {ended} too late, {runs} whole runs"))
}

/// On a full disk a run is refused by name, the others stay, and there is room again when one is forgotten.
fn full_disk(times: u64) -> Result<String, String> {
    let place = place();
    let one = measured(&place)?;
    let mut kept = 0;
    for time in 0..times {
        let disk = Tmpfs::new((1 << 20) + time * 300_000).map_err(said)?;
        let store = disk.path().join("plumb.db");
        let mut added = 0;
        let refusal = loop {
            let path = document(place.path(), added, &one)?;
            let ended = add(&store, &path).end();
            if ended.status != Some(0) {
                break ended.stderr;
            }
            added += 1;
            if added > 1000 {
                return Err("the disk is never full".to_owned());
            }
        };
        if !refusal.contains("no space left") {
            return Err(format!("refused with: {refusal}"));
        }
        let runs = sound(&store)?;
        if runs as u64 != added || added == 0 {
            return Err(format!("{runs} runs of {added}"));
        }
        kept += runs;
        // A measurement does not fail because of it, with no room even for a small result.
        let ballast = std::fs::File::create(disk.path().join("ballast")).map_err(said)?;
        while (&ballast).write_all(&[0; 512]).is_ok() {}
        let survey = plumb(&store, "survey --size 16M --time 1 --tests randread --users 1 --output");
        let ended = survey.words([place.file(format!("s-{time}.json")).as_path(), place.path()]).end();
        if ended.status != Some(0) || !ended.stderr.contains("the result is not in the store") {
            return Err(format!("a survey with a full store: {ended}"));
        }
    }
    Ok(format!("{kept} runs on {times} full disks"))
}

/// Two programs that add at the same time both succeed.
fn two_writers(each: u64) -> Result<String, String> {
    let place = place();
    let store = place.file("plumb.db");
    let one = measured(&place)?;
    for number in 0..each {
        let paths = [document(place.path(), 2 * number, &one)?, document(place.path(), 2 * number + 1, &one)?];
        for running in paths.map(|path| add(&store, &path).start()) {
            running.end().exits(0);
        }
    }
    let runs = sound(&store)?;
    if runs as u64 == 2 * each { Ok(format!("{runs} runs")) } else { Err(format!("{runs} runs, not {}", 2 * each)) }
}

/// Many surveys of nine tests with one job each.
fn many_surveys(count: u64) -> Result<String, String> {
    let place = place();
    let one = measured(&place)?;
    many(count, place.path(), ("random reads 4k, 9 users", BYTES_PER_RUN), |number| survey(&one, number))
}

/// Many quick surveys of up to 64 users, as they were measured here: one, whose I/Os differ by a tenth from run to run;
/// all else is noise already. The slice has one test of a second with 64.
fn many_real_surveys(count: u64) -> Result<String, String> {
    let place = place();
    let (words, bytes) = match count {
        ..100 => ("--users=64 --time=1 --warm-up=0 --tests=randread", BYTES_PER_TEST),
        _ => ("", BYTES_PER_QUICK_SURVEY),
    };
    let survey = measured_plumb(&place, "survey --quick --size=64M --no-report --no-store --output real.json .");
    good(survey.words(words))?;
    let real = place.json("real.json");
    many(count, place.path(), ("random reads 8k, 64 users", bytes), |number| {
        let mut random = measure::SplitMix::new(number);
        let mut survey = real.clone();
        for test in survey["tests"].as_array_mut().into_iter().flatten() {
            let result = &mut test["result"];
            result["monitored"]["began_unix_ms"] = json!(1_700_000_000_000_u64 + number * 86_400_000);
            for job in result["jobs"].as_array_mut().into_iter().flatten() {
                for ios in job["directions"].as_object_mut().into_iter().flatten().map(|(_, found)| &mut found["ios"]) {
                    let count = ios.as_u64().unwrap_or(0);
                    *ios = json!(count - count / 20 + random.next_word() % (count / 10).max(1));
                }
            }
        }
        survey
    })
}

/// Many documents in one store: the room that each takes, and the time of `plumb history`, which must show this test.
fn many(
    count: u64,
    place: &Path,
    (shows, most_bytes): (&str, u64),
    survey: impl Fn(u64) -> Value,
) -> Result<String, String> {
    let path = place.join("plumb.db");
    let filled = |numbers: std::ops::Range<u64>| {
        let mut store = store::Store::to_write(&path).map_err(said)?;
        for number in numbers {
            let document = store::Document::read(survey(number).to_string().into_bytes()).map_err(said)?;
            store.add(&document, "2026-11-22").map_err(said)?;
        }
        drop(store);
        std::fs::metadata(&path).map(|file| file.len()).map_err(said)
    };
    let first = filled(0..FIRST)?;
    let each = (filled(FIRST..count)? - first) / (count - FIRST);
    if each > most_bytes {
        return Err(format!("{each} bytes of each of {count} surveys, {most_bytes} are allowed"));
    }
    let mut longest = Duration::ZERO;
    for words in ["history", "history --last 100"] {
        // Other tests may have the processors at one look; the work takes the same time at each.
        let mut shortest = Duration::MAX;
        for _ in 0..3 {
            let begun = Instant::now();
            let shown = good(plumb(&path, words))?;
            shortest = shortest.min(begun.elapsed());
            if !shown.contains(shows) {
                return Err(shown);
            }
        }
        longest = longest.max(shortest);
    }
    let limit = if std::env::var_os("PLUMB_LOAD_PROGRAM").is_some() { 100 } else { 1500 };
    if longest > Duration::from_millis(limit) {
        return Err(format!("history took {longest:?}, {limit} ms are allowed"));
    }
    Ok(format!("{each} bytes each, history in {longest:?}"))
}

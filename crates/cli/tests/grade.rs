//! `plumb grade` and the page of the same result: the same grades, the same profile, the same reasons.

use crate::context::{place, plumb};
use house::Place;
use measure::{Direction, Histogram, Moments, Nanos};
use model::{
    DeviceFacts, DirectionResult, Echo, GroupGain, GroupLimits, Interval, JobResult, LatencyStatistics, Monitored,
    RunResult,
};
use plan::{Distribution, Flushes, Mix, Order, Work, Workload};
use serde_json::{Value, json};
use std::path::Path;

/// Ten seconds of random reads of 8 KiB, each of this latency, by users who are all busy.
fn reads(users: u32, latency: Nanos, disk: &DeviceFacts) -> RunResult {
    let window = Nanos::from_secs(10);
    let ios = u64::from(users) * (window.get() / latency.get());
    let mut histogram = Histogram::new();
    histogram.record_many(latency, ios);
    let (each, count) = (u128::from(latency.get()), u128::from(ios));
    let moments = Moments::from_parts(ios, latency.get(), latency.get(), each * count, each * each * count);
    let total = Some(LatencyStatistics { moments, histogram: Some(Box::new(histogram)) });
    let mut job = JobResult {
        echo: Echo { name: "a".into(), engine: "psync".into(), iodepth: 1, ..Echo::default() },
        workers: users,
        workload: Some(Workload { order: Order::Random(Distribution::Uniform), ..Workload::default() }),
        ..JobResult::default()
    };
    job.echo.block_sizes.read = (8192, 8192);
    job.directions.read =
        DirectionResult { bytes: ios * 8192, ios, runtime: window, total, ..DirectionResult::default() };
    let interval = |second: u64| Interval {
        until: Nanos::from_secs(second),
        measuring: users,
        bytes: [ios / 10 * 8192, 0, 0],
        ios: [ios / 10, 0, 0],
        group: Some(GroupGain::default()),
        ..Interval::default()
    };
    let monitored =
        Monitored { devices: vec![disk.clone()], intervals: (1..=10).map(interval).collect(), ..Monitored::default() };
    RunResult { jobs: vec![job], monitored: Some(monitored), ..RunResult::default() }
}

/// The same, held back by a CPU quota for half of the time.
fn held_back(mut result: RunResult) -> RunResult {
    let monitored = result.monitored.as_mut().unwrap();
    monitored.group_limits = Some(GroupLimits { cpus: Some(1.5), ..GroupLimits::default() });
    for interval in &mut monitored.intervals {
        interval.group.as_mut().unwrap().throttled_us = Some(500_000);
    }
    result
}

fn survey(path: &Path, results: &[RunResult]) {
    let test = |result: &RunResult| json!({ "test": "random_read", "users": result.jobs[0].workers, "result": result });
    let tests: Vec<Value> = results.iter().map(test).collect();
    let document =
        json!({ "schema": model::SCHEMA, "program": "plumb", "target": { "path": "/data" }, "tests": tests });
    std::fs::write(path, document.to_string()).unwrap();
}

fn shown(words: &[&str], place: &Place) -> String {
    let run = plumb(place, words).end();
    // Status 1: the card has no grade at all.
    assert!(run.status <= Some(1) && !run.stdout.is_empty(), "{run}");
    run.stdout
}

fn document(words: &[&str], place: &Place) -> Value {
    serde_json::from_str(&shown(words, place)).unwrap()
}

/// The letter of a mark in JSON: of a grade, of a number without one, of nothing.
fn letter(mark: &Value) -> String {
    let none = if mark["measured"].is_object() { "–" } else { "?" };
    mark["graded"]["grade"].as_str().unwrap_or(none).to_owned()
}

/// Letters of the random reads: mean, 95 %, 99 %, and scaling of the 95 %; and the sentence with the profile.
fn by_grade(file: &str, place: &Place) -> ([String; 4], String) {
    let value = document(&["grade", "--json", file], place);
    let marks = &value["cards"][0]["lines"][0]["marks"];
    let [mean, p95, p99] = [0, 1, 2].map(|metric| letter(&marks[metric]["latency"]));
    let text = shown(&["grade", file], place);
    let profile = text
        .lines()
        .find(|line| line.starts_with("  Profile ") || line.starts_with("  No profile"))
        .unwrap_or_else(|| panic!("{text}"));
    ([mean, p95, p99, letter(&marks[1]["scaling"])], profile.trim().to_owned())
}

fn by_page(file: &str, place: &Place) -> ([String; 4], String) {
    let value = document(&["report", "--json", file], place);
    let pictures = value["pictures"].as_array().unwrap();
    let card = &pictures.iter().find(|picture| picture["chart"] == "card").unwrap_or_else(|| panic!("{value}"))["data"];
    let row = &card["rows"][0];
    let letters = ["average", "p95", "p99", "scaling"].map(|of| row[of]["letter"].as_str().unwrap_or("?").to_owned());
    (letters, card["notes"][0].as_str().unwrap().to_owned())
}

#[test]
fn grade_says_the_same_as_the_page() {
    let place = place();
    let disk = |name: &str, model: Option<&str>, rotational: bool| DeviceFacts {
        name: name.into(),
        model: model.map(str::to_owned),
        rotational: Some(rotational),
        leaf: true,
        top: true,
        ..DeviceFacts::default()
    };
    let [flash, rotating, nvme, bare, volume] = [
        disk("sda", Some("Samsung SSD 870"), false),
        disk("sda", Some("ST1000NM0011"), true),
        disk("nvme0n1", None, false),
        disk("vda", None, true),
        disk("nvme0n1", Some("Amazon Elastic Block Store"), false),
    ];
    let (fast, slow) = (Nanos::from_micros(350), Nanos::from_micros(540));
    let both = |disk: &DeviceFacts| vec![reads(16, fast, disk), reads(32, slow, disk)];
    let held = |disk: &DeviceFacts| vec![reads(16, fast, disk), held_back(reads(32, slow, disk))];
    let like_flash = [vec![reads(1, Nanos::from_micros(120), &bare)], both(&bare)].concat();
    let behind_a_network =
        [(1, 600), (16, 900), (32, 1400)].map(|(users, us)| reads(users, Nanos::from_micros(us), &volume)).to_vec();
    for (results, letters, profile) in [
        (both(&flash), ["A", "A", "A", "C"], "Profile ssd-2026, because sda is flash;"),
        (both(&rotating), ["A+", "A+", "A+", "C"], "Profile oracle-2012, because sda is a rotating disk;"),
        (both(&nvme), ["B-", "B-", "B-", "C"], "Profile nvme-2026, because nvme0n1 is NVMe flash;"),
        (
            like_flash,
            ["A", "A", "A", "C"],
            "Profile ssd-2026, because vda is virtual, and it does what flash behind SATA",
        ),
        (
            behind_a_network,
            ["–", "–", "–", "C"],
            "No profile, so latencies have no grade: nvme0n1 is virtual, and it does",
        ),
        (held(&flash), ["A", "A", "A", "?"], "Profile ssd-2026, because sda is flash;"),
    ] {
        survey(&place.path().join("survey.json"), &results);
        let (graded, profile_of_grade) = by_grade("survey.json", &place);
        assert_eq!(graded, letters, "{profile}");
        assert!(profile_of_grade.starts_with(profile), "{profile_of_grade}");
        assert_eq!(by_page("survey.json", &place), (graded, profile_of_grade), "{profile}");
        // The same results as separate files.
        for (result, name) in results.iter().zip(["run-16.json", "run-32.json"]) {
            place.write(name, formats::native::write(result).unwrap());
        }
        let value = document(&["grade", "--json", "disk=run-16.json", "run-32.json"], &place);
        let card = &value["cards"][0];
        assert_eq!((&card["system"], value["cards"].as_array().map(Vec::len)), (&json!("disk"), Some(1)));
        assert_eq!(letter(&card["lines"][0]["marks"][1]["latency"]), letters[1]);
    }
}

#[test]
fn a_missing_grade_has_its_reason() {
    let place = place();
    let disk = DeviceFacts { name: "sda".into(), leaf: true, rotational: Some(false), ..DeviceFacts::default() };
    let held = held_back(reads(32, Nanos::from_micros(540), &disk));
    survey(&place.path().join("s.json"), &[reads(16, Nanos::from_micros(350), &disk), held]);
    let text = shown(&["grade", "s.json"], &place);
    assert!(
        text.contains("(scaling): by 32 users the tester was the limit: the quota of 1.5 processors held the workers"),
        "{text}"
    );
    assert!(!text.contains("not known; --profile") && text.contains("--profile chooses another."), "{text}");
    let text = shown(&["grade", "--profile", "nvme-2026", "s.json"], &place);
    assert!(text.starts_with("s.json: nvme-2026 - NVMe flash of 2026") && !text.contains("--profile"), "{text}");
}

/// The whole text of `plumb grade`, and the same line on the page, which has no card.
fn one_line(results: &[RunResult], place: &Place) -> String {
    survey(&place.path().join("s.json"), results);
    let text = shown(&["grade", "s.json"], place);
    let page = document(&["report", "--json", "s.json"], place);
    let charts = || page["pictures"].as_array().unwrap().iter().map(|picture| picture["chart"].as_str().unwrap());
    assert!(charts().any(|chart| chart == "sweep") && !charts().any(|chart| chart == "card"), "{page}");
    let on_page = page["remarks"].as_array().unwrap().iter().filter_map(Value::as_str);
    let on_page: Vec<&str> = on_page.filter_map(|line| line.split_once(": no grades, ")).map(|(_, why)| why).collect();
    assert_eq!(on_page.len(), 1, "{page}");
    assert_eq!(text.matches(on_page[0].trim_end_matches('.')).count(), 1, "{text}");
    text
}

#[test]
fn a_card_without_grades_is_a_line() {
    let place = place();
    let disk = DeviceFacts { name: "sda".into(), leaf: true, rotational: Some(false), ..DeviceFacts::default() };
    let fast = Nanos::from_micros(350);
    let held = one_line(&[held_back(reads(16, fast, &disk)), held_back(reads(32, fast, &disk))], &place);
    assert!(held.contains("no grades, because by 16 users the tester was the limit: the quota of 1.5"), "{held}");
    assert!(!held.contains("more reason"), "16 and 32 users were held back by the same: {held}");
    // What is not a result of the storage has no grade: this engine drops every I/O.
    let null = |users: u32| {
        let mut result = reads(users, fast, &disk);
        result.jobs[0].echo.engine = "null".into();
        result.jobs[0].workload.as_mut().unwrap().work = Work::Null;
        result
    };
    let dropped = one_line(&[null(16), null(32)], &place);
    assert!(
        dropped.contains("no grades, because by 16 users this is not a storage result: engine `null`"),
        "{dropped}"
    );
    assert!([held, dropped].iter().all(|text| text.lines().count() == 1), "one line");
}

#[test]
fn a_run_that_is_not_on_the_card_is_a_line_with_what_to_run() {
    let place = place();
    let disk = DeviceFacts { name: "sda".into(), leaf: true, ..DeviceFacts::default() };
    let mut two = reads(3, Nanos::from_micros(350), &disk);
    two.jobs[0].echo.block_sizes.read = (65536, 65536);
    let mut other = two.jobs[0].clone();
    other.echo.name = "b".into();
    other.echo.block_sizes.read = (2 << 20, 2 << 20);
    two.jobs.push(other);
    place.write("run.json", formats::native::write(&two).unwrap());
    let text = shown(&["grade", "run.json"], &place);
    assert_eq!(
        text,
        "run.json: no grades, because no run is a test of the report card: plumb survey PATH measures them\n"
    );
    let page = document(&["report", "--json", "run.json"], &place);
    assert_eq!(page["remarks"], json!([]), "a page of a run that is not a test of the card says nothing of cards");
}

/// The same I/Os as writes of 8 KiB in sequence, each of which waits for stable storage, or does not.
fn writes(users: u32, latency: Nanos, waits: bool) -> RunResult {
    let mut result = reads(users, latency, &DeviceFacts::default());
    let job = &mut result.jobs[0];
    job.directions.write = std::mem::take(&mut job.directions.read);
    (job.echo.block_sizes.write, job.echo.block_sizes.read) = ((8192, 8192), (0, 0));
    let flushes = Flushes { by_each_write: waits, ..Flushes::default() };
    job.workload = Some(Workload { mix: Mix::Only(Direction::Write), flushes, ..Workload::default() });
    result
}

/// The names and the letters of the p95 of these files, as `plumb grade` and the page both have them.
fn of_files(results: &[RunResult], place: &Place) -> Vec<String> {
    let names: Vec<String> = (0..results.len()).map(|at| format!("part-{at}.json")).collect();
    for (result, name) in results.iter().zip(&names) {
        place.write(name, formats::native::write(result).unwrap());
    }
    let with =
        |words: &[&str]| document(&[words, &names.iter().map(String::as_str).collect::<Vec<_>>()].concat(), place);
    let graded = with(&["grade", "--profile", "ssd-2026", "--json"]);
    let lines = graded["cards"][0]["lines"].as_array().unwrap().iter().filter(|line| line["block_bytes"].is_u64());
    let of_grade: Vec<String> = lines
        .map(|line| {
            let letter = letter(&line["marks"][1]["latency"]);
            format!("{} by {} {letter}", line["test"].as_str().unwrap().replace('K', " KiB"), line["users"])
        })
        .collect();
    let page = with(&["report", "--profile", "ssd-2026", "--json"]);
    let card = page["pictures"].as_array().unwrap().iter().find(|picture| picture["chart"] == "card");
    let of_row = |row: &Value| {
        let users = row["load"].as_str().unwrap().split(' ').next().unwrap();
        format!("{} by {users} {}", row["detail"].as_str().unwrap(), row["p95"]["letter"].as_str().unwrap())
    };
    let rows = card.unwrap_or_else(|| panic!("{page}"))["data"]["rows"].as_array().unwrap();
    assert_eq!(rows.iter().map(of_row).collect::<Vec<_>>(), of_grade);
    of_grade
}

#[test]
fn the_nearest_run_is_graded_by_both_and_named() {
    let place = place();
    let us = Nanos::from_micros;
    let disk = DeviceFacts::default();
    let all = [reads(12, us(290), &disk), writes(1, us(60), true), writes(4, us(100), true), writes(16, us(300), true)];
    assert_eq!(of_files(&all, &place), ["random read 8 KiB by 12 A", "log write 8 KiB by 4 A+"]);
    // Writes that memory takes are not commits.
    let buffered = [reads(16, us(290), &disk), writes(4, us(5), false)];
    assert_eq!(of_files(&buffered, &place), ["random read 8 KiB by 16 A+", "log write 8 KiB by 4 ?"]);
    // Unlike jobs of one run are apart; plumb grade had them together, as 20 users of the first.
    let mut both = reads(16, us(290), &disk);
    both.jobs.extend(writes(4, us(100), true).jobs);
    assert_eq!(of_files(&[both], &place), ["random read 8 KiB by 16 A+", "log write 8 KiB by 4 A+"]);
}

//! `plumb ask`: answers by published limits, profiles of users, and which files stay.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Writes with a limit that every disk keeps, one that none keeps, and one that is advice only.
const PROFILE: &str = r#"
question = "Is it enough?"
load = "writes of 4 KiB with fdatasync"
not_asked = "Everything else."
space = "16m"
unit = "vCPU"

[[test]]
name = "writes"
jobs = """
[writes]
rw=write
bs=4k
size=16m
ioengine=sync
fdatasync=1
"""

[[test.rule]]
number = "sync p99"
below = "60s"
source = "here"
date = "2026-11"

[[test.rule]]
number = "write iops"
at_least = "1000000"
advice = true
source = "there"
date = "2026-11"
"#;

fn place(profile: &str) -> TempDir {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::create_dir(place.path().join("disk")).unwrap();
    std::fs::write(place.path().join("disk/precious"), "precious").unwrap();
    std::fs::write(place.path().join("mine.toml"), profile).unwrap();
    place
}

fn command(place: &Path, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plumb"));
    command.current_dir(place).arg("ask").args(words.split_whitespace());
    command
}

fn ask(place: &Path, words: &str) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command(place, words).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

/// The names of the files on the disk.
fn left(place: &Path) -> Vec<String> {
    let names = std::fs::read_dir(place.join("disk")).unwrap();
    names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_disk_that_is_enough_gets_a_yes_and_one_that_is_not_a_no() {
    let place = place(PROFILE);
    let short = "--profile mine.toml disk --time 18s --rounds 1 --accept cache,backing,nothing-moved --json";
    let missed = PROFILE.replace("advice = true\n", "");
    std::fs::write(place.path().join("missed.toml"), missed).unwrap();
    let answers: Vec<_> = std::thread::scope(|scope| {
        let both = [
            format!("{short} --page answer.html"),
            short.replace("mine.toml", "missed.toml --scale 4 --page answer.pdf"),
        ];
        let started = both.map(|words| scope.spawn(|| (ask(place.path(), &words), words).0));
        started.map(|thread| thread.join().unwrap()).into_iter().collect()
    });
    let documents: Vec<Value> = answers.iter().map(|(_, text, _)| serde_json::from_str(text).unwrap()).collect();
    assert_eq!(answers.iter().map(|(status, ..)| *status).collect::<Vec<_>>(), [0, 1], "{answers:?}");
    assert_eq!((&documents[0]["answer"], &documents[1]["answer"]), (&"yes".into(), &"no".into()));
    let rules = &documents[1]["tests"][0]["rules"];
    assert_eq!((&rules[0]["answer"], &rules[1]["answer"]), (&"yes".into(), &"no".into()), "{rules}");
    assert_eq!(rules[1]["limit"], 4e6, "--scale multiplies limits on rates");
    let [sync, writes] = [0, 1].map(|at| rules[at]["rounds"][0]["value"].as_f64());
    // A slow disk does too few for a 99th percentile.
    assert!(sync.is_none_or(|sync| sync > 1000.0 && sync < 6e10), "p99 of fdatasync: {sync:?} ns");
    let writes = writes.expect("a rate");
    assert!(writes > 1.0 && writes < 1e6, "writes: {writes}/s");
    let shown = documents[1]["tests"][0]["rounds"][0][0]["iops"].as_f64().unwrap();
    assert_eq!(shown, writes, "the rate of the test is that of its rule");
    assert!(
        documents[0]["sentences"][0].as_str().unwrap().contains("Is it enough? Yes, on disk for 1 vCPU."),
        "{}",
        documents[0]
    );
    let page = std::fs::read_to_string(place.path().join("answer.html")).unwrap();
    assert!(page.contains("Is it enough? Yes, on disk for 1 vCPU.") && page.contains("here (2026-11)"), "{page}");
    let pdf = std::fs::read(place.path().join("answer.pdf")).unwrap();
    assert!(pdf.starts_with(b"%PDF-"), "{} bytes", pdf.len());
    assert_eq!(left(place.path()), ["precious"]);
}

#[test]
fn numbers_that_do_not_decide_have_their_status() {
    let place = place(PROFILE);
    let simulated = "--profile mine.toml disk --with ioengine=sim --time 5s --rounds 2";
    let (status, text, errors) = ask(place.path(), simulated);
    assert_eq!(status, 3, "{text}{errors}");
    assert!(text.contains("NOT A STORAGE RESULT: nothing moved"), "{text}");
    let (status, text, errors) = ask(place.path(), &format!("{simulated} --accept nothing-moved"));
    assert_eq!(status, 2, "{text}{errors}");
    assert!(text.contains("Is it enough? Cannot tell, on disk for 1 vCPU: "), "{text}");
    assert!(text.contains("here (2026-11)") && text.contains("advised 1,000,000/s or more"), "{text}");
    let bare = PROFILE.split("\n[[test.rule]]").next().unwrap();
    std::fs::write(place.path().join("bare.toml"), bare).unwrap();
    let (status, text, errors) =
        ask(place.path(), &format!("{} --accept nothing-moved", simulated.replace("mine", "bare")));
    assert_eq!(status, 0, "{text}{errors}");
    assert!(text.contains("No limit is published"), "{text}");
    assert_eq!(left(place.path()), ["precious"]);
}

/// How many users, of ten random reads per second each, have a median response below a limit that every disk keeps?
const SIZED: &str = r#"
question = "How many users can read here?"
load = "10 random reads per second of each user"
not_asked = "Writes."
space = "16m"
unit = "user"
most = 1000

[[test]]
name = "reads"
jobs = """
[reads]
rw=randread
bs=4k
size=16m
rate_iops={10 * units}
rate_process=poisson
iodepth=256
ioengine=libaio
direct=1
"""

[[test.rule]]
number = "read p50"
below = "300ms"
source = "here"
date = "2026-11"
"#;

#[test]
fn a_number_of_units_is_between_what_is_enough_and_what_is_too_much() {
    let words = "--profile mine.toml disk --time 20s --rounds 1 --accept cache,backing,nothing-moved";
    // No disk reads in a microsecond, with the system call.
    let none = SIZED.replace("300ms", "1us");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let place = place(&SIZED.replace("most = 1000", "most = 2"));
            at_least_two(&ask(place.path(), &format!("{words} --json --page a.svg")), place.path());
        });
        scope.spawn(|| {
            let (status, text, errors) = ask(place(&none).path(), words);
            assert_eq!(status, 1, "{text}{errors}");
            assert!(text.contains("How many users can read here? Not even 1, on disk: read p50 of reads is"), "{text}");
        });
        let (status, text, errors) = ask(place(&none).path(), &format!("{words} --scale 3"));
        assert_eq!(status, 1, "{text}{errors}");
        assert!(text.contains("How many users can read here? No, on disk for 3 users: read p50 of reads is"), "{text}");
    });
}

/// The answer of a search that ends at the largest number that is tried.
fn at_least_two((status, text, errors): &(i32, String, String), place: &Path) {
    assert_eq!(*status, 0, "{text}{errors}");
    let document: Value = serde_json::from_str(text).unwrap();
    let search = &document["search"];
    assert_eq!((&search["enough_for"], &search["too_many"]), (&2.into(), &Value::Null), "{search}");
    let tried: Vec<_> =
        search["tried"].as_array().unwrap().iter().map(|tried| tried["units"].as_u64().unwrap()).collect();
    assert_eq!(tried, [1, 2, 2], "{search}");
    let first = document["sentences"][0].as_str().unwrap();
    assert_eq!(first, "How many users can read here? At least 2 users, on disk: no larger number was tried.");
    let rates = &document["tests"][0]["rounds"][0][0]["iops"];
    assert!((rates.as_f64().unwrap() / 20.0 - 1.0).abs() < 0.5, "two users are 20 reads per second: {rates}");
    let svg = std::fs::read_to_string(place.join("a.svg")).unwrap();
    assert!(svg.contains("reads: read p50 below 300 ms") && svg.contains("round 1"), "{svg}");
}

#[test]
fn mistakes_are_named_before_anything_is_measured() {
    let place = place(PROFILE);
    std::fs::write(place.path().join("broken.toml"), "question = 'x'\nload = 3\n").unwrap();
    std::fs::write(place.path().join("unsourced.toml"), PROFILE.replace("\"there\"", "\"\"")).unwrap();
    std::fs::write(place.path().join("large.toml"), PROFILE.replace("space = \"16m\"", "space = \"1000t\"")).unwrap();
    std::fs::write(place.path().join("job.toml"), PROFILE.replace("bs=4k", "bs=4q")).unwrap();
    for (name, line) in [("command", "exec_prerun=touch precious"), ("outside", "filename=../precious")] {
        let text = PROFILE.replace("bs=4k", &format!("bs=4k\n{line}"));
        std::fs::write(place.path().join(format!("{name}.toml")), text).unwrap();
    }
    for (words, expected) in [
        ("", "name a program and a directory"),
        ("nothing disk", "no program nothing; plumb ask --list"),
        ("etcd", "name a directory on the disk: plumb ask etcd PATH"),
        ("etcd mine.toml", "mine.toml: is not a directory"),
        ("etcd disk --scale 2", "--scale: the limits of etcd are not for a number of units"),
        ("--profile none.toml disk", "none.toml: "),
        ("--profile broken.toml disk", "line 2"),
        ("--profile unsourced.toml disk", "a rule needs its source and date"),
        ("--profile large.toml disk", "its files take 1000T"),
        ("--profile job.toml disk", "4q"),
        ("--list etcd", "--list takes no names"),
        ("--show etcd disk", "--show prints a job file"),
        ("etcd disk --with runtime=3", "runtime is set by plumb ask itself"),
        ("etcd disk --time 0", "--time"),
        ("etcd disk --untrusted", "--profile <FILE>"),
        ("--profile command.toml disk --untrusted", "--untrusted: exec_prerun=touch precious "),
        ("--profile outside.toml --show --untrusted", "--untrusted: filename=../precious leads out of this directory"),
        (
            "etcd disk --page answer.txt",
            "answer.txt: the page of an answer is .html or .pdf, its picture alone .svg or .png",
        ),
        ("kafka disk --page answer.svg", "answer.svg: kafka has no limits to draw"),
        ("nvr disk --scale 9999", "--scale 9999: the I/O of nvr is for 5000 units at most"),
    ] {
        let (status, text, errors) = ask(place.path(), words);
        assert_eq!((status, text.as_str()), (3, ""), "{words}: {errors}");
        assert!(errors.contains(expected), "{words}: {errors}");
    }
    assert_eq!(left(place.path()), ["precious"]);
}

#[test]
fn a_signal_ends_it_with_the_rounds_so_far_without_its_files() {
    let place = place(PROFILE);
    let words = "--profile mine.toml disk --time 1s --rounds 100 --accept cache,backing,nothing-moved";
    let mut running = command(place.path(), words);
    let running = running.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // A round takes two seconds with its warm-up.
    std::thread::sleep(Duration::from_millis(3500));
    kill_process(Pid::from_child(&running), Signal::INT).unwrap();
    let output = running.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(130), "{text}");
    assert!(text.contains("No answer, on disk for 1 vCPU: it was ended after 1 of 100 runs"), "{text}");
    assert!(text.contains("  write ") && text.contains(" IOPS, "), "{text}");
    assert_eq!(left(place.path()), ["precious"]);
}

#[test]
fn all_job_files_of_programs_run_in_fio_and_in_plumb() {
    let place = place(PROFILE);
    let (_, list, _) = ask(place.path(), "--list --json");
    let list: Value = serde_json::from_str(&list).unwrap();
    let programs = list["programs"].as_array().unwrap();
    assert!(programs.len() >= 18 && programs.iter().filter(|program| program["has_limits"] == true).count() >= 10);
    let check = |name: &str| {
        let (status, jobs, errors) = ask(place.path(), &format!("--show {name} --time 1s"));
        assert_eq!(status, 0, "{errors}");
        let here = place.path().join(name);
        std::fs::create_dir(&here).unwrap();
        // As it is, but for the size of its files.
        let size = |line: &str| match line.split_once('=') {
            Some((option @ ("size" | "filesize"), _)) => format!("{option}=32m\n"),
            _ => format!("{line}\n"),
        };
        let small: String = jobs.lines().map(size).collect();
        std::fs::write(here.join("one.fio"), &small).unwrap();
        std::fs::write(here.join("whole.fio"), &jobs).unwrap();
        let run = |program: &str, words: &[&str]| {
            let output = Command::new(program).args(words).current_dir(&here).output().unwrap();
            assert!(output.status.success(), "{name}: {output:?}\n{jobs}");
            output.stdout
        };
        run(env!("CARGO_BIN_EXE_plumb"), &["fio", "--parse-only", "whole.fio"]);
        let document: Value =
            serde_json::from_slice(&run("fio", &["--output-format=json", "one.fio"])).expect("JSON of fio");
        for job in document["jobs"].as_array().unwrap() {
            let ios = |direction: &str| job[direction]["total_ios"].as_u64().unwrap();
            assert!(job["error"] == 0 && ios("read") + ios("write") > 0, "{name}: {job}");
        }
    };
    let names: Vec<&str> = programs.iter().map(|program| program["name"].as_str().unwrap()).collect();
    std::thread::scope(|scope| {
        for part in names.chunks(names.len().div_ceil(6)) {
            scope.spawn(move || part.iter().for_each(|name| check(name)));
        }
    });
}

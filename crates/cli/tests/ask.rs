//! `plumb ask`: answers by published limits, profiles of users, and what is left behind.

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
fn a_disk_that_is_enough_gets_a_yes_with_its_numbers_and_one_that_is_not_a_no() {
    let place = place(PROFILE);
    let short = "--profile mine.toml disk --time 9s --rounds 1 --accept cache,memory,nothing-moved --json";
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
    let [sync, writes] = [0, 1].map(|at| rules[at]["rounds"][0]["value"].as_f64().unwrap());
    assert!(sync > 1000.0 && sync < 6e10, "p99 of fdatasync: {sync} ns");
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
fn numbers_that_do_not_decide_and_results_not_of_the_storage_have_their_status() {
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

#[test]
fn mistakes_are_named_before_anything_is_measured() {
    let place = place(PROFILE);
    std::fs::write(place.path().join("broken.toml"), "question = 'x'\nload = 3\n").unwrap();
    std::fs::write(place.path().join("unsourced.toml"), PROFILE.replace("\"there\"", "\"\"")).unwrap();
    std::fs::write(place.path().join("large.toml"), PROFILE.replace("space = \"16m\"", "space = \"1000t\"")).unwrap();
    std::fs::write(place.path().join("job.toml"), PROFILE.replace("bs=4k", "bs=4q")).unwrap();
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
        ("etcd disk --page answer.svg", "answer.svg: the page of an answer is .html or .pdf"),
    ] {
        let (status, text, errors) = ask(place.path(), words);
        assert_eq!((status, text.as_str()), (3, ""), "{words}: {errors}");
        assert!(errors.contains(expected), "{words}: {errors}");
    }
    assert_eq!(left(place.path()), ["precious"]);
}

#[test]
fn a_signal_ends_it_with_the_rounds_so_far_and_its_files_are_removed() {
    let place = place(PROFILE);
    let words = "--profile mine.toml disk --time 1s --rounds 100 --accept cache,memory,nothing-moved";
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
fn the_job_files_of_all_programs_are_read_by_fio_and_by_plumb() {
    let place = place(PROFILE);
    let (_, list, _) = ask(place.path(), "--list --json");
    let list: Value = serde_json::from_str(&list).unwrap();
    let programs = list["programs"].as_array().unwrap();
    assert!(programs.len() >= 18 && programs.iter().filter(|program| program["has_limits"] == true).count() >= 10);
    for program in programs {
        let name = program["name"].as_str().unwrap();
        let (status, jobs, errors) = ask(place.path(), &format!("--show {name}"));
        assert_eq!(status, 0, "{errors}");
        let path = place.path().join("one.fio");
        std::fs::write(&path, &jobs).unwrap();
        for fio in [&["fio"][..], &[env!("CARGO_BIN_EXE_plumb"), "fio"]] {
            let output = Command::new(fio[0]).args(&fio[1..]).arg("--parse-only").arg(&path).output().unwrap();
            assert!(output.status.success(), "{name}, {fio:?}: {output:?}\n{jobs}");
        }
    }
}

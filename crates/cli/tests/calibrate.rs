//! `plumb calibrate`, and what commands show of the calibration of a run.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

const PLUMB: &str = env!("CARGO_BIN_EXE_plumb");

fn place() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn run(place: &Path, starter: &str, words: &str) -> Output {
    let mut all = starter.split_whitespace().chain([PLUMB]).chain(words.split_whitespace());
    Command::new(all.next().unwrap()).args(all).current_dir(place).output().unwrap()
}

/// Standard output of a run that must succeed.
fn good(place: &Path, words: &str) -> String {
    let output = run(place, "", words);
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_usual_engines_end_with_two_sentences() {
    let text = good(place().path(), "calibrate");
    for part in [
        "psync: an I/O that takes no time would show ",
        "libaio: ",
        "as measured by pread of 0 bytes",
        "io_uring, up to 32 at a time: ",
        "waking up costs ",
        "Latencies are true to -",
        "clock ",
        " ns per read",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("plumb adds at most ") && last.matches(". ").count() == 1, "{text}");
    assert!(!good(place().path(), "calibrate --quiet --engine psync").contains("plumb adds"));
}

#[test]
fn in_virtual_time_every_part_is_0_and_printed_so() {
    let text = good(place().path(), "calibrate --engine sim --depth 8");
    for part in ["would show 0.00 µs (p99 0.00 µs)", "waking up costs 0.00 µs (p99 0.00 µs)", "true to -0.00 µs"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_forbidden_ring_is_not_measured_and_says_why() {
    let strace = "strace -f -qq -o /dev/null -e inject=io_uring_setup:error=EPERM";
    let output = run(place().path(), strace, "calibrate --engine io_uring");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("loop: not measured: ") && text.contains("Operation not permitted"), "{text}");
    assert!(text.contains("too long by an unknown share of the tool") && !text.contains("would show"), "{text}");
}

#[test]
fn a_calibration_opens_no_target() {
    let place = place();
    std::fs::write(place.path().join("precious"), vec![7; 1 << 20]).unwrap();
    let words = "calibrate -- --name=a --filename=precious --rw=randwrite --ioengine=io_uring --iodepth=4 --direct=1";
    let output = run(place.path(), "strace -f -qq -o trace -e trace=open,openat,openat2,unlink", words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let trace = std::fs::read_to_string(place.path().join("trace")).unwrap();
    assert!(trace.contains("openat(") && !trace.contains("precious"), "{trace}");
    assert_eq!(std::fs::read(place.path().join("precious")).unwrap(), vec![7; 1 << 20]);
}

#[test]
fn what_is_not_a_job_is_refused() {
    let place = place();
    for (words, reason) in [
        ("calibrate --engine warp", "warp"),
        ("calibrate --engine psync --depth 0", "--depth"),
        ("calibrate -- --version", "are not a job"),
        ("calibrate -- --name=a --size=1m --gtod_reduce=1", "measures no latency"),
        ("calibrate --engine psync -- --name=a", "cannot be used with"),
    ] {
        let output = run(place.path(), "", words);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && error.contains(reason), "{words}: {error}");
    }
}

#[test]
fn one_calibration_is_the_same_in_all_four_outputs() {
    let place = place();
    let words = "--name=a --size=4m --rw=randread --ioengine=psync --lat_percentiles=1";
    let document = json(&good(place.path(), &format!("fio {words} --output-format=json --result=r.json")));
    let own = json(&std::fs::read_to_string(place.path().join("r.json")).unwrap());
    let tool = &own["result"]["jobs"][0]["calibration"];
    assert!(tool["loop_ns"][0].as_u64().unwrap() > 10 && tool["reap_ns"] == 0.0, "{tool}");
    assert_eq!(&document["plumb"]["calibration"][0], tool);
    let explained = json(&good(place.path(), "explain --json r.json"));
    assert_eq!(&explained["results"][0]["calibration"][0]["tool"], tool);
    assert!(good(place.path(), "explain r.json").contains("tool, job a: an I/O that takes no time would show "));
    let page = json(&good(place.path(), "report --json r.json"));
    let text = page.to_string();
    assert!(text.contains("tool_p50_us"), "{text}");
}

#[test]
fn a_run_is_calibrated_only_where_it_is_shown_and_wanted() {
    let place = place();
    good(place.path(), "fio --name=a --size=4m --rw=randread --output=text.txt");
    let survey = |more: &str| {
        let words =
            "--tests randread --users 1 --time 1 --warm-up 0 --size 16M --engine sim --no-report --json --quiet .";
        json(&good(place.path(), &format!("survey {more} {words} -o -")))
    };
    let calibrated = |document: &Value| document.to_string().contains("\"loop_ns\"");
    assert!(calibrated(&survey("")) && !calibrated(&survey("--no-calibrate")));
    let refused = run(place.path(), "", "knee --no-calibrate --iozone -i 0 -s 64k -r 4k -t 1 -F f");
    assert_eq!(refused.status.code(), Some(1), "iozone's tests are not calibrated");
}

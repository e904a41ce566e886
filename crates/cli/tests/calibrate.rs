//! `plumb calibrate`, and what commands show of the calibration of a run.

use crate::context::{PLUMB, place, plumb};
use house::{Directory, Run};
use serde_json::Value;

/// A run below strace.
fn under(directory: impl Directory, strace: &str, words: &str) -> Run {
    Run::new("strace", directory).words(strace).words(format!("{PLUMB} {words}"))
}

#[test]
fn the_usual_engines_end_with_two_sentences() {
    let text = plumb(place(), "calibrate").stdout();
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
    assert!(!plumb(place(), "calibrate --quiet --engine psync").stdout().contains("plumb adds"));
}

#[test]
fn in_virtual_time_every_part_is_0_and_printed_so() {
    let text = plumb(place(), "calibrate --engine sim --depth 8").stdout();
    for part in ["would show 0 ns (p99 0 ns)", "waking up costs 0 ns (p99 0 ns)", "true to -0 ns"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_forbidden_ring_is_not_measured_and_says_why() {
    let strace = "-f -qq -o /dev/null -e inject=io_uring_setup:error=EPERM";
    let output = under(place(), strace, "calibrate --engine io_uring").end();
    let text = output.stdout;
    assert_eq!(output.status, Some(1), "{text}");
    assert!(text.contains("loop: not measured: ") && text.contains("Operation not permitted"), "{text}");
    assert!(text.contains("too long by an unknown share of the tool") && !text.contains("would show"), "{text}");
}

#[test]
fn a_calibration_opens_no_target() {
    let place = place();
    place.write("precious", vec![7; 1 << 20]);
    let words = "calibrate -- --name=a --filename=precious --rw=randwrite --ioengine=io_uring --iodepth=4 --direct=1";
    under(&place, "-f -qq -o trace -e trace=open,openat,openat2,unlink", words).succeeds();
    let trace = place.read("trace");
    assert!(trace.contains("openat(") && !trace.contains("precious"), "{trace}");
    assert_eq!(place.bytes("precious"), vec![7; 1 << 20]);
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
        let output = plumb(&place, words).end();
        let error = output.stderr;
        assert!(output.status == Some(1) && error.contains(reason), "{words}: {error}");
    }
}

#[test]
fn one_calibration_is_the_same_in_all_four_outputs() {
    let place = place();
    let words = "--name=a --size=4m --rw=randread --ioengine=psync --lat_percentiles=1";
    let document = plumb(&place, format!("fio {words} --output-format=json --result=r.json")).json();
    let own = place.json("r.json");
    let tool = &own["result"]["jobs"][0]["calibration"];
    assert!(tool["loop_ns"][0].as_u64().unwrap() > 10 && tool["reap_ns"] == 0.0, "{tool}");
    assert_eq!(&document["plumb"]["calibration"][0], tool);
    let explained = plumb(&place, "explain --json r.json").json();
    assert_eq!(&explained["results"][0]["calibration"][0]["tool"], tool);
    assert!(plumb(&place, "explain r.json").stdout().contains("tool, job a: an I/O that takes no time would show "));
    let page = plumb(&place, "report --json r.json").json();
    let text = page.to_string();
    assert!(text.contains("tool_p50_us"), "{text}");
}

#[test]
fn a_run_is_calibrated_only_where_it_is_shown_and_wanted() {
    let place = place();
    plumb(&place, "fio --name=a --size=4m --rw=randread --output=text.txt").stdout();
    let survey = |more: &str| {
        let words =
            "--tests randread --users 1 --time 1 --warm-up 0 --size 16M --engine sim --no-report --json --quiet .";
        plumb(&place, format!("survey {more} {words} -o -")).json()
    };
    let calibrated = |document: &Value| document.to_string().contains("\"loop_ns\"");
    assert!(calibrated(&survey("")) && !calibrated(&survey("--no-calibrate")));
    plumb(&place, "knee --no-calibrate --iozone -i 0 -s 64k -r 4k -t 1 -F f").exits(1);
}

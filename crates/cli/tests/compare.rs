//! `plumb compare` and `plumb gate` as programs: what they print of results of any origin, and every exit status.

use crate::context::{place, plumb};
use house::{Place, Transcript};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// fio's JSON of 16 random readers with this rate, that ended at this second.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate of some 80,000")]
fn fio_json(iops: f64, ended_s: u64) -> Value {
    let (ios, mean) = ((iops * 60.0) as u64, 16e9 / iops);
    let percentiles = json!({ "50.000000": mean * 0.95, "99.000000": mean * 2.0, "99.900000": mean * 3.0 });
    let latency = json!({ "min": mean / 2.0, "max": mean * 5.0, "mean": mean, "stddev": mean / 3.0, "N": ios });
    let mut completion = latency.clone();
    completion["percentile"] = percentiles;
    json!({
        "fio version": "fio-3.33",
        "timestamp": ended_s, "timestamp_ms": ended_s * 1000,
        "global options": { "ioengine": "libaio", "direct": "1", "bs": "8k", "size": "16g", "runtime": "60" },
        "jobs": [{
            "jobname": "reads", "groupid": 0, "error": 0, "elapsed": 61,
            "job options": { "rw": "randread", "numjobs": "16", "group_reporting": "" },
            "read": {
                "io_bytes": ios * 8192, "bw_bytes": (iops * 8192.0) as u64, "iops": iops, "runtime": 60_000,
                "total_ios": ios, "slat_ns": { "min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0 },
                "clat_ns": completion, "lat_ns": latency,
            },
            "job_runtime": 960_000, "usr_cpu": 2.0, "sys_cpu": 5.0, "ctx": ios, "majf": 0, "minf": 9,
        }],
        "disk_util": [],
    })
}

pub(crate) const OLD: [f64; 5] = [80_000.0, 81_000.0, 79_500.0, 80_500.0, 80_200.0];

/// Writes five results with these rates as NAME-1.json to NAME-5.json, at even or odd seconds.
pub(crate) fn write(directory: &Path, name: &str, rates: &[f64], first_s: u64) -> String {
    let one = |(at, rate): (u64, &f64)| {
        let file = format!("{name}-{at}.json");
        let text = serde_json::to_string_pretty(&fio_json(*rate, first_s + 120 * at)).unwrap();
        std::fs::write(directory.join(&file), text + "\n").unwrap();
        file
    };
    (1..).zip(rates).map(one).collect::<Vec<_>>().join(",")
}

/// A directory with an old set, and a new one at this share of its rates.
fn sets(share: f64) -> (Place, String, String) {
    let directory = place();
    let old = write(directory.path(), "old", &OLD, 1_700_000_000);
    let new = write(directory.path(), "new", &OLD.map(|rate| rate * share * 1.001), 1_700_000_050);
    (directory, old, new)
}

#[test]
fn a_comparison_names_what_changed_in_table_json_and_markdown() {
    let (directory, old, new) = sets(0.88);
    plumb(&directory, format!("compare {old} {new}"))
        .succeeds()
        .silent()
        .prints("random reads 8K ×16    5 and 5 runs, in turns")
        .prints("80,238")
        .prints("▼ worse")
        .prints("−11.9 %")
        .prints("Worse: random reads 8K ×16 (IOPS −11.9 %, mean +13.5 %")
        .prints("would have been seen in every number");
    let json = plumb(&directory, format!("compare --json {old} {new}")).end().json();
    let pair = &json["pairs"][0];
    assert_eq!((&pair["metric"], &pair["verdict"], &pair["order"]), (&json!("iops"), &json!("worse"), &json!("turns")));
    assert!((pair["change"].as_f64().unwrap() + 0.11912).abs() < 1e-6, "{pair}");
    let markdown = plumb(&directory, format!("compare --format markdown {old} {new}")).end().stdout;
    assert!(markdown.starts_with("**Worse: random reads") && markdown.contains("| random reads 8K ×16 | p99 |"));
}

#[test]
fn one_run_a_side_or_the_same_run_twice_decides_nothing() {
    let (directory, ..) = sets(0.5);
    let text = plumb(&directory, "compare old-1.json new-1.json")
        .succeeds()
        .prints("In one run each: random reads 8K ×16 IOPS −50.0 %.")
        .prints("What this machine does from run to run is not known")
        .stdout;
    assert!(text.lines().count() < 10 && !text.contains("worse") && !text.contains("No change"), "{text}");
    plumb(&directory, "compare --shift old-1.json new-1.json").succeeds().prints("shift of the latency").prints("p50");
    let markdown = plumb(&directory, "compare --format markdown old-1.json new-1.json").succeeds().stdout;
    assert!(markdown.contains("| random reads 8K ×16 | 80,000 | 40,040 | −50.0 % | - |"), "{markdown}");
    let text = plumb(&directory, "gate new-1.json --against old-1.json").exits(2).stdout;
    assert!(text.lines().last().unwrap().starts_with("gate: cannot tell: random reads 8K ×16 IOPS"), "{text}");
    plumb(&directory, "gate --bisect new-1.json --against old-1.json").exits(125);
}

/// Writes five results of which some have this finding, as plumb's own notes in fio's JSON.
fn write_noted(directory: &Path, name: &str, rates: &[f64; 5], (noted, note): (usize, &Value)) -> String {
    let one = |(at, rate): (u64, &f64)| {
        let mut result = fio_json(*rate, 1_700_000_050 + 120 * at);
        let notes = if at <= noted as u64 { json!([note]) } else { json!([]) };
        result["plumb"] = json!({ "schema": 1, "notes": notes });
        let file = format!("{name}-{at}.json");
        std::fs::write(directory.join(&file), serde_json::to_string_pretty(&result).unwrap() + "\n").unwrap();
        file
    };
    (1..).zip(rates).map(one).collect::<Vec<_>>().join(",")
}

#[test]
fn a_loss_next_to_a_neighbour_decides_nothing() {
    let (directory, old, slower) = sets(0.85);
    let of = |check: &str, grade: &str, evidence: Value| json!({ "check": check, "grade": grade, "sentence": "because of this", "evidence": evidence });
    let neighbour = of("neighbour", "valid_with_limits", json!([["others_percent", 40.0]]));
    let slow = OLD.map(|rate| rate * 0.85);
    let gate = |words: &str| plumb(&directory, format!("gate {words}"));
    gate(&format!("{slower} --against {old}")).exits(1);
    let new = write_noted(directory.path(), "beset", &slow, (2, &neighbour));
    let text = gate(&format!("{new} --against {old}")).exits(2).stdout;
    let line = text.lines().last().unwrap();
    assert!(line.starts_with("gate: cannot tell: random reads 8K ×16 IOPS −15.0 % ("), "{line}");
    assert!(line.contains("disturbed (2 of 5 runs, neighbour: because of this); measure it again"), "{line}");
    gate(&format!("--bisect {new} --against {old}")).exits(125);
    // no loss, against a baseline that was slowed down
    gate(&format!("{old} --against {new}")).exits(2);
    let new = write_noted(directory.path(), "beset", &OLD, (2, &neighbour));
    // no loss in spite of a neighbour
    gate(&format!("{new} --against {old}")).succeeds();
    // Another program had the processors: the same. A worker that computes would do so again: no answer about the
    // storage.
    let taken = of("client CPU", "not_a_storage_result", json!([["run_delay_percent", 40.0]]));
    let new = write_noted(directory.path(), "taken", &slow, (5, &taken));
    let text = gate(&format!("{new} --against {old}")).exits(2).stdout;
    assert!(text.lines().last().unwrap().contains("[NOT A STORAGE RESULT]; measure it again"), "{text}");
    // no loss, and neither side says anything of the storage
    let new = write_noted(directory.path(), "taken", &OLD, (5, &taken));
    gate(&format!("{new} --against {old}")).exits(2);
    plumb(&directory, format!("compare {old} {new}"))
        .succeeds()
        .prints("No answer: of the new side 5 of 5 runs, client CPU");
    let memory = of("cache", "not_a_storage_result", json!([]));
    let new = write_noted(directory.path(), "memory", &OLD, (1, &memory));
    let text = gate(&format!("{new} --against {old}")).exits(3).stdout;
    assert!(text.starts_with("gate: error: NOT A STORAGE RESULT: memory-1.json: cache"), "{text}");
    // its numbers are shown without a verdict
    plumb(&directory, format!("compare {old} {new}"))
        .succeeds()
        .prints("No answer: of the new side 1 of 5 runs, cache: because of this [NOT A STORAGE RESULT].")
        .prints("! 1 of 5 new results: NOT A STORAGE RESULT, memory-1.json: cache: because of this")
        .prints("? cannot tell");
    let accepted = plumb(&directory, format!("compare --accept cache {old} {new}")).succeeds().stdout;
    assert!(!accepted.contains("No answer"), "{accepted}");
    // another commit may be measured well
    gate(&format!("--bisect {new} --against {old}")).exits(125);
    // against this baseline none is judged
    gate(&format!("--bisect {old} --against {new}")).exits(128);
}

#[test]
fn a_tail_that_is_worse_decides_and_one_in_doubt_holds_back() {
    let (directory, old, _) = sets(1.0);
    let neighbour = json!({ "check": "neighbour", "grade": "valid_with_limits", "sentence": "because of this",
        "evidence": [["others_percent", 40.0]] });
    for (notes, status) in [(json!([]), 1), (json!([neighbour]), 2)] {
        let one = |(at, rate): (u64, &f64)| {
            let mut result = fio_json(*rate, 1_700_000_050 + 120 * at);
            let tail = &mut result["jobs"][0]["read"]["clat_ns"]["percentile"];
            for (percent, times) in [("99.000000", 3.0), ("99.900000", 4.5)] {
                tail[percent] = json!(16e9 / rate * times);
            }
            result["plumb"] = json!({ "schema": 1, "notes": notes });
            directory.write(format!("tail-{at}.json"), serde_json::to_string_pretty(&result).unwrap());
            format!("tail-{at}.json")
        };
        let new: Vec<String> = (1..).zip(&OLD).map(one).collect();
        let words = format!("gate --json {} --against {old}", new.join(","));
        let document = plumb(&directory, words).exits(status).json();
        let pairs = document["pairs"].as_array().unwrap();
        let p99 = pairs.iter().find(|pair| pair["metric"] == "p99").unwrap();
        let (verdict, decides) = if status == 1 { ("worse", false) } else { ("cannot_tell", true) };
        assert_eq!((&p99["verdict"], &p99["decides"]), (&json!(verdict), &json!(decides)), "{document}");
        assert_eq!((&pairs[0]["verdict"], &pairs[0]["decides"]), (&json!("ok"), &json!(true)), "{document}");
    }
}

#[test]
fn a_comparison_is_a_picture_in_every_form() {
    let (directory, old, new) = sets(0.88);
    for (file, start) in [("c.svg", "<svg"), ("c.png", "\u{89}PNG"), ("c.pdf", "%PDF"), ("c.html", "<!doctype html>")] {
        plumb(&directory, format!("compare --shift {old} {new} -o {file}")).succeeds().silent().prints("▼ worse");
        let bytes = directory.bytes(file);
        let head: String = bytes.iter().take(20).map(|byte| char::from(*byte)).collect();
        assert!(head.starts_with(start), "{file}: {head}");
    }
    let svg = directory.read("c.svg");
    for words in ["old-1.json and 4 more → new-1.json and 4 more", "−11.9 % (−11.9 to −11.9)  worse", "tolerance 5 %"]
    {
        assert!(svg.contains(words), "{words}");
    }
    let html = directory.read("c.html");
    assert!(html.contains("Worse: random reads 8K ×16 (IOPS −11.9 %"), "the verdict");
    plumb(&directory, format!("compare {old} {new} -o c.txt")).exits(1).complains("use .html, .svg, .png or .pdf");
    directory.write("thesis.svg", "<svg>mine</svg>");
    let Transcript { status, stdout: text, stderr: errors, .. } =
        plumb(&directory, format!("compare {old} {new} -o thesis.svg")).end();
    assert!(status == Some(1) && text.is_empty() && errors.contains("thesis.svg"), "{text} {errors}");
}

#[test]
fn text_terse_and_json_of_a_fio_of_any_age_are_compared() {
    let directory = place();
    let seeds = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../formats/tests/seeds");
    for seed in ["fio_2.0.13.txt", "fio_mixed.txt"] {
        let file = seeds.join(seed);
        let words = format!("compare {0} {0}", file.display());
        plumb(&directory, &words).end().prints("is not known: make five runs a side");
    }
    let (sets, old, _) = sets(1.0);
    let csv = "name,users,bs,MB,lat,min,max,std,iops\nrandread,16,8K,625,0.2,0,1,0,80000\n";
    sets.write("sweep.csv", csv);
    plumb(&sets, format!("compare {old} sweep.csv"))
        .succeeds()
        .prints("the new side does not state the size of the data")
        .prints("p99 of the new side is not stated");
}

#[test]
fn the_gate_answers_with_its_exit_status_and_a_last_line() {
    for (share, expected, line) in [
        (0.85, 1, "gate: worse: random reads 8K ×16 IOPS −14.9 % ("),
        (1.0, 0, "gate: ok: IOPS of 1 test, none can have lost more than "),
        (1.3, 0, "gate: ok: IOPS of 1 test"),
        (1.0 / 1.05, 2, "gate: cannot tell: random reads 8K ×16 IOPS −4.7 % ("),
    ] {
        let (directory, old, new) = sets(share);
        let run = plumb(&directory, format!("gate {new} --against {old}")).end();
        // At the tolerance the noise of these pairs is smaller than the rounding of the rates.
        if expected != 2 {
            let text = run.exits(expected).stdout;
            let last = text.lines().last().unwrap();
            assert!(last.starts_with(line) && last.ends_with("tolerance 5 %"), "{last}");
        }
    }
    let (directory, old, _) = sets(1.0);
    let noisy = [80_000.0, 70_000.0, 79_000.0, 88_000.0, 74_000.0];
    let new = write(directory.path(), "noisy", &noisy, 1_700_000_050);
    plumb(&directory, format!("gate --against {old} -- {new}")).exits(2).prints("runs a side would settle it");
    plumb(&directory, format!("gate --tolerance 40% --against {old} -- {new}")).succeeds();
    // compare names the same number of runs.
    let numbers = "--numbers iops,mean,p50,p99,p99.9";
    let found = plumb(&directory, format!("gate --json {numbers} --against {old} -- {new}")).exits(2).json();
    let most = found["pairs"].as_array().unwrap().iter().filter_map(|pair| pair["runs_to_go"].as_u64()).max().unwrap();
    plumb(&directory, format!("compare {old} {new}"))
        .succeeds()
        .prints(&format!("Cannot tell for 5 of 5 numbers if they changed by more than 5 %; about {most} runs a side"));
}

#[test]
fn a_mistake_of_the_gate_is_not_an_answer() {
    let (directory, old, new) = sets(1.0);
    for (words, status) in [
        ("gate --nonsense", 3),
        ("gate --bisect --nonsense", 128),
        ("gate", 3),
        (&format!("gate --numbers p42 {new} --against {old}"), 3),
        ("gate --help", 0),
    ] {
        plumb(&directory, words).exits(status);
    }
    let missing = plumb(&directory, format!("gate {new} --against missing.json")).exits(3).complains("missing.json");
    assert!(missing.stdout.starts_with("gate: error: missing.json"), "{missing}");
    // A result of other I/Os, of memory, with errors, or without a test of the baseline.
    let mut other = fio_json(80_000.0, 1);
    other["global options"]["size"] = json!("1g");
    directory.write("other.json", serde_json::to_string_pretty(&other).unwrap());
    plumb(&directory, format!("gate other.json --against {old}")).exits(3).prints("its I/Os go to");
    let mut lost = fio_json(80_000.0, 1);
    lost["jobs"][0]["job options"]["rw"] = json!("read");
    directory.write("lost.json", serde_json::to_string_pretty(&lost).unwrap());
    plumb(&directory, format!("gate lost.json --against {old}"))
        .exits(3)
        .prints("no test of the baseline is in the results");
    plumb(&directory, format!("gate {new} --against {old} lost.json"))
        .exits(2)
        .prints("it is in the baseline and not in the results");
}

#[test]
fn errors_that_the_baseline_does_not_have_are_worse() {
    let (directory, old, _) = sets(1.0);
    let mut failed = fio_json(80_000.0, 1);
    failed["jobs"][0]["error"] = json!(5);
    directory.write("failed.json", serde_json::to_string_pretty(&failed).unwrap());
    plumb(&directory, format!("gate failed.json --against {old}"))
        .exits(1)
        .prints("errors that the baseline does not have");
}

#[test]
fn pairs_can_be_judged_after_each_and_must_be_pairs() {
    let (directory, ..) = sets(0.8);
    let list = |name: &str, count: u32| (1..=count).map(|at| format!("{name}-{at}.json")).collect::<Vec<_>>().join(",");
    let status = |old: u32, new: u32| {
        let words = format!("gate --pairs {} --against {}", list("new", new), list("old", old));
        plumb(&directory, &words)
    };
    // Three of five pairs decide nothing, three of three do.
    status(3, 3).exits(2).prints("pairs would settle it, planned with --pairs=");
    plumb(&directory, format!("gate --pairs=3 {} --against {}", list("new", 3), list("old", 3))).exits(1);
    plumb(&directory, format!("gate --pairs=1 {} --against {}", list("new", 3), list("old", 3))).exits(3);
    status(5, 5).exits(1);
    status(5, 4).exits(3).prints("5 runs of the baseline and 4 new ones");
    let late = write(directory.path(), "late", &OLD, 1_800_000_000);
    plumb(&directory, format!("gate --pairs {late} --against {}", list("old", 5))).exits(3).prints("not made in turns");
    plumb(&directory, format!("gate {late} --against {}", list("old", 5)))
        .succeeds()
        .prints("All old runs were made before all new ones");
}

#[test]
fn build_servers_get_their_formats() {
    let (directory, old, new) = sets(0.8);
    let of = |format: &str| plumb(&directory, format!("gate --format {format} {new} --against {old}")).exits(1).stdout;
    let xml = of("junit");
    assert!(xml.contains("<testsuite name=\"plumb gate\" tests=\"2\" failures=\"2\" skipped=\"0\">"), "{xml}");
    assert!(xml.contains("<testcase classname=\"random reads 8K ×16\" name=\"IOPS\"><failure message="), "{xml}");
    let github = of("github");
    assert!(github.starts_with("::error title=plumb gate: worse::random reads 8K ×16 IOPS −19.9 %25 ("), "{github}");
    let json: Value = serde_json::from_str(&of("json")).unwrap();
    assert_eq!((&json["verdict"], &json["pairs"][1]["metric"]), (&json!("worse"), &json!("p99")));
    assert!(json["line"].as_str().unwrap().starts_with("gate: worse: "), "{json}");
}

#[test]
fn rounds_of_a_survey_are_runs() {
    let directory = place();
    let run = |seed: u32| {
        let file = format!("s{seed}.json");
        let words = format!(
            "survey --quick --tests randread --users 2 --time 1 --repeat 3 --size 16m --warm-up 0 --output {file} ."
        );
        plumb(&directory, &words).succeeds();
        file
    };
    let (a, b) = (run(1), run(2));
    plumb(&directory, format!("compare --shift {a} {b}"))
        .succeeds()
        .silent()
        .prints("3 and 3 runs")
        .prints("shift of the latency")
        .prints("All old runs were made before all new ones");
    plumb(&directory, format!("compare {a} {a}")).succeeds().prints("3 and 3 runs");
}

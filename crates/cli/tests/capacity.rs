//! `plumb capacity` on the simulated device: a queue whose capacity is a closed formula, in virtual time with fixed
//! seeds.

use crate::context::{self, plumb, wait_for_interval};
use house::{Place, Run};
use rustix::process::Signal;
use serde_json::Value;

/// One server with exponential service of 100 µs: M/M/1, of which 1 % of the I/Os take longer than T at 10,000 +
/// ln(0.01) ÷ T per second.
const QUEUE: &str =
    "--engine sim --size 16M --with sim_distribution=exponential --with sim_seed={run} --with sim_parallelism=1";

fn place() -> Place {
    let place = context::place();
    place.directory("disk");
    place
}

fn capacity(place: &Place, options: &[&str]) -> Run {
    plumb(place, "capacity disk").words(QUEUE).words(options)
}

/// The result as JSON, and the exit status if it were of a storage.
fn document(place: &Place, options: &[&str]) -> (Option<i32>, Value) {
    let accepted = "--json --quiet --no-report --accept nothing-moved";
    let run = capacity(place, options).words(accepted).end();
    (run.status, run.json())
}

/// The rate at which a share takes longer than these seconds, with one server of 10,000 per second.
fn of_one_server(share: f64, seconds: f64) -> f64 {
    10_000.0 + share.ln() / seconds
}

/// A rate as it is printed, with three digits.
fn shown(rate: f64) -> String {
    let digits = format!("{:.2}", rate / 1e3);
    digits.trim_end_matches('0').trim_end_matches('.').to_owned() + "k"
}

#[test]
fn the_capacity_of_a_queue_is_that_of_its_formula_in_every_view() {
    let place = place();
    let options = ["--slo", "p99<2ms", "--seed", "1", "--picture", "capacity.svg", "--page", "answer.pdf"];
    let text = capacity(&place, &options).exits(3).complains("NOT A STORAGE RESULT: nothing moved").stdout;
    let pdf = place.bytes("answer.pdf");
    assert!(pdf.starts_with(b"%PDF-") && pdf.len() > 20_000, "{} bytes", pdf.len());
    let read = |name: &str| place.read(name);
    let saved: Value = serde_json::from_str(&read("plumb-capacity-001.json")).unwrap();
    let of = |key: &str| saved[key].as_f64().unwrap();
    let truth = of_one_server(0.01, 0.002);
    assert!((of("capacity") / truth - 1.0).abs() < 0.03, "{} is not {truth}", of("capacity"));
    assert!(of("low") <= truth && truth <= of("high") && of("high") - of("low") < 0.06 * truth, "{saved}");
    assert!(saved["confirmed"]["shares"][0].as_f64().unwrap() <= 0.01 && saved["answer"] == "holds");
    // The sentences are the same on the screen, in the result and on the page, and have the numbers of the result.
    let sentences: Vec<&str> = saved["sentences"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    let unwrapped = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let page = read("plumb-capacity-001.html");
    for sentence in &sentences {
        assert!(unwrapped.contains(sentence), "{sentence}: {unwrapped}");
        assert!(page.contains(&sentence.replace('<', "&lt;")) || page.contains(sentence), "{sentence}");
    }
    let [rate, low, high] = ["capacity", "low", "high"].map(|key| shown(of(key)));
    // No byte of a simulated disk is of a storage.
    assert!(sentences[0].starts_with("No answer for disk: "), "{}", sentences[0]);
    assert!(
        sentences[1].starts_with(&format!("disk holds {rate} IOPS with p99 < 2 ms ({low} to {high}). Confirmed: "))
    );
    assert!(sentences[2].contains(&format!("plan for {} (80 %)", shown(0.8 * of("capacity")))), "{}", sentences[2]);
    // Each trial is a line of the table and of the page.
    let trials = saved["trials"].as_array().unwrap();
    assert!(trials.len() > 15 && trials[0]["stage"] == "alone");
    for trial in &trials[1..] {
        let exact = trial["offered"].as_f64().unwrap();
        let offered = shown(exact);
        assert!(text.lines().any(|line| line.split_whitespace().next() == Some(&offered)), "{offered}: {text}");
        assert!(page.contains(&format!("{exact:.1}")), "{exact}");
    }
    assert_eq!(text.matches("← the limit").count(), 1);
    let svg = read("capacity.svg");
    for words in ["p99.9", "p99 &lt; 2 ms", "I/Os per second that arrive", &format!("{rate} ({low} to {high})")] {
        assert!(svg.contains(words), "{words}: {svg}");
    }
    assert_eq!(std::fs::read_dir(place.path().join("disk")).unwrap().count(), 0, "the work file is removed");
}

#[test]
fn a_search_without_a_rate_has_an_answer_or_decides_nothing() {
    let place = place();
    let (status, found) = document(&place, &["--slo", "p99<200us", "--page", "answer.html"]);
    assert_eq!((status, &found["answer"]), (Some(0), &Value::from("not at any rate")), "{found}");
    assert!(found["accepted"][0].as_str().is_some_and(|line| line.contains("and accepted: nothing moved")), "{found}");
    assert_eq!(found["findings"], Value::Array(Vec::new()));
    // The page of it has the answer, what was accepted, and no picture.
    let page = place.read("answer.html").replace('\u{a0}', " ");
    let (_, answer) = found["sentences"][0].as_str().unwrap().split_once('<').expect("a limit");
    assert!(page.contains(answer), "{answer}");
    assert!(page.contains("and accepted: nothing moved"));
    let (_, found) = document(&place, &["--slo", "p95<50us"]);
    let sentence = found["sentences"][0].as_str().expect("a sentence");
    assert!(sentence.contains("one I/O at a time already takes longer, p95 "), "{sentence}");
    let (status, found) = document(&place, &["--slo", "p99<2ms", "--to", "4k"]);
    assert_eq!((status, found["at_least"].as_f64()), (Some(0), Some(4000.0)), "{found}");
    let (status, found) = document(&place, &["--slo", "p99<2ms", "--time", "20s"]);
    assert_eq!((status, &found["answer"]), (Some(2), &Value::from("cannot tell")), "{found}");
    assert!(found["cannot_tell"].as_str().is_some_and(|why| why.contains("the time was over")));
    // One I/O in a thousand, of 100 per second: each trial would need 21 minutes.
    let slow = ["--slo", "p99.9<2s", "--with", "sim_service_time=10000us", "--from", "20"];
    let (status, found) = document(&place, &slow);
    assert!(status == Some(2) && found["cannot_tell"].as_str().unwrap().contains("each trial needs"), "{found}");
}

#[test]
fn of_a_mix_the_limit_that_is_reached_first_counts() {
    let place = place();
    let slos = ["--slo", "read.p99<50ms", "--slo", "write.p99<2ms", "--mix", "70", "--seed", "1"];
    let (status, found) = document(&place, &slos);
    assert_eq!((status, &found["limit"]), (Some(0), &Value::from(0)), "{found}");
    // Each job has a simulated device: the one of the reads is reached at its capacity, 70 % of the rate.
    let truth = of_one_server(0.01, 0.05) / 0.7;
    assert!((found["capacity"].as_f64().unwrap() / truth - 1.0).abs() < 0.03, "{found}");
    assert_eq!(found["slo"][1]["direction"], "write");
}

#[test]
fn limits_writes_even_arrivals_and_block_sizes_are_searched() {
    let place = place();
    // Even arrivals wait less than random ones, so the capacity is above that of M/M/1, and below the 10,000 of its
    // server. With σ = e^(−μ(1−σ)/λ) (D/M/1), 5 % of the I/Os take longer than T where μ(1−σ)T = ln 20.
    let slos = [
        "--slo",
        "p95<2ms",
        "--slo",
        "write.p50<5ms",
        "--mix",
        "0",
        "--arrivals",
        "even",
        "--bs",
        "16k",
        "--seed",
        "1",
    ];
    let (status, found) = document(&place, &slos);
    assert_eq!((status, &found["answer"]), (Some(0), &Value::from("holds")), "{found}");
    assert_eq!(
        (&found["block_bytes"], &found["read_percent"], &found["arrivals"]),
        (&16384.into(), &0.into(), &"even".into())
    );
    let idle = 20.0_f64.ln() / (10_000.0 * 0.002);
    let truth = -10_000.0 * idle / (1.0 - idle).ln();
    assert!((found["capacity"].as_f64().unwrap() / truth - 1.0).abs() < 0.03, "{truth}: {found}");
    assert_eq!(found["limit"], Value::from(0), "the limit that is reached first");
}

#[test]
fn an_interrupt_keeps_the_trials() {
    let place = place();
    // The null engine runs in real time; its rate is kept, so that the search lasts until the largest rate.
    let options = "--engine null --size 16M --slo p99<1s --from 50 --no-report -o r.json --stream s.ndjson";
    let running = plumb(&place, "capacity disk").words(options).start();
    // The first run fills the work file.
    wait_for_interval(&place.file("s.ndjson"), 2);
    running.signal(Signal::INT);
    running.end().exits(130);
    let saved = place.json("r.json");
    assert_eq!(saved["answer"], "interrupted");
    assert_eq!(std::fs::read_dir(place.path().join("disk")).unwrap().count(), 0, "the work file is removed");
}

#[test]
fn mistakes_are_refused_before_anything_is_written() {
    let place = place();
    for (options, expected) in [
        (&["--slo", "99<2ms"][..], "write it like p99<2ms"),
        (&["--slo", "write.p99<2ms"], "has no I/O with --mix 100"),
        (&["--slo", "p99<2ms", "--with", "rw=write"], "is set by plumb capacity itself"),
        (&["--slo", "p99<2ms", "--from", "5k", "--to", "4k"], "--from is above --to"),
        (&["--slo", "p99<2ms", "--with", "no_such_option=1"], "no_such_option"),
        (&["--slo", "p99<2ms", "--page", "answer.svg"], "the page of an answer is .html or .pdf"),
    ] {
        capacity(&place, options).exits(1).complains(expected);
    }
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1, "only the directory is there");
}

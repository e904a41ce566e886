//! The command lines that the project comes from: each runs unchanged, prints today's fio text line by line, and its
//! own numbers agree with each other.
//!
//! Shortened here (64 MiB, 2 s); on request (`--ignored`) also at 256 MiB and 5 s, and fio against itself. The
//! identities: io = bw × runt, io = iops × bs × runt, issued = iops × runt.

use crate::context::PLUMB;
use house::{
    Amounts, Call, Cases, Depths, End, Outcome, Program, Samples, Scene, TextRules, compare_text, split_output,
};
use serde_json::Value;
use std::path::Path;

/// A command line; `{size}` and `{time}` stand for what is shortened, `{dir}` for the document's directory.
struct Seed {
    name: &'static str,
    line: String,
    rw: &'static str,
    /// The processes and the block size that it asks for.
    jobs: u64,
    block: f64,
}

const FOUR_K: &str = "-filename={dir}/hello -direct=1 -bs=4k -rw={rw} -size={size} -numjobs=8 -runtime={time} \
    -group_reporting -name=test_for_sync";
const MIXED: &str = "--ioengine=libaio --direct=1 --name={job} --filename=test_seq --bs=8k --iodepth=32 --size={size} \
    --readwrite={rw} --rwmixread=50";
const AFFAIR: &str = "--name=global --bs=4k --ioengine=libaio --iodepth=1 --runtime={time} --time_based --size={size} \
    --group_reporting --disable_lat=1 --disable_clat=1 --disable_slat=1 --clat_percentiles=0 --filename={dir}/myfile \
    --name=regular_read --rw={rw}";

/// The seven runs.
fn seeds() -> [Seed; 7] {
    let seed = |name, line: &str, rw, jobs, block| Seed { name, line: line.replace("{rw}", rw), rw, jobs, block };
    let job = |name| MIXED.replace("{job}", name);
    [
        seed("eight processes read in order", FOUR_K, "read", 8, 4096.0),
        seed("eight processes write in order", FOUR_K, "write", 8, 4096.0),
        seed("eight processes read at random", FOUR_K, "randread", 8, 4096.0),
        seed("eight processes write at random", FOUR_K, "randwrite", 8, 4096.0),
        seed("a sequential mix at depth 32", &job("test_seq_mix_rw"), "rw", 1, 8192.0),
        seed("a random mix at depth 32", &job("test_rand_mix_rw"), "randrw", 1, 8192.0),
        seed("one reader with all latencies off", AFFAIR, "randread", 1, 4096.0),
    ]
}

/// Size and run time of the runs.
type Length = (&'static str, &'static str);

const SHORT: Length = ("64m", "2");
const FULL: Length = ("256m", "5");

fn outcome(program: &Program, line: &str, (size, time): Length) -> Outcome {
    let line = line.replace("{size}", size).replace("{time}", time);
    let words = ["--output-format=json,normal"].into_iter().chain(line.split_whitespace()).map(str::to_owned).collect();
    let scene = Scene::new(Path::new(env!("CARGO_TARGET_TMPDIR")), None).expect("a directory");
    scene.run(program, &Call { words, ..Call::default() }).expect("the program starts")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// What does not hold in the numbers of one direction.
fn broken_identities(direction: &Value, block: f64) -> Vec<String> {
    let (io, ios) = (number(&direction["io_bytes"]), number(&direction["total_ios"]));
    let (bandwidth, iops) = (number(&direction["bw_bytes"]), number(&direction["iops"]));
    let seconds = number(&direction["runtime"]) / 1000.0;
    // Both sides use the same time; the rate is cut to whole bytes a second, IOPS to the sixth digit.
    let identities = [
        ("io = bw × runt", io, bandwidth * seconds, seconds),
        ("io = iops × bs × runt", io, iops * block * seconds, 1e-6 * block * seconds),
        ("issued = iops × runt", ios, iops * seconds, 1e-6 * seconds),
        ("io = issued × bs", io, ios * block, 0.0),
    ];
    let holds = |left: f64, right: f64, rounding: f64| (left - right).abs() <= rounding.max(1e-9 * left.abs());
    identities
        .into_iter()
        .filter(|&(_, left, right, rounding)| !holds(left, right, rounding))
        .map(|(name, left, right, _)| format!("{name}: {left} against {right}"))
        .collect()
}

fn findings(seed: &Seed, oracle: &Outcome, ours: &Outcome) -> Vec<String> {
    let mut findings = Vec::new();
    if (oracle.end, ours.end) != (End::Status(0), End::Status(0)) {
        findings.push(format!("ends: fio {:?}, ours {:?}: {}", oracle.end, ours.end, ours.stderr));
    }
    let (Ok((_, theirs)), Ok((result, mine))) = (split_output(&oracle.stdout), split_output(&ours.stdout)) else {
        return vec!["no valid JSON".to_owned()];
    };
    // Only a run that lasts its time for certain has samples for certain.
    let samples = if seed.line.contains("time_based") { Samples::Certain } else { Samples::Perhaps };
    findings.extend(compare_text(&theirs, &mine, TextRules { amounts: Amounts::Free, depths: Depths::Free, samples }));
    let Some(result) = result else {
        findings.push("no JSON".to_owned());
        return findings;
    };
    let job = &result["jobs"][0];
    let moved: Vec<&Value> =
        ["read", "write"].map(|name| &job[name]).into_iter().filter(|d| d["total_ios"] != 0).collect();
    if moved.len() != if seed.rw.ends_with("rw") { 2 } else { 1 } {
        findings.push(format!("{} directions moved", moved.len()));
    }
    findings.extend(moved.iter().flat_map(|direction| broken_identities(direction, seed.block)));
    if !mine.contains(&format!("jobs={}):", seed.jobs)) {
        findings.push(format!("the report is not of {} jobs", seed.jobs));
    }
    findings
}

/// A run is a test: `seeds::NAME`; on request `seeds::full::NAME` and `seeds::fio_itself::NAME`.
pub(super) fn groups() -> Vec<Cases> {
    let fio = || Program { path: "fio".into(), first: Vec::new() };
    let ours = || Program { path: PLUMB.into(), first: vec!["fio".into()] };
    let mut cases = Cases::new("seeds", 1);
    for ((short, full), itself) in seeds().into_iter().zip(seeds()).zip(seeds()) {
        cases = cases.case(short.name, move || agrees(&short, &fio(), &ours(), SHORT));
        cases = cases.on_request(&format!("full::{}", full.name), move || agrees(&full, &fio(), &ours(), FULL));
        cases =
            cases.on_request(&format!("fio_itself::{}", itself.name), move || agrees(&itself, &fio(), &fio(), SHORT));
    }
    vec![house::tests!(cases, numbers_that_do_not_agree_are_noticed)]
}

/// The run prints what fio prints, and its numbers agree with each other.
fn agrees(seed: &Seed, fio: &Program, program: &Program, length: Length) -> Result<(), String> {
    let found = findings(seed, &outcome(fio, &seed.line, length), &outcome(program, &seed.line, length));
    if found.is_empty() { Ok(()) } else { Err(format!("{}\n    {}", seed.line, found.join("\n    "))) }
}

fn numbers_that_do_not_agree_are_noticed() {
    let sound = serde_json::json!({"io_bytes": 8_192_000, "total_ios": 2000, "bw_bytes": 4_096_000, "iops": 1000.0, "runtime": 2000});
    assert_eq!(broken_identities(&sound, 4096.0), Vec::<String>::new());
    for (key, wrong) in [("io_bytes", 8_196_096.0), ("bw_bytes", 4_096_002.0), ("iops", 1000.01), ("total_ios", 2001.0)]
    {
        let mut planted = sound.clone();
        planted[key] = serde_json::json!(wrong);
        assert_ne!(broken_identities(&planted, 4096.0), Vec::<String>::new(), "{key} went unnoticed");
    }
}

//! `--stream`: the lines that a command writes while it measures, their schema, their sums, and readers that do not
//! read.

use crate::context::{self, PLUMB, place};
use house::{LoopDevice, Run, Words};
use serde_json::Value;
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

fn plumb(directory: impl AsRef<Path>, words: impl Words) -> Run {
    let directory = directory.as_ref();
    context::plumb(directory, words).env("TMPDIR", directory).env("PLUMB_REMARKS", "never")
}

fn lines(text: &str) -> Vec<Value> {
    assert!(text.ends_with('\n'), "the last line is whole");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

fn written(path: &Path) -> Vec<Value> {
    lines(&std::fs::read_to_string(path).unwrap())
}

fn of_type<'a>(lines: &'a [Value], wanted: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["type"] == wanted).collect()
}

/// The sum of a member with three numbers, over lines.
fn sum(lines: &[&Value], member: &str) -> [u64; 3] {
    let one = |direction: usize| lines.iter().map(|line| line[member][direction].as_u64().unwrap()).sum();
    [one(0), one(1), one(2)]
}

/// PyPI's jsonschema holds the lines against docs/stream.schema.json. It must refuse other text, too.
fn check_schema(lines: &[Value]) {
    let python = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../oracles/readers/bin/python");
    assert!(python.exists(), "{} is missing; run `make oracles`", python.display());
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/stream.schema.json");
    let script = "
import json, sys, jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
valid = jsonschema.Draft202012Validator(schema)
lines = [json.loads(line) for line in sys.stdin]
for line in lines:
    valid.validate(line)
    for name in schema['$defs'][line['type']]['required']:
        assert not valid.is_valid({key: line[key] for key in line if key != name}), name
print(len(lines))";
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let read = Run::new(python, env!("CARGO_TARGET_TMPDIR")).words(["-c", script]).words([schema]).input(text).stdout();
    assert_eq!(read.trim(), lines.len().to_string());
}

#[test]
fn the_intervals_of_a_run_are_its_result_to_the_digit() {
    let directory = place();
    let words = [
        "fio",
        "--stream=s.ndjson",
        "--result=r.json",
        "--size=4m",
        "--time_based",
        "--runtime=1700ms",
        "--direct=0",
        "--name=a",
        "--rw=randrw",
        "--rate_iops=500",
        "--numjobs=2",
        "--name=b",
        "--rw=write",
        "--bs=64k",
        "--rate_iops=90",
    ];
    // fio's report is printed as ever.
    plumb(&directory, words).succeeds().prints("Run status group 0");
    let lines = written(&directory.path().join("s.ndjson"));
    check_schema(&lines);
    let types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!((types.first(), types.last()), (Some(&"start"), Some(&"end")));
    let intervals = of_type(&lines, "interval");
    // 1.7 s; an interval is longer than 500 ms where a sample costs much CPU time.
    assert!((2..=5).contains(&intervals.len()), "{}", intervals.len());

    let result = directory.json("r.json");
    let jobs = result["result"]["jobs"].as_array().unwrap();
    let of_jobs = |member: &str| -> [u64; 3] {
        ["read", "write", "trim"]
            .map(|direction| jobs.iter().map(|job| job["directions"][direction][member].as_u64().unwrap()).sum())
    };
    assert!(of_jobs("ios").iter().sum::<u64>() > 1000);
    for member in ["bytes", "ios"] {
        assert_eq!(sum(&intervals, member), of_jobs(member), "{member}");
        assert_eq!(sum(&of_type(&lines, "end"), member), of_jobs(member), "{member} of the end");
    }
    let latencies: u64 = intervals
        .iter()
        .filter_map(|interval| interval["latencies"].as_array())
        .flatten()
        .flat_map(|counts| counts.as_array().unwrap())
        .map(|count| count[1].as_u64().unwrap())
        .sum();
    assert_eq!(latencies, of_jobs("ios").iter().sum::<u64>(), "one latency of each I/O");
    // As the result keeps them, interval by interval.
    let kept = result["result"]["monitored"]["intervals"].as_array().unwrap();
    assert_eq!(kept.len(), intervals.len());
    for (mine, kept) in intervals.iter().zip(kept) {
        for (name, value) in kept.as_object().unwrap() {
            assert_eq!(&mine[name], value, "{name}");
        }
    }
    let froms = intervals.iter().skip(1).map(|interval| &interval["from"]);
    assert!(froms.eq(intervals.iter().map(|interval| &interval["until"]).take(intervals.len() - 1)), "without gaps");
    let ends = of_type(&lines, "end");
    assert_eq!((&ends[0]["jobs"][0]["name"], &ends[0]["lost_lines"]), (&Value::from("a"), &Value::from(0)));
    assert_eq!(ends[0]["intervals"], intervals.len());
    assert_eq!(of_type(&lines, "check").len(), analysis::CHECKS.len());
    for note in result["result"]["notes"].as_array().unwrap() {
        let said = of_type(&lines, "remark").into_iter().any(|remark| remark["sentence"] == note["sentence"]);
        assert!(said, "the stream lacks {note}");
    }
}

#[test]
fn each_member_is_a_run_whose_intervals_are_its_result() {
    let directory = place();
    let words = "cluster --local 2 --stream - --keep kept fio --name=a --rw=randread --size=4m --rate_iops=400 --time_based \
                 --runtime=1200ms";
    let lines = lines(&plumb(&directory, words).stdout());
    check_schema(&lines);
    for rank in [0, 1] {
        let of_run: Vec<Value> = lines.iter().filter(|line| line["run"] == rank + 1).cloned().collect();
        assert_eq!(of_run[0]["title"], format!("member {rank} (local)"));
        let kept = directory.json(format!("kept/member-00{rank}.json"));
        let ios = kept["result"]["jobs"][0]["directions"]["read"]["ios"].as_u64().unwrap();
        assert!(ios > 300 && of_type(&of_run, "interval").len() >= 2, "{ios}");
        for kind in ["interval", "end"] {
            assert_eq!(sum(&of_type(&of_run, kind), "ios"), [ios, 0, 0], "{kind}");
        }
        assert!(!of_type(&of_run, "check").is_empty());
    }
    let words = ["cluster", "--local", "1", "--stream", "-", "--json", "fio", "--name=a"];
    plumb(&directory, words).exits(1).complains("standard output is for the result already");
}

#[test]
fn standard_output_is_for_the_lines_alone() {
    let directory = place();
    for given in ["-", "fd:1"] {
        let stream = format!("--stream={given}");
        let words = ["fio", &stream, "--name=a", "--ioengine=null", "--size=1m", "--output=report"];
        let found = lines(&plumb(&directory, words).succeeds().stdout);
        assert_eq!(found[0]["jobs"][0]["engine"], "null");
        let report = directory.read("report");
        assert!(report.contains("Run status group 0"), "{report}");
    }
    for words in [
        &["fio", "--stream=-", "--result=-", "--name=a", "--ioengine=null", "--size=1m"][..],
        &["survey", "--stream", "-", "--json", "."],
        &["iozone", "--stream", "-", "--json", "-", "-i", "0"],
        &["watch", "--stream", "-", "--json"],
        &["why", "--stream", "-", "--json", "--", "true"],
    ] {
        plumb(&directory, words).fails().complains("standard output is for the result already");
    }
}

#[test]
fn every_run_of_a_survey_a_knee_and_of_iozone_is_in_the_stream() {
    let directory = place();
    let survey = "survey --tests randread --users 1,2 --time 1s --warm-up 0 --size 16M --no-report --no-store --quiet \
                  -o survey.json --stream survey.ndjson .";
    let knee =
        "knee --users 1,2 --time 1s --size 16M --no-report --no-store --quiet -o knee.json --stream knee.ndjson .";
    let iozone = "iozone --stream iozone.ndjson --json iozone.json -i 0 -i 1 -s 1m -r 4k -f f";
    for (words, name) in [(survey, "survey"), (knee, "knee"), (iozone, "iozone")] {
        plumb(&directory, words).succeeds();
        let lines = written(&directory.path().join(format!("{name}.ndjson")));
        check_schema(&lines);
        let (starts, ends) = (of_type(&lines, "start"), of_type(&lines, "end"));
        let numbers = |lines: &[&Value]| lines.iter().map(|line| line["run"].as_u64().unwrap()).collect::<Vec<_>>();
        assert_eq!(numbers(&starts), (1..=starts.len() as u64).collect::<Vec<_>>(), "{name}");
        assert_eq!(numbers(&starts), numbers(&ends), "{name}");
        // Each test of the result has a run whose intervals are its I/Os and its ramp.
        let result: Value = directory.json(format!("{name}.json"));
        let tests = result["tests"].as_array().unwrap();
        assert!(tests.len() >= 2 && ends.len() >= tests.len(), "{name}");
        for (test, end) in tests.iter().zip(&ends[ends.len() - tests.len()..]) {
            let jobs = test["result"]["jobs"].as_array().unwrap();
            let ios = |direction: &str| -> u64 {
                jobs.iter().map(|job| job["directions"][direction]["ios"].as_u64().unwrap()).sum()
            };
            let of_run: Vec<&Value> =
                of_type(&lines, "interval").into_iter().filter(|line| line["run"] == end["run"]).collect();
            let (all, measured) = (sum(&of_run, "ios"), [ios("read"), ios("write"), ios("trim")]);
            // The levels of a knee begin with a ramp, which is in the intervals and not in the result.
            let ramp = if name == "knee" { all[0].saturating_sub(measured[0]) } else { 0 };
            assert_eq!(all, [measured[0] + ramp, measured[1], measured[2]], "{name}: {}", test["test"]);
            let of_end = |direction: &str| -> u64 {
                end["jobs"].as_array().unwrap().iter().filter_map(|job| job[direction]["ios"].as_u64()).sum()
            };
            assert_eq!(["read", "write", "trim"].map(of_end), measured, "{name}: {}", test["test"]);
        }
    }
}

#[test]
fn watch_has_the_counters_of_the_devices() {
    let directory = place();
    plumb(&directory, ["watch", "--stream", "w.ndjson", "--count", "2", "--interval", "0.2"]).succeeds();
    let lines = written(&directory.path().join("w.ndjson"));
    check_schema(&lines);
    let intervals = of_type(&lines, "interval");
    assert_eq!((intervals.len(), of_type(&lines, "check").len()), (2, 0), "nothing is judged");
    for interval in intervals {
        let gains = interval["devices"].as_array().map_or(0, Vec::len);
        assert_eq!(gains, interval["device_names"].as_array().unwrap().len());
        assert!(interval["cpu"]["idle"].is_u64(), "{interval}");
    }
}

#[test]
fn why_has_each_second_and_the_document() {
    let place = place();
    let device = LoopDevice::direct(place.path(), 16 << 20).unwrap();
    let job = "fio --name=a --ioengine=psync --rw=randread --bs=4k --direct=1 --time_based --runtime=2";
    let job = format!("{job} --filename={}", device.path().display());
    plumb(&place, "why --stream s.ndjson --json -o why.json --").words(PLUMB).words(&job).succeeds();
    let all = written(&place.path().join("s.ndjson"));
    check_schema(&all);
    let [first, seconds @ .., answer] = &all[..] else { panic!("{all:?}") };
    assert_eq!([&first["type"], &answer["type"]], ["recording", "answer"]);
    assert!(seconds.len() >= 3, "{seconds:#?}");
    let mut until = 0;
    for second in seconds {
        assert_eq!((&second["type"], &second["from"]), (&"second".into(), &until.into()), "{seconds:#?}");
        until = second["until"].as_u64().unwrap();
    }
    let sum = |member: &str| -> u64 { seconds.iter().map(|second| second[member].as_u64().unwrap()).sum() };
    let bytes: u64 = answer["groups"].as_array().unwrap().iter().map(|group| group["bytes"].as_u64().unwrap()).sum();
    assert_eq!((sum("ios"), sum("bytes")), (answer["ios"].as_u64().unwrap(), bytes), "{answer:#}");
    assert_eq!((&sum("events").into(), sum("events_lost")), (&answer["cost"]["events"], 0), "{answer:#}");
    let device: u64 = seconds.iter().map(|second| second["parts_ns"]["device"].as_u64().unwrap()).sum();
    assert_eq!(answer["parts_ns"]["device"], device);
    let busy = seconds.iter().max_by_key(|second| second["ios"].as_u64()).unwrap();
    let reads = busy["groups"].as_array().unwrap().iter().find(|group| group["direction"] == "read").unwrap();
    assert!(reads["time_ns"]["p50"].as_u64() < reads["time_ns"]["p99"].as_u64(), "{busy:#}");
    let mut document = answer.clone();
    for own in ["type", "run"] {
        document.as_object_mut().unwrap().remove(own);
    }
    assert_eq!(document, place.json("why.json"), "the last line is the document");

    let alone = plumb(&place, "why --stream - -- echo the command").succeeds();
    assert_eq!(lines(&alone.stdout).last().unwrap()["type"], "answer");
    assert!(alone.stderr.contains("the command"), "standard output is for the lines: {}", alone.stderr);
    plumb(&place, "why --stream fd:77 -- true").fails().complains("--stream fd:77");
    plumb(&place, "why --stream s.ndjson why.parquet").fails().complains("cannot be used with");
}

#[test]
fn a_pipe_without_a_reader_does_not_slow_the_run() {
    let directory = place();
    let runtime = || -> f64 {
        let result = directory.json("r.json");
        result["result"]["jobs"][0]["directions"]["read"]["runtime"].as_f64().unwrap() / 1e9
    };
    // 200,000 I/Os in memory.
    let job =
        "fio --name=a --ioengine=null --rw=randread --size=800m --rate_iops=100000 --result=r.json --output=report";
    plumb(&directory, job).succeeds();
    let without = runtime();
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    // Full before the run begins: not a byte of the stream finds room.
    fill(&mut writer);
    let began = Instant::now();
    let run = plumb(&directory, job).words("--stream=-").output_to(writer).succeeds();
    run.complains("its reader is too slow").complains("lines are lost");
    let (with, took) = (runtime(), began.elapsed());
    assert!(with < without + 0.5, "{with} s, and {without} s without a stream");
    assert!(took < Duration::from_secs(20), "{took:?}");
    let mut left = Vec::new();
    reader.read_to_end(&mut left).unwrap();
    assert!(left.iter().all(|&byte| byte == b'x'), "nothing of the stream was read");
}

/// Writes to a pipe until it is full.
fn fill(writer: &mut std::io::PipeWriter) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    while poll(&mut [PollFd::new(&*writer, PollFlags::OUT)], Some(&at_once)).unwrap() > 0 {
        writer.write_all(&[b'x'; 4096]).unwrap();
    }
}

#[test]
fn unwritable_places_are_errors_before_the_measurement() {
    let directory = place();
    directory.write("thesis", "mine");
    for (given, why) in [
        ("fd:77", "fd:77: Bad file descriptor"),
        ("fd:x", "is not the number of a descriptor; write it like fd:3"),
        ("fd:0", "it is open for reading only"),
        ("thesis", "plumb did not make it"),
        ("no/such/directory", "No such file or directory"),
        ("/dev/full", "no space left"),
    ] {
        let stream = format!("--stream={given}");
        let words = ["fio", &stream, "--name=a", "--size=1m", "--rw=write"];
        plumb(&directory, words).exits(1).complains(why);
        assert!(!directory.has("a.0.0"), "{given}: nothing was laid out");
    }
    assert_eq!(directory.read("thesis"), "mine");
}

#[test]
fn a_reader_that_ends_is_reported_after_the_run() {
    let directory = place();
    let job = "--name=a --ioengine=null --size=4m --rate_iops=500 --result=r.json";
    let script = format!("{PLUMB} fio {job} --stream fd:3 3> >(head -n 1 >first)");
    // The report is printed.
    Run::new("bash", &directory)
        .words(["-c", &script])
        .exits(1)
        .complains("--stream fd:3: its reader has ended")
        .complains("lines are lost")
        .prints("Run status group 0");
    assert!(directory.has("r.json"), "the result is saved");
    let first = directory.json("first");
    assert_eq!(first["type"], "start");
}

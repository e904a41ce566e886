//! One result, one truth: results of every origin, made here by the real tools, read by every command that reads
//! results.
//!
//! Owns the table of what each command shows of each origin. A cell is a part of the output: the fact, or the reason
//! why it is not there.

use crate::context::{PLUMB, place};
use house::Run;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Where a result is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    Survey,
    Native,
    OwnJson,
    Json,
    Text,
    Terse,
    Iozone,
    Log,
    HistogramLog,
}

/// A command, with its output as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Shown {
    /// `plumb parse -p`: latency and percentiles of a row.
    Rows,
    /// `plumb parse --format json`: the kinds of latency, and the depth.
    Readings,
    /// `plumb check`: findings.
    Check,
    /// `plumb grade`.
    Grade,
    /// `plumb explain`: depth and findings.
    Explain,
    /// `plumb plot --list`: the pictures.
    Pictures,
    /// `plumb report`: the system and the findings on the page.
    Page,
}

const SHOWN: [Shown; 7] =
    [Shown::Rows, Shown::Readings, Shown::Check, Shown::Grade, Shown::Explain, Shown::Pictures, Shown::Page];

/// The reason for what is not there of tables and logs.
const NO_JOBS: &str = "states rates or times without the jobs that they are of";
/// Grades are of levels that these short runs do not have.
const NO_LEVELS: &str = "no run is a test of the report card";

/// Parts of the output, all of which must be there, or with `!` must not. `{p95}` is a number in the column of the 95 %
/// percentile, `{finding}` each finding that the result holds, `{system}` facts about the machine.
type Cell = (Shown, &'static [&'static str]);

const TABLE: &[(Origin, [Cell; 7])] = &[
    (
        Origin::Survey,
        [
            (Shown::Rows, &["randread", "{p95}"]),
            (Shown::Readings, &["total", "depth=1"]),
            (Shown::Check, &["{finding}", "2 results judged"]),
            // There are grades unless other tests took the processors; there is a run of a test in any case.
            (Shown::Grade, &["survey.json: ", "!no run is a test of the report card"]),
            (Shown::Explain, &["users = iops × latency", "{finding}"]),
            (Shown::Pictures, &["sweep:1", "cdf:1", "devices:1"]),
            (Shown::Page, &["{system}", "{finding}", "\"sweep\"", "\"cdf\""]),
        ],
    ),
    (
        Origin::Native,
        [
            (Shown::Rows, &["randread", "{p95}"]),
            (Shown::Readings, &["submission", "completion", "total", "depth=4"]),
            (Shown::Check, &["job a: ", "{finding}"]),
            (Shown::Grade, &[NO_LEVELS]),
            (Shown::Explain, &["users = iops × latency", "4 in flight", "{finding}"]),
            (Shown::Pictures, &["sweep:1", "cdf:1", "devices:1"]),
            (Shown::Page, &["{system}", "{finding}", "\"sweep\"", "\"cdf\""]),
        ],
    ),
    (
        Origin::OwnJson,
        [
            (Shown::Rows, &["randread", "{p95}"]),
            (Shown::Readings, &["submission", "completion", "total", "depth=4"]),
            (Shown::Check, &["job a: ", "{finding}"]),
            (Shown::Grade, &[NO_LEVELS]),
            (Shown::Explain, &["users = iops × latency", "4 in flight", "{finding}"]),
            (Shown::Pictures, &["sweep:1", "cdf:1"]),
            (Shown::Page, &["\"sweep\"", "\"cdf\""]),
        ],
    ),
    (
        Origin::Json,
        [
            (Shown::Rows, &["randread", "{p95}"]),
            (Shown::Readings, &["submission", "completion", "total", "depth=4"]),
            (Shown::Check, &["job a: ", "too short", "not checked, for lack of what they need: backing"]),
            (Shown::Grade, &[NO_LEVELS]),
            (Shown::Explain, &["users = iops × latency", "4 in flight", "check: too short"]),
            (Shown::Pictures, &["sweep:1", "cdf:1"]),
            (Shown::Page, &["\"sweep\"", "\"cdf\""]),
        ],
    ),
    (
        Origin::Text,
        [
            (Shown::Rows, &["randread", "{p95}"]),
            (Shown::Readings, &["submission", "completion", "total", "depth=4"]),
            (Shown::Check, &["job a: ", "too short", "not checked, for lack of what they need: backing"]),
            (Shown::Grade, &[NO_LEVELS]),
            (Shown::Explain, &["users = iops × latency", "4 in flight", "check: too short"]),
            (Shown::Pictures, &["sweep:1", "cdf:1"]),
            (Shown::Page, &["\"sweep\"", "\"cdf\""]),
        ],
    ),
    (
        Origin::Terse,
        [
            // A line states neither its pattern nor its depth nor its workers.
            (Shown::Rows, &["  a     -     -      - r", "{p95}"]),
            (Shown::Readings, &["submission", "completion", "total", "depth=none"]),
            (Shown::Check, &["job a: ", "too short", "busy users"]),
            (Shown::Grade, &[NO_LEVELS]),
            (Shown::Explain, &["cannot tell users = iops × latency", "check: too short"]),
            (Shown::Pictures, &["cdf:1"]),
            (Shown::Page, &["\"cdf\""]),
        ],
    ),
    (
        Origin::Iozone,
        [
            (Shown::Rows, &["write     -     -     4K w"]),
            (Shown::Readings, &["iozone"]),
            (Shown::Check, &["results judged", "busy users"]),
            (Shown::Grade, &[NO_LEVELS]),
            (Shown::Explain, &[NO_JOBS]),
            (Shown::Pictures, &["surface:1"]),
            (Shown::Page, &["\"surface\""]),
        ],
    ),
    (
        Origin::Log,
        [
            (Shown::Rows, &["log     -     -      - r"]),
            (Shown::Readings, &["fio-log"]),
            (Shown::Check, &[NO_JOBS]),
            (Shown::Grade, &[NO_LEVELS]),
            (Shown::Explain, &[NO_JOBS]),
            (Shown::Pictures, &["series:1"]),
            (Shown::Page, &["\"series\""]),
        ],
    ),
    (
        Origin::HistogramLog,
        [
            (Shown::Rows, &["log     -     -      - r", "{p95}"]),
            (Shown::Readings, &["fio-log"]),
            (Shown::Check, &[NO_JOBS]),
            (Shown::Grade, &[NO_LEVELS]),
            (Shown::Explain, &[NO_JOBS]),
            (Shown::Pictures, &["cdf:1", "series:1"]),
            (Shown::Page, &["\"cdf\"", "\"series\""]),
        ],
    ),
];

/// A fact that a result may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fact {
    /// Submission, completion or total latency.
    Kinds,
    Percentiles,
    Depth,
    /// The machine that measured.
    System,
    Findings,
}

const FACTS: [Fact; 5] = [Fact::Kinds, Fact::Percentiles, Fact::Depth, Fact::System, Fact::Findings];

/// The reason why a page has no machine.
const NO_MACHINE: &str = "not stated in this file";

/// A fact of a result, where it is shown, and the words of each output.
type FactCell = (Fact, Shown, &'static [&'static str]);

/// Where each fact of an origin is shown, or where the reason stands why it is not.
const WHERE: &[(Origin, [FactCell; 5])] = &[
    (
        Origin::Survey,
        [
            (Fact::Kinds, Shown::Readings, &["total"]),
            (Fact::Percentiles, Shown::Rows, &["{p95}"]),
            (Fact::Depth, Shown::Readings, &["depth=1"]),
            (Fact::System, Shown::Page, &["{system}"]),
            (Fact::Findings, Shown::Check, &["{finding}"]),
        ],
    ),
    (
        Origin::Native,
        [
            (Fact::Kinds, Shown::Readings, &["submission", "completion", "total"]),
            (Fact::Percentiles, Shown::Rows, &["{p95}"]),
            (Fact::Depth, Shown::Readings, &["depth=4"]),
            (Fact::System, Shown::Page, &["{system}"]),
            (Fact::Findings, Shown::Check, &["{finding}"]),
        ],
    ),
    (
        Origin::OwnJson,
        [
            (Fact::Kinds, Shown::Readings, &["submission", "completion", "total"]),
            (Fact::Percentiles, Shown::Rows, &["{p95}"]),
            (Fact::Depth, Shown::Readings, &["depth=4"]),
            (Fact::System, Shown::Page, &[NO_MACHINE]),
            (Fact::Findings, Shown::Check, &["{finding}"]),
        ],
    ),
    (
        Origin::Json,
        [
            (Fact::Kinds, Shown::Readings, &["submission", "completion", "total"]),
            (Fact::Percentiles, Shown::Rows, &["{p95}"]),
            (Fact::Depth, Shown::Readings, &["depth=4"]),
            (Fact::System, Shown::Page, &[NO_MACHINE]),
            (Fact::Findings, Shown::Check, &["too short", "for lack of what they need"]),
        ],
    ),
    (
        Origin::Text,
        [
            (Fact::Kinds, Shown::Readings, &["submission", "completion", "total"]),
            (Fact::Percentiles, Shown::Rows, &["{p95}"]),
            (Fact::Depth, Shown::Readings, &["depth=4"]),
            (Fact::System, Shown::Page, &[NO_MACHINE]),
            (Fact::Findings, Shown::Check, &["too short", "for lack of what they need"]),
        ],
    ),
    (
        Origin::Terse,
        [
            (Fact::Kinds, Shown::Readings, &["submission", "completion", "total"]),
            (Fact::Percentiles, Shown::Rows, &["{p95}"]),
            (Fact::Depth, Shown::Explain, &["cannot tell users = iops × latency"]),
            (Fact::System, Shown::Page, &[NO_MACHINE]),
            (Fact::Findings, Shown::Check, &["too short", "for lack of what they need"]),
        ],
    ),
    (
        Origin::Iozone,
        [
            (Fact::Kinds, Shown::Explain, &[NO_JOBS]),
            (Fact::Percentiles, Shown::Explain, &[NO_JOBS]),
            (Fact::Depth, Shown::Explain, &[NO_JOBS]),
            (Fact::System, Shown::Page, &[NO_MACHINE]),
            (Fact::Findings, Shown::Check, &["for lack of what they need"]),
        ],
    ),
    (
        Origin::Log,
        [
            // The name of the file says which latency it is; here the total one, whose mean the row has.
            (Fact::Kinds, Shown::Page, &["mean_ms"]),
            (Fact::Percentiles, Shown::Explain, &[NO_JOBS]),
            (Fact::Depth, Shown::Explain, &[NO_JOBS]),
            (Fact::System, Shown::Page, &[NO_MACHINE]),
            (Fact::Findings, Shown::Check, &[NO_JOBS]),
        ],
    ),
    (
        Origin::HistogramLog,
        [
            (Fact::Kinds, Shown::Pictures, &["distribution of completion latency"]),
            (Fact::Percentiles, Shown::Rows, &["{p95}"]),
            (Fact::Depth, Shown::Page, &["neither rates nor loads"]),
            (Fact::System, Shown::Page, &[NO_MACHINE]),
            (Fact::Findings, Shown::Check, &[NO_JOBS]),
        ],
    ),
];

/// Both streams of a program.
fn output(program: &str, words: &[&str], directory: &Path) -> String {
    Run::new(program, directory).words(words).end().both()
}

fn plumb(words: &[&str], directory: &Path) -> String {
    output(PLUMB, words, directory)
}

/// Makes a result of every origin.
fn made(directory: &Path) -> Vec<(Origin, PathBuf)> {
    std::fs::create_dir(directory.join("data")).unwrap();
    let survey =
        ["survey", "--size", "16M", "--time", "1", "--tests", "randread", "--users", "16,32", "--warm-up", "0"];
    plumb(&[&survey[..], &["--output", "survey.json", "data"]].concat(), directory);
    // Direct reads of a file: a finding of each run of plumb's is that one second has few I/Os for its percentiles.
    let run = [
        "--name=a",
        "--filename=data/f",
        "--size=8m",
        "--rw=randread",
        "--ioengine=libaio",
        "--iodepth=4",
        "--direct=1",
        "--time_based",
        "--runtime=1",
    ];
    plumb(
        &[&["fio"], &run[..], &["--result=native.json", "--output-format=json", "--output=own.json"]].concat(),
        directory,
    );
    let logs = ["--write_lat_log=l", "--write_hist_log=l", "--log_hist_msec=500", "--output-format=normal,json,terse"];
    let all = output("fio", &[&run[..], &logs].concat(), directory);
    let line = all.lines().find(|line| line.starts_with("3;")).unwrap();
    let end = all.find("\n}\n").unwrap() + 3;
    let document = &all[all.find("{\n").unwrap()..end];
    let (text, terse) = (all.replace(document, "").replace(line, ""), line);
    for (name, part) in [("fio.terse", terse), ("fio.json", document), ("fio.txt", &text)] {
        std::fs::write(directory.join(name), part.to_owned() + "\n").unwrap();
    }
    let table = output("iozone", &["-a", "-n", "64k", "-g", "128k", "-i", "0", "-f", "data/iozone"], directory);
    std::fs::write(directory.join("iozone.txt"), table).unwrap();
    let names = [
        (Origin::Survey, "survey.json"),
        (Origin::Native, "native.json"),
        (Origin::OwnJson, "own.json"),
        (Origin::Json, "fio.json"),
        (Origin::Text, "fio.txt"),
        (Origin::Terse, "fio.terse"),
        (Origin::Iozone, "iozone.txt"),
        (Origin::Log, "l_lat.1.log"),
        (Origin::HistogramLog, "l_clat_hist.1.log"),
    ];
    names.map(|(origin, name)| (origin, directory.join(name))).to_vec()
}

/// The output of a command for a file.
fn output_of(shown: Shown, file: &str, directory: &Path) -> String {
    match shown {
        Shown::Rows => plumb(&["parse", "-p", file], directory),
        Shown::Readings => readings(&plumb(&["parse", "--format", "json", file], directory)),
        Shown::Check => plumb(&["check", "--remarks", file], directory),
        Shown::Grade => plumb(&["grade", file], directory),
        Shown::Explain => unwrapped(&plumb(&["explain", file], directory)),
        Shown::Pictures => plumb(&["plot", "--list", file], directory),
        Shown::Page => page(&plumb(&["report", file, "-o", "page.html"], directory), &directory.join("page.html")),
    }
}

/// Text whose runs of blanks are one blank.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The formats, kinds of latency and depths in what `plumb parse` writes as JSON.
fn readings(text: &str) -> String {
    let document = &text[..text.rfind('}').unwrap() + 1];
    let root: Value = serde_json::from_str(document).unwrap();
    let mut shown = BTreeSet::new();
    for reading in root["readings"].as_array().unwrap() {
        shown.insert(reading["format"].as_str().unwrap().to_owned());
        for job in reading["run"]["jobs"].as_array().into_iter().flatten() {
            shown.insert(job["depth"].as_f64().map_or("depth=none".to_owned(), |depth| format!("depth={depth}")));
            for direction in job["directions"].as_array().into_iter().flatten() {
                let kinds = ["submission", "completion", "total"].into_iter();
                shown.extend(kinds.filter(|kind| direction[kind]["mean_ns"].is_number()).map(str::to_owned));
            }
        }
    }
    shown.into_iter().collect::<Vec<_>>().join(" ")
}

/// The charts of a page, its facts and its findings; or the message instead of a page.
fn page(message: &str, path: &Path) -> String {
    let Ok(text) = std::fs::read_to_string(path) else { return message.to_owned() };
    std::fs::remove_file(path).unwrap();
    let (_, rest) = text.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    let data: Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    let mut shown: Vec<String> =
        data["pictures"].as_array().unwrap().iter().map(|one| one["chart"].to_string()).collect();
    let facts = data["runs"].to_string();
    if facts.contains("\"kernel\"") && facts.contains("\"processor\"") {
        shown.push("{system}".to_owned());
    }
    for part in ["runs", "checks", "pictures", "numbers"] {
        shown.push(data[part].to_string());
    }
    shown.join(" ")
}

/// The names of the checks whose findings a file of plumb holds.
fn findings(file: &Path) -> BTreeSet<String> {
    fn collect(value: &Value, into: &mut BTreeSet<String>) {
        match value {
            Value::Object(object) => {
                if let (Some(check), Some(grade)) = (object.get("check"), object.get("grade"))
                    && grade != "valid"
                {
                    into.extend(check.as_str().map(str::to_owned));
                }
                object.values().for_each(|value| collect(value, into));
            }
            Value::Array(list) => list.iter().for_each(|value| collect(value, into)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    if let Ok(root) = serde_json::from_str(&std::fs::read_to_string(file).unwrap()) {
        collect(&root, &mut found);
    }
    found
}

/// True if a part of a cell is in the output.
fn is_there(part: &str, output: &str, file: &Path) -> bool {
    match part {
        "{p95}" => output.lines().any(|line| {
            let cell = line.split_whitespace().rev().nth(5);
            line.contains(" r ") && cell.is_some_and(|cell| cell.parse::<f64>().is_ok())
        }),
        "{finding}" => findings(file).iter().all(|check| output.contains(check)),
        _ => match part.strip_prefix('!') {
            Some(absent) => !output.contains(absent),
            None => output.contains(part),
        },
    }
}

#[test]
fn every_command_shows_of_every_result_what_it_holds_or_why_not() {
    let directory = place();
    let made = made(directory.path());
    let mut wrong = Vec::new();
    for (origin, file) in &made {
        let (_, cells) = TABLE.iter().find(|(known, _)| known == origin).unwrap_or_else(|| panic!("{origin:?}"));
        assert_eq!(cells.map(|(shown, _)| shown), SHOWN, "{origin:?}: a cell for each command");
        let name = file.file_name().unwrap().to_str().unwrap();
        for (shown, parts) in cells {
            let output = output_of(*shown, name, directory.path());
            assert!(!parts.is_empty(), "{origin:?}, {shown:?}: an empty cell without a reason");
            let facts = WHERE.iter().filter(|(of, _)| of == origin).flat_map(|(_, facts)| facts);
            let facts = facts.filter(|(_, place, _)| place == shown).flat_map(|(_, _, parts)| parts.iter());
            for part in parts.iter().chain(facts).filter(|part| !is_there(part, &output, file)) {
                wrong.push(format!("{origin:?}, {shown:?}: {part}\n{output}"));
            }
        }
        let (_, facts) = WHERE.iter().find(|(known, _)| known == origin).unwrap_or_else(|| panic!("{origin:?}"));
        assert_eq!(facts.map(|(fact, ..)| fact), FACTS, "{origin:?}: a place for each fact");
        assert!(facts.iter().all(|(.., parts)| !parts.is_empty()), "{origin:?}: a fact without a place");
    }
    assert_eq!(made.len(), TABLE.len());
    assert!(wrong.is_empty(), "{} cells:\n{}", wrong.len(), wrong.join("\n"));
}

/// One run of fio in three formats: the same numbers, and the same findings.
#[test]
fn one_run_is_judged_the_same_whatever_its_format() {
    let directory = place();
    made(directory.path());
    let checks = |name: &str| -> BTreeSet<String> {
        let output = plumb(&["check", "--remarks", name], directory.path());
        output.lines().filter_map(|line| line.split_once("job a: ")?.1.split(':').next().map(str::to_owned)).collect()
    };
    let known = checks("fio.json");
    assert!(known.contains("too short"), "{known:?}");
    assert_eq!((checks("fio.txt"), checks("fio.terse")), (known.clone(), known));
    assert_eq!(checks("own.json"), checks("native.json"));
    let row = |name: &str| -> Vec<f64> {
        let csv = plumb(&["parse", "--format", "csv", name], directory.path());
        let fields: Vec<String> = csv.lines().nth(1).unwrap().split(',').map(str::to_owned).collect();
        [4, 5, 9].map(|column| fields[column].parse().unwrap()).to_vec()
    };
    for (name, other) in [("fio.txt", "fio.json"), ("fio.terse", "fio.json"), ("own.json", "native.json")] {
        for (one, other) in row(name).into_iter().zip(row(other)) {
            assert!((one / other - 1.0).abs() < 0.01, "{name}: {one}, {other}");
        }
    }
}

/// A run of a minute with these I/Os per second in its first 20 s and after them, made of a real one of a second.
fn with_rates(directory: &Path, before: u64, after: u64) {
    let run =
        "fio --name=a --filename=f --size=1m --rw=randread --time_based --runtime=1 --result=run.json --output=run.txt";
    plumb(&run.split(' ').collect::<Vec<_>>(), directory);
    let path = directory.join("run.json");
    let mut root: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let intervals = root.pointer_mut("/result/monitored/intervals").unwrap().as_array_mut().unwrap();
    let mut one = intervals[0].clone();
    *intervals = (0..160)
        .map(|at: u64| {
            // The first and the last interval are not steady.
            let ios = (if at <= 40 { before } else { after }) / 2 + at * 7919 % 13 / 4;
            one["until"] = Value::from((at + 1) * 500_000_000);
            one["measuring"] = Value::from(u64::from(at > 0));
            one["ios"] = serde_json::json!([ios, 0, 0]);
            one["bytes"] = serde_json::json!([ios * 4096, 0, 0]);
            one["latencies"] = serde_json::json!([[], [], []]);
            one["devices"] = serde_json::json!([]);
            one.clone()
        })
        .collect();
    std::fs::write(&path, root.to_string()).unwrap();
}

#[test]
fn phases_are_the_same_wherever_they_are_shown() {
    let directory = place();
    with_rates(directory.path(), 3_000, 300);
    let (lasting, burst) = ("in the last settled phase (20–80 s); the average of", "credits are spent");
    let explained = output_of(Shown::Explain, "run.json", directory.path());
    assert!(explained.contains(lasting) && explained.contains("burst: plateau 3,00"), "{explained}");
    let checked = output_of(Shown::Check, "run.json", directory.path());
    assert!(checked.contains("not steady: plateau 3,00") && checked.contains(burst), "{checked}");
    let shown = output_of(Shown::Page, "run.json", directory.path());
    assert!(shown.contains(lasting) && shown.contains("\"name\":\"settled\""), "{shown}");
    let [explained, checked] = ["explain", "check"].map(|command| {
        let text = plumb(&[command, "--json", "run.json"], directory.path());
        let root: Value = serde_json::from_str(&text).unwrap();
        assert!(root["results"][0]["lasting"]["sentence"].as_str().unwrap().contains(lasting), "{text}");
        root["results"][0]["phases"].clone()
    });
    // The page begins with the rate that lasts, and its table has it before the average.
    assert!(shown.contains("\"check\":\"lasting rate\""), "{shown}");
    plumb(&["report", "run.json", "-o", "page.html"], directory.path());
    let page = directory.read("page.html");
    assert!(page.contains("Of random read 4 KiB, 1 user: 30") && page.contains("lasting IOPS"), "{shown}");
    assert_eq!(explained, checked);
    let kinds: Vec<&str> = explained.as_array().unwrap().iter().map(|phase| phase["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["burst", "settled"]);
    for phase in explained.as_array().unwrap() {
        assert!(shown.contains(phase["sentence"].as_str().unwrap()), "{phase}");
    }
    // A run of one rate has a phase, and nothing that differs from the average.
    with_rates(directory.path(), 300, 300);
    let explained = output_of(Shown::Explain, "run.json", directory.path());
    assert!(!explained.contains("the average of") && !explained.contains("not steady"), "{explained}");
    assert!(explained.contains("settled over its last"), "{explained}");
}

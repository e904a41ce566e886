//! The options of a session: each command that measures has each of them, with one meaning; and its results name host
//! and command.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// Commands that measure, with cheap words. Where the device is simulated, nothing is found but that nothing moved.
const COMMANDS: &[(&str, Device)] = &[
    (
        "survey --engine sim --tests randread --users 1 --time 1 --warm-up 0 --size 16M --no-report disk",
        Device::Simulated,
    ),
    ("knee --users 1 --time 1s --size 16M --no-report disk", Device::Real),
    (
        "capacity --slo p99<2ms --engine sim --size 16M --with sim_parallelism=1 --from 1k --to 1k --confirm 0 \
         --precision 30% --seed 1 --no-report disk",
        Device::Simulated,
    ),
    ("ask --profile mine.toml --time 2s --rounds 1 disk", Device::Simulated),
    (
        "versus --rest 0 --rounds 6 --seed 7 --b sim_service_time=150us -- --name=a --ioengine=sim --rw=randread --size=1g \
         --runtime=2 --time_based",
        Device::Simulated,
    ),
    ("model --size 16M --time 20ms --run disk", Device::Real),
    ("fio --name=a --ioengine=sim --rw=randread --size=1g --runtime=2 --time_based", Device::Simulated),
    ("iozone -i 0 -s 1m -r 64k -f disk/f", Device::Real),
];

/// True for a command whose runs may be calibrated. A pass of iozone is shorter than that.
fn is_calibrated(command: &str) -> bool {
    !command.starts_with("iozone")
}

/// What a command measures.
#[derive(Clone, Copy, PartialEq)]
enum Device {
    Simulated,
    Real,
}

const PROFILE: &str = "question = \"Is it enough?\"
load = \"writes\"
not_asked = \"Everything else.\"
space = \"16m\"

[[test]]
name = \"writes\"
jobs = \"\"\"
[writes]
rw=write
bs=4k
size=16m
ioengine=sim
\"\"\"
";

fn place() -> TempDir {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::create_dir(place.path().join("disk")).unwrap();
    std::fs::write(place.path().join("mine.toml"), PROFILE).unwrap();
    place
}

/// Runs a command with these options after its name; its status and what it said.
fn run(place: &Path, command: &str, options: &str) -> (i32, String) {
    let (name, words) = command.split_once(' ').unwrap();
    let mut plumb = Command::new(env!("CARGO_BIN_EXE_plumb"));
    plumb.current_dir(place).env_remove("PLUMB_STORE").env("HOME", place).env("PLUMB_REMARKS", "never");
    plumb.arg(name).args(options.split_whitespace()).args(words.split_whitespace());
    let Output { status, stdout, stderr } = plumb.output().unwrap();
    (status.code().unwrap(), format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr)))
}

fn plumb(place: &Path, words: &str) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_plumb")).current_dir(place).args(words.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// All results within a document.
fn results(document: &Value) -> Vec<&Value> {
    match document.get("tests").and_then(Value::as_array) {
        Some(tests) => tests.iter().map(|test| &test["result"]).collect(),
        None => vec![document.get("result").unwrap_or(document)],
    }
}

#[test]
fn every_command_publishes_keeps_and_names_its_runs() {
    for (command, _) in COMMANDS {
        let place = place();
        let options = "--host elsewhere --stream l.ndjson --metrics m.prom --store s.db";
        let (status, said) = run(place.path(), command, options);
        assert!([0, 1, 2, 3].contains(&status), "{command}: {status}: {said}");
        let lines = std::fs::read_to_string(place.path().join("l.ndjson")).unwrap();
        let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of_type = |wanted: &str| lines.iter().filter(|line| line["type"] == wanted).count();
        assert!(of_type("start") > 0 && of_type("start") == of_type("end") && of_type("check") > 0, "{command}");
        let starts = lines.iter().filter(|line| line["type"] == "start");
        assert!(starts.into_iter().all(|line| line["environment"]["host"] == "elsewhere"), "{command}");
        let metrics = std::fs::read_to_string(place.path().join("m.prom")).unwrap();
        assert!(metrics.starts_with("# HELP plumb_run_info"), "{command}: {metrics}");
        let kept: Value = serde_json::from_str(&plumb(place.path(), "store export --store s.db last")).unwrap();
        for result in results(&kept) {
            let name = command.split(' ').next().unwrap();
            assert_eq!(result["environment"]["host"], "elsewhere", "{command}");
            assert_eq!(result["environment"]["command"][1], name, "{command}");
            let share = &result["jobs"][0]["calibration"];
            assert_eq!(share.is_object(), is_calibrated(command), "{command}: plumb's own share");
        }
    }
}

#[test]
fn calibrations_and_stores_that_are_not_wanted_are_left_out() {
    for (command, _) in COMMANDS {
        let place = place();
        let option = if is_calibrated(command) { "--no-calibrate" } else { "" };
        run(place.path(), command, &format!("{option} --store s.db"));
        let kept: Value = serde_json::from_str(&plumb(place.path(), "store export --store s.db last")).unwrap();
        assert!(results(&kept).iter().all(|result| result["jobs"][0].get("calibration").is_none()), "{command}");
        let (_, said) = run(place.path(), command, "--no-store --quiet");
        assert!(!said.contains("Kept:") && !place.path().join(".local").exists(), "{command}: {said}");
    }
}

#[test]
fn strict_fails_on_findings_that_are_not_accepted() {
    for (command, _) in COMMANDS.iter().filter(|(_, device)| *device == Device::Simulated) {
        let place = place();
        let status = |options: &str| run(place.path(), command, options).0;
        assert_eq!(status("--accept nothing-moved"), 0, "{command}");
        assert_eq!(status("--accept nothing-moved --strict=nothing-moved"), 0, "{command}");
        // A survey shows no percentile that is not a fact.
        let of_percentiles = if command.starts_with("survey") { 0 } else { 4 };
        assert_eq!(status("--accept nothing-moved --strict=too-short"), of_percentiles, "{command}");
        // 3 where a result that is not of the storage is not an answer.
        let refused = status("--strict=nothing-moved");
        assert!([3, 4].contains(&refused), "{command}: {refused}");
    }
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let knee = format!("knee --users 1 --time 1s --size 16M --no-report -o - {}", memory.path().display());
    let status = |options: &str| run(memory.path(), &knee, &format!("--no-store {options}")).0;
    assert_eq!((status("--strict=backing"), status("--strict=backing --accept backing")), (4, 0));
    let iozone = format!("iozone -i 0 -s 1m -r 64k -f {}/f", memory.path().display());
    let status = |options: &str| run(memory.path(), &iozone, options).0;
    assert_eq!((status("--strict=backing"), status("--strict=backing --accept backing")), (4, 0));
}

#[test]
fn programs_that_plumb_replaces_print_its_result_alone() {
    for (command, json) in [(COMMANDS[6].0, "--json"), (COMMANDS[7].0, "--json -")] {
        let place = place();
        let (status, said) = run(place.path(), command, &format!("{json} --quiet --host elsewhere --no-store"));
        let document: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{command}: {error}: {said}"));
        assert_eq!(status, 0, "{command}");
        for result in results(&document) {
            assert_eq!(result["environment"]["host"], "elsewhere", "{command}");
        }
    }
    let place = place();
    let (_, said) = run(place.path(), COMMANDS[6].0, "--json --result=r.json");
    let (file, said): (Value, Value) =
        (plumb_json(&place.path().join("r.json")), serde_json::from_str(&said).expect("the same on standard output"));
    assert_eq!(file["jobs"], said["jobs"]);
}

fn plumb_json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_members_result_names_its_host_and_the_words_of_its_task() {
    let place = place();
    plumb(place.path(), "cluster --local 1 --keep kept fio --name=a --ioengine=null --size=1m --rw=read --filename=x");
    let member = plumb_json(&place.path().join("kept/member-000.json"));
    let environment = &member["result"]["environment"];
    assert!(environment["host"].is_string(), "{environment}");
    assert_eq!(environment["command"][1], "fio");
    assert_eq!(environment["command"][2], "--name=a");
}

#[test]
fn the_lines_have_standard_output_to_themselves() {
    for (command, _) in COMMANDS {
        let place = place();
        let (_, said) = run(place.path(), command, "--quiet --stream -");
        let lines = said.lines().filter(|line| !line.starts_with("plumb: "));
        assert!(lines.into_iter().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{command}: {said}");
        let json = if command.starts_with("iozone") { "--json -" } else { "--json" };
        let (status, said) = run(place.path(), command, &format!("{json} --stream -"));
        assert!(status != 0 && said.contains("standard output is for the result already"), "{command}: {said}");
    }
}

#[test]
fn what_has_no_meaning_is_refused_with_its_reason() {
    let place = place();
    for (command, _) in COMMANDS {
        let (status, said) = run(place.path(), command, "--accept cash");
        assert!(status != 0 && said.contains("there is no check `cash`"), "{command}: {said}");
    }
    let options =
        "--accept cache|--strict|--host a|--no-calibrate|--store s.db|--no-store|--stream -|--metrics m.prom|--otlp a";
    for option in options.split('|') {
        let (status, said) = run(place.path(), "calibrate --engine psync", option);
        let name = option.split(' ').next().unwrap();
        assert!(status == 1 && said.contains("only commands that do I/O") && said.contains(name), "{option}: {said}");
    }
    for (command, option) in [("ask --list", "--host a"), ("model sweep.json", "--strict"), ("model a", "--stream -")] {
        let (status, said) = run(place.path(), command, option);
        let name = option.split(' ').next().unwrap();
        assert!(status != 0 && said.contains(name) && said.contains("measure"), "{command} {option}: {said}");
    }
}

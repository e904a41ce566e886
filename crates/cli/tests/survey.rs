//! The survey from outside: what it leaves behind, what it refuses, and how it ends.

use assert_cmd::Command;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

const WORK_FILE: &str = "plumb-survey.dat";

/// A survey of a directory of its own, with results written into another.
struct Stage {
    surveyed: tempfile::TempDir,
    results: tempfile::TempDir,
}

impl Stage {
    fn new() -> Self {
        // Beside the build, which is a real disk more often than /tmp is.
        let under =
            |prefix: &str| tempfile::Builder::new().prefix(prefix).tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Stage { surveyed: under("surveyed"), results: under("results") }
    }

    fn result(&self) -> PathBuf {
        self.results.path().join("result.json")
    }

    fn command(&self, words: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_plumb"));
        command.args(["survey", "--output"]).arg(self.result()).args(words).arg(self.surveyed.path());
        // A line for each test, as standard error is not a terminal here.
        command.env("PLUMB_REMARKS", "always");
        command
    }

    fn run(&self, words: &[&str]) -> (Option<i32>, String, String) {
        let output = self.command(words).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    fn saved(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.result()).unwrap()).unwrap()
    }
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_small_survey_ends_with_a_table_sentences_and_a_result() {
    let stage = Stage::new();
    let (status, shown, error) = stage.run(&["--size", "64M", "--time", "1"]);
    assert_eq!(status, Some(0), "{shown}{error}");
    for (name, rows) in [("rand read", 5), ("seq read", 2), ("log write", 2)] {
        let found = shown.lines().filter(|line| line.starts_with(name)).count();
        assert_eq!(found, rows, "rows of {name}\n{shown}");
    }
    assert!(shown.contains("8k random reads"), "{shown}");
    let path = stage.result();
    assert!(shown.ends_with(&format!("Result: {}\n", path.display())), "{shown}");
    assert_eq!(names(stage.surveyed.path()), [""; 0], "the work file is gone");
    let saved = stage.saved();
    let tests = saved["tests"].as_array().unwrap();
    assert_eq!(tests.len(), 9);
    for test in tests {
        assert_eq!(test["result"]["jobs"].as_array().unwrap().len() as u64, test["users"].as_u64().unwrap());
        let direction = if test["test"] == "log_write" { "write" } else { "read" };
        let ios: u64 = test["result"]["jobs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|job| job["directions"][direction]["ios"].as_u64().unwrap())
            .sum();
        assert!(ios > 0, "{test}");
    }
    assert_eq!(saved["sentences"].as_array().unwrap().len(), 2);
}

#[test]
fn a_kept_work_file_is_full_of_data_that_never_repeats() {
    let stage = Stage::new();
    let mut running = stage.command(&["--size", "16M", "--time", "1", "--keep"]);
    let output = running.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(names(stage.surveyed.path()), [WORK_FILE]);
    let data = std::fs::read(stage.surveyed.path().join(WORK_FILE)).unwrap();
    assert_eq!(data.len(), 16 << 20);
    let mut blocks: Vec<&[u8]> = data.chunks(512).collect();
    blocks.sort_unstable();
    blocks.dedup();
    assert_eq!(blocks.len(), data.len() / 512, "every 512-byte block is different from every other");
    let (_, _, error) = stage.run(&["--size", "16M", "--time", "1"]);
    assert!(!error.contains("writing"), "a kept work file is not written again\n{error}");
    assert_eq!(names(stage.surveyed.path()), [""; 0]);
}

#[test]
fn a_file_of_someone_else_stays_as_it_is() {
    let stage = Stage::new();
    let precious = stage.surveyed.path().join(WORK_FILE);
    std::fs::write(&precious, "precious").unwrap();
    let (status, _, error) = stage.run(&["--size", "16M", "--time", "1"]);
    assert_eq!(status, Some(1));
    assert!(error.contains("plumb did not make it"), "{error}");
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    assert_eq!(names(stage.results.path()), [""; 0], "no result of nothing");
}

#[test]
fn a_file_that_does_not_fit_is_refused_before_it_is_written() {
    let stage = Stage::new();
    let (status, _, error) = stage.run(&["--size", "1000T"]);
    assert_eq!(status, Some(1));
    assert!(error.contains("1000T do not fit: ") && error.contains(" free and a reserve stays untouched"), "{error}");
    // Sizes as people write them: no thousands of M.
    let (_, most) = error.trim().rsplit_once("at most --size ").unwrap();
    let (digits, unit) = most.split_at(most.len() - 1);
    assert!(digits.parse::<u64>().is_ok_and(|number| number < 10_000) && "MGT".contains(unit), "{error}");
    assert_eq!(names(stage.surveyed.path()), [""; 0]);
}

#[test]
fn places_that_cannot_be_surveyed_are_named() {
    for (path, hint) in [
        ("/does/not/exist", "No such file"),
        ("/proc/version", "neither a directory nor a block device"),
        ("/sys/kernel", "plumb-survey.dat"),
    ] {
        let stage = Stage::new();
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_plumb"))
            .args(["survey", "--quick", "--size", "16M", path, "--output"])
            .arg(stage.result())
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{path}\n{error}");
        assert!(error.contains(hint), "{path}\n{error}");
    }
}

#[test]
fn an_interrupt_keeps_what_is_done() {
    let stage = Stage::new();
    let mut child =
        stage.command(&["--size", "16M", "--time", "2"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("[1/9]") {
        line.clear();
        assert_ne!(lines.read_line(&mut line).unwrap(), 0, "ended before its first test");
    }
    std::thread::sleep(Duration::from_millis(300));
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let mut shown = String::new();
    child.stdout.take().unwrap().read_to_string(&mut shown).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{shown}");
    assert!(shown.contains("Cut short by signal 2"), "{shown}");
    let saved = stage.saved();
    assert!(
        shown.contains("The interrupted test, ") && shown.contains("measures the interrupted test again"),
        "{shown}"
    );
    let under_way: Vec<_> = saved["tests"].as_array().unwrap().iter().map(|test| test["under_way"] == true).collect();
    assert_eq!(under_way, [false, true], "what was cut short is kept apart");
    assert!(saved["tests"][1]["result"].to_string().contains("the run had not ended"), "and says so");
    assert_eq!(saved["ended_by_signal"], 2);
    assert_eq!(names(stage.surveyed.path()), [""; 0], "the work file is gone");
    assert_eq!(names(stage.results.path()), ["result.html", "result.json"]);
}

#[test]
fn a_result_that_cannot_be_written_is_told_before_anything_runs() {
    let stage = Stage::new();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_plumb"))
        .args(["survey", "--quick", "--output", "/does/not/exist/r.json"])
        .arg(stage.surveyed.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("the result cannot be written"), "{error}");
    assert_eq!(names(stage.surveyed.path()), [""; 0]);
}

/// Runs a shell script in a mount namespace of its own with `$plumb` set.
fn in_own_mounts(script: &str) -> (Option<i32>, String) {
    let output = Command::new("unshare")
        .args(["--mount", "bash", "-c", script])
        .env("plumb", env!("CARGO_BIN_EXE_plumb"))
        .output()
        .expect("unshare of util-linux, as root");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code(), text)
}

/// A loop device over a file of random-looking data, detached when it goes.
struct LoopDevice {
    path: String,
    backing: tempfile::NamedTempFile,
}

impl LoopDevice {
    /// Needs root.
    fn attach() -> Self {
        let backing = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let data: Vec<u8> = (0..32u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        std::fs::write(backing.path(), data).unwrap();
        let output = Command::new("losetup").args(["--find", "--show"]).arg(backing.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        LoopDevice { path: String::from_utf8(output.stdout).unwrap().trim().to_owned(), backing }
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.path]).output();
    }
}

#[test]
fn a_device_is_read_and_left_as_it_was() {
    let device = LoopDevice::attach();
    let before = std::fs::read(device.backing.path()).unwrap();
    let stage = Stage::new();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_plumb"))
        .args(["survey", "--time", "1", &device.path, "--output"])
        .arg(stage.result())
        .output()
        .unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{shown}{}", String::from_utf8_lossy(&output.stderr));
    assert!(shown.contains("Log writes: skipped"), "{shown}");
    assert_eq!(stage.saved()["tests"].as_array().unwrap().len(), 7);
    assert!(std::fs::read(device.backing.path()).unwrap() == before, "the device was written to");
}

#[test]
fn a_tmpfs_is_called_memory() {
    let script =
        "mount -t tmpfs -o size=128m none /mnt && cd /mnt && mkdir d && $plumb survey --strict --size 16M --time 1 d";
    let (status, shown) = in_own_mounts(script);
    assert_eq!(status, Some(4), "a check speaks, and --strict was asked for: {shown}");
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("is tmpfs: its files live in memory"), "{shown}");
    assert!(shown.contains("NOT A STORAGE RESULT"), "{shown}");
    assert!(shown.contains("Memory answered, not the device."), "{shown}");
    assert!(shown.contains("plumb-survey-001.json"), "{shown}");
}

#[test]
fn a_full_file_system_is_told_and_left_clean() {
    let script = "mount -t tmpfs -o size=24m none /mnt && cd / && \
                  $plumb survey --size 16M --time 1 --output /dev/shm/plumb-test-r.json /mnt; s=$?; ls -A /mnt; exit $s";
    let (status, shown) = in_own_mounts(script);
    assert_eq!(status, Some(1), "{shown}");
    assert!(shown.contains("16M do not fit"), "{shown}");
    assert!(!shown.contains(WORK_FILE) || shown.lines().all(|line| line != WORK_FILE), "{shown}");
}

#[test]
fn a_read_only_directory_is_named() {
    let script = "mount -t tmpfs -o ro none /mnt && $plumb survey --size 16M --output /dev/shm/plumb-test-ro.json /mnt";
    let (status, shown) = in_own_mounts(script);
    assert_eq!(status, Some(1), "{shown}");
    assert!(shown.contains("cannot be made: Read-only file system"), "{shown}");
}

#[test]
fn all_tests_run_in_virtual_time_and_each_has_its_row() {
    let stage = Stage::new();
    let words = ["--size", "128M", "--time", "1", "--tests", "all", "--engine", "sim", "--warm-up", "0"];
    let (status, shown, error) = stage.run(&words);
    assert_eq!(status, Some(0), "{shown}{error}");
    for (name, rows) in [("rand read", 5), ("seq read", 8), ("log write", 12), ("mix read", 5), ("mix write", 5)] {
        let found = shown.lines().filter(|line| line.starts_with(name)).count();
        assert_eq!(found, rows, "rows of {name}\n{shown}");
    }
    assert_eq!(stage.saved()["tests"].as_array().unwrap().len(), 30);
    assert_eq!(stage.saved()["tests_planned"], 30);
}

#[test]
fn a_sweep_has_a_column_for_each_option_and_says_what_was_best() {
    let stage = Stage::new();
    let words = ["--size", "16M", "--time", "1", "--vary", "bs=4k..16k", "--vary", "iodepth=1,4", "--engine", "sim"];
    let (status, shown, error) = stage.run(&words);
    assert_eq!(status, Some(0), "{shown}{error}");
    assert!(shown.lines().any(|line| line.contains("iodepth")), "{shown}");
    assert_eq!(shown.lines().filter(|line| line.starts_with("rand read")).count(), 6, "{shown}");
    assert!(shown.contains(" levels of ") && shown.contains("the most MiB/s with"), "{shown}");
    let saved = stage.saved();
    assert_eq!(saved["tests"][1]["options"], serde_json::json!([["iodepth", "4"]]));
    assert_eq!(saved["request"]["vary"]["bs"], serde_json::json!(["4k", "8k", "16k"]));
}

#[test]
fn a_dry_run_tells_time_bytes_and_wear_and_touches_nothing() {
    let stage = Stage::new();
    let (status, shown, error) = stage.run(&["--size", "1G", "--time", "60", "--tests", "all", "--dry-run"]);
    assert_eq!(status, Some(0), "{shown}{error}");
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("a work file of 1G") && shown.contains("30 8k rand mix, 64 users"), "{shown}");
    assert!(shown.contains("30 tests of 60 s are 30:00 min") && shown.contains("33:00 min in all"), "{shown}");
    assert!(shown.contains("Wear: 1G are written before the first test"), "{shown}");
    assert_eq!(names(stage.surveyed.path()), [""; 0]);
    assert_eq!(names(stage.results.path()), [""; 0]);
}

#[test]
fn a_survey_file_says_what_to_do_and_its_mistakes_have_lines() {
    let stage = Stage::new();
    let file = stage.results.path().join("nightly.toml");
    let text = "tests = [\"randread\"]\nusers = [1, 2]\nsize = \"16M\"\ntime = 1\nengine = \"sim\"\nrepeat = 2\nshuffle = true\n";
    std::fs::write(&file, text).unwrap();
    let config = file.to_str().unwrap();
    let (status, shown, error) = stage.run(&["--config", config]);
    assert_eq!(status, Some(0), "{shown}{error}");
    assert_eq!(shown.lines().filter(|line| line.starts_with("rand read")).count(), 4, "{shown}");
    assert!(shown.contains("The rates of 2 repetitions of one test differ by"), "{shown}");
    std::fs::write(&file, format!("{text}sise = 3\n")).unwrap();
    let (status, _, error) = stage.run(&["--config", config]);
    assert_eq!(status, Some(1));
    assert!(
        error.contains("nightly.toml") && error.contains("line 8") && error.contains("unknown field `sise`"),
        "{error}"
    );
}

#[test]
fn tests_of_ones_own_have_their_names_in_table_result_and_dry_run() {
    let stage = Stage::new();
    let file = stage.results.path().join("own.toml");
    let text = "size = \"16M\"\ntime = 1\nengine = \"sim\"\n\
                [test.checkout]\nrw = \"randrw\"\nbs = \"4k\"\nusers = \"1,2\"\nmix = 25\nsync = \"dsync\"\n\
                [test.bulk]\nrw = \"write\"\nbs = \"64k\"\n";
    std::fs::write(&file, text).unwrap();
    let config = file.to_str().unwrap();
    let (status, shown, error) = stage.run(&["--config", config, "--dry-run"]);
    assert_eq!(status, Some(0), "{shown}{error}");
    assert!(shown.contains("1  64k bulk, 1 user\n"), "{shown}");
    assert!(shown.contains("3  4k checkout, 2 users, rwmixread=25, sync=dsync\n"), "{shown}");
    let (status, shown, error) = stage.run(&["--config", config]);
    assert_eq!(status, Some(0), "{shown}{error}");
    for (name, rows) in [("bulk", 1), ("checkout read", 2), ("checkout write", 2), ("rand read", 0)] {
        assert_eq!(shown.lines().filter(|line| line.starts_with(name)).count(), rows, "rows of {name}\n{shown}");
    }
    let saved = stage.saved();
    let bytes = |test: usize, way: &str| -> u64 {
        let jobs = saved["tests"][test]["result"]["jobs"].as_array().unwrap();
        jobs.iter().map(|job| job["directions"][way]["bytes"].as_u64().unwrap()).sum()
    };
    assert_eq!((saved["tests"][0]["test"].as_str(), bytes(0, "read")), (Some("bulk"), 0));
    assert_eq!(saved["tests"][2]["options"], serde_json::json!([["rwmixread", "25"], ["sync", "dsync"]]));
    let (read, written) = (bytes(2, "read"), bytes(2, "write"));
    assert!((2 * read..5 * read).contains(&written), "a quarter are reads: {read} and {written} bytes");
    assert_eq!(saved["request"]["test"]["checkout"]["mix"], 25);
}

#[test]
fn a_survey_that_was_cut_short_is_gone_on_with() {
    let stage = Stage::new();
    let mut child = stage
        .command(&["--size", "16M", "--time", "1", "--tests", "randread", "--users", "1,2,4", "--keep"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("[1/3]") {
        line.clear();
        assert_ne!(lines.read_line(&mut line).unwrap(), 0, "ended before its first test");
    }
    // Killed outright: what was finished is on disk already, whole.
    child.kill().unwrap();
    child.wait().unwrap();
    let before = stage.saved();
    assert_eq!(before["tests"].as_array().unwrap().len(), 1);
    let resume = || {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_plumb"))
            .args(["survey", "--resume"])
            .arg(stage.result())
            .env("PLUMB_REMARKS", "always")
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (status, shown, error) = resume();
    assert_eq!(status, Some(0), "{shown}{error}");
    assert!(shown.contains("Resumed: 1 test finished before."), "{shown}");
    assert!(!error.contains("[1/3]") && error.contains("[3/3]"), "{error}");
    let after = stage.saved();
    assert_eq!(after["tests"].as_array().unwrap().len(), 3);
    assert_eq!(after["tests"][0], before["tests"][0], "what was measured stays as it was");
    let (status, _, error) = resume();
    assert_eq!(status, Some(0), "nothing is left to do, and that is no mistake\n{error}");
    assert!(!error.contains("/3]"), "{error}");
}

#[test]
fn what_cannot_be_gone_on_with_is_named() {
    let stage = Stage::new();
    for (text, says) in [
        ("{}", "not a survey that can be resumed"),
        ("{\"command\":\"survey\",\"tests\":[]}", "earlier version"),
        ("not json", "not a survey that can be resumed"),
    ] {
        std::fs::write(stage.result(), text).unwrap();
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_plumb"))
            .args(["survey", "--resume"])
            .arg(stage.result())
            .env("PLUMB_REMARKS", "always")
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && error.contains(says), "{text}\n{error}");
    }
}

#[test]
fn each_user_has_a_file_of_its_own() {
    let stage = Stage::new();
    let words = [
        "--size",
        "16M",
        "--time",
        "1",
        "--tests",
        "read",
        "--users",
        "1,3",
        "--block-sizes",
        "64k",
        "--file-per-user",
        "--keep",
    ];
    let (status, shown, error) = stage.run(&words);
    assert_eq!(status, Some(0), "{shown}{error}");
    let files: Vec<String> = (1..=3).map(|number| format!("{WORK_FILE}.{number}")).collect();
    assert_eq!(names(stage.surveyed.path()), files);
    assert!(shown.contains("3 work files of 16M"), "{shown}");
    assert_eq!(stage.saved()["tests"][1]["result"]["jobs"].as_array().unwrap().len(), 3);
}

#[test]
fn a_file_of_others_is_read_and_left_as_it_was() {
    let stage = Stage::new();
    let file = stage.surveyed.path().join("theirs.dat");
    let data: Vec<u8> = (0..17u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::write(&file, &data).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_plumb"))
        .args(["survey", "--time", "1", "--users", "2", "--tests", "all", "--block-sizes", "8k", "--output"])
        .arg(stage.result())
        .arg(&file)
        .output()
        .unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{shown}{}", String::from_utf8_lossy(&output.stderr));
    assert!(shown.contains("Log writes and mixes: skipped, they would overwrite the file"), "{shown}");
    assert!(std::fs::read(&file).unwrap() == data, "the file was written to");
}

#[test]
fn no_option_of_a_survey_reaches_a_file_of_others() {
    let data: Vec<u8> = (0..17u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let (own, removing) = ("[test.a]\nrw = \"read\"\noptions", "ioengine = \"filedelete\"");
    for (words, config, says) in [
        ("--vary iomem=mmapshared:theirs.dat", String::new(), "iomem=mmapshared:theirs.dat"),
        ("--engine sim --vary sim_journal=theirs.dat", String::new(), "sim_journal=theirs.dat"),
        ("--vary unlink_each_loop=1", String::new(), "removes files"),
        ("--engine filedelete", String::new(), "the engine filedelete"),
        ("--vary ioengine=psync,filedelete", String::new(), "the engine filedelete"),
        ("--engine ftruncate", String::new(), "ftruncate"),
        ("--engine cpuio", String::new(), "cpuio"),
        ("--config s.toml", "engine = \"filedelete\"\n".to_owned(), "the engine filedelete"),
        ("--config s.toml", format!("[vary]\n{removing}\n"), "the engine filedelete"),
        ("--config s.toml", format!("{own} = {{ {removing} }}\n"), "the engine filedelete"),
        ("--config s.toml", "[vary]\niomem = \"mmap:theirs.dat\"\n".to_owned(), "iomem=mmap:theirs.dat"),
    ] {
        let stage = Stage::new();
        let place = stage.surveyed.path();
        std::fs::write(place.join("theirs.dat"), &data).unwrap();
        std::fs::write(place.join("s.toml"), &config).unwrap();
        // Of a directory and of the file itself.
        for target in [".", "theirs.dat"] {
            let output = std::process::Command::new(env!("CARGO_BIN_EXE_plumb"))
                .args([
                    "survey",
                    "--time",
                    "1",
                    "--size",
                    "16M",
                    "--warm-up",
                    "0",
                    "--users",
                    "1",
                    "--output",
                    "r.json",
                ])
                .args(words.split_whitespace())
                .arg(target)
                .current_dir(place)
                .output()
                .unwrap();
            let error = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{words} {config} {target}\n{error}");
            assert!(error.contains(says), "{words} {config} {target}\n{error}");
            assert!(std::fs::read(place.join("theirs.dat")).unwrap() == data, "{words} {config}: the file has changed");
            assert_eq!(names(place), ["s.toml", "theirs.dat"], "{words} {config} {target}");
        }
    }
}

/// Surveys devices with some words; status, output and messages.
fn survey_devices(stage: &Stage, devices: &[&str], words: &[&str]) -> (Option<i32>, String, String) {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_plumb"))
        .args(["survey", "--time", "1", "--warm-up", "0", "--output"])
        .arg(stage.result())
        .args(words)
        .args(devices)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_device_is_overwritten_only_for_who_repeats_its_identity() {
    let (one, two) = (LoopDevice::attach(), LoopDevice::attach());
    let stage = Stage::new();
    let devices = [one.path.as_str(), two.path.as_str()];
    let identity = |device: &LoopDevice| format!("{}:{}", device.path.trim_start_matches("/dev/"), 32 << 20);
    let before = std::fs::read(one.backing.path()).unwrap();
    let (first, second) = (identity(&one), identity(&two));
    let writes = ["--tests", "write", "--users", "2", "--block-sizes", "8k"];
    for (consent, says) in [
        (&[][..], "nothing is left to measure"),
        (&["--overwrite", "yes"], &*format!("it is {first}")),
        (&["--overwrite", &first], &*format!("it is {second}")),
        (
            &["--overwrite", &first, "--overwrite", &second, "--overwrite", "x"],
            "no device has this serial number, WWID or NAME:SIZE",
        ),
    ] {
        let words: Vec<&str> = writes.iter().chain(consent).copied().collect();
        let (status, _, error) = survey_devices(&stage, &devices, &words);
        assert_eq!(status, Some(1), "{consent:?}");
        assert!(error.contains(says), "{consent:?}: {says}\n{error}");
    }
    assert!(std::fs::read(one.backing.path()).unwrap() == before, "written to without consent");
    let words: Vec<&str> = writes.into_iter().chain(["--overwrite", &first, "--overwrite", &second]).collect();
    let (status, shown, error) = survey_devices(&stage, &devices, &words);
    assert_eq!(status, Some(0), "{shown}{error}");
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("each of 2 devices, overwritten"), "{shown}");
    for device in [&one, &two] {
        assert!(std::fs::read(device.backing.path()).unwrap() != before, "{} was not written to", device.path);
    }
}

#[test]
fn a_device_with_a_file_system_is_not_overwritten() {
    let device = LoopDevice::attach();
    let made = Command::new("mkfs.ext4").args(["-q", "-F", &device.path]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let stage = Stage::new();
    let identity = format!("{}:{}", device.path.trim_start_matches("/dev/"), 32 << 20);
    let (status, _, error) = survey_devices(&stage, &[&device.path], &["--overwrite", &identity]);
    assert_eq!(status, Some(1));
    assert!(error.contains("ext4") && error.contains("wipefs"), "{error}");
}

#[test]
fn fio_sh_leaves_job_files_that_fio_runs_and_outputs_that_parse_reads() {
    let stage = Stage::new();
    let results = stage.results.path();
    let run = |words: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_plumb"))
            .arg("fio.sh")
            .args(["-w", stage.surveyed.path().to_str().unwrap(), "-o", results.to_str().unwrap()])
            .args(words)
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    // DTrace's letter swallows nothing; two tests are two tests.
    let (status, error) = run(&["-d", "-f", "-s", "1", "-m", "16", "-u", "2", "-l", "8", "-t", "read readrand"]);
    assert_eq!(status, Some(0), "{error}");
    assert!(error.contains("DTrace is not needed"), "{error}");
    for name in ["read_u02_kb0008", "readrand_u02_kb0008"] {
        let job = std::fs::read_to_string(results.join(format!("{name}.job"))).unwrap();
        let kind = if name.starts_with("readrand") { "rw=randread\n" } else { "rw=read\n" };
        assert!(job.contains(kind) && job.contains("numjobs=2\n") && job.contains("bs=8192\n"), "{job}");
        let parsed = Command::new(env!("CARGO_BIN_EXE_plumb"))
            .arg("parse")
            .arg(results.join(format!("{name}.out")))
            .output()
            .unwrap();
        let table = String::from_utf8_lossy(&parsed.stdout).into_owned();
        let row: Vec<&str> = table.lines().last().unwrap_or_default().split_whitespace().collect();
        assert_eq!(row.get(1..4), Some(&["2", "1", "8K"][..]), "{table}");
        let checked = Command::new("fio").arg("--parse-only").arg(results.join(format!("{name}.job"))).output();
        if let Ok(checked) = checked {
            assert!(checked.status.success(), "{job}{}", String::from_utf8_lossy(&checked.stderr));
        }
    }
    assert!(std::fs::read_to_string(results.join("fio_summary.out")).unwrap().contains("rand read"));
    assert_eq!(names(stage.surveyed.path()), [WORK_FILE], "kept without -x, as fio.sh does");
    let (status, error) = run(&["-s", "1"]);
    assert_eq!(status, Some(1), "without -f it asks, and nobody said yes");
    assert!(error.contains("-f asks no questions"), "{error}");
    let (status, error) = run(&["-w", "/does/not/exist", "-f"]);
    assert_eq!(status, Some(1));
    assert!(error.contains("is not a directory"), "{error}");
}

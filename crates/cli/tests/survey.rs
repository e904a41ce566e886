//! The survey from outside: what it leaves behind, what it refuses, and how it ends.

#![expect(clippy::unwrap_used, reason = "a test's helper fails as the test does")]

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
    assert!(error.contains("do not fit") && error.contains("at most --size"), "{error}");
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
    assert_eq!(saved["tests"].as_array().unwrap().len(), 1, "the test that was cut short is no result");
    assert_eq!(saved["ended_by_signal"], 2);
    assert_eq!(names(stage.surveyed.path()), [""; 0], "the work file is gone");
    assert_eq!(names(stage.results.path()), ["result.json"]);
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

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

/// Runs a shell script in a mount namespace of its own with `$plumb` set; `None` where that is not allowed.
fn in_own_mounts(script: &str) -> Option<(Option<i32>, String)> {
    let unshare = |script: &str| {
        Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "bash", "-c", script])
            .env("plumb", env!("CARGO_BIN_EXE_plumb"))
            .output()
            .ok()
    };
    let allowed = unshare("mount -t tmpfs none /mnt")?.status.success();
    if !allowed {
        skipped("mount namespaces are not allowed here");
        return None;
    }
    let output = unshare(script)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Some((output.status.code(), text))
}

/// A loop device over a file of random-looking data, detached when it goes.
struct LoopDevice {
    path: String,
    backing: tempfile::NamedTempFile,
}

impl LoopDevice {
    /// `None` where loop devices are not allowed.
    fn attach() -> Option<Self> {
        let backing = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let data: Vec<u8> = (0..32u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        std::fs::write(backing.path(), data).unwrap();
        let output = Command::new("losetup").args(["--find", "--show"]).arg(backing.path()).output().ok()?;
        if !output.status.success() {
            skipped("loop devices are not allowed here");
            return None;
        }
        Some(LoopDevice { path: String::from_utf8(output.stdout).unwrap().trim().to_owned(), backing })
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.path]).output();
    }
}

#[test]
fn a_device_is_read_and_left_as_it_was() {
    let Some(device) = LoopDevice::attach() else { return };
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
    let script = "mount -t tmpfs -o size=128m none /mnt && cd /mnt && mkdir d && $plumb survey --size 16M --time 1 d";
    let Some((status, shown)) = in_own_mounts(script) else { return };
    assert_eq!(status, Some(0), "{shown}");
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("is tmpfs: its files live in memory"), "{shown}");
    assert!(shown.contains("NOT A STORAGE RESULT"), "{shown}");
    assert!(shown.contains("These are numbers of memory."), "{shown}");
    assert!(shown.contains("plumb-survey-001.json"), "{shown}");
}

#[test]
fn a_full_file_system_is_told_and_left_clean() {
    let script = "mount -t tmpfs -o size=24m none /mnt && cd / && \
                  $plumb survey --size 16M --time 1 --output /dev/shm/plumb-test-r.json /mnt; s=$?; ls -A /mnt; exit $s";
    let Some((status, shown)) = in_own_mounts(script) else { return };
    assert_eq!(status, Some(1), "{shown}");
    assert!(shown.contains("16M do not fit"), "{shown}");
    assert!(!shown.contains(WORK_FILE) || shown.lines().all(|line| line != WORK_FILE), "{shown}");
}

#[test]
fn a_read_only_directory_is_named() {
    let script = "mount -t tmpfs -o ro none /mnt && $plumb survey --size 16M --output /dev/shm/plumb-test-ro.json /mnt";
    let Some((status, shown)) = in_own_mounts(script) else { return };
    assert_eq!(status, Some(1), "{shown}");
    assert!(shown.contains("cannot be made: Read-only file system"), "{shown}");
}

//! `tools/gate`, which `make test` runs: a test that failed among others runs again alone, and is named either way.
//!
//! These tests are a table. With `PLUMB_BROKEN_ROW` in its environment the program is another table, whose row of that
//! name fails: the gate is tried on the harness that it has to understand.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use house::{Cases, run_all, tests};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, ExitCode, Output};
use tempfile::TempDir;

/// Names the row that fails in the other table.
const BROKEN_ROW: &str = "PLUMB_BROKEN_ROW";

fn main() -> ExitCode {
    if let Some(broken) = std::env::var_os(BROKEN_ROW) {
        return run_all(vec![rows(broken.to_string_lossy().into_owned())]);
    }
    let gate = tests!(
        Cases::new("gate", 4),
        a_test_that_passes_alone_is_named_and_others_fail,
        the_gate_passes_when_all_that_failed_pass_alone,
        a_second_run_in_which_no_test_passed_fails_the_gate,
        a_failed_test_that_no_line_names_fails_the_gate,
        six_failed_tests_and_a_binary_that_dies_run_once,
        a_test_that_waits_for_ever_is_ended_and_runs_again_alone,
        a_test_that_waits_for_ever_alone_too_fails_the_gate,
        a_broken_row_of_a_table_fails_the_gate,
        a_row_that_breaks_once_is_named,
        a_filter_that_selects_no_row_is_an_error,
    );
    run_all(vec![gate])
}

/// A table whose names have different lengths, so that the harness fills them up with blanks. The row that breaks does
/// so each time, or once if its name is followed by a file: it is removed.
fn rows(broken: String) -> Cases {
    let (name, once) =
        broken.split_once(' ').map_or((broken.clone(), None), |(name, file)| (name.to_owned(), Some(file.to_owned())));
    let row = move |row: &str| match &once {
        _ if row != name => Ok(()),
        Some(file) if std::fs::remove_file(file).is_err() => Ok(()),
        _ => Err(format!("{row} is broken")),
    };
    let [first, second] = [row.clone(), row];
    Cases::new("table", 1)
        .case("short", move || first("short"))
        .case("a row with a much longer name", move || second("long"))
}

const GATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/gate");

/// In place of cargo: it runs one test binary by the runner that the gate names.
fn cargo(binary: &str) -> String {
    format!("#!/bin/sh\nexec \"$(dirname \"$0\")/../tools/gate\" --run \"$(dirname \"$0\")/../{binary}\"\n")
}

fn program(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// How long the gate waits for the end of a test, in seconds: longer than any test here takes on a busy machine.
const LONG: &str = "120";
/// The same where a test never ends: long enough to start a shell and what it calls.
const SHORT: &str = "5";

/// The gate over a binary whose `all` is what it does without a name, and `alone` what it does with one.
fn gate(all: &str, alone: &str) -> (Output, String) {
    patient_gate(all, alone, LONG)
}

fn patient_gate(all: &str, alone: &str, patience: &str) -> (Output, String) {
    let root = TempDir::new().unwrap();
    let binary = format!("#!/bin/bash\nif [ \"$1\" = --exact ]; then\n{alone}\nelse\n{all}\nfi\n");
    program(&root.path().join("units-1"), &binary);
    run_gate(&root, "units-1", &[("PLUMB_TEST_PATIENCE", patience)])
}

/// The gate over the other table of this program.
fn gate_over_rows(broken: &str) -> (Output, String) {
    let root = TempDir::new().unwrap();
    std::os::unix::fs::symlink(std::env::current_exe().unwrap(), root.path().join("cases-1")).unwrap();
    let broken = broken.replace("FILE", &root.path().join("once").display().to_string());
    std::fs::write(root.path().join("once"), "").unwrap();
    run_gate(&root, "cases-1", &[("PLUMB_TEST_PATIENCE", LONG), (BROKEN_ROW, &broken)])
}

fn run_gate(root: &TempDir, binary: &str, variables: &[(&str, &str)]) -> (Output, String) {
    program(&root.path().join("tools/gate"), &std::fs::read_to_string(GATE).unwrap());
    program(&root.path().join("bin/cargo"), &cargo(binary));
    let path = format!("{}:{}", root.path().join("bin").display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(root.path().join("tools/gate"));
    // This test may run in a gate.
    for name in ["CARGO_TARGET_DIR", "PLUMB_TEST_TIMES", "RUST_TEST_THREADS"] {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied());
    let output = command.arg("--workspace").env("PATH", path).current_dir(root.path()).output().unwrap();
    let said = String::from_utf8(output.stdout.clone()).unwrap();
    (output, said)
}

const TWO_FAILED: &str = "echo 'test times::quick ... FAILED <0.100s>'; echo 'test right ... ok <0.100s>'; \
                          echo 'test slow - should panic ... FAILED <2.500s>'; \
                          echo 'test result: FAILED. 1 passed; 2 failed; 0 ignored;'; exit 101";

/// What a binary says of the one test that it ran.
const ONE_PASSED: &str = "echo 'test result: ok. 1 passed; 0 failed; 0 ignored;'";

fn a_test_that_passes_alone_is_named_and_others_fail() {
    let (output, said) =
        gate(TWO_FAILED, &format!("case $2 in slow) {ONE_PASSED} ;; times::quick) exit 101 ;; *) exit 3 ;; esac"));
    assert_eq!(output.status.code(), Some(1), "{said}");
    let failed: Vec<&str> = said.lines().filter(|line| line.starts_with("failed")).collect();
    assert!(failed.len() == 2 && failed[0].starts_with("failed: ") && failed[0].ends_with("::times::quick"), "{said}");
    assert!(failed[1].starts_with("failed among others, passed alone: ") && failed[1].ends_with("::slow"), "{said}");
    assert!(said.contains("the slowest of 3 tests, in seconds:\n2.500 "), "{said}");
}

fn the_gate_passes_when_all_that_failed_pass_alone() {
    let (output, said) = gate(TWO_FAILED, ONE_PASSED);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches("failed among others, passed alone: ").count(), 2, "{said}");
}

fn a_second_run_in_which_no_test_passed_fails_the_gate() {
    for none in ["exit 0", "echo 'test result: ok. 0 passed; 0 failed; 9 filtered out;'"] {
        let (output, said) = gate(TWO_FAILED, none);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert_eq!(said.matches("\nfailed: ").count(), 2, "{said}");
    }
}

fn a_failed_test_that_no_line_names_fails_the_gate() {
    let garbled = "echo 'test a ... FAILED <0.100s>'; echo 'words of a program test b ... FAILED'; \
                   echo 'test result: FAILED. 0 passed; 2 failed; 0 ignored;'; exit 101";
    let (output, said) = gate(garbled, ONE_PASSED);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("counts 2 failed tests, its lines name 1"), "{said}");
}

fn six_failed_tests_and_a_binary_that_dies_run_once() {
    let result = "echo 'test result: FAILED. 0 passed; 6 failed; 0 ignored;'";
    let six = format!("for each in 1 2 3 4 5 6; do echo \"test t$each ... FAILED <0.100s>\"; done; {result}; exit 101");
    let (output, said) = gate(&six, ONE_PASSED);
    assert!(!output.status.success() && said.matches("\nfailed: ").count() == 6, "{said}");
    let (output, said) = gate("echo 'test right ... ok <0.100s>'; exit 134", ONE_PASSED);
    assert!(!output.status.success() && said.contains("has no test that failed, but ended with 134"), "{said}");
}

/// Its test `stuck` waits for ever with a program that it started, whose number it keeps.
const ONE_IS_STUCK: &str = "if [ \"$1\" = --list ]; then echo 'right: test'; echo 'stuck: test'; exit 0; fi; \
                            echo 'test right ... ok <0.100s>'; sleep 600 & echo $! >child; wait";

fn a_test_that_waits_for_ever_is_ended_and_runs_again_alone() {
    let waits = "[ $2 = stuck ] && [ -s child ] && while kill -0 $(cat child); do sleep 0.1; done";
    let (output, said) = patient_gate(ONE_IS_STUCK, &format!("{waits}; {ONE_PASSED}"), SHORT);
    assert!(output.status.success(), "{said}");
    assert!(said.contains(&format!(" has ended for {SHORT} s; its threads:\nunits-1: system call ")), "{said}");
    let failed: Vec<&str> = said.lines().filter(|line| line.starts_with("failed")).collect();
    assert!(failed.len() == 1 && failed[0].ends_with("::stuck"), "{said}");
}

fn a_test_that_waits_for_ever_alone_too_fails_the_gate() {
    let (output, said) = patient_gate(ONE_IS_STUCK, "sleep 600", SHORT);
    assert!(!output.status.success() && said.contains("\nfailed: ") && said.ends_with("::stuck\n"), "{said}");
}

fn a_broken_row_of_a_table_fails_the_gate() {
    let (output, said) = gate_over_rows("short");
    assert!(said.contains("\ntest table::short                         ... FAILED"), "the row has no blanks: {said}");
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.ends_with("\nfailed: cases::table::short\n"), "{said}");
}

fn a_row_that_breaks_once_is_named() {
    let (output, said) = gate_over_rows("short FILE");
    assert!(output.status.success(), "{said}");
    assert!(said.ends_with("\nfailed among others, passed alone: cases::table::short\n"), "{said}");
    let (output, said) = gate_over_rows("none");
    assert!(output.status.success() && !said.contains("failed: "), "{said}");
}

fn a_filter_that_selects_no_row_is_an_error() {
    let run = |words: &[&str]| {
        let mut program = Command::new(std::env::current_exe().unwrap());
        program.args(words).env(BROKEN_ROW, "none").output().unwrap().status.success()
    };
    for words in [&["--exact", "table::short "][..], &["nothing"], &["--ignored"]] {
        assert!(!run(words), "{words:?}");
    }
    assert!(run(&["--exact", "table::short"]) && run(&["shor"]) && run(&[]));
}

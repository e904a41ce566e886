//! `tools/gate`, which `make test` runs: a test that failed among others runs again alone, and is named either way.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

const GATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/gate");

/// In place of cargo: it runs one test binary by the runner that the gate names.
const CARGO: &str = "#!/bin/sh\nexec \"$(dirname \"$0\")/../tools/gate\" --run \"$(dirname \"$0\")/../units-1\"\n";

fn program(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// The gate over a binary whose `all` is what it does without a name, and `alone` what it does with one.
fn gate(all: &str, alone: &str) -> (Output, String) {
    let root = TempDir::new().unwrap();
    program(&root.path().join("tools/gate"), &std::fs::read_to_string(GATE).unwrap());
    program(&root.path().join("bin/cargo"), CARGO);
    let binary = format!("#!/bin/bash\nif [ \"$1\" = --exact ]; then\n{alone}\nelse\n{all}\nfi\n");
    program(&root.path().join("units-1"), &binary);
    let path = format!("{}:{}", root.path().join("bin").display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(root.path().join("tools/gate"));
    // This test may run in a gate.
    for name in ["CARGO_TARGET_DIR", "PLUMB_TEST_TIMES", "RUST_TEST_THREADS"] {
        command.env_remove(name);
    }
    command.env("PLUMB_TEST_PATIENCE", "2");
    let output = command.arg("--workspace").env("PATH", path).current_dir(root.path()).output().unwrap();
    let said = String::from_utf8(output.stdout.clone()).unwrap();
    (output, said)
}

const TWO_FAILED: &str = "echo 'test times::quick ... FAILED <0.100s>'; echo 'test right ... ok <0.100s>'; \
                          echo 'test slow - should panic ... FAILED <2.500s>'; exit 101";

#[test]
fn a_test_that_passes_alone_is_named_and_one_that_fails_again_fails_the_gate() {
    let (output, said) = gate(TWO_FAILED, "case $2 in slow) exit 0 ;; times::quick) exit 101 ;; *) exit 3 ;; esac");
    assert_eq!(output.status.code(), Some(1), "{said}");
    let failed: Vec<&str> = said.lines().filter(|line| line.starts_with("failed")).collect();
    assert!(failed.len() == 2 && failed[0].starts_with("failed: ") && failed[0].ends_with("::times::quick"), "{said}");
    assert!(failed[1].starts_with("failed among others, passed alone: ") && failed[1].ends_with("::slow"), "{said}");
    assert!(said.contains("the slowest of 3 tests, in seconds:\n2.500 "), "{said}");
}

#[test]
fn the_gate_passes_when_all_that_failed_pass_alone() {
    let (output, said) = gate(TWO_FAILED, "exit 0");
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches("failed among others, passed alone: ").count(), 2, "{said}");
}

#[test]
fn six_failed_tests_and_a_binary_that_dies_have_no_second_chance() {
    let six = "for each in 1 2 3 4 5 6; do echo \"test t$each ... FAILED <0.100s>\"; done; exit 101";
    let (output, said) = gate(six, "exit 0");
    assert!(!output.status.success() && said.matches("\nfailed: ").count() == 6, "{said}");
    let (output, said) = gate("echo 'test right ... ok <0.100s>'; exit 134", "exit 0");
    assert!(!output.status.success() && said.contains("has no test that failed, but ended with 134"), "{said}");
}

/// Its test `stuck` waits for ever with a program that it started, whose number it keeps.
const ONE_IS_STUCK: &str = "if [ \"$1\" = --list ]; then echo 'right: test'; echo 'stuck: test'; exit 0; fi; \
                            echo 'test right ... ok <0.100s>'; sleep 600 & echo $! >child; wait";

#[test]
fn a_test_that_waits_for_ever_is_ended_with_what_it_started_and_runs_again_alone() {
    let (output, said) =
        gate(ONE_IS_STUCK, "[ $2 = stuck ] && [ -s child ] && while kill -0 $(cat child); do sleep 0.1; done");
    assert!(output.status.success(), "{said}");
    assert!(said.contains(" has ended for 2 s; its threads:\nunits-1: system call "), "{said}");
    let failed: Vec<&str> = said.lines().filter(|line| line.starts_with("failed")).collect();
    assert!(failed.len() == 1 && failed[0].ends_with("::stuck"), "{said}");

    let (output, said) = gate(ONE_IS_STUCK, "sleep 600");
    assert!(!output.status.success() && said.contains("\nfailed: ") && said.ends_with("::stuck\n"), "{said}");
}

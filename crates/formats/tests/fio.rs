//! fio's formats against fio itself: its JSON is read, and what we print from it is held against what it printed.
//!
//! `golden` holds against outputs kept beside the tests; `differential` runs the installed `fio` and fails without it.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

#[path = "fio/compare.rs"]
mod compare;
#[path = "fio/workloads.rs"]
mod workloads;

use std::path::{Path, PathBuf};
use std::process::Command;

fn golden_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/fio-3.33")
}

/// Runs the installed fio on one workload inside `directory`.
fn run_fio(workload: &workloads::Workload, directory: &Path) -> String {
    let output = Command::new("fio")
        .current_dir(directory)
        .env("TZ", "UTC")
        .arg("--output-format=normal,json+")
        .args(workload.arguments.split_whitespace())
        .output()
        .expect("fio is installed: make oracles");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn what_we_print_from_fios_json_is_what_fio_printed() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file"), vec![0x5a; 16 << 20]).unwrap();
    let rewrite = std::env::var_os("PLUMB_REWRITE_GOLDEN").is_some();
    let mut failures = Vec::new();
    for workload in workloads::WORKLOADS {
        let printed = run_fio(workload, directory.path());
        if rewrite && workload.golden {
            std::fs::write(golden_directory().join(format!("{}.txt", workload.name)), &printed).unwrap();
        }
        failures.extend(compare::differences(workload.name, &printed));
    }
    assert!(failures.is_empty(), "{} differences:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn kept_outputs_of_fio_3_33_are_printed_again_line_by_line() {
    let mut failures = Vec::new();
    let mut seen = 0;
    for workload in workloads::WORKLOADS.iter().filter(|workload| workload.golden) {
        let printed = std::fs::read_to_string(golden_directory().join(format!("{}.txt", workload.name))).unwrap();
        failures.extend(compare::differences(workload.name, &printed));
        seen += 1;
    }
    assert!(seen >= 8, "only {seen} golden files");
    assert!(failures.is_empty(), "{} differences:\n{}", failures.len(), failures.join("\n"));
}

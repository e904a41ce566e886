//! fio's formats against fio itself: its JSON is read, and what we print from it is held against what it printed.
//!
//! One test holds against outputs kept under `golden/fio-3.33`; the other runs the installed `fio` and fails without
//! it. Kept outputs are recorded again by `PLUMB_REWRITE_GOLDEN=1 cargo test -p formats fio_output`; read the diff.

mod compare;
mod start;
pub(crate) mod workloads;

use std::path::{Path, PathBuf};
use std::process::Command;

fn golden_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/fio-3.33")
}

/// Runs the installed fio on one workload, in a separate directory with `file` in it.
fn run_fio(workload: &workloads::Workload, shared: &Path) -> String {
    let directory = shared.join(workload.name);
    std::fs::create_dir(&directory).unwrap();
    std::fs::hard_link(shared.join("file"), directory.join("file")).unwrap();
    let output = Command::new("timeout")
        .args(["--kill-after=1", "60", "fio"])
        .current_dir(directory)
        .env("TZ", "UTC")
        .arg("--output-format=normal,json+")
        .args(workload.arguments.split_whitespace())
        .output()
        .expect("fio is installed: make oracles");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Most workloads only wait for their run time to pass.
const AT_ONCE: usize = 6;

fn run_all() -> Vec<(&'static workloads::Workload, String)> {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file"), vec![0x5a; 16 << 20]).unwrap();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let take = || workloads::WORKLOADS.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    let work = || std::iter::from_fn(take).map(|workload| (workload, run_fio(workload, directory.path()))).collect();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| -> Vec<_> { worker.join().unwrap() }).collect()
    })
}

#[test]
fn what_we_print_from_fios_json_is_what_fio_printed() {
    let rewrite = std::env::var_os("PLUMB_REWRITE_GOLDEN").is_some();
    let mut failures = Vec::new();
    for (workload, printed) in run_all() {
        if rewrite && workload.golden {
            std::fs::write(golden_directory().join(format!("{}.txt", workload.name)), &printed).unwrap();
        }
        failures.extend(compare::differences(workload.name, &printed));
        failures.extend(start::differences(workload, &printed));
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
        failures.extend(start::differences(workload, &printed));
        seen += 1;
    }
    assert!(seen >= 8, "only {seen} golden files");
    assert!(failures.is_empty(), "{} differences:\n{}", failures.len(), failures.join("\n"));
}

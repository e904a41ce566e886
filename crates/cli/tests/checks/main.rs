//! Each check fires on a set-up made for it, stays silent over clean runs, and judges what others measured.
//!
//! Needs root, loop devices, tmpfs and control groups. `PLUMB_CHECKS=full` makes all twenty clean runs; the table of
//! both is printed with `--nocapture` (`make checks`).

mod costs;
#[path = "../device/group.rs"]
mod group;
mod setups;
mod sweeps;

use serde_json::Value;
use setups::{Rig, SETUPS};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const PLUMB: &str = env!("CARGO_BIN_EXE_plumb");

/// Devices and shares of the machine are each for one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

fn fio(words: &str) -> Command {
    let mut command = Command::new(PLUMB);
    command.arg("fio").args(words.split_whitespace()).arg("--output-format=json");
    command
}

/// The notes of a finished run: (check, sentence), without those that could not be made.
fn findings(mut command: Command) -> Vec<(String, String)> {
    let outcome = command.output().expect("plumb runs");
    findings_in(&outcome.stdout)
}

fn findings_in(stdout: &[u8]) -> Vec<(String, String)> {
    let found: Value =
        serde_json::from_slice(stdout).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(stdout)));
    let notes = found["plumb"]["notes"].as_array().cloned().unwrap_or_default();
    let text = |note: &Value, key: &str| note[key].as_str().expect("text").to_owned();
    notes
        .iter()
        .filter(|note| note["grade"] != "not_checked")
        .map(|note| (text(note, "check"), text(note, "sentence")))
        .collect()
}

#[test]
fn each_check_fires_on_the_setup_made_for_it() {
    let _alone = alone();
    let rig = Rig::new();
    let mut silent = Vec::new();
    for setup in SETUPS {
        // A machine that is busy with something else may hide what a set-up does to it: three tries.
        let fires = |found: &[(String, String)]| found.iter().any(|(check, _)| check == setup.check);
        let mut found = (setup.run)(&rig);
        for _ in 0..2 {
            if !fires(&found) {
                found = (setup.run)(&rig);
            }
        }
        let fired = found.iter().find(|(check, _)| check == setup.check);
        let told = fired.map_or("SILENT", |(_, sentence)| sentence.as_str());
        println!("{:<22} {:<34} {told}", setup.check, setup.how);
        if fired.is_none() {
            silent.push(format!("{} ({}): {found:?}", setup.check, setup.how));
        }
    }
    assert!(silent.is_empty(), "did not fire:\n  {}", silent.join("\n  "));
}

#[test]
fn every_check_has_a_setup() {
    let without: Vec<&str> = analysis::CHECKS
        .iter()
        .map(|check| check.id)
        .filter(|id| SETUPS.iter().all(|setup| setup.check != *id))
        .collect();
    assert_eq!(without, Vec::<&str>::new(), "nothing makes these fire");
}

/// Loads without anything to say against them, on a loop device over memory: nobody else is on it.
const CLEAN: [&str; 5] = [
    "--rw=randread --bs=4k --ioengine=psync --percentile_list=50:90",
    "--rw=randread --bs=4k --ioengine=libaio --iodepth=4 --percentile_list=50:90",
    "--rw=randread --bs=16k --ioengine=io_uring --iodepth=2 --percentile_list=50",
    "--rw=randwrite --bs=4k --ioengine=psync --fsync=64 --percentile_list=50",
    "--rw=randrw --bs=8k --ioengine=psync --end_fsync=1 --percentile_list=50",
];

#[test]
fn clean_runs_on_a_loop_device_are_silent() {
    let _alone = alone();
    let rig = Rig::new();
    let runs = if std::env::var("PLUMB_CHECKS").as_deref() == Ok("full") { 20 } else { 5 };
    for run in 0..runs {
        let load = CLEAN[run % CLEAN.len()];
        let words = format!("--name=clean --filename={} --direct=1 --runtime=2 --time_based {load}", rig.device());
        // A machine that is busy with something else is told, and truly so: then the run is made once more, a while later.
        let of_neighbours = |(check, _): &(String, String)| {
            matches!(check.as_str(), "client CPU" | "throttled" | "coordinated omission" | "not steady")
        };
        let mut tries = 1;
        let mut found = findings(fio(&words));
        while !found.is_empty() && found.iter().all(of_neighbours) && tries < 6 {
            std::thread::sleep(Duration::from_secs(tries));
            found = findings(fio(&words));
            tries += 1;
        }
        assert!(found.is_empty(), "{words}: {found:?}");
        println!("clean run {:>2} {load:<75} silent at try {tries}", run + 1);
    }
}

#[test]
fn findings_are_told_on_standard_error_and_fail_a_strict_run() {
    let _alone = alone();
    let run = |strict: &str| {
        let words = format!("--name=a --ioengine=null --rw=read --bs=4k --size=64m {strict}");
        fio(&words).env("PLUMB_REMARKS", "always").output().expect("plumb runs")
    };
    let plain = run("");
    let said = String::from_utf8_lossy(&plain.stderr).into_owned();
    assert_eq!(plain.status.code(), Some(0), "{said}");
    assert!(said.lines().any(|line| line.starts_with("plumb: check: ") && line.ends_with(']')), "{said}");
    assert_eq!(run("--strict").status.code(), Some(4));
    let quiet = fio("--name=a --ioengine=null --rw=read --size=64m").env("PLUMB_REMARKS", "never").output();
    assert!(quiet.expect("plumb runs").stderr.is_empty());
}

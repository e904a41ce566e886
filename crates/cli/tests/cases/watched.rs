//! What it costs a program to be watched by `plumb why`, as a table: `plumb versus` runs the same job alone and watched in
//! turns. On request, with a release program: `make watched`.

use crate::context::{PLUMB, measured_plumb, place, plumb};
use house::{Cases, LoopDevice, Place};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Rounds of each side.
const ROUNDS: u32 = 7;
/// Slowdown that is allowed up to 10,000 I/Os per second, in all that the interval has.
const MOST: f64 = 0.02;

/// A program that reads and computes.
struct Program {
    what: &'static str,
    words: &'static str,
    /// At most 10,000 I/Os per second.
    is_judged: bool,
}

const PROGRAMS: [Program; 5] = [
    Program { what: "direct, 1,000/s", words: "--direct=1 --filename=DEVICE --thinktime=900", is_judged: true },
    Program {
        what: "direct, 10,000/s",
        words: "--direct=1 --filename=DEVICE --thinktime=60 --thinktime_spin=60",
        is_judged: true,
    },
    Program { what: "direct, all it can", words: "--direct=1 --filename=DEVICE", is_judged: false },
    Program {
        what: "memory, 10,000/s",
        words: "--direct=0 --filename=data --pre_read=1 --norandommap --thinktime=97 --thinktime_spin=97",
        is_judged: true,
    },
    Program {
        what: "memory, 100,000/s",
        words: "--direct=0 --filename=data --pre_read=1 --norandommap --thinktime=8 --thinktime_spin=8",
        is_judged: false,
    },
];

pub(super) fn groups() -> Vec<Cases> {
    vec![Cases::new("watched", 1).on_request("table", table)]
}

fn table() -> Result<(), String> {
    println!(
        "{:<20} {:>9} {:>10} {:>9} {:>10} {:>6} {:>22}",
        "a program that reads", "I/Os per s", "events/I/O", "ns/event", "processor", "lost", "slowed down by"
    );
    let mut wrong = Vec::new();
    for program in &PROGRAMS {
        let place = place();
        let (line, least) = row(&place, program);
        println!("{:<20} {line}", program.what);
        if program.is_judged && least > MOST {
            wrong.push(program.what);
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("slower by more than {MOST}: {wrong:?}")) }
}

/// The line of a program, and the least slowdown in its interval.
fn row(place: &Place, program: &Program) -> (String, f64) {
    let device = LoopDevice::direct(place.path(), 64 << 20).unwrap();
    let words = program.words.replace("DEVICE", &device.path().display().to_string());
    let job = format!("--name=a --ioengine=psync --rw=randread --bs=4k --size=64m --time_based --runtime=3 {words}");
    if words.contains("filename=data") {
        plumb(place, "fio --name=a --rw=write --bs=1m --size=64m --filename=data").succeeds();
    }
    // The recorder begins before the job, and is there for all of it.
    let program = std::env::var("PLUMB_LOAD_PROGRAM").unwrap_or_else(|_| PLUMB.to_owned());
    let watched =
        format!("{program} why --json -o why.$(date +%s%N).json --for 4500ms --pid $PPID >/dev/null 2>&1 & sleep 0.7");
    let run = measured_plumb(place, format!("versus --json --accept cache --rest 2s --rounds {ROUNDS}"));
    let run = run.words(["--before-b", watched.as_str(), "--"]).words(&job).end();
    let found: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run}"));
    let iops = found["pairs"].as_array().unwrap().iter().find(|pair| pair["metric"] == "iops").unwrap();
    let number = |key: &str| iops[key].as_f64().unwrap_or_else(|| panic!("{key}: {iops:#}"));
    let (change, low, high) = (-number("change"), -number("high"), -number("low"));
    // The recorder of the last round goes on for a second.
    let is_there = |path: &Path| std::fs::metadata(path).is_ok_and(|found| found.len() > 0);
    house::wait_for("the last recording", || documents(place.path()).iter().all(|path| is_there(path)).then_some(()));
    let cost = costs(place.path());
    let line = format!(
        "{:>10.0} {:>10.1} {:>9.0} {:>8.1} % {:>6} {:>6.1} % ({:.1} to {:.1})",
        number("old"),
        cost.events / cost.ios,
        cost.processor_ns / cost.events,
        cost.processor_ns / cost.time_ns * 100.0,
        cost.lost,
        change * 100.0,
        low * 100.0,
        high * 100.0
    );
    (line, low)
}

#[derive(Default)]
struct Costs {
    ios: f64,
    events: f64,
    lost: f64,
    processor_ns: f64,
    time_ns: f64,
}

/// What all recorders wrote.
fn documents(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("why.")).map(|entry| entry.path()).collect()
}

/// The costs of all recordings in a directory.
fn costs(directory: &Path) -> Costs {
    let mut sum = Costs::default();
    for path in documents(directory) {
        let document: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let number = |value: &Value| value.as_f64().unwrap();
        sum.ios += number(&document["ios"]);
        sum.events += number(&document["cost"]["events"]);
        sum.lost += number(&document["cost"]["events_lost"]);
        sum.processor_ns += number(&document["cost"]["processor_ns"]);
        sum.time_ns += number(&document["recorded_ns"]);
    }
    sum
}

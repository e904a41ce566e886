//! `plumb gate` on a real device: a loop device that a control group slows down by 5 %, and one that it does not.
//!
//! `gate::full::NAME` (`--ignored`, `make store`); wants a quiet machine. Each decision takes pairs of runs in random
//! order, and asks after each from the fourth on.

use crate::context::{measured_plumb, place};
use house::{Cases, Group, LoopDevice, Place};

/// Decisions of each kind.
const DECISIONS: u64 = 20;
/// Fewest pairs that decide.
const FEWEST_PAIRS: u64 = 4;
/// Most pairs of a decision.
const MOST_PAIRS: u64 = 15;
/// Most times that a decision is begun: the gate wants one that other programs disturbed to be measured again.
const MOST_TRIES: u64 = 3;
/// Reads per second of the device as it was.
const USUAL: u32 = 2_000;
/// The same, 5 % slower.
const SLOWER: u32 = 1_900;
/// A loss of 5 % is at the usual tolerance, where nothing can be said.
const TOLERANCE: &str = "2%";

/// The rows, one at a time: their rates are what is measured.
pub(super) fn groups() -> Vec<Cases> {
    let slower = || {
        let answers = decisions(SLOWER)?;
        let found = answers.iter().filter(|answer| **answer == 1).count();
        if found as u64 == DECISIONS { Ok(()) } else { Err(format!("{found} of {DECISIONS} found: {answers:?}")) }
    };
    let unchanged = || {
        let answers = decisions(USUAL)?;
        let accused = answers.iter().filter(|answer| **answer == 1).count();
        if accused == 0 { Ok(()) } else { Err(format!("{accused} of {DECISIONS} accused: {answers:?}")) }
    };
    let cases = Cases::new("gate", 1).on_request("full::5 % slower is found", slower);
    vec![cases.on_request("full::unchanged is not accused", unchanged)]
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The exit status of each decision on a device with this rate against the usual one.
fn decisions(rate: u32) -> Result<Vec<i32>, String> {
    let place = place();
    let device = LoopDevice::direct(place.path(), 64 << 20).map_err(said)?;
    let name = device.path().file_name().ok_or("a device has a name")?.to_string_lossy().into_owned();
    let group = Group::with_read_iops(&name, USUAL).map_err(said)?;
    let mut random = measure::SplitMix::new(u64::from(rate));
    let mut answers = Vec::new();
    for decision in 0..DECISIONS {
        let (mut pair, mut tries) = (0, 1);
        let (status, line) = loop {
            pair += 1;
            let mut sides = [("old", USUAL), ("new", rate)];
            if random.next_word().is_multiple_of(2) {
                sides.reverse();
            }
            for (side, iops) in sides {
                group.limit_reads(&name, iops).map_err(said)?;
                run(&place, &group, &device, &format!("{side}-{pair}.json"))?;
            }
            if pair < FEWEST_PAIRS {
                continue;
            }
            let (status, line) = gate(&place, pair)?;
            if status == 2 && line.contains("measure it again") && tries < MOST_TRIES {
                println!("{rate} of {USUAL} reads/s, {decision}, {pair} pairs: {line}");
                (pair, tries) = (0, tries + 1);
                continue;
            }
            if status != 2 || pair == MOST_PAIRS {
                break (status, line);
            }
        };
        println!("{rate} of {USUAL} reads/s, {decision}, {pair} pairs: {line}");
        answers.push(status);
    }
    Ok(answers)
}

/// The answer after this number of pairs: the exit status and the last line.
fn gate(place: &Place, pairs: u64) -> Result<(i32, String), String> {
    let list = |side: &str| (1..=pairs).map(|pair| format!("{side}-{pair}.json")).collect::<Vec<_>>().join(",");
    let words =
        format!("gate --pairs --numbers iops --tolerance {TOLERANCE} {} --against {}", list("new"), list("old"));
    let ended = measured_plumb(place, words).end();
    let status = ended.status.ok_or("the gate was killed")?;
    Ok((status, ended.stdout.lines().last().unwrap_or_default().to_owned()))
}

/// One run within the group.
fn run(place: &Place, group: &Group, device: &LoopDevice, result: &str) -> Result<(), String> {
    let words = "fio --name=a --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=4 --ramp_time=200ms \
                 --runtime=1 --time_based --output=/dev/null";
    let run = measured_plumb(place, words);
    let run = run.words([format!("--filename={}", device.path().display()), format!("--result={result}")]);
    let ended = group.inside(run).end();
    if ended.status == Some(0) { Ok(()) } else { Err(ended.to_string()) }
}

//! `plumb check` over sweeps published in 2012 and 2013: exactly the rows whose IOPS × latency is not their users.

use super::fio;
use crate::context::{place, plumb};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A row is reported when the users at work are fewer than 85 % of those asked for, or more than 115 %.
fn contradicts(line: &str) -> bool {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let number = |at: usize| fields[at].parse::<f64>().expect("a number");
    let share = number(9) * number(5) / 1e3 / number(2);
    !(0.85..=1.15).contains(&share)
}

pub(super) fn exactly_the_rows_that_do_not_match_their_users_are_reported() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/checks/sweeps");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("sweeps").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let (mut expected, mut multi, mut reported_multi) = (BTreeSet::new(), 0, 0);
    for file in &files {
        let text = std::fs::read_to_string(file).expect("readable");
        for (number, line) in text.lines().enumerate().skip(1).filter(|(_, line)| !line.trim().is_empty()) {
            let several = !line.contains("randread") && line.split(',').nth(2) != Some("1");
            multi += usize::from(several);
            if contradicts(line) {
                reported_multi += usize::from(several);
                expected.insert((file.display().to_string(), number + 1));
            }
        }
    }
    let text = plumb(place(), "check --remarks").words(&files).exits(0).stdout;
    let message: BTreeSet<(String, usize)> = text
        .lines()
        .filter(|line| line.contains(": busy users: "))
        .map(|line| {
            let mut parts = line.splitn(3, ':');
            let file = parts.next().expect("a file").to_owned();
            (file, parts.next().expect("a line").parse().expect("a number"))
        })
        .collect();
    assert_eq!(message, expected);
    assert_eq!((reported_multi, multi, message.len()), (100, 110, 101), "reads and writes, and one random read");
    assert!(text.contains("242 results judged, 101 with a finding"), "{text}");
    let short = plumb(place(), "check").words(&files).end().stdout;
    assert!(short.lines().count() <= 6 * files.len() + 2, "five lines of a file: {short}");
    assert!(
        short.contains(" results: busy users: ")
            && short.contains("(users busy ")
            && short.contains(" over these results)"),
        "{short}"
    );
    assert!(short.contains("242 results judged, 101 with a finding"), "{short}");
    plumb(place(), "check --strict").words(&files).exits(4);
}

pub(super) fn explain_puts_the_numbers_in_and_says_which_equation_breaks() {
    let place = place();
    let words = "--name=a --ioengine=sim --rw=randread --bs=4k --size=64m --iodepth=4";
    place.write("run.json", fio(words).end().stdout);
    let explain = || plumb(&place, "explain run.json").exits(0).stdout;
    let message = explain();
    assert!(message.contains("holds       io = bw × runtime"), "{message}");
    assert!(
        message.contains("holds       users = iops × latency\n                4 in flight = 39960.98 /s × 0.1000 ms"),
        "{message}"
    );
    assert!(!message.contains("BROKEN"), "{message}");
    let text = place.read("run.json").replace("\"io_bytes\" : 67108864", "\"io_bytes\" : 33554432");
    place.write("run.json", text);
    assert!(explain().contains("BROKEN      io = iops × bs × runtime"));
}

pub(super) fn the_model_of_a_known_device_is_within_one_percent() {
    let place = place();
    let sizes = ["512", "4k", "32k", "256k", "2m", "16m"];
    let jobs = sizes.map(|size| format!("--name=b{size} --bs={size} --stonewall")).join(" ");
    let disk =
        "--ioengine=sim --sim_service_time=100us --sim_rate=500000000 --rw=randread --size=256m --number_ios=100";
    place.write("sweep.json", fio(&format!("{disk} {jobs}")).stdout());
    let text = plumb(&place, "model sweep.json").end().stdout;
    let number = |name: &str| -> f64 {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(name)).unwrap_or_else(|| panic!("{text}"));
        line.split_whitespace().next().expect("a number").parse().expect("a number")
    };
    assert!((number("access time") / 100.0 - 1.0).abs() < 0.01, "{text}");
    assert!((number("transfer rate") / 500.0 - 1.0).abs() < 0.01, "{text}");
    assert_eq!(text.lines().filter(|line| line.ends_with("0.00")).count(), 6, "{text}");
}

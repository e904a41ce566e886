//! `plumb iozone` where things go wrong, on six file systems at once, and as its readers read it. As root.

mod killed;
mod knee;
mod parsers;
mod rare;
pub(crate) mod ssh;

use crate::context::{PLUMB, place, plumb};
use house::{Directory, LoopDevice, Mounted, Run, Tmpfs, names};
use std::path::{Path, PathBuf};

fn iozone(words: &str, place: impl Directory) -> Run {
    plumb(place, "iozone").words(words)
}

/// Fails with this status, says why with these words, and leaves nothing.
fn fails(words: &str, place: &Path, status: i32, why: &str) {
    let run = iozone(words, place).exits(status).complains(why);
    assert!(!run.stdout.contains("iozone test complete"), "{run}");
    assert_eq!(names(place), [""; 0], "{words}");
}

#[test]
fn what_cannot_be_opened_ends_the_run_with_its_status() {
    let place = place();
    for (words, status) in [
        ("-i 1 -s 64 -f nofile", 58),
        ("-i 3 -s 64 -f nofile", 75),
        ("-i 5 -s 64 -f nofile", 86),
        ("-i 0 -s 64 -f /no/such/directory/x", 44),
        ("-t 2 -i 1 -s 64", 58),
        ("-t 2 -i 0 -s 64 -F /no/such/directory/a /no/such/directory/b", 44),
    ] {
        fails(words, place.path(), status, "No such file or directory");
    }
}

#[test]
fn a_full_file_system_ends_the_run() {
    let small = Tmpfs::new(1 << 20).expect("a tmpfs (needs root)");
    for (words, message) in
        [("-i 0", "Error writing block"), ("-i 6", "Error fwriting block"), ("-E -i 9", "Error pwriting block")]
    {
        let words = format!("{words} -s 4m -r 64");
        fails(&words, small.path(), 74, "No space left on device");
        iozone(&words, &small).end().prints(message);
    }
    fails("-t 2 -i 0 -s 4m -r 64", small.path(), 74, "No space left on device");
}

#[test]
fn a_file_that_another_program_wrote_does_not_verify() {
    let place = place();
    let file = place.path().join("f");
    std::fs::write(&file, vec![7; 64 << 10]).expect("as made just before");
    iozone("-i 1 -s 64 -f f", &place).exits(63).complains("holds 0x07 where 0x5f");
    assert!(file.exists(), "it was there before");
    iozone("-+E -i 1 -s 64 -f f", &place).succeeds();
}

#[test]
fn a_file_that_ends_early_is_not_a_result() {
    let place = place();
    place.write("f", [b'_'; 8192]);
    iozone("-i 1 -s 64 -f f", &place).exits(61);
}

#[test]
fn a_read_only_file_system_is_named() {
    let mount = ext4(8 << 20);
    Run::new("mount", "/").words("-o remount,ro").words([mount.path()]).succeeds();
    let words = format!("-i 0 -s 64 -f {}/f", mount.path().display());
    iozone(&words, Path::new("/")).exits(44).complains("Read-only file system");
}

/// A separate ext4.
fn ext4(bytes: u64) -> Mounted {
    let device = LoopDevice::new(&std::env::temp_dir(), bytes).expect("a loop device (needs root)");
    Mounted::on(device, "mkfs.ext4 -q -O ^has_journal", "rw").expect("a file system")
}

/// The number behind `=` in the lines that begin so.
fn numbers(text: &str, beginning: &str) -> Vec<f64> {
    let lines = text.lines().filter(|line| line.trim_start().starts_with(beginning));
    lines
        .map(|line| {
            line.split('=')
                .nth(1)
                .expect("as made just before")
                .split_whitespace()
                .next()
                .expect("as made just before")
                .parse()
                .expect("as made just before")
        })
        .collect()
}

#[test]
fn six_file_systems_give_all_lines_and_the_identities_hold() {
    let mounts: Vec<Mounted> = (0..6).map(|_| ext4(16 << 20)).collect();
    let files: Vec<PathBuf> = mounts.iter().map(|mount| mount.path().join("testfile1")).collect();
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let place = place();
    let words = format!("-i 0 -i 1 -i 2 -i 8 -r 4k -s 8m -t 6 -I -F {}", names.join(" "));
    // Six children on two processors that have other work may begin far apart: then the next run has to show it.
    let mut torn = Vec::new();
    for _ in 0..3 {
        let said = iozone(&words, &place).stdout();
        all_lines_are_there(&said);
        assert!(files.iter().all(|file| !file.exists()));
        torn = children_apart(&said);
        if torn.is_empty() {
            return;
        }
    }
    panic!("slowest and fastest, in seconds: {torn:?}");
}

/// Seven blocks of an empty line and six values: 49 lines without a gap.
fn all_lines_are_there(said: &str) {
    let lines: Vec<&str> = said.lines().collect();
    let first = lines.iter().position(|line| line.contains("Children see")).expect("a first block");
    for block in lines[first - 1..first + 48].chunks(7) {
        assert_eq!(block[0], "", "{said}");
        for (line, value) in block[1..].iter().zip(["Children see", "Parent sees", "Min thr", "Max", "Avg", "Min xfer"])
        {
            assert!(line.trim_start().starts_with(value) && numbers(line, value).len() == 1, "{line}\n{said}");
        }
    }
    assert_eq!(numbers(said, "Children see throughput for").len(), 7, "{said}");
    assert!(said.trim_end().ends_with("iozone test complete."));
}

/// Tests whose slowest child did not move for as long as the fastest took, up to the moment at which each began.
fn children_apart(said: &str) -> Vec<(f64, f64)> {
    let (least, moved, most) =
        (numbers(said, "Min throughput"), numbers(said, "Min xfer"), numbers(said, "Max throughput"));
    let times = least.iter().zip(moved).zip(most).filter(|((least, _), _)| **least > 0.0);
    let times = times.map(|((least, moved), most)| (moved / least, 8192.0 / most));
    times.filter(|(slowest, fastest)| (slowest - fastest).abs() >= (0.3 * fastest).max(0.1)).collect()
}

#[test]
fn rows_are_read_by_position_and_json_has_the_percentiles() {
    let place = place();
    place.write("thesis", "mine");
    iozone("-s 64 -r 4 -+n --json=thesis", &place).fails().complains("plumb did not make it");
    assert_eq!(place.bytes("thesis"), b"mine");
    let said = iozone("-s 1m -r 4 -+n --json=r.json --csv=r.csv -b r.xls", &place).end().stdout;
    let row = said.lines().find(|line| line.starts_with("            1024")).expect("a row");
    let value = |from: usize, to: usize| row[from..to].trim().parse::<u64>().expect("as made just before");
    assert_eq!((value(0, 16), value(16, 24)), (1024, 4));
    assert!(value(24, 33) > 0 && value(33, 42) == 0, "{row}");
    assert_eq!(row.split_whitespace().count(), 15, "{row}");
    let json: serde_json::Value = place.json("r.json");
    let latency = &json["tests"][0]["latency"];
    assert!(latency["p50_ns"].as_u64().expect("256 records are enough for it") > 0);
    assert!(latency["p99_ns"].is_null(), "it needs 10,000 records: {latency}");
    assert_eq!(json["tests"][0]["test"], "Writer");
    let csv = place.read("r.csv");
    assert!(csv.lines().any(|line| line.starts_with("Writer,1024,4,")), "{csv}");
    assert!(place.bytes("r.xls").starts_with(&[9, 0, 4, 0]));
}

#[test]
fn tables_are_drawn_where_a_report_is_asked_for() {
    let place = place();
    iozone("-a -n 64 -g 256 -i 0 -+n -+report r.svg", &place).succeeds();
    let picture = place.read("r.svg");
    assert!(picture.starts_with("<svg") && picture.contains("iozone · write"), "no surface");
    assert!(!picture.contains("iozone · rewrite"), "what was not measured is not drawn");
    assert!(place.has("r.svg") && !place.has("iozone.tmp"));
    let refused = iozone("-s 64 -i 0 -+report r.doc", &place).exits(1);
    assert!(!refused.stdout.contains("Run began"), "refused before anything is measured");
}

#[test]
fn passes_of_some_microseconds_have_a_utilisation() {
    let memory = Tmpfs::new(8 << 20).expect("a tmpfs (needs root)");
    let utilisations = |_| -> Vec<f64> {
        let said = iozone("-+u -R -a -n 64k -g 64k -i 0", &memory).stdout();
        let row = |report: &str| -> Vec<f64> {
            let row = report.lines().find_map(|line| line.strip_prefix("\"64\"")).expect("the row of 64 KiB");
            row.split_whitespace().map(|percent| percent.parse().expect("a number")).collect()
        };
        let rows: Vec<Vec<f64>> = said.split("CPU utilization report").skip(1).map(row).collect();
        assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [5, 5], "{said}");
        rows.concat()
    };
    // A pass of microseconds whose processor others take has next to none: one of some runs has to be undisturbed.
    let runs: Vec<Vec<f64>> = (0..5).map(utilisations).collect();
    let is_used = |percent: &&f64| **percent >= 1.0;
    assert!(runs.iter().any(|run| run.iter().filter(is_used).count() >= 8), "{runs:?}");
    assert!(runs.iter().flatten().all(|percent| *percent <= 100.0), "{runs:?}");
}

#[test]
fn called_by_its_name_it_is_iozone() {
    let place = place();
    std::os::unix::fs::symlink(PLUMB, place.file("iozone")).expect("as made just before");
    Run::new(place.file("iozone"), &place).words("-s 64 -i 0").succeeds().prints("iozone test complete.");
}

#[test]
fn a_finding_is_printed_kept_and_fails_a_strict_run() {
    let memory = Tmpfs::new(8 << 20).expect("a tmpfs (needs root)");
    let words = "-i 0 -i 1 -s 1m -r 64 -f f";
    iozone(words, &memory).end().silent();
    let plain = iozone(words, &memory).words("--json=found.json").env("PLUMB_REMARKS", "always").succeeds();
    let said = &plain.stderr;
    let message = |line: &str| line.starts_with("plumb: Writer 1024/64") && line.ends_with("[NOT A STORAGE RESULT]");
    assert!(said.lines().any(message), "{said}");
    assert!(said.contains("latency in us"), "{said}");
    let kept = std::fs::read(memory.path().join("found.json")).expect("as asked for");
    let kept: serde_json::Value = serde_json::from_slice(&kept).expect("JSON");
    let notes = kept["tests"][0]["result"]["notes"].as_array().expect("notes");
    assert!(notes.iter().any(|note| note["grade"] == "not_a_storage_result"), "{notes:?}");
    let strict = iozone(&format!("{words} --strict"), &memory).exits(4);
    assert_eq!(strict.stdout.lines().count(), plain.stdout.lines().count(), "nothing else changes");
    let status = |list: &str| iozone(&format!("{words} --strict={list}"), &memory).end().status;
    assert_eq!((status("backing"), status("no-flush"), status("not-a-storage-result")), (Some(4), Some(0), Some(4)));
    let unknown = iozone(&format!("{words} --strict=cash"), &memory).exits(1);
    let unknown = unknown.complains("--strict=cash: `cash` is neither a check nor a grade");
    assert_eq!(unknown.stdout, "");
}

//! What the options do that few use, seen by strace and in the bytes of the files.

use super::iozone;
use crate::context::{PLUMB, place};
use house::Place;
use std::fs;
use std::path::Path;

/// The calls of a run that strace sees, in their order within each process.
fn calls(traced: &str, words: &str, place: &Path) -> Vec<String> {
    let command: Vec<&str> = [PLUMB, "iozone"].into_iter().chain(words.split_whitespace()).collect();
    let logs = house::traced(traced, &["-e", "raw=write,read,pwrite64"], &command, place);
    logs.iter().flat_map(|log| log.lines().map(str::to_owned)).collect()
}

/// The arguments of a call.
fn arguments(call: &str) -> Vec<&str> {
    let inside = call.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')')).map_or("", |(inside, _)| inside);
    inside.split(", ").collect()
}

/// Calls of this name that move this number of bytes, as strace shows raw arguments.
fn moving<'a>(calls: &'a [String], name: &str, bytes: u32) -> Vec<Vec<&'a str>> {
    let length = format!("{bytes:#x}");
    let named = calls.iter().filter(|call| call.starts_with(&format!("{name}(")));
    named.map(|call| arguments(call)).filter(|arguments| arguments.get(2) == Some(&length.as_str())).collect()
}

#[test]
fn records_go_through_many_buffers_where_asked_for() {
    let place = place();
    let addresses = |words: &str| {
        let place = Place::below(place.path());
        let calls = calls("write", words, place.path());
        let found = moving(&calls, "write", 4096);
        found
            .iter()
            .map(|arguments| u64::from_str_radix(&arguments[1][2..], 16).expect("an address"))
            .collect::<Vec<_>>()
    };
    let one = addresses("-i 0 -+n -s 64 -r 4");
    assert!(one.len() == 16 && one.iter().all(|address| *address == one[0]), "{one:x?}");
    let many = addresses("-m -i 0 -+n -s 64 -r 4");
    assert!(many.len() == 16 && many.windows(2).all(|pair| pair[1] == pair[0] + 4096), "{many:x?}");
}

#[test]
fn each_record_is_locked_while_it_moves_where_asked_for() {
    let place = place();
    let calls = calls("fcntl,write,read", "-+l -i 0 -i 1 -+n -s 16 -r 4", place.path());
    for (kind, count) in [("F_WRLCK", 4), ("F_RDLCK", 4), ("F_UNLCK", 8)] {
        let taken = calls.iter().filter(|call| call.starts_with("fcntl(") && call.contains(kind)).count();
        assert_eq!(taken, count, "{kind}: {calls:#?}");
    }
    let last = calls.iter().rfind(|call| call.contains("F_WRLCK")).expect("a lock");
    assert!(last.contains("l_start=12288, l_len=4096"), "{last}");
}

#[test]
fn mapped_files_are_used_as_was_advised() {
    for (number, advice) in
        [(0, "MADV_NORMAL"), (1, "MADV_RANDOM"), (2, "MADV_SEQUENTIAL"), (3, "MADV_DONTNEED"), (4, "MADV_WILLNEED")]
    {
        let place = place();
        let calls = calls("madvise", &format!("-B -+A {number} -i 0 -+n -s 64 -r 4"), place.path());
        assert!(calls.iter().any(|call| call.contains(&format!("65536, {advice})"))), "{number}: {calls:#?}");
    }
}

#[test]
fn delays_of_telemetry_pass_and_are_no_part_of_the_rate() {
    let place = place();
    place.write("delays", "0 65536 60\n65536 65536 50\n131072 65536 40\n");
    let mut rates = Vec::new();
    // On a busy machine a record may have to wait as long.
    while rates.len() < 5 && !rates.iter().any(|&rate| rate > 1300) {
        let begun = std::time::Instant::now();
        let said = iozone("-i 0 -+n -X delays -f f", &place).stdout();
        assert!(begun.elapsed() >= std::time::Duration::from_millis(150), "{:?}", begun.elapsed());
        let row = said.lines().find(|line| line.trim_start().starts_with("192 ")).expect("a row");
        rates.push(row.split_whitespace().nth(2).and_then(|rate| rate.parse::<u64>().ok()).expect("kB/s"));
    }
    // With the delays it were 1280 kB/s at most.
    assert!(rates.iter().any(|&rate| rate > 1300), "{rates:?}");
}

#[test]
fn reads_behind_what_a_telemetry_file_wrote_end_the_run() {
    let place = place();
    place.write("near", "0 4096\n");
    place.write("far", "0 4096\n65536 4096\n");
    iozone("-X near -Y far", &place).exits(61).prints("\nError reading block");
}

#[test]
fn writers_of_a_sequential_mix_cut_their_files_where_asked_for() {
    for (words, cuts) in [("-+F -+B", 1), ("-+F", 0), ("-+B", 0)] {
        let place = place();
        let calls = calls("open,openat", &format!("{words} -t 2 -i 0 -i 8 -+n -s 16 -r 4"), place.path());
        let found = calls.iter().filter(|call| call.contains("iozone.DUMMY.1") && call.contains("O_TRUNC")).count();
        assert_eq!(found, cuts, "{words}: {calls:#?}");
    }
}

#[test]
fn diagnosis_looks_at_every_byte() {
    let place = place();
    let file = place.path().join("f");
    for (words, finds) in [("", false), ("-+d ", true)] {
        iozone(&format!("{words}-i 0 -w -s 64 -r 4 -f f"), &place).succeeds();
        let written = fs::read(&file).expect("kept by -w");
        iozone(&format!("{words}-i 1 -w -s 64 -r 4 -f f"), &place).succeeds();
        let mut spoilt = written.clone();
        spoilt[10_000] ^= 4;
        fs::write(&file, &spoilt).expect("it is ours");
        let run = iozone(&format!("{words}-i 1 -w -s 64 -r 4 -f f"), &place).exits(if finds { 63 } else { 0 });
        assert_eq!(run.stderr.contains("byte 10000 holds"), finds, "{run}");
        fs::remove_file(&file).expect("it is ours");
    }
}

#[test]
fn devices_are_watched_only_for_results_that_are_shown_or_saved() {
    let place = place();
    let looks = |words: &str| {
        let calls = calls("openat", &format!("-i 0 -+n -s 16 -r 4 {words}"), place.path());
        calls.iter().filter(|call| call.contains("\"/proc/stat\"")).count()
    };
    assert_eq!(looks(""), 0);
    assert!(looks("--json=r.json") >= 2);
}

//! What strace sees of a pass: which records, in which order, through which kind of open.

use super::{PLUMB, Place, scratch};
use std::collections::BTreeMap;
use std::path::Path;

/// An open of the file, or a record that moved.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Event {
    Open(Vec<String>),
    Moved { reads: bool, offset: u64, bytes: u64 },
}

/// The events of one run, those of the file `f` alone.
fn events(program: &[&str], words: &[&str], place: &Path) -> Vec<Event> {
    of_file("f", &traced(program, words, place))
}

/// Stands before what another process did.
const NEXT: &str = "next";

/// What strace saw of a run: its processes one after the other. Our first one moves nothing: it only watches the
/// file.
fn traced(program: &[&str], words: &[&str], place: &Path) -> String {
    std::fs::create_dir_all(place).expect("as made just before");
    let calls = "open,openat,creat,read,write,pread64,pwrite64,lseek,close";
    let logs = house::traced(calls, &[], &[program, words].concat(), place);
    let watchers = usize::from(program.len() > 1);
    logs.iter().skip(watchers).map(|log| format!("{NEXT}\n{log}")).collect()
}

/// The events of one file.
fn of_file(name: &str, text: &str) -> Vec<Event> {
    let quoted = format!("\"{name}\"");
    let mut found = Vec::new();
    // Where each open descriptor of the file stands.
    let mut positions: BTreeMap<String, u64> = BTreeMap::new();
    for line in text.lines() {
        if line == NEXT {
            positions.clear();
        }
        let Some((call, rest)) = line.split_once('(') else { continue };
        let Some(result) = rest.rsplit_once("= ").and_then(|(_, result)| result.split(' ').next()?.parse::<i64>().ok())
        else {
            continue;
        };
        let descriptor = rest.split([',', ')']).next().unwrap_or_default().to_owned();
        match call {
            "open" | "openat" if rest.contains(&quoted) && result >= 0 => {
                let flags = flags(rest.split(", ").nth(if call == "open" { 1 } else { 2 }).unwrap_or_default());
                positions.insert(result.to_string(), 0);
                // Only made, and not used: no part either.
                if flags != ["O_WRONLY"] {
                    found.push(Event::Open(flags));
                }
            }
            "close" => drop(positions.remove(&descriptor)),
            "lseek" if positions.contains_key(&descriptor) && result >= 0 => {
                positions.insert(descriptor, result.unsigned_abs());
            }
            "read" | "write" | "pread64" | "pwrite64" if result > 0 => {
                let Some(position) = positions.get_mut(&descriptor) else { continue };
                let bytes = result.unsigned_abs();
                let placed = call.ends_with("64");
                let argument = rest.rsplit_once(") ").and_then(|(arguments, _)| arguments.rsplit_once(", "));
                let offset = match argument {
                    Some((_, offset)) if placed => offset.trim_end_matches([')', ' ']).parse().unwrap_or(u64::MAX),
                    _ => *position,
                };
                if !placed {
                    *position += bytes;
                }
                found.push(Event::Moved { reads: call.contains("read"), offset, bytes });
            }
            _ => {}
        }
    }
    used(found)
}

/// The flags of an open, sorted. Whether the file may be made, and who inherits it, is not a part of how data moves.
fn flags(argument: &str) -> Vec<String> {
    let words = argument.split([')', ',']).next().unwrap_or_default().split('|');
    let about_data = |flag: &&str| !matches!(*flag, "O_CREAT" | "O_TRUNC" | "O_CLOEXEC" | "O_LARGEFILE");
    let mut flags: Vec<String> = words.filter(about_data).map(str::to_owned).collect();
    flags.sort();
    flags
}

/// Without the opens of a file that is only looked at (opened and closed again): it moved nothing, and they differ.
fn used(found: Vec<Event>) -> Vec<Event> {
    let mut kept: Vec<Event> = Vec::new();
    for event in found {
        if matches!((kept.last(), &event), (Some(Event::Open(_)), Event::Open(_))) {
            kept.pop();
        }
        kept.push(event);
    }
    kept
}

fn check(words: &str) {
    let place = Place(scratch(&format!("trace-{}", words.replace([' ', '/'], "_"))));
    let words: Vec<&str> = words.split_whitespace().chain(["-f", "f"]).collect();
    let theirs = events(&["iozone"], &words, &place.0.join("theirs"));
    let ours = events(&[PLUMB, "iozone"], &words, &place.0.join("ours"));
    assert!(theirs.iter().any(|event| matches!(event, Event::Moved { .. })), "nothing moved: {words:?}");
    for (at, (their, our)) in theirs.iter().zip(&ours).enumerate() {
        assert_eq!(their, our, "event {at} of iozone {words:?}");
    }
    assert_eq!(theirs.len(), ours.len(), "iozone {words:?}");
}

pub(super) fn records_come_in_the_same_order_for_4_to_128_records() {
    for records in [4, 7, 16, 20, 33, 64, 100, 128] {
        check(&format!("-s {} -r 4 -E", records * 4));
    }
}

pub(super) fn strides_of_all_kinds_are_the_same() {
    for (records, stride) in [(4, 0), (4, 1), (8, 3), (64, 5), (100, 7), (17, 17), (19, 17)] {
        check(&format!("-s {} -r 4 -i 0 -i 5 -j {stride}", records * 4));
    }
}

pub(super) fn telemetry_files_say_which_records_there_are() {
    let place = Place(scratch("telemetry"));
    std::fs::create_dir_all(&place.0).expect("a directory");
    let records = place.0.join("records");
    std::fs::write(&records, "0 4096\n65536 8192\n4096 1024\n20480 16384\n").expect("a file");
    let words = format!("-i 0 -i 1 -X {0} -Y {0} -f f", records.display());
    let words: Vec<&str> = words.split(' ').collect();
    // The read before the time is as long as any one: it is not a record.
    let moved = |program: &[&str], directory: &str| {
        let events = events(program, &words, &place.0.join(directory));
        let opens_to_read = |event: &Event| matches!(event, Event::Open(flags) if flags == &["O_RDONLY"]);
        let primes = |at: usize| at > 0 && opens_to_read(&events[at - 1]);
        (0..events.len()).filter(|&at| !primes(at)).map(|at| events[at].clone()).collect::<Vec<_>>()
    };
    let (theirs, ours) = (moved(&["iozone"], "theirs"), moved(&[PLUMB, "iozone"], "ours"));
    assert_eq!(theirs.iter().filter(|event| matches!(event, Event::Moved { .. })).count(), 16, "{theirs:?}");
    assert_eq!(theirs, ours);
}

/// What the children of throughput mode did, each by itself: the records of that child's file in their order.
fn of_children(program: &[&str], words: &str, place: &Path) -> Vec<Vec<(bool, u64, u64)>> {
    let words: Vec<&str> = words.split_whitespace().chain(["-t", "2", "-x", "-F", "f0", "f1"]).collect();
    let text = traced(program, &words, place);
    let moved = |event: Event| match event {
        Event::Moved { reads, offset, bytes } => Some((reads, offset, bytes)),
        Event::Open(_) => None,
    };
    ["f0", "f1"].iter().map(|name| of_file(name, &text).into_iter().filter_map(moved).collect()).collect()
}

pub(super) fn children_visit_their_records_in_the_same_order() {
    // The original sleeps for seconds between its tests: all at once.
    std::thread::scope(|scope| {
        for records in [4_usize, 33, 128] {
            scope.spawn(move || {
                let place = Place(scratch(&format!("children-{records}")));
                let words = format!("-s {} -r 4 -i 0 -i 1 -i 2 -i 3 -i 5 -+n", records * 4);
                let theirs = of_children(&["iozone"], &words, &place.0.join("theirs"));
                let ours = of_children(&[PLUMB, "iozone"], &words, &place.0.join("ours"));
                assert!(theirs.iter().all(|moved| moved.len() >= 5 * records), "{words}: {}", theirs[1].len());
                assert_eq!(theirs, ours, "{words}");
            });
        }
    });
}

pub(super) fn a_mix_of_no_readers_has_one_reader() {
    let place = Place(scratch("mix-of-none"));
    for (name, program) in [("theirs", &["iozone"][..]), ("ours", &[PLUMB, "iozone"])] {
        let words: Vec<&str> = "-t 1 -s 64 -r 4 -+n -i 0 -i 8 -+K 0 -F f".split(' ').collect();
        let events = events(program, &words, &place.0.join(name));
        let reads = events.iter().filter(|event| matches!(event, Event::Moved { reads: true, .. })).count();
        assert_eq!(reads, 16, "{name}: {events:?}");
    }
}

pub(super) fn files_are_opened_with_the_same_flags() {
    for options in ["-I", "-o", "-+r", "-+D", "-e -c", "-W", "-+n", "-+N", "-+l", "-Z", "-m"] {
        check(&format!("-s 16 -r 4 -E {options}"));
    }
}

pub(super) fn reads_elsewhere_are_where_the_original_has_them() {
    for options in ["-r 4", "-r 8", "-r 8 -I"] {
        check(&format!("-s 2m -i 0 -i 1 -i 3 -K {options}"));
    }
}

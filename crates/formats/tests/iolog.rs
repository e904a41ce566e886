//! Records of I/Os: what is written is read back, what fio and blktrace wrote is understood, what is damaged is named.

use formats::iolog::{self, Adapt, Event, FileAction, Place, Reader, Trace, merge};
use measure::{Nanos, PerDirection};
use plan::Operation;
use plan::{ReplayPlan, Skip, Timing};
use proptest::prelude::*;
use std::io::{BufRead, BufReader, Read};

fn events(bytes: &[u8]) -> Result<(Vec<Event>, Vec<Place>), String> {
    // A buffer of few bytes: every line and record lies across its border somewhere.
    let mut reader = Reader::new("log", BufReader::with_capacity(7, bytes)).map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    while let Some(event) = reader.next().map_err(|error| error.to_string())? {
        found.push(event);
    }
    Ok((found, reader.places().to_vec()))
}

fn event(at_us: u64, place: u32, operation: Operation, offset: u64, length: u32) -> Event {
    Event { at: Nanos::from_micros(at_us), place, operation, offset, length }
}

const OPERATIONS: [Operation; 5] =
    [Operation::Read, Operation::Write, Operation::Trim, Operation::Sync, Operation::DataSync];

fn any_event(files: u32) -> impl Strategy<Value = Event> {
    (0..1_u64 << 40, 0..files, 0..5_usize, 0..1_u64 << 60, 1..=256_u32 << 20).prop_map(
        |(at_us, place, which, offset, length)| {
            let operation = OPERATIONS[which];
            let syncs = matches!(operation, Operation::Sync | Operation::DataSync);
            event(at_us, place, operation, offset, if syncs { 0 } else { length })
        },
    )
}

fn log_of(names: &[String], events: &[Event]) -> Vec<u8> {
    let mut text = Vec::new();
    iolog::header(&mut text);
    for action in [FileAction::Add, FileAction::Open] {
        names.iter().for_each(|name| iolog::file_line(&mut text, Nanos::ZERO, name, action));
    }
    for event in events {
        let name = &names[event.place as usize];
        iolog::operation_line(&mut text, event.at, name, event.operation, event.offset, event.length);
    }
    names.iter().for_each(|name| iolog::file_line(&mut text, Nanos::ZERO, name, FileAction::Close));
    text
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        names in prop::collection::hash_set("[!-~äß]([ -~äß]{0,20}[!-~])?", 3),
        list in prop::collection::vec(any_event(3), 0..40),
    ) {
        let names: Vec<String> = names.into_iter().collect();
        prop_assume!(names.iter().all(|name| iolog::is_writable_name(name)));
        let (found, places) = events(&log_of(&names, &list)).unwrap();
        prop_assert_eq!(found, list);
        let expected: Vec<Place> = names.into_iter().map(Place::Path).collect();
        prop_assert_eq!(places, expected);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), kind in 0..4_usize) {
        let start: &[u8] =
            [&b""[..], b"fio version 3 iolog\n", b"fio version 2 iolog\n", &[0x07, 0x74, 0x61, 0x65]][kind];
        let _ = events(&[start, &bytes].concat());
    }

    #[test]
    fn a_damaged_log_is_read_or_refused_with_its_line(
        list in prop::collection::vec(any_event(1), 1..20), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut text = log_of(&["a".to_owned()], &list);
        let at = at.index(text.len());
        text[at] = byte;
        if let Err(message) = events(&text) {
            prop_assert!(message.starts_with("log:"), "{}", message);
        }
        text.truncate(at);
        if let Err(message) = events(&text) {
            prop_assert!(message.starts_with("log:"), "{}", message);
        }
    }
}

#[test]
fn version_2_waits_add_up() {
    let log = b"fio version 2 iolog\na b add\na b open\na b read 0 4096\na b wait 200 0\na b write 4096 512\n\
                a b wait 300\na b datasync 0 0\na b trim 1 2\na b close\n";
    let (found, places) = events(log).unwrap();
    assert_eq!(places, [Place::Path("a b".into())]);
    let expected = [
        event(0, 0, Operation::Read, 0, 4096),
        event(200, 0, Operation::Write, 4096, 512),
        event(500, 0, Operation::DataSync, 0, 0),
        event(500, 0, Operation::Trim, 1, 2),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_recording_appended_to_another_follows_it() {
    let one = b"fio version 3 iolog\n0 a add\n1 a open\n5 a read 0 512\n100 a close\n";
    let (found, _) = events(&[&one[..], one].concat()).unwrap();
    assert_eq!(found, [event(5, 0, Operation::Read, 0, 512), event(105, 0, Operation::Read, 0, 512)]);
}

#[test]
fn a_wrong_line_is_named_with_its_place_and_what_would_work() {
    let v3 = |lines: &str| format!("fio version 3 iolog\n0 a add\n{lines}\n");
    let cases = [
        (String::new(), 1, "write_iolog"),
        ("0, 0, 4096\n".into(), 1, "fio version 3 iolog"),
        ("fio version 1 iolog\n".into(), 1, "versions 2 and 3"),
        ("fio version 9 iolog\n".into(), 1, "versions 2 and 3"),
        (v3("0 a raed 0 4096"), 3, "read, write, trim"),
        (v3("a read 0 4096"), 3, "not a time"),
        (v3("0 b read 0 4096"), 3, "was not added"),
        (v3("0 a read 0"), 3, "FILE ACTION OFFSET LENGTH"),
        (v3("0 a read x 4096"), 3, "not a number"),
        (v3("0 a read -1 4096"), 3, "not a number"),
        (v3("0 a read 0 0"), 3, "length is 0"),
        (v3("0 a read 0 4294967295"), 3, "268435456"),
        (v3("0 a trim 0 4294967296"), 3, "4294967295"),
        (v3("0 a read 18446744073709551615 4096"), 3, "2^63"),
        (v3("0 a wait 100 0"), 3, "has no `wait`"),
        (v3("99999999999999999999 a read 0 1"), 3, "not a time"),
        (v3("18446744073709551615 a read 0 1"), 3, "out of range"),
        (v3("0 a read 0 1\nfio version 2 iolog"), 4, "another version"),
        (v3("0 b close"), 3, "was not added"),
        (v3("\u{1b}[2J a read 0 1"), 3, "␛"),
        (v3(&"x".repeat(9000)), 3, "longer than 8192"),
    ];
    for (text, line, what) in cases {
        let message = events(text.as_bytes()).unwrap_err();
        assert!(message.starts_with(&format!("log:{line}: ")) && message.contains(what), "{message}");
        assert!(!message.contains('\u{1b}') && message.len() < 400, "{message}");
    }
}

#[test]
fn a_log_may_not_name_files_without_end() {
    let mut text = String::from("fio version 3 iolog\n");
    (0..20_000).for_each(|number| text.push_str(&format!("0 f{number} add\n")));
    assert!(events(text.as_bytes()).unwrap_err().contains("16384 files"));
}

/// A text of any length that is nowhere.
struct Endless {
    at: usize,
    left: u64,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        const LINE: &[u8] = b"7 a read 4096 4096\n";
        let wanted = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        for slot in &mut buffer[..wanted] {
            *slot = LINE[self.at];
            self.at = (self.at + 1) % LINE.len();
        }
        self.left -= wanted as u64;
        Ok(wanted)
    }
}

#[test]
fn a_long_log_is_read_without_being_held() {
    let lines = 200_000_u64;
    let start = &b"fio version 3 iolog\n0 a add\n"[..];
    let input = BufReader::new(start.chain(Endless { at: 0, left: lines * 19 }));
    let mut reader = Reader::new("long", input).unwrap();
    let mut count = 0;
    while reader.next().unwrap().is_some() {
        count += 1;
    }
    assert_eq!((count, reader.places().len()), (lines, 1));
}

const READ: u32 = 1;
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const QUEUE: u32 = 1 << 4;
const NOTIFY: u32 = 1 << 10;
const DISCARD: u32 = 1 << 13;

/// A record of blktrace as linux/blktrace_api.h lays it out.
fn record(big: bool, time_ns: u64, sector: u64, bytes: u32, action: (u32, u32), payload: &[u8]) -> Vec<u8> {
    let (category, act) = action;
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let long = |value: u64| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let short = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut record = [word(0x6561_7407), word(1)].concat();
    record.extend([long(time_ns), long(sector)].concat());
    let device = 8 << 20 | 17;
    record.extend([word(bytes), word(category << 16 | act), word(42), word(device), word(3)].concat());
    record.extend([short(0), short(u16::try_from(payload.len()).expect("a short payload"))].concat());
    record.extend(payload);
    record
}

fn trace(big: bool) -> Vec<u8> {
    [
        record(big, 500, 0, 0, (NOTIFY, 1), b"12345678"),
        record(big, 1000, 8, 4096, (READ | QUEUE, 1), b""),
        record(big, 1500, 8, 4096, (READ, 7), b"issued"),
        record(big, 3000, 16, 512, (WRITE | QUEUE, 1), b""),
        record(big, 4000, 24, 1024, (WRITE | DISCARD | QUEUE, 1), b""),
        record(big, 5000, 0, 0, (WRITE | FLUSH | QUEUE, 1), b""),
        record(big, 6000, 32, 0, (READ | QUEUE, 1), b""),
    ]
    .concat()
}

#[test]
fn a_trace_is_read_in_both_byte_orders() {
    let at = |ns, operation, offset, length| Event { at: Nanos(ns), place: 0, operation, offset, length };
    let expected = [
        at(0, Operation::Read, 4096, 4096),
        at(2000, Operation::Write, 8192, 512),
        at(3000, Operation::Trim, 12288, 1024),
        at(4000, Operation::Sync, 0, 0),
    ];
    for big in [false, true] {
        let (found, places) = events(&trace(big)).unwrap();
        assert_eq!(found, expected, "big endian: {big}");
        assert_eq!(places, [Place::Device { major: 8, minor: 17 }]);
    }
}

#[test]
fn a_damaged_trace_is_named_with_its_byte() {
    let whole = trace(false);
    // 48 + 8 bytes for the first, 48 for the second: the third begins at 104.
    let mut damaged = whole.clone();
    damaged[104] ^= 0xff;
    assert!(events(&damaged).unwrap_err().starts_with("log: byte 104: no record begins here"));
    assert!(events(&whole[..120]).unwrap_err().contains("byte 104: the trace is cut off: 16 of 48"));
    assert!(events(&whole[..154]).unwrap_err().contains("byte 104: the trace is cut off: 2 of 6"));
    let beyond = record(false, 0, u64::MAX, 512, (READ | QUEUE, 1), b"");
    assert!(events(&beyond).unwrap_err().contains("sector is out of range"));
    let huge = record(false, 0, 0, u32::MAX, (WRITE | QUEUE, 1), b"");
    assert!(events(&huge).unwrap_err().contains("268435456"));
}

fn merged(inputs: &[(&[u8], f64, u64)]) -> Vec<(u64, u64)> {
    let traces: Vec<Trace<'_>> = inputs
        .iter()
        .map(|&(bytes, scalar, rounds)| Trace {
            name: "trace".into(),
            open: Box::new(move || Ok(Box::new(std::io::Cursor::new(bytes.to_vec())) as Box<dyn BufRead>)),
            scalar,
            rounds,
        })
        .collect();
    let mut out = Vec::new();
    let count = merge(&traces, &mut out).expect("merged");
    let (found, _) = events(&out).expect("a trace");
    assert_eq!(count, found.len() as u64);
    found.iter().map(|event| (event.at.get(), event.offset / 512)).collect()
}

#[test]
fn traces_merge_in_the_order_of_their_scaled_times() {
    let list = |big, times: &[(u64, u64)]| -> Vec<u8> {
        times.iter().flat_map(|&(time, sector)| record(big, time, sector, 512, (READ | QUEUE, 1), b"")).collect()
    };
    let first = list(false, &[(5000, 1), (6000, 2), (9000, 3)]);
    let second = list(true, &[(100, 11), (2100, 12)]);
    assert_eq!(merged(&[(&first, 100.0, 1), (&second, 100.0, 1)]), [(0, 1), (0, 11), (1000, 2), (2000, 12), (4000, 3)]);
    assert_eq!(
        merged(&[(&first, 50.0, 2), (&second, 100.0, 1)]),
        [(0, 1), (0, 11), (500, 2), (2000, 3), (2000, 1), (2000, 12), (2500, 2), (4000, 3)]
    );
    assert_eq!(merged(&[(&second, 200.0, 1)]), [(0, 11), (4000, 12)]);
}

#[test]
fn a_text_cannot_be_merged_and_says_so() {
    let open = || Ok(Box::new(&b"fio version 3 iolog\n"[..]) as Box<dyn BufRead>);
    let text = Trace { name: "t.log".into(), open: Box::new(open), scalar: 100.0, rounds: 1 };
    let message = merge(&[text], &mut Vec::new()).unwrap_err().to_string();
    assert!(message.starts_with("t.log: byte 0: ") && message.contains("blkparse"), "{message}");
}

#[test]
fn a_job_moves_speeds_up_and_leaves_out() {
    let skip = |read, write, trim, syncs| Skip { moves: PerDirection { read, write, trim }, syncs };
    let plan = ReplayPlan {
        timing: Timing::Percent(200),
        align: 4096,
        scale: 2,
        redirect: Some("x".into()),
        skip: skip(false, true, false, true),
        ..ReplayPlan::default()
    };
    let adapt = Adapt::new(&plan);
    assert_eq!(
        adapt.apply(event(1000, 5, Operation::Read, 17_000, 512)),
        Some(event(500, 0, Operation::Read, 8192, 512))
    );
    for left_out in [Operation::Write, Operation::Sync, Operation::DataSync] {
        assert_eq!(adapt.apply(event(0, 0, left_out, 0, 512)), None, "{left_out:?}");
    }
    let none = ReplayPlan { timing: Timing::None, skip: skip(true, false, true, false), ..ReplayPlan::default() };
    let adapt = Adapt::new(&none);
    assert_eq!(adapt.apply(event(9, 1, Operation::Write, 1, 3)), Some(event(0, 1, Operation::Write, 1, 3)));
    assert_eq!(adapt.apply(event(0, 0, Operation::Read, 0, 1)), None);
    assert_eq!(adapt.apply(event(0, 0, Operation::Trim, 0, 1)), None);
}

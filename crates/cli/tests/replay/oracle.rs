//! Against Debian's fio: a record of one is the work of the other.

use super::{ios, succeed};
use crate::context::place;
use house::{Run, oracle, oracle_run};
use std::path::Path;

fn fio(directory: &Path, words: &[&str]) {
    oracle(directory, words).exits(0);
}

/// Loads that say something about offsets, sizes, files and syncs.
const LOADS: &[&[&str]] = &[
    &["--rw=randrw", "--bs=4k", "--size=256k", "--fsync=3", "--nrfiles=2"],
    &["--rw=write", "--bsrange=1k-16k", "--size=256k", "--fdatasync=5"],
    &["--rw=randwrite", "--bs=4k", "--size=128k", "--end_fsync=1"],
    &["--rw=write", "--bs=4k", "--size=128k", "--verify=crc32c"],
    &["--rw=randread", "--bs=8k", "--size=512k", "--ioengine=libaio", "--iodepth=4"],
];

#[test]
fn what_fio_recorded_is_replayed_io_by_io() {
    for load in LOADS {
        let place = place();
        fio(place.path(), &[&["--name=a", "--write_iolog=theirs.iolog"], *load].concat());
        let words = ["--name=b", "--read_iolog=theirs.iolog", "--write_iolog=ours.iolog", "--replay_no_stall=1"];
        succeed(place.path(), &words);
        let theirs = ios(place.path(), "theirs.iolog");
        assert!(theirs.len() > 20, "{load:?}: {theirs:?}");
        assert_eq!(ios(place.path(), "ours.iolog"), theirs, "{load:?}");
    }
}

/// The I/Os that a run of fio does on the files called `a.*`, as a record would name them.
fn traced(directory: &Path, words: &[&str]) -> Vec<String> {
    let calls = "trace=pread64,pwrite64,fsync,fdatasync";
    let strace = ["strace", "-f", "-y", "-s", "0", "-o", "calls", "-e", calls];
    oracle_run(|| Run::new("fio", directory).words(words).under(strace)).expect("fio ends").exits(0);
    let text = std::fs::read_to_string(directory.join("calls")).expect("the calls");
    text.lines().filter_map(call_as_io).collect()
}

/// `pread64(3</dir/a.0.0>, ""..., 4096, 8192) = 4096` as `a.0.0 read 8192 4096`.
fn call_as_io(line: &str) -> Option<String> {
    let (_, call) = line.split_once(' ')?;
    let (name, rest) = call.trim_start().split_once('(')?;
    let (_, path) = rest.split_once('<')?;
    let (path, rest) = path.split_once('>')?;
    let file = Path::new(path).file_name()?.to_str().filter(|file| file.starts_with("a."))?;
    let numbers: Vec<&str> = rest.split_once(')')?.0.rsplit(", ").take(2).collect();
    Some(match name {
        "pread64" => format!("{file} read {} {}", numbers.first()?, numbers.get(1)?),
        "pwrite64" => format!("{file} write {} {}", numbers.first()?, numbers.get(1)?),
        "fsync" => format!("{file} sync"),
        _ => format!("{file} datasync"),
    })
}

#[test]
fn what_plumb_recorded_is_replayed_by_fio_io_by_io() {
    for load in LOADS {
        let place = place();
        succeed(place.path(), &[&["--name=a", "--write_iolog=ours.iolog"], *load].concat());
        let theirs = traced(place.path(), &["--name=b", "--read_iolog=ours.iolog", "--replay_no_stall=1"]);
        let ours = ios(place.path(), "ours.iolog");
        assert!(ours.len() > 20, "{load:?}: {ours:?}");
        // A sync has a place in a record, but not in its call.
        let bare = |io: &String| match io.split(' ').collect::<Vec<_>>()[..] {
            [file, sync @ ("sync" | "datasync"), ..] => format!("{file} {sync}"),
            _ => io.clone(),
        };
        assert_eq!(theirs, ours.iter().map(bare).collect::<Vec<_>>(), "{load:?}");
    }
}

#[test]
fn fio_takes_the_same_time_over_our_record_as_we_do_over_its() {
    let place = place();
    let load = ["--size=64k", "--bs=4k", "--rw=read", "--rate_iops=20"];
    succeed(place.path(), &[&["--name=a", "--write_iolog=ours.iolog"], &load[..]].concat());
    let runtime = |text: &str| {
        let result: serde_json::Value = serde_json::from_str(&text[text.find('{').expect("JSON")..]).expect("JSON");
        result["jobs"][0]["read"]["runtime"].as_f64().expect("a runtime")
    };
    let words = ["--name=b", "--read_iolog=ours.iolog", "--output-format=json"];
    let theirs = || runtime(&oracle(&place, words).stdout);
    let ours = runtime(&succeed(place.path(), &words));
    // fio sleeps too long now and then, on a busy machine.
    let all: Vec<f64> = (0..3).map(|_| theirs()).collect();
    let is_near = all.iter().any(|theirs| (ours - theirs).abs() < 300.0);
    assert!((700.0..1_200.0).contains(&ours) && is_near, "ours {ours} ms, fio's {all:?} ms");
}

/// A record of blktrace in the byte order asked for.
fn queued(big: bool, time_ns: u64, sector: u64, bytes: u32, category: u32) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let long = |value: u64| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut record = [word(0x6561_7407), word(1)].concat();
    record.extend([long(time_ns), long(sector)].concat());
    record.extend([bytes, (category | 1 << 4) << 16 | 1, 1, 4095 << 20 | 7, 0, 0].map(word).concat());
    record
}

#[test]
fn a_trace_in_either_byte_order_is_replayed_as_fio_replays_it() {
    const READ: u32 = 1;
    const WRITE: u32 = 1 << 1;
    let list = [(0, 8, 4096, READ), (9_000, 16, 8192, WRITE), (20_000, 64, 512, READ), (30_000, 0, 0, WRITE | 1 << 2)];
    for big in [false, true] {
        let place = place();
        let trace: Vec<u8> = list
            .iter()
            .flat_map(|&(time, sector, bytes, category)| queued(big, time, sector, bytes, category))
            .collect();
        std::fs::write(place.path().join("trace"), trace).expect("written");
        std::fs::write(place.path().join("f"), vec![0; 1 << 20]).expect("written");
        let words = ["--name=x", "--ioengine=null", "--read_iolog=trace", "--replay_redirect=f"];
        let theirs = oracle(&place, [&words[..], &["--debug=io"]].concat()).stdout;
        // queue: io_u 0x1: off=0x1000,len=0x1000,ddir=0,file=f
        let number = |line: &str, key: &str| {
            let text = line.split_once(key).and_then(|(_, rest)| rest.split(',').next()).expect("a field").to_owned();
            u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("a number")
        };
        let action =
            |line: &str| ["read", "write", "trim", "sync"][usize::try_from(number(line, "ddir=")).expect("few")];
        let theirs: Vec<String> = theirs
            .lines()
            .filter(|line| line.contains("queue: io_u"))
            .map(|line| format!("f {} {} {}", action(line), number(line, "off="), number(line, "len=")))
            .collect();
        succeed(place.path(), &[&words[..], &["--write_iolog=out"]].concat());
        assert_eq!(theirs.len(), list.len());
        assert_eq!(ios(place.path(), "out"), theirs, "big endian: {big}");
    }
}

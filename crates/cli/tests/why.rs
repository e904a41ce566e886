//! `plumb why`: what it says of programs whose I/O is known.

use crate::context::{PLUMB, place, plumb};
use formats::columnar::{Cells, Kind, TableColumn, TableReader, TableWriter};
use formats::sweep::ParquetWriter;
use house::{Group, LoopDevice, Place, wait_for};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A job of psync with 200 reads of 8 KiB, each of another block.
const READS: &str = "fio --name=a --ioengine=psync --rw=randread --bs=8k --size=4m --number_ios=200 --filename=data";

/// The document of a recording of plumb with these words.
#[track_caller]
fn recorded(place: &Place, words: &str) -> Value {
    plumb(place, "why --json -o why.json --").words(PLUMB).words(words).succeeds();
    place.json("why.json")
}

/// The calls of a direction.
fn group<'a>(document: &'a Value, direction: &str) -> &'a Value {
    let groups = document["groups"].as_array().unwrap();
    let is_it = |group: &&Value| group["direction"] == direction && group["reach"] == "call";
    groups.iter().find(is_it).unwrap_or_else(|| panic!("no {direction}: {document:#}"))
}

/// The largest part of a sum besides waiting for a processor, which is up to what else runs.
fn largest(sum: &Value) -> &str {
    let parts = sum.as_object().unwrap().iter().filter(|(name, _)| *name != "waking up");
    parts.max_by_key(|(_, time)| time.as_u64()).unwrap().0
}

/// Instances of tracefs that a process made.
fn instances(process: u32) -> Vec<PathBuf> {
    let places = ["/sys/kernel/tracing/instances", "/sys/kernel/debug/tracing/instances"];
    // Both are the same file system where debugfs is mounted, too.
    let entries = places.iter().find_map(|place| std::fs::read_dir(place).ok()).into_iter().flatten().flatten();
    let begin = format!("plumb.{process}.");
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&begin)).map(|entry| entry.path()).collect()
}

#[test]
fn direct_reads_are_counted_and_wait_for_the_device() {
    let place = place();
    plumb(&place, READS).succeeds();
    let document = recorded(&place, &format!("{READS} --direct=1"));
    let reads = group(&document, "read");
    assert_eq!((&reads["frequent_bytes"], &reads["frequent_count"]), (&8192.into(), &200.into()), "{document:#}");
    assert_eq!(largest(&reads["middle"]["parts_ns"]), "device", "{document:#}");
    let parts = reads["slowest"]["parts_ns"].as_object().unwrap().values();
    let sum: u64 = parts.map(|time| time.as_u64().unwrap()).sum();
    assert_eq!(reads["slowest"]["time_ns"], sum, "the parts are the whole");
    assert_eq!(document["cost"]["events_lost"], 0, "{document:#}");
}

/// A shell that records itself starts the recorder, too.
#[test]
fn a_recorder_below_its_target_leaves_itself_out() {
    let place = place();
    let dd = "dd if=/dev/zero of=data bs=4k count=100 oflag=sync status=none";
    let script = format!("{PLUMB} why --json -o why.json --for 2s --pid $$ & sleep 1; {dd}; wait");
    house::Run::new("sh", &place).words(["-c", script.as_str()]).env("PLUMB_STORE", "off").succeeds();
    let document = place.json("why.json");
    assert_eq!(group(&document, "write")["frequent_count"], 100, "{document:#}");
    // Each read of its buffers would be a call with five events.
    let events = document["cost"]["events"].as_u64().unwrap();
    assert!((400..20_000).contains(&events), "{document:#}");
}

#[test]
fn reads_of_a_cached_file_are_of_the_cache() {
    let place = place();
    plumb(&place, READS).succeeds();
    let document = recorded(&place, &format!("{READS} --pre_read=1"));
    let reads = group(&document, "read");
    assert_eq!((&reads["frequent_bytes"], &reads["frequent_count"]), (&8192.into(), &200.into()), "{document:#}");
    let name = largest(&reads["middle"]["parts_ns"]);
    assert!(name == "cache" && reads["from_memory"].as_u64().unwrap() >= 200, "{document:#}");
}

#[test]
fn a_job_has_the_calls_that_strace_counts() {
    let place = place();
    let job = "fio --name=a --ioengine=psync --rw=randrw --bs=4k --size=1m --fdatasync=8 --filename=data";
    plumb(&place, job).succeeds();
    let words: Vec<&str> = std::iter::once(PLUMB).chain(job.split(' ')).collect();
    let directory = place.directory("strace");
    std::fs::copy(place.file("data"), directory.join("data")).unwrap();
    let logs = house::traced("pread64,pwrite64,fdatasync", &[], &words, &directory).concat();
    let count = |name: &str, end: &str| {
        logs.lines().filter(|line| line.starts_with(&format!("{name}(")) && line.ends_with(end)).count()
    };
    let document = recorded(&place, job);
    for (direction, name, end) in [("read", "pread64", "= 4096"), ("write", "pwrite64", "= 4096")] {
        let calls = group(&document, direction);
        let counted = (&calls["frequent_bytes"], &calls["frequent_count"]);
        assert_eq!(counted, (&4096.into(), &count(name, end).into()), "{name}: {document:#}");
    }
    let sync = &group(&document, "sync")["calls"][0];
    assert_eq!((&sync["name"], &sync["count"]), (&"fdatasync".into(), &count("fdatasync", "= 0").into()));
    assert!(count("pread64", "= 4096") > 50 && count("fdatasync", "= 0") > 5, "{logs}");
}

/// Runs a job with a queue, and compares its requests with those that it reports.
#[track_caller]
fn has_the_ios_of_its_report(place: &Place, call: &str, words: &str) -> Value {
    let job = "fio --name=a --rw=randrw --bs=8k --size=4m --number_ios=300 --iodepth=8 --output-format=json";
    // In the pause a busy machine looks what is behind the descriptor, which is gone at the end.
    let pause = "--thinktime=250ms --thinktime_blocks=100";
    let document = recorded(place, &format!("{job} --output=fio.json {pause} {words}"));
    let report = &place.json("fio.json")["jobs"][0];
    for direction in ["read", "write"] {
        let calls = group(&document, direction)["calls"].as_array().unwrap();
        let of_queue = calls.iter().find(|one| one["name"] == call).unwrap_or_else(|| panic!("{words}: {document:#}"));
        let counted = report[direction]["total_ios"].as_u64().unwrap();
        let count = of_queue["count"].as_u64().unwrap();
        // Requests whose workers could not be followed are left out, and counted.
        let gaps = ["unknown_descriptors", "outside_of_calls"].map(|gap| document[gap].as_u64().unwrap());
        let left_out = if words.contains("force_async") { gaps.iter().sum() } else { 0 };
        assert!(counted > 50 && (counted.saturating_sub(left_out)..=counted).contains(&count), "{words}: {document:#}");
        if count < counted {
            continue;
        }
        let has_sizes = !words.contains("libaio --direct=0");
        let bytes = if has_sizes { &report[direction]["io_bytes"] } else { &Value::from(0) };
        assert_eq!(&of_queue["bytes"], bytes, "{words}: {direction}: {document:#}");
    }
    assert_eq!((&document["open_calls"], &document["unclear_requests"]), (&0.into(), &0.into()), "{document:#}");
    document
}

#[test]
fn requests_of_a_ring_are_those_of_the_report() {
    let place = place();
    plumb(&place, READS).succeeds();
    let device = LoopDevice::direct(place.path(), 4 << 20).unwrap();
    let device = format!("--direct=1 --filename={}", device.path().display());
    for words in [
        &device,
        "--direct=1 --filename=data",
        "--direct=0 --filename=data --invalidate=1",
        "--direct=1 --filename=data --registerfiles --fixedbufs --force_async=2",
        "--direct=1 --filename=data --sqthread_poll",
    ] {
        let document = has_the_ios_of_its_report(&place, "io_uring_enter", &format!("--ioengine=io_uring {words}"));
        let reads = group(&document, "read");
        if words == device {
            assert_eq!(largest(&reads["middle"]["parts_ns"]), "device", "{document:#}");
            assert!((4..=9).contains(&reads["p99_depth"].as_u64().unwrap()), "{document:#}");
        }
    }
}

#[test]
fn requests_of_libaio_are_those_of_the_report() {
    let place = place();
    plumb(&place, READS).succeeds();
    let device = LoopDevice::direct(place.path(), 4 << 20).unwrap();
    let device = format!("--direct=1 --filename={}", device.path().display());
    for words in [&device, "--direct=1 --filename=data --iodepth_batch=4", "--direct=0 --filename=data"] {
        let document = has_the_ios_of_its_report(&place, "io_submit", &format!("--ioengine=libaio {words}"));
        if words.contains("direct=1") {
            assert_eq!(largest(&group(&document, "write")["middle"]["parts_ns"]), "device", "{words}: {document:#}");
        }
    }
}

#[test]
fn page_faults_of_a_mapped_file_wait_for_the_device() {
    let place = place();
    plumb(&place, READS).succeeds();
    let job = "fio --name=a --ioengine=mmap --rw=randread --bs=4k --size=4m --number_ios=200 --filename=data";
    let document = recorded(&place, &format!("{job} --thread --invalidate=1 --output-format=json --output=fio.json"));
    let major = place.json("fio.json")["jobs"][0]["majf"].as_u64().unwrap();
    let faults = group(&document, "page fault");
    let count = faults["count"].as_u64().unwrap();
    // Those of the program's own pages are counted, too.
    assert!(major >= 20 && count >= major * 9 / 10, "{major}: {document:#}");
    assert_eq!(largest(&faults["middle"]["parts_ns"]), "device", "{document:#}");
}

#[test]
fn a_limit_of_the_group_is_named_with_its_group() {
    let place = place();
    let device = LoopDevice::direct(place.path(), 4 << 20).unwrap();
    let name = device.path().file_name().unwrap().to_str().unwrap().to_owned();
    let group = Group::with_read_iops(&name, 25).unwrap();
    let device = device.path().display();
    let reads = format!("why --json -- {PLUMB} fio --name=a --ioengine=psync --rw=randread --bs=4k --direct=1");
    let run = plumb(&place, format!("{reads} --number_ios=25 --filename={device}"));
    let document = group.inside(run).json();
    assert_eq!(largest(&self::group(&document, "read")["parts_ns"]), "throttle", "{document:#}");
    let named = document["limits"][0]["group"].as_str().unwrap();
    assert!(named.ends_with(&group.name()) && document["limits"][0]["reads_per_second"] == 25, "{document:#}");
    let gains = document["gains"].as_array().unwrap();
    let rate = |name: &str| gains.iter().find(|gain| gain["name"] == name).unwrap()["rate"].as_f64();
    assert!(rate("no limit").unwrap() > 3.0 && rate("device twice as fast").unwrap() < 1.5, "{gains:#?}");
    assert_eq!((gains.len(), rate("more depth"), rate("one sync in place of ten")), (6, None, None), "{gains:#?}");
}

#[test]
fn a_device_has_the_ios_of_all_programs() {
    let place = place();
    let device = LoopDevice::direct(place.path(), 4 << 20).unwrap();
    let words = format!("why --json --for 30s --device {}", device.path().display());
    let mut recording = plumb(&place, words).start();
    recording.line_with("recording");
    let job = "fio --name=a --ioengine=io_uring --iodepth=4 --rw=randread --bs=4k --direct=1 --number_ios=64";
    plumb(&place, format!("{job} --filename={}", device.path().display())).succeeds();
    recording.signal(Signal::INT);
    let document = recording.end().exits(130).json();
    let of_4k = document["groups"].as_array().unwrap().iter().find(|group| group["frequent_bytes"] == 4096).unwrap();
    assert!(of_4k["count"].as_u64().unwrap() >= 64 && of_4k["reach"] == "block layer", "{document:#}");
    assert_eq!(largest(&document["parts_ns"]), "device", "{document:#}");
}

#[test]
fn a_recording_that_cannot_be_kept_is_shown() {
    let place = place();
    std::fs::create_dir(place.file("gone")).unwrap();
    let run =
        plumb(&place, "why --record gone/r.parquet -- sh -c").words(["rm -r gone; dd if=/bin/sh of=/dev/null bs=4k"]);
    run.exits(1).prints("does").complains("gone/r.parquet");
}

#[test]
fn a_disk_has_what_the_store_knows_of_it() {
    let place = place();
    let (device, other) =
        (LoopDevice::direct(place.path(), 32 << 20).unwrap(), LoopDevice::direct(place.path(), 32 << 20).unwrap());
    let path = device.path().display().to_string();
    let survey = "survey --tests randread --users 1,4 --block-sizes 4k --time 1 --warm-up 0 --output survey.json";
    plumb(&place, survey).words([&path]).env("PLUMB_STORE", place.file("s.db")).succeeds();
    let iops = |test: usize| {
        let read = &place.json("survey.json")["tests"][test]["result"]["jobs"][0]["directions"]["read"];
        read["ios"].as_f64().unwrap() * 1e9 / read["runtime"].as_f64().unwrap()
    };
    let of = |device: &str, store: &str| {
        let job = "fio --name=a --ioengine=psync --rw=randread --bs=4k --direct=1 --number_ios=100 --filename=";
        let why = plumb(&place, "why --json -o why.json --record r.parquet --").words(PLUMB);
        why.words(format!("{job}{device}")).env("PLUMB_STORE", place.file(store)).succeeds();
        place.json("why.json")["disks"].clone()
    };
    let disks = of(&path, "s.db");
    let disk = &disks[0];
    assert_eq!(
        (&disk["direction"], &disk["block_bytes"], &disk["command"]),
        (&"read".into(), &4096.into(), &"survey".into()),
        "{disks:#}"
    );
    assert_eq!((disk["alone"]["depth"].as_u64(), disk["is_sequential"].as_bool()), (Some(1), Some(false)), "{disks:#}");
    let alone = disk["alone"]["per_second"].as_f64().unwrap();
    assert!((alone / iops(0) - 1.0).abs() < 0.01, "{disks:#}: {}", iops(0));
    let text = plumb(&place, "why r.parquet").succeeds();
    assert!(text.stdout.contains("disk   does ") && text.stdout.contains("one at a time"), "{text}");
    assert_eq!(of(&path, "none.db"), serde_json::json!([]), "without a store nothing is known");
    assert_eq!(of(&other.path().display().to_string(), "s.db"), serde_json::json!([]), "another disk");
}

#[test]
fn an_interrupt_ends_the_recording_with_what_it_has() {
    let place = place();
    let mut reader = plumb(&place, format!("{READS} --time_based --runtime=60 --number_ios=0")).start();
    wait_for("the file", || place.has("data").then_some(()));
    let mut recording = plumb(&place, format!("why --for 60s --pid {}", reader.id())).start();
    recording.line_with("recording");
    std::thread::sleep(std::time::Duration::from_millis(500));
    recording.signal(Signal::INT);
    let said = recording.end().exits(130);
    assert!(said.stdout.contains("of 8 KiB") && said.stdout.contains("\nso  "), "{said}");
    assert!(!reader.has_ended(), "it was not plumb that ended");
    reader.signal(Signal::KILL);
    reader.end();
}

/// The I/Os on the job's file, in some order: call, offset, bytes and failure of each.
fn ios_of(place: &Place, file: &str) -> Vec<[String; 4]> {
    let [paths, calls, offsets, bytes, failed] =
        ["path", "call", "offset_bytes", "bytes", "failed"].map(|name| column(place, file, name));
    // Requests of libaio have no descriptor.
    let rows = (0..paths.len()).filter(|row| paths[*row].ends_with("/data") || calls[*row] == "io_submit");
    let mut ios: Vec<[String; 4]> =
        rows.map(|row| [&calls, &offsets, &bytes, &failed].map(|cells| cells[row].clone())).collect();
    ios.sort();
    ios
}

#[test]
fn both_ways_of_reading_events_have_the_same_ios() {
    let place = place();
    plumb(&place, READS).succeeds();
    for words in [
        "--ioengine=psync --rw=randrw --bs=4k --direct=1 --fsync=8",
        "--ioengine=psync --rw=randrw --bs=4k --fdatasync=8",
        "--ioengine=pvsync2 --rw=write --bs=16k --numjobs=3 --thread --startdelay=200ms",
        "--ioengine=psync --rw=read --bs=16k --numjobs=3 --startdelay=200ms",
        "--ioengine=io_uring --rw=randread --bs=8k --direct=1 --iodepth=8",
        "--ioengine=libaio --rw=randwrite --bs=8k --direct=1 --iodepth=8",
    ] {
        let job = "fio --name=a --size=4m --number_ios=300 --filename=data --thinktime=100ms --thinktime_blocks=100";
        let ios = ["bpf", "tracefs"].map(|way| {
            let why = plumb(&place, format!("why --quiet --events {way} --record {way} --")).words(PLUMB);
            why.words(format!("{job} {words}")).succeeds();
            ios_of(&place, way)
        });
        assert!(ios[0].len() >= 290, "{words}: {}", ios[0].len());
        assert_eq!(ios[0], ios[1], "{words}");
    }
}

/// Offsets and times of reads in the order of their begins: the whole, and the device's part, in nanoseconds.
fn reads_in_order(place: &Place, file: &str) -> Vec<(String, i64, i64)> {
    let [calls, begins, offsets, times, device] =
        ["call", "begin_ns", "offset_bytes", "time_ns", "device_ns"].map(|name| column(place, file, name));
    let number = |cell: &String| cell.parse::<i64>().unwrap();
    let mut rows: Vec<usize> = (0..calls.len()).filter(|row| calls[*row] == "pread64").collect();
    rows.sort_by_key(|row| number(&begins[*row]));
    rows.iter().map(|row| (offsets[*row].clone(), number(&times[*row]), number(&device[*row]))).collect()
}

#[test]
fn the_same_io_has_the_same_parts_by_both_ways() {
    let place = place();
    plumb(&place, READS).succeeds();
    let job = "--direct=1 --rate_iops=500 --time_based --runtime=60 --number_ios=0";
    let reader = plumb(&place, format!("{READS} --thread {job}")).start();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let record = |way: &str| {
        let words = format!("why --quiet --for 2s --events {way} --record {way} --pid {}", reader.id());
        plumb(&place, words).start()
    };
    let recordings = ["bpf", "tracefs"].map(record);
    for recording in recordings {
        recording.end().exits(0);
    }
    reader.signal(Signal::KILL);
    let [bpf, tracefs] = ["bpf", "tracefs"].map(|way| reads_in_order(&place, way));
    // Where the one that began later begins in the other.
    let begins = |one: &[(String, i64, i64)], at: usize| {
        (0..8).all(|step| tracefs.get(at + step).is_some_and(|read| read.0 == one[step].0))
    };
    let place_of = |from: usize| (0..tracefs.len()).find(|at| begins(&bpf[from..], *at));
    let (from, at) =
        (0..bpf.len() - 8).find_map(|from| Some((from, place_of(from)?))).expect("both see the same reads");
    let pairs: Vec<_> = bpf[from..].iter().zip(&tracefs[at..]).collect();
    assert!(pairs.len() > 500 && pairs.iter().all(|(one, other)| one.0 == other.0), "{}", pairs.len());
    // The events of a moment are taken one after the other: 3 us, and more if an interrupt is between them.
    let apart = |pair: &&(&(String, i64, i64), &(String, i64, i64))| {
        (pair.0.1 - pair.1.1).abs() > 20_000 || (pair.0.2 - pair.1.2).abs() > 20_000
    };
    let count = pairs.iter().filter(apart).count();
    assert!(count * 20 < pairs.len(), "{count} of {} are more than 20 us apart: {pairs:?}", pairs.len());
}

#[test]
fn the_way_of_reading_events_is_said_and_may_be_another() {
    let place = place();
    let cost = |words: &str| plumb(&place, format!("why --json --events {words} -- true")).json()["cost"].clone();
    for way in ["bpf", "tracefs"] {
        let cost = cost(way);
        assert_eq!((&cost["events_by"], cost.get("not_by_bpf")), (&way.into(), None), "{cost:#}");
    }
    let without = "setpriv --bounding-set -sys_admin,-bpf,-perfmon";
    let fallen_back = plumb(&place, "why --events auto -- true").under(without).succeeds();
    let why = "by tracefs (no BPF: bpf(BPF_MAP_CREATE): Operation not permitted";
    assert!(fallen_back.stdout.contains(why), "{fallen_back}");
    let refused = plumb(&place, "why --events bpf -- true").under(without).fails();
    refused.complains("--events bpf: bpf(BPF_MAP_CREATE): Operation not permitted");
    plumb(&place, "why --events perf -- true").fails().complains("the ways are bpf, tracefs and auto");
}

#[test]
fn a_recording_by_bpf_leaves_nothing_when_it_is_killed() {
    let place = place();
    let mut recording = plumb(&place, format!("why --for 60s --events bpf --pid {}", std::process::id())).start();
    recording.line_with("recording");
    let killed = recording.id();
    let descriptors = std::fs::read_dir(format!("/proc/{killed}/fdinfo")).unwrap().flatten();
    let texts = descriptors.filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
    let programs = texts.filter(|text| text.contains("prog_id:")).count();
    assert!(programs > 20 && instances(killed).is_empty(), "{programs}");
    recording.signal(Signal::KILL);
    recording.end();
    // Programs are descriptors, which ended with it.
    assert!(instances(killed).is_empty() && !Path::new(&format!("/proc/{killed}")).exists());
}

#[test]
fn a_killed_recording_is_removed_by_the_next() {
    let place = place();
    let mut recording = plumb(&place, format!("why --for 60s --pid {}", std::process::id())).start();
    recording.line_with("recording");
    let killed = recording.id();
    assert_eq!(instances(killed).len(), 2);
    recording.signal(Signal::KILL);
    recording.end();
    assert_eq!(instances(killed).len(), 2, "nothing is left to remove");
    plumb(&place, "why --quiet -- true").succeeds();
    assert_eq!(instances(killed), Vec::<PathBuf>::new());
}

/// A column of a recording, each cell as text.
fn column(place: &Place, file: &str, name: &str) -> Vec<String> {
    let table = TableReader::open(File::open(place.file(file)).unwrap(), "plumb_why").unwrap().unwrap();
    let at = table.columns().iter().position(|column| column.name == name).unwrap();
    match table.group(0).unwrap().swap_remove(at) {
        Cells::Whole(cells) => {
            cells.iter().map(|cell| cell.map_or_else(String::new, |cell| cell.to_string())).collect()
        }
        Cells::Text(cells) => cells.into_iter().map(Option::unwrap_or_default).collect(),
        Cells::Real(_) => panic!("{name}: no column of a recording has fractions"),
    }
}

#[test]
fn a_recording_gives_the_same_answer_again() {
    let place = place();
    plumb(&place, READS).succeeds();
    // Long enough for its descriptors to be looked up.
    let job = format!("{READS} --direct=1 --rate_iops=500");
    plumb(&place, "why --json -o live.json --record r.parquet --").words(PLUMB).words(&job).succeeds();
    let again = plumb(&place, "why --json r.parquet").succeeds().json();
    assert_eq!(place.json("live.json"), again);
    assert!(
        again["page_cache_bytes"].as_u64().unwrap() > 0 && again["gains"][0]["rate"].as_f64().is_some(),
        "{again:#}"
    );
    let calls = column(&place, "r.parquet", "call");
    let of_job = |cell: &(usize, String)| calls[cell.0] == "pread64" && cell.1.ends_with("/data");
    let paths = column(&place, "r.parquet", "path");
    let rows: Vec<usize> = paths.into_iter().enumerate().filter(of_job).map(|(row, _)| row).collect();
    assert_eq!(rows.len(), 200, "{calls:?}");
    let cells = |name: &str| column(&place, "r.parquet", name);
    let (bytes, flags, offsets) = (cells("bytes"), cells("flags"), cells("offset_bytes"));
    assert!(rows.iter().all(|row| bytes[*row] == "8192" && flags[*row] == "direct"), "{flags:?}");
    let blocks: HashSet<u64> = rows.iter().map(|row| offsets[*row].parse::<u64>().unwrap()).collect();
    assert!(blocks.len() == 200 && blocks.iter().all(|offset| offset % 8192 == 0 && *offset < 4 << 20), "{blocks:?}");
    let (follows, threads) = (cells("follows"), cells("thread"));
    let before = follows[rows[1]].parse::<usize>().unwrap();
    assert_eq!((before, &threads[before]), (rows[0], &threads[rows[1]]));
    plumb(&place, "why -o live.txt --record r.parquet --").words(PLUMB).words(&job).succeeds();
    plumb(&place, "why -o again.txt r.parquet").succeeds();
    assert_eq!(place.read("live.txt"), place.read("again.txt"));
}

#[test]
fn a_page_has_bars_of_parts_and_the_slow_ios() {
    let place = place();
    plumb(&place, READS).succeeds();
    let job = format!("{READS} --direct=1 --rate_iops=500");
    plumb(&place, "why -o page.html --record r.parquet --").words(PLUMB).words(&job).succeeds();
    let live = place.read("page.html");
    for word in ["Where the time goes", "p99", "pread64", "<svg", "in flight"] {
        assert!(live.contains(word), "{word}");
    }
    assert!(live.contains("/data"), "the table names the file");
    plumb(&place, "why r.parquet -o page.pdf").succeeds();
    assert!(place.bytes("page.pdf").starts_with(b"%PDF"));
    plumb(&place, "why r.parquet -o page.html --json").fails().complains("--json writes to another file");
    place.write("mine.html", "my thesis");
    plumb(&place, "why -o mine.html -- true").fails().complains("mine.html: exists and plumb did not make it");
}

#[test]
fn an_anonymous_recording_has_no_names_of_files() {
    let place = place();
    plumb(&place, READS).succeeds();
    // So long that its descriptor is looked up on a busy machine, too.
    let reads = format!("{READS} --rate_iops=400");
    plumb(&place, "why --quiet --anonymise --record r.parquet --").words(PLUMB).words(reads).succeeds();
    let (paths, inodes) = (column(&place, "r.parquet", "path"), column(&place, "r.parquet", "inode"));
    let of_job: HashSet<&String> = paths.iter().filter(|path| !path.is_empty()).collect();
    assert!(!of_job.is_empty() && of_job.iter().all(|path| path.len() == 16 && !path.contains('/')), "{of_job:?}");
    assert!(inodes.iter().all(String::is_empty), "{inodes:?}");
    let target = plumb(&place, "why --json r.parquet").succeeds().json()["target"].clone();
    assert_eq!(target.as_str().unwrap().len(), 16, "{target}");
}

#[test]
fn another_file_is_refused_with_the_reason() {
    let place = place();
    let refused = |file: &str, why: &str| drop(plumb(&place, ["why", file]).fails().complains(why));
    refused("nosuch", "nosuch: No such file or directory (os error 2); a command to record is named after --");
    refused(".", "Is a directory");
    place.write("text", "a program is slow, and it reads");
    refused("text", "text: is not a recording; plumb why --record FILE writes one");
    plumb(&place, "why --quiet --record r.parquet -- true").succeeds();
    let whole = place.bytes("r.parquet");
    std::fs::write(place.file("cut"), &whole[..whole.len() - 9]).unwrap();
    refused("cut", "cut: is cut off: the end of the recording is missing");
    ParquetWriter::new(File::create(place.file("sweep")).unwrap()).unwrap().finish().unwrap();
    refused("sweep", "sweep: is a Parquet file, but not a recording of plumb why");
    let other = |file: &str, head: &str| {
        let to = File::create(place.file(file)).unwrap();
        let columns = [TableColumn { name: "begin_ns".to_owned(), kind: Kind::Whole }];
        TableWriter::new(to, "plumb_why", &columns, Some(head.to_owned())).unwrap().finish().unwrap();
    };
    other("newer", "{\"recording_schema\": 7}");
    refused("newer", "newer: is a recording with schema 7; this plumb reads schema 1");
    other("odd", "{}");
    refused("odd", "odd: is damaged");
}

#[test]
fn a_recording_replaces_no_file_of_others() {
    let place = place();
    place.write("mine", "my thesis");
    plumb(&place, "why --record mine -- true").fails().complains("mine: exists and plumb did not make it");
    assert_eq!(place.read("mine"), "my thesis");
    plumb(&place, "why --record - -- true").fails().complains("--record needs the name of a file");
    plumb(&place, "why --record r -- /does/not/exist").fails().complains("/does/not/exist: No such file");
    assert!(!place.has("r") && !place.has("r.part"), "a recording that was not made leaves nothing");
    plumb(&place, "why --anonymise -- true").fails().complains("--record");
    plumb(&place, "why r --record s").fails().complains("cannot be used with");
}

#[test]
fn a_control_group_has_the_ios_of_its_processes_alone() {
    let place = place();
    let group = Group::unlimited().unwrap();
    let job = |file: &str, block: &str| {
        let io = "--ioengine=psync --rw=randread --time_based --runtime=60 --size=1m --thread";
        plumb(&place, format!("fio --name={file} {io} --bs={block} --filename={file}"))
    };
    let inside = group.inside(job("inside", "8k")).start();
    let outside = job("outside", "16k").start();
    wait_for("the files", || (place.has("inside") && place.has("outside")).then_some(()));
    std::thread::sleep(std::time::Duration::from_millis(500));
    let document = plumb(&place, format!("why --json --for 1s --cgroup {}", group.name())).succeeds().json();
    inside.signal(Signal::KILL);
    outside.signal(Signal::KILL);
    let reads = self::group(&document, "read");
    assert_eq!((&reads["frequent_bytes"], &reads["frequent_count"]), (&8192.into(), &reads["count"]), "{document:#}");
    assert_eq!(document["target"], group.name());
    inside.end();
    outside.end();
}

#[test]
fn a_target_that_is_not_there_is_an_error() {
    let place = place();
    plumb(&place, "why --pid 4194305").fails().complains("there is no process 4194305");
    plumb(&place, "why --device nosuch0").fails().complains("nosuch0: there is no such block device");
    plumb(&place, "why --cgroup nosuch.slice").fails().complains("there is no such control group");
    plumb(&place, "why -- /does/not/exist").fails().complains("/does/not/exist: No such file");
    if !Path::new("/run/systemd/system").exists() {
        plumb(&place, "why --unit cron").fails().complains("unit cron: systemd does not run here");
    }
    plumb(&place, "why").fails().complains("--pid");
    plumb(&place, "why --for 0 --pid 1").fails().complains("a recording of no time");
    plumb(&place, "why --for 5s -- true").fails().complains("cannot be used with");
}

#[test]
fn without_root_it_is_refused_with_what_would_work() {
    let place = place();
    let program = Path::new("/tmp").join(format!("plumb-why-{}", std::process::id()));
    std::fs::copy(PLUMB, &program).unwrap();
    for words in [
        "why --pid 1",
        "fio --layers --name=a --rw=read --size=4k --ioengine=psync --filename=/dev/zero",
        "survey --layers --quick .",
    ] {
        let run = house::Run::new(&program, &place).words(words);
        run.under("setpriv --reuid=65534 --regid=65534 --clear-groups").fails().complains("needs root");
    }
    std::fs::remove_file(program).unwrap();
}

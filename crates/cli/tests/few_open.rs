//! Fewer files open than a job has (`openfiles`): what is recorded, counted and written is that of the right file.

use crate::context::{fio, fio_json, place};
use house::oracle;

/// The lines of a record without their times, which are in the order of files here.
fn lines(record: &str) -> Vec<String> {
    let mut lines: Vec<String> =
        record.lines().skip(1).map(|line| line.split_once(' ').map_or(line, |(_, rest)| rest).to_owned()).collect();
    lines.sort();
    lines
}

#[test]
fn a_record_names_each_file_as_fios_does() {
    let (ours, theirs) = (place(), place());
    let words = "--name=a --nrfiles=4 --openfiles=1 --size=64k --rw=write --write_iolog=log";
    fio(&ours, words).succeeds();
    oracle(theirs.path(), words);
    let record = ours.read("log");
    assert_eq!(lines(&record), lines(&theirs.read("log")));
    // It is a record of what happened: 16 writes, and a file is closed before the one after the next is opened.
    assert_eq!(record.matches(" write ").count(), 16, "{record}");
    let replayed = fio_json(&ours, "--name=r --read_iolog=log");
    assert_eq!(replayed["jobs"][0]["write"]["total_ios"], 16);
}

#[test]
fn a_record_with_three_of_seven_files_open_holds_all_ios() {
    let stage = place();
    let words = "--name=a --nrfiles=7 --openfiles=3 --size=448k --rw=randwrite --file_service_type=random \
                 --write_iolog=log";
    fio(&stage, words).succeeds();
    let record = stage.read("log");
    for file in 0..7 {
        let of_file =
            |action: &str| record.lines().filter(|line| line.contains(&format!("a.0.{file} {action}"))).count();
        assert_eq!(of_file("write"), 16, "file {file}: {record}");
        assert_eq!((of_file("add"), of_file("open") - of_file("close")), (1, 0), "file {file}: {record}");
    }
}

#[test]
fn an_engine_with_a_file_position_writes_where_it_should() {
    for engine in ["sync", "vsync"] {
        let stage = place();
        let files = "--name=a --nrfiles=32 --size=1m --verify=crc32c --randseed=1";
        fio(&stage, files).words(format!("--ioengine={engine} --rw=randwrite --openfiles=1")).succeeds();
        // Read by an engine that names each offset.
        fio(&stage, files).words("--ioengine=psync --rw=read").succeeds();
    }
}

#[test]
fn a_sync_counts_for_the_file_that_was_synced() {
    let stage = place();
    let words = "--name=a --rw=randwrite --verify=crc32c --nrfiles=4 --size=256k --openfiles=1 --fsync=4 \
                 --verify_policy=fsynced";
    let verified = fio_json(&stage, words)["jobs"][0]["read"]["total_ios"].as_u64().unwrap();
    // Each file has 16 writes and a sync after every fourth; the last one may be missing.
    assert!(verified >= 60, "{verified} of 64 blocks were verified");
}

#[test]
fn each_io_is_reported_as_complete() {
    let stage = place();
    let shown = fio(&stage, "--name=a --rw=write --nrfiles=4 --size=64k --openfiles=1 --debug=io").succeeds();
    let count = |what: &str| shown.stdout.lines().filter(|line| line.contains(what)).count();
    assert_eq!((count("queue: io_u"), count("complete: io_u")), (16, 16), "{}", shown.stdout);
}

#[test]
fn engines_of_names_use_all_files() {
    for (engine, left) in [("filecreate", 4), ("filestat", 4), ("filedelete", 0)] {
        let stage = place();
        let words =
            format!("--name=a --ioengine={engine} --nrfiles=4 --openfiles=1 --filesize=4k --size=16k --rw=read");
        fio(&stage, words).succeeds();
        let names = stage.names().iter().filter(|name| name.starts_with("a.0.")).count();
        assert_eq!(names, left, "{engine}");
    }
}

#[test]
fn engines_that_keep_their_files_say_so() {
    let stage = place();
    fio(&stage, "--name=a --ioengine=mmap --nrfiles=4 --openfiles=2 --size=64k").fails().complains("keeps its files");
    fio(&stage, "--name=a --ioengine=mmap --nrfiles=4 --openfiles=4 --size=64k").succeeds();
}

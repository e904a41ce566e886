//! Where records come from, what is changed in them, and what is refused.

use super::{fail, ios, succeed};
use crate::context::{fio, place};
use house::oracle;
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::path::Path;

const LOG: &str = "fio version 3 iolog\n0 a add\n0 a open\n0 a read 0 4096\n0 a write 8192 4096\n0 a trim 4096 4096\n\
                   0 a sync 0 0\n0 a datasync 0 0\n0 a read 12288 8192\n0 a close\n";

/// A directory with this record.
fn with(log: &str) -> house::Place {
    let place = place();
    std::fs::write(place.path().join("in"), log).expect("written");
    place
}

/// The I/Os of a replay of `in` by an engine that moves nothing.
fn replayed(directory: &Path, words: &[&str]) -> Vec<String> {
    let _ = std::fs::remove_file(directory.join("out"));
    succeed(directory, &[&["--name=x", "--ioengine=null", "--write_iolog=out"], words].concat());
    ios(directory, "out")
}

#[test]
fn the_same_seed_gives_the_same_record_on_every_engine() {
    let place = place();
    let load = ["--name=a", "--rw=randrw", "--bsrange=4k-32k", "--size=1m", "--fsync=7", "--write_iolog=out"];
    let mut first = None;
    for engine in ["psync", "sync", "mmap", "libaio", "io_uring", "posixaio", "null", "sim"] {
        for kind in ["--thread=0", "--thread=1"] {
            let _ = std::fs::remove_file(place.path().join("out"));
            succeed(place.path(), &[&load[..], &[&format!("--ioengine={engine}"), kind]].concat());
            let found = ios(place.path(), "out");
            assert!(found.len() > 50);
            assert_eq!(first.get_or_insert_with(|| found.clone()), &found, "{engine} {kind}");
        }
    }
    // Again from its record: the same stream.
    std::fs::rename(place.path().join("out"), place.path().join("in")).expect("renamed");
    assert_eq!(Some(replayed(place.path(), &["--read_iolog=in", "--replay_no_stall=1"])), first);
}

#[test]
fn a_record_of_a_sequence_that_is_decided_ahead_is_whole() {
    let place = place();
    succeed(place.path(), &["--name=a", "--ioengine=null", "--rw=write", "--bs=4k", "--size=40m", "--write_iolog=out"]);
    let expected: Vec<String> = (0..10_240).map(|block| format!("a.0.0 write {} 4096", block * 4096)).collect();
    assert_eq!(ios(place.path(), "out"), expected);
}

#[test]
fn records_are_appended_and_a_second_follows_the_first() {
    let place = place();
    let words = ["--name=a", "--ioengine=null", "--size=16k", "--write_iolog=in"];
    succeed(place.path(), &words);
    succeed(place.path(), &words);
    let once = ["a.0.0 read 0 4096", "a.0.0 read 4096 4096", "a.0.0 read 8192 4096", "a.0.0 read 12288 4096"];
    assert_eq!(replayed(place.path(), &["--read_iolog=in"]), [once, once].concat());
}

#[test]
fn standard_input_and_a_socket_are_records_too() {
    let place = place();
    let run = |log: &str, input: &str| {
        let words = format!("--name=x --ioengine=null --write_iolog=out --read_iolog={log}");
        fio(&place, words).input(input).succeeds();
        let found = ios(place.path(), "out");
        std::fs::remove_file(place.path().join("out")).expect("removed");
        found
    };
    let expected = with(LOG);
    let expected = replayed(expected.path(), &["--read_iolog=in"]);
    assert_eq!(expected.len(), 6);
    assert_eq!(run("-", LOG), expected);
    let listener = UnixListener::bind(place.path().join("socket")).expect("bound");
    let server = std::thread::spawn(move || listener.accept().expect("a client").0.write_all(LOG.as_bytes()));
    assert_eq!(run("socket", ""), expected);
    server.join().expect("no panic").expect("sent");
}

/// The file size limit stands for a disk: what would fill it fails here with another word.
#[test]
fn a_stream_without_records_is_refused_before_the_disk_fills() {
    let place = place();
    let run = |record: &str| {
        let run = fio(&place, format!("--name=x --ioengine=null --read_iolog={record}"));
        run.under("prlimit --fsize=67108864")
    };
    run("/dev/zero").fails().complains("/dev/zero:1: is not a record of I/Os");
    for (begins, expected) in
        [("", "standard input:1: is not a record of I/Os"), ("fio version 3 iolog\n", "standard input:2: ")]
    {
        let (reader, mut input) = std::io::pipe().expect("a pipe");
        let running = run("-").input_from(reader).start();
        input.write_all(begins.as_bytes()).expect("written");
        let lines = b"aaaa\n".repeat(1 << 12);
        let written = (0..6400).take_while(|_| input.write_all(&lines).is_ok()).count();
        drop(input);
        running.end().complains(expected);
        assert!(written < 100, "{written} pieces of 20 KiB were taken");
    }
}

#[test]
fn clones_take_the_records_of_a_list_in_turn() {
    let place = place();
    for (name, offset) in [("one", 4096), ("t:wo", 8192)] {
        let text = format!("fio version 3 iolog\n0 f{offset} add\n0 f{offset} read {offset} 512\n");
        std::fs::write(place.path().join(name), text).expect("written");
    }
    let words = ["--name=x", "--ioengine=null", "--numjobs=3", "--read_iolog=one:t\\:wo", "--write_iolog=out"];
    succeed(place.path(), &words);
    let mut found = ios(place.path(), "out");
    found.sort();
    assert_eq!(found, ["f4096 read 4096 512", "f4096 read 4096 512", "f8192 read 8192 512"]);
}

#[test]
fn a_replay_is_moved_and_thinned_as_its_job_says() {
    let place = with(LOG);
    let run = |words: &[&str]| replayed(place.path(), &[&["--read_iolog=in"], words].concat());
    let plain =
        ["a read 0 4096", "a write 8192 4096", "a trim 4096 4096", "a sync 0 0", "a datasync 0 0", "a read 12288 8192"];
    assert_eq!(run(&[]), plain);
    assert_eq!(run(&["--read_iolog_chunked=1"]), plain);
    assert_eq!(run(&["--replay_skip=read,sync"]), [plain[1], plain[2]]);
    assert_eq!(run(&["--replay_skip=write, trim"]), [plain[0], plain[3], plain[4], plain[5]]);
    assert_eq!(run(&["--replay_redirect=b", "--replay_skip=sync,trim,write"]), ["b read 0 4096", "b read 12288 8192"]);
    assert_eq!(run(&["--replay_scale=2", "--replay_skip=sync,trim,write"]), ["a read 0 4096", "a read 6144 8192"]);
    let aligned = run(&["--replay_scale=2", "--replay_align=4096", "--replay_skip=sync,trim,write"]);
    assert_eq!(aligned, ["a read 0 4096", "a read 4096 8192"]);
    assert_eq!(run(&["--directory=d", "--replay_skip=sync,trim,write"]), ["d/a read 0 4096", "d/a read 12288 8192"]);
}

/// A record of blktrace: an I/O of 4 KiB queued on a device that no machine has.
fn queued(time_ns: u64, sector: u64, category: u32) -> Vec<u8> {
    let mut record = [0x6561_7407_u32.to_le_bytes(), 1_u32.to_le_bytes()].concat();
    record.extend([time_ns.to_le_bytes(), sector.to_le_bytes()].concat());
    for field in [4096, (category | 1 << 4) << 16 | 1, 1, 4095 << 20 | 7, 0, 0] {
        record.extend(u32::to_le_bytes(field));
    }
    record
}

#[test]
fn traces_are_merged_and_replayed_and_may_be_merged_only() {
    let place = place();
    let write = |name: &str, records: &[Vec<u8>]| std::fs::write(place.path().join(name), records.concat()).unwrap();
    write("one", &[queued(100, 8, 1), queued(1_000_100, 16, 1)]);
    write("two", &[queued(0, 80, 1), queued(600_000, 88, 1)]);
    let merge = ["--name=x", "--ioengine=null", "--read_iolog=one:two", "--merge_blktrace_file=merged"];
    let expected = ["redirected read 4096 4096", "redirected read 40960 4096"];
    succeed(place.path(), &[&merge[..], &["--merge-blktrace-only"]].concat());
    assert_eq!(std::fs::metadata(place.path().join("merged")).unwrap().len(), 4 * 48);
    let run = |words: &[&str]| {
        let found = replayed(place.path(), &[&merge[1..], &["--replay_redirect=redirected"], words].concat());
        assert_eq!(found[..2], expected);
        found[2..].to_vec()
    };
    assert_eq!(run(&[]), ["redirected read 45056 4096", "redirected read 8192 4096"]);
    assert_eq!(run(&["--merge_blktrace_scalars=50:100"]), ["redirected read 8192 4096", "redirected read 45056 4096"]);
    assert_eq!(run(&["--merge_blktrace_iters=1:2"]).len(), 4);
    let alone = ["--name=x", "--read_iolog=one", "--merge-blktrace-only"];
    assert!(fail(place.path(), &alone).contains("merge_blktrace_file"));
}

#[test]
fn a_trace_of_a_device_that_is_not_here_asks_for_a_redirection() {
    let place = place();
    std::fs::write(place.path().join("in"), queued(0, 8, 1)).expect("written");
    let errors = fail(place.path(), &["--name=x", "--read_iolog=in"]);
    assert!(errors.contains("device 4095:7") && errors.contains("replay_redirect="), "{errors}");
    // With one it is a file like any other: made, and read.
    succeed(place.path(), &["--name=x", "--read_iolog=in", "--replay_redirect=f"]);
    assert_eq!(std::fs::metadata(place.path().join("f")).expect("made").len(), 8192);
}

#[test]
fn what_a_record_writes_is_verified_after_each_pass() {
    let record = "fio version 2 iolog\nf add\nf open\nf write 0 4096\nf write 8192 8192\nf write 4096 4096\n\
                  f write 0 4096\nf datasync 0 0\nf read 4096 4096\nf close\n";
    for (words, reads, writes) in [
        ("--iodepth=1", 4, 4),
        ("--ioengine=libaio --iodepth=4", 4, 4),
        ("--loops=2", 8, 8),
        ("--verify_backlog=2", 5, 4),
    ] {
        let place = with(record);
        let base = "--name=a --output-format=json --read_iolog=in --replay_no_stall=1 --verify=crc32c \
                    --verify_state_save=0 --verify_format=3.33";
        let words = format!("{base} {words}");
        let text = succeed(place.path(), &words.split_whitespace().collect::<Vec<_>>());
        let result: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let count = |direction: &str| result["jobs"][0][direction]["total_ios"].as_u64().expect("a count");
        assert_eq!((count("read"), count("write")), (reads, writes), "{words}");
        let check = "--name=b --filename=f --rw=read --size=16k --bs=4k --verify=crc32c --verify_state_save=0";
        oracle(&place, check).exits(0);
    }
    let small = with("fio version 2 iolog\nf add\nf open\nf write 0 100\nf close\n");
    let message = fail(small.path(), &["--name=a", "--read_iolog=in", "--verify=md5"]);
    assert!(message.contains("in steps of 100 bytes"), "{message}");
}

#[test]
fn what_cannot_be_replayed_is_refused_with_its_place() {
    let place = with(LOG);
    let bad = "fio version 3 iolog\n0 a add\n0 a raed 0 4096\n";
    std::fs::write(place.path().join("bad"), bad).expect("written");
    std::fs::write(place.path().join("empty"), "fio version 3 iolog\n").expect("written");
    let x = "--name=x";
    let cases: &[(&[&str], &str)] = &[
        (&[x, "--read_iolog=bad"], "bad:3: `raed` is not an action"),
        (&[x, "--read_iolog=gone"], "read_iolog gone: No such file"),
        (&[x, "--read_iolog=empty"], "empty holds no I/O"),
        (&[x, "--read_iolog=."], "directory"),
        (&[x, "--read_iolog=in", "--replay_skip=read,write,trim,sync"], "that replay_skip leaves in"),
        (&[x, "--read_iolog=in", "--rate=1m"], "rate and read_iolog exclude each other"),
        (&[x, "--read_iolog=in", "--rate_iops=5"], "rate_iops and read_iolog exclude each other"),
        (&[x, "--read_iolog=in", "--verify=md5", "--verify_only"], "verify_only and read_iolog exclude each other"),
        (&[x, "--read_iolog=-", "--numjobs=2"], "standard input can be replayed by one worker only"),
        (&[x, "--read_iolog=in", "--merge_blktrace_file=m", "--merge_blktrace_scalars=1:2"], "2 values for the 1"),
        (&[x, "--read_iolog=in", "--merge_blktrace_file=m"], "in: byte 0: this is not a trace of blktrace"),
        (&[x, "--read_iolog=in", "--replay_align=3000"], "not a power of two"),
        (&[x, "--read_iolog=in", "--replay_time_scale=0"], "below the smallest value"),
        (&[x, "--read_iolog=in", "--replay_skip=reads"], "cannot be skipped: `reads`"),
        (&[x, "--read_iolog=in", "--merge_blktrace_iters=0.5"], "does not fit: `0.5`"),
        (&[x, "--read_iolog=in", "--readonly"], "--readonly forbids"),
        (&[x, "--read_iolog=in", "--ioengine=psync", "--allow_file_create=0"], "allow_file_create=0 forbids it"),
        (&[x, "--size=4k", "--write_iolog="], "names no file"),
        (&[x, "--size=4k", "--write_iolog=/nowhere/log"], "/nowhere/log: No such file"),
    ];
    for (words, expected) in cases {
        let errors = fail(place.path(), words);
        assert!(errors.contains(expected), "{words:?}: {errors}");
    }
    assert!(!place.path().join("a").exists(), "a refused replay makes no file");
}

#[test]
fn a_record_that_cannot_be_written_to_its_end_fails_the_job() {
    let place = place();
    fio(&place, "--name=a --ioengine=null --size=4k --write_iolog=/dev/full")
        .fails()
        .complains("write_iolog /dev/full: No space left");
}

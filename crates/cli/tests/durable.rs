//! `plumb durable`: writer, witness and judgement on this machine. Real power cuts are in `cases/guest/power.rs`.

use crate::context::{place, plumb};
use house::{LoopDevice, Place, Process, wait_for};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;

/// Starts a writer in `disk` whose witness is a pipe, keeps what it sends in `acks`, and kills it: a cut that loses
/// nothing.
pub(crate) fn write_until_killed(place: &Place, ways: &str) {
    ended(place, ways, Signal::KILL);
}

fn ended(place: &Place, ways: &str, signal: Signal) {
    fs::create_dir_all(place.file("disk")).unwrap();
    let pipe = place.file("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let words = format!("durable disk --record 4k --way {ways} --witness {}", pipe.display());
    let writer: Process = plumb(place, words).start();
    let mut lines = BufReader::new(fs::File::open(&pipe).unwrap());
    let mut acks = fs::File::create(place.file("acks")).unwrap();
    let mut line = Vec::new();
    for number in 0.. {
        line.clear();
        if lines.read_until(b'\n', &mut line).unwrap() == 0 {
            break;
        }
        acks.write_all(&line).unwrap();
        if number == 700 {
            writer.signal(signal);
        }
    }
    let _ = writer.end();
    fs::remove_file(pipe).unwrap();
}

/// The directory with the records.
fn records(place: &Place) -> PathBuf {
    let entry = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().path();
    fs::read_dir(place.file("disk")).unwrap().map(entry).find(|path| path.is_dir()).unwrap()
}

/// The answer to what is there, as JSON, with its status.
fn judged(place: &Place, status: i32) -> Value {
    plumb(place, "durable --after-cut acks --storage-only --json").exits(status).json()
}

fn way<'a>(answer: &'a Value, name: &str) -> &'a Value {
    answer["ways"].as_array().unwrap().iter().find(|way| way["way"] == name).unwrap()
}

#[test]
fn while_the_same_kernel_runs_it_cannot_tell() {
    let place = place();
    write_until_killed(&place, "fsync,none");
    let run = plumb(&place, "durable --after-cut acks").exits(2);
    assert!(run.stdout.contains("Cannot tell: the kernel that wrote still runs"), "{run}");
    let run = plumb(&place, "durable --after-cut acks --storage-only").exits(0);
    assert!(run.stdout.contains(" judged writes that fsync acknowledged are there. One cut "), "{run}");
    assert!(run.stdout.contains("none  ") && run.stdout.contains("nothing"), "{run}");
    let quiet = plumb(&place, "durable --after-cut - --storage-only --quiet").input(place.bytes("acks")).exits(0);
    assert!(quiet.stdout.starts_with("Yes: ") && quiet.stdout.lines().count() == 1, "{quiet}");
}

#[test]
fn an_end_in_order_is_not_a_cut() {
    let place = place();
    ended(&place, "fsync", Signal::TERM);
    let answer = judged(&place, 2);
    assert_eq!((&answer["answer"], &answer["ended"]), (&"cannot tell".into(), &"signal 15".into()), "{answer}");
}

#[test]
fn what_is_lost_torn_or_reordered_is_named_with_its_place() {
    let place = place();
    write_until_killed(&place, "fsync,o_dsync,append,create,rename,none");
    let folder = records(&place);
    let answer = judged(&place, 0);
    assert!(answer["ways"].as_array().unwrap().iter().all(|way| way["lost"] == Value::Array(vec![])), "{answer}");
    // A whole record of one way, a sector of another, one file of each kind, all of the way without a promise.
    let changed = |name: &str, offset: usize, length: usize| {
        let path = folder.join(name);
        let mut bytes = fs::read(&path).unwrap();
        bytes[offset..offset + length].fill(0);
        fs::write(path, bytes).unwrap();
    };
    changed("fsync", 4096, 4096);
    changed("o_dsync", 3 * 4096 + 512, 512);
    changed("none", 0, 256 * 4096);
    changed("rename.1", 0, 512);
    let number = |name: &std::ffi::OsStr| name.to_str().unwrap().strip_prefix("create.")?.parse::<u64>().ok();
    let created =
        fs::read_dir(&folder).unwrap().filter_map(|entry| number(&entry.unwrap().file_name())).max().unwrap() - 2;
    fs::remove_file(folder.join(format!("create.{created}"))).unwrap();
    fs::remove_file(folder.join("append.0")).unwrap();
    let answer = judged(&place, 1);
    let first = |name: &str| way(&answer, name)["lost"][0].clone();
    assert_eq!((&first("fsync")["loss"], &first("fsync")["offset"]), (&"lost".into(), &4096.into()), "{answer}");
    assert_eq!((&first("o_dsync")["loss"], &first("o_dsync")["offset"]), (&"torn".into(), &12288.into()), "{answer}");
    assert_eq!(first("rename")["loss"], "torn");
    assert_eq!(first("create")["number"], created);
    assert!(way(&answer, "append")["lost"].as_array().unwrap().len() > 20, "{answer}");
    assert_eq!((&way(&answer, "fsync")["reordered"], &way(&answer, "none")["broken"]), (&1.into(), &false.into()));
    let run = plumb(&place, "durable --after-cut acks --storage-only").exits(1);
    assert!(
        run.stdout.contains("! fsync: the first loss is record ") && run.stdout.contains("byte 4096 of fsync"),
        "{run}"
    );
    let last = run.stdout.lines().last().unwrap();
    assert!(run.stdout.contains("No: ") && last.ends_with("that it was given as durable."), "{run}");
}

#[test]
fn a_lost_directory_is_a_no_and_another_file_system_no_answer() {
    let place = place();
    write_until_killed(&place, "fdatasync");
    fs::remove_dir_all(records(&place)).unwrap();
    let answer = judged(&place, 1);
    // The writer may have been writing over one of the 256, and have come to the next one.
    let lost = way(&answer, "fdatasync")["lost"].as_array().unwrap().len();
    assert!((254..=255).contains(&lost), "{lost}");
    let run = plumb(&place, "durable --after-cut acks --storage-only /dev/shm").exits(2);
    assert!(run.stdout.contains("another file system than the one that was written"), "{run}");
}

#[test]
fn the_next_writer_removes_the_records_of_the_one_before() {
    let place = place();
    write_until_killed(&place, "fsync");
    let before = records(&place);
    place.write("disk/plumb-durable-mine", "kept");
    write_until_killed(&place, "fsync");
    assert!(records(&place) != before && !before.exists());
    assert_eq!(place.read("disk/plumb-durable-mine"), "kept");
}

#[test]
fn a_witness_keeps_the_acknowledgements_and_cuts_the_power() {
    let place = place();
    place.directory("disk");
    place.write("secret", "0123456789abcdef0123456789abcdef");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let serve = ["durable", "--serve", "acks", "--secret-file", "secret", "--cut-after", "300ms", "--cut"];
    let listen = ["kill -9 $(cat pid)", "--listen", &format!("127.0.0.1:{port}")];
    let mut witness = plumb(&place, serve).words(listen).start();
    witness.line_with("waiting for writers");
    let to = format!("durable disk --record 4k --way fsync,create --witness 127.0.0.1:{port}");
    let refused = plumb(&place, &*to).exits(3);
    assert!(refused.stderr.contains("this witness has a secret"), "{refused}");
    let writer = plumb(&place, format!("{to} --secret-file secret")).start();
    place.write("pid", writer.id().to_string());
    let killed = writer.end();
    assert_eq!(killed.status, None, "{killed}");
    let is_kept = || place.read("acks").contains("\"cut\"").then_some(());
    wait_for("the line of the cut", is_kept);
    witness.signal(Signal::INT);
    let ended = witness.end();
    assert!(ended.status == Some(130) && ended.stderr.contains(" acknowledgements in acks"), "{ended}");
    let run = plumb(&place, "durable --after-cut acks --storage-only").exits(0);
    assert!(run.stdout.contains("power cut by `kill -9 $(cat pid)`"), "{run}");
}

#[test]
fn a_device_is_overwritten_only_with_its_identity() {
    let place = place();
    let device = LoopDevice::new(place.path(), 16 << 20).expect("a loop device: are we root?");
    let pipe = place.file("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let path = device.path().display();
    let words = format!("durable {path} --record 4k --witness {}", pipe.display());
    let run = plumb(&place, &*words).exits(3);
    let (_, word) = run.stderr.split_once("--overwrite ").expect("how to consent");
    let word = word.split(' ').next().unwrap();
    assert!(run.stderr.contains("its first 11 MiB would be overwritten"), "{run}");
    let refused = plumb(&place, format!("{words} --overwrite other")).exits(3);
    assert!(refused.stderr.contains("--overwrite names another device"), "{refused}");
    let files = plumb(&place, format!("{words} --overwrite {word} --way fsync,append"));
    let writer = files.start();
    drop(fs::File::open(&pipe).unwrap());
    let refused = writer.end();
    assert!(refused.status == Some(3) && refused.stderr.contains("--way append: it is of files"), "{refused}");
    // One that holds a file system is not overwritten, whatever is named.
    house::Run::new("mkfs.ext4", place.path()).words(["-q", "-F", &path.to_string()]).succeeds();
    for words in [format!("{words} --overwrite {word}"), words] {
        let refused = plumb(&place, words).exits(3);
        assert!(refused.stderr.contains("ext4") && !refused.stderr.contains("add --overwrite"), "{refused}");
    }
}

#[test]
fn what_cannot_be_tried_or_read_says_what_would_work() {
    let place = place();
    place.write("file", "x");
    place.write("other", "hello\n");
    place.directory("disk");
    for (words, part) in [
        ("durable", "--witness"),
        ("durable disk", "--witness"),
        ("durable /dev/shm --witness /dev/null", "is on a tmpfs, which loses all with the power"),
        ("durable file --witness /dev/null", "is neither a directory nor a block device"),
        ("durable disk --witness ./file", "is neither a serial line nor a pipe"),
        ("durable disk --witness /dev/null --overwrite x", "--overwrite is for devices"),
        ("durable disk --witness /dev/null --secret-file file", "--secret-file does not protect"),
        ("durable disk --witness a:0", "`0` is not a port"),
        ("durable disk --witness /dev/null --way fsnyc", "fsnyc is not a way to write; there are fsync, fdatasync"),
        ("durable disk --witness /dev/null --record 5000", "write a multiple of 4k"),
        ("durable disk --serve acks", "cannot be used with"),
        ("durable --serve file", "plumb did not make it"),
        ("durable --serve acks --cut-after 2s", "--cut"),
        ("durable --after-cut none", "cannot be read"),
        ("durable --after-cut other", "holds no acknowledgements"),
    ] {
        let run = plumb(&place, words).exits(3);
        assert!(run.stderr.contains(part), "{words}: {part}: {run}");
    }
    assert_eq!((place.read("file"), place.names().len()), ("x".to_owned(), 3));
}

//! Verification from outside: blocks that fio wrote are checked by us and the other way round, damage is named, and
//! state files are exchanged. fio is Debian's 3.33, which writes and reads headers of 40 bytes; the newest that Debian
//! has writes those of plumb.

use crate::context::{fio, plumb};
use house::{LoopDevice, Run, oracle};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tempfile::TempDir;

/// Every method that lays something down on disk and has a word in fio 3.33.
const SHARED: [&str; 15] = [
    "md5",
    "crc64",
    "crc32",
    "crc32c",
    "crc32c-intel",
    "crc16",
    "crc7",
    "sha1",
    "sha256",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "xxhash",
    "meta",
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Who {
    Fio,
    /// The newest fio that Debian has.
    Newest,
    Plumb,
}

/// Status, standard output and standard error of a job `w` in a directory.
fn job(who: Who, directory: &Path, words: &str) -> (i32, String, String) {
    let words = format!("--name=w {words}");
    let newest = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../oracles/newest/fio");
    let run = match who {
        Who::Fio => oracle(directory, words),
        Who::Newest => Run::new(newest, directory).words(words).end(),
        Who::Plumb => fio(directory, words).end(),
    };
    (run.status.unwrap(), run.stdout, run.stderr)
}

/// A job that must end well.
fn good(who: Who, directory: &Path, words: &str) -> String {
    let (status, shown, error) = job(who, directory, words);
    assert_eq!(status, 0, "{who:?} {words}\n{shown}{error}");
    assert!(!error.contains("verify"), "{who:?} {words}\n{error}");
    shown
}

fn flip(file: &Path, at: u64) {
    let file = OpenOptions::new().read(true).write(true).open(file).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
}

/// The exchange of files of 64 KiB between two programs, one per line of words.
fn exchange(writer: Who, reader: Who, lines: &[String]) {
    let directory = TempDir::new().unwrap();
    let format = if reader == Who::Fio { "--verify_format=3.33" } else { "" };
    let jobs = |common: &str| {
        let job = |(number, words): (usize, &String)| {
            format!("--name=j{number} --filename=f{number} --size=64k --verify_state_save=0 {words} {common}")
        };
        // fio starts jobs one by one, and several jobs in one run are faster than many runs.
        lines.iter().enumerate().map(job).collect::<Vec<String>>().join(" ")
    };
    let quiet = "--ioengine=null --size=4k --rw=read";
    good(
        writer,
        directory.path(),
        &format!("{quiet} {}", jobs(&format!("--ioengine=psync --rw=randwrite --do_verify=0 {format}"))),
    );
    let reading = format!("{quiet} {}", jobs("--ioengine=psync --rw=read"));
    good(reader, directory.path(), &reading);
    // That the reader looks at all: damage in a header, or where there is none, in the data.
    (0..lines.len()).for_each(|number| flip(&directory.path().join(format!("f{number}")), 0x4008));
    let (_, _, error) = job(reader, directory.path(), &reading);
    for (number, words) in lines.iter().enumerate() {
        assert!(
            error.contains(&format!("at file f{number} offset 16384,")),
            "{reader:?} overlooks damage: {words}\n{error}"
        );
    }
}

/// Each method with random data and with a pattern, and patterns without a header.
fn every_method<'a>(methods: impl Iterator<Item = &'a str>) -> Vec<String> {
    let both =
        |method: &str| ["", "--verify_pattern=0xdeadbeef11"].map(|pattern| format!("--verify={method} {pattern}"));
    let mut lines: Vec<String> = methods.flat_map(both).collect();
    lines.push("--verify=pattern --verify_pattern=0xaa%o\"xyz\"".to_owned());
    lines
}

#[test]
fn what_fio_writes_we_verify_with_every_method() {
    exchange(Who::Fio, Who::Plumb, &every_method(SHARED.into_iter()));
}

#[test]
fn what_we_write_in_its_format_fio_verifies_with_every_method() {
    exchange(Who::Plumb, Who::Fio, &every_method(SHARED.into_iter()));
}

#[test]
fn what_we_write_as_sha512_in_its_format_fio_takes_for_its_own() {
    let directory = TempDir::new().unwrap();
    let base = "--filename=data --size=64k --verify=sha512 --verify_state_save=0";
    good(Who::Plumb, directory.path(), &format!("{base} --rw=write --verify_format=3.33"));
    good(Who::Fio, directory.path(), &format!("{base} --rw=read"));
    good(Who::Fio, directory.path(), &format!("{base} --rw=write"));
    good(Who::Plumb, directory.path(), &format!("{base} --rw=read"));
}

#[test]
fn layouts_of_headers_agree_both_ways() {
    let lines = [
        "--bs=16k --verify=crc32c --verify_interval=1k",
        "--bs=16k --verify=crc32c --verify_interval=1000",
        "--bs=4k --verify=crc64 --verify_offset=100",
        "--bsrange=4k-16k --verify=xxhash",
        "--bssplit=4k/50:8k/50 --verify=sha256",
    ]
    .map(str::to_owned);
    exchange(Who::Fio, Who::Plumb, &lines);
    exchange(Who::Plumb, Who::Fio, &lines);
}

#[test]
fn one_changed_byte_is_named_with_file_and_offset() {
    let methods = SHARED.into_iter().filter(|method| *method != "meta").chain(["sha512", "pattern", "pattern_hdr"]);
    for format in ["3.42", "3.33"] {
        for method in methods.clone() {
            let directory = TempDir::new().unwrap();
            let pattern = if method.starts_with("pattern") { "--verify_pattern=0xcafe%o" } else { "" };
            let base = format!("--filename=data --size=64k --verify={method} {pattern} --verify_format={format}");
            good(Who::Plumb, directory.path(), &format!("{base} --rw=randwrite --verify_state_save=0"));
            // The payload of the block at 32768; fio's sha512 sees only the ends of it.
            flip(&directory.path().join("data"), 32768 + if method == "sha512" { 4050 } else { 1001 });
            let (status, _, error) = job(Who::Plumb, directory.path(), &format!("{base} --rw=read"));
            let place =
                "verify failed at file data offset 32768, length 4096 (requested block: offset=32768, length=4096)";
            assert!(status == 1 && error.contains(place), "{method} {format}: {status}\n{error}");
        }
    }
}

#[test]
fn our_sha512_finds_damage_that_fio_overlooks() {
    let directory = TempDir::new().unwrap();
    let base = "--filename=data --size=64k --verify=sha512 --verify_state_save=0";
    good(Who::Plumb, directory.path(), &format!("{base} --rw=write"));
    flip(&directory.path().join("data"), 8192 + 1001);
    assert_eq!(job(Who::Plumb, directory.path(), &format!("{base} --rw=read")).0, 1);
    good(Who::Fio, directory.path(), &format!("{base} --rw=write"));
    flip(&directory.path().join("data"), 8192 + 1001);
    good(Who::Fio, directory.path(), &format!("{base} --rw=read"));
}

/// The first line about what is wrong with the header of the only block after a change to it.
fn header_fault(words: &str, at: u64, value: &[u8]) -> String {
    let directory = TempDir::new().unwrap();
    let base = format!("--filename=data --size=4k --verify=md5 --verify_state_save=0 {words}");
    good(Who::Plumb, directory.path(), &format!("{base} --rw=write"));
    let file = OpenOptions::new().write(true).open(directory.path().join("data")).unwrap();
    file.write_all_at(value, at).unwrap();
    let (status, _, error) = job(Who::Plumb, directory.path(), &format!("{base} --rw=read"));
    assert_eq!(status, 1);
    error.lines().next().unwrap().to_owned()
}

#[test]
fn headers_are_judged_in_fios_order() {
    // Each change also breaks the checksum, which comes last.
    for (at, value, words) in [
        (0, &[0x11, 0x22][..], "bad magic header 2211, wanted acca at"),
        (2, &[0x58], "unsupported header version 58, wanted 81. Are you trying to verify across versions of fio? at"),
        (3, &[5], "bad header crc "),
        (4, &[0, 0x58], "bad header length 22528, wanted 4096 at"),
        (17, &[0x58], "bad header offset 22528, wanted 0 at"),
        (24, &[0xff, 0xff], "bad header crc "),
    ] {
        let line = header_fault("", at, value);
        assert!(line.starts_with(&format!("verify: {words}")), "{line}");
        assert!(line.contains("at file data offset 0, length 4096 (requested block: offset=0, length=4096)"), "{line}");
        assert_eq!(line.contains("calculated"), words.contains("crc"), "{line}");
    }
    assert!(header_fault("--verify_format=3.33", 2, &[5]).starts_with("verify: bad header crc "));
}

#[test]
fn a_block_of_another_method_is_named_by_its_type() {
    let directory = TempDir::new().unwrap();
    let base = "--filename=data --size=4k --verify_state_save=0";
    good(Who::Plumb, directory.path(), &format!("{base} --rw=write --verify=crc32c"));
    let (status, _, error) = job(Who::Plumb, directory.path(), &format!("{base} --rw=read --verify=md5"));
    assert_eq!(status, 1);
    assert!(error.starts_with("verify: bad header type 5, wanted 2 at file data offset 0"), "{error}");
}

#[test]
fn numbers_and_seeds_are_checked_where_known_or_asked_for() {
    // Blocks written by another sequence: same places, other numbers and seeds.
    let directory = TempDir::new().unwrap();
    let base = "--filename=data --size=64k --verify=crc32c --verify_state_save=0";
    good(Who::Plumb, directory.path(), &format!("{base} --rw=randwrite --do_verify=0"));
    let only = format!("{base} --rw=write --verify_only");
    good(Who::Plumb, directory.path(), &only);
    let fault = |words: &str| job(Who::Plumb, directory.path(), &format!("{only} {words}")).2;
    assert!(fault("--verify_write_sequence=1 --verify_header_seed=0").starts_with("verify: bad header numberio"));
    assert!(fault("--verify_header_seed=1").starts_with("verify: bad header rand_seed"));
    let same = format!("{base} --rw=randwrite --verify_only --verify_header_seed=1 --verify_write_sequence=1");
    good(Who::Plumb, directory.path(), &same);
}

/// Numbers of writes and of the job in the headers of a file, by place.
type Numbers = Vec<(u64, u16)>;

fn numbers(file: &Path, step: usize) -> Numbers {
    let bytes = fs::read(file).unwrap();
    let header = |block: &[u8]| {
        assert_eq!(block[..3], [0xca, 0xac, 0x81], "{}", file.display());
        (u64::from_le_bytes(block[32..40].try_into().unwrap()), u16::from_le_bytes([block[40], block[41]]))
    };
    bytes.chunks(step).map(header).collect()
}

#[test]
fn headers_number_the_writes_of_their_job() {
    let each = |numbers: &[u64], job: u16| numbers.iter().map(|&number| (number, job)).collect::<Vec<_>>();
    let rows: &[(&str, &[(&str, Numbers)])] = &[
        ("--size=16k --filename=f", &[("f", each(&[0, 1, 2, 3], 1))]),
        ("--size=32k --filename=f:g", &[("f", each(&[0, 2, 4, 6], 1)), ("g", each(&[1, 3, 5, 7], 1))]),
        ("--size=16k --loops=3 --filename=f", &[("f", each(&[8, 9, 10, 11], 1))]),
        ("--size=16k --filename=f --verify_backlog=3", &[("f", each(&[0, 1, 2, 3], 1))]),
        ("--size=32k --bs=16k --verify_interval=4k --filename=f", &[("f", each(&[0, 0, 0, 0, 1, 1, 1, 1], 1))]),
        ("--size=8k --numjobs=2 --filename_format=x.$jobnum", &[("x.0", each(&[0, 1], 1)), ("x.1", each(&[0, 1], 2))]),
        (
            "--size=8k --ioengine=null --name=b --ioengine=psync --verify=md5 --do_verify=0 --rw=write --bs=4k --size=8k \
          --filename=f",
            &[("f", each(&[0, 1], 2))],
        ),
    ];
    for who in [Who::Newest, Who::Plumb] {
        for (words, files) in rows {
            let directory = TempDir::new().unwrap();
            let base = "--rw=write --bs=4k --verify=md5 --do_verify=0 --verify_state_save=0";
            good(who, directory.path(), &format!("{base} {words}"));
            for (name, expected) in *files {
                assert_eq!(numbers(&directory.path().join(name), 4096), *expected, "{who:?} {words} {name}");
            }
        }
        // Reads of a mix do not count.
        let directory = TempDir::new().unwrap();
        let base = "--rw=rw --bs=4k --size=64k --verify=md5 --do_verify=0 --verify_state_save=0 --filename=f";
        fs::write(directory.path().join("f"), vec![0; 64 << 10]).unwrap();
        good(who, directory.path(), base);
        let bytes = fs::read(directory.path().join("f")).unwrap();
        let written = bytes.chunks(4096).filter(|block| block[..2] == [0xca, 0xac]);
        let found: Vec<u8> = written.map(|block| block[32]).collect();
        assert!(found.len() < 16 && found.iter().copied().eq((0..16).take(found.len())), "{who:?} {found:?}");
    }
}

#[test]
fn a_job_that_only_reads_compares_seeds_on_request() {
    let switches = "--verify_header_seed=1 --verify_write_sequence=1";
    for who in [Who::Newest, Who::Plumb] {
        for (wrote, reads, fits) in [
            ("write", "read", true),
            ("randwrite", "randread", true),
            ("randwrite", "read", false),
            ("write", "randread", false),
            ("write --randseed=7", "read", false),
            ("write --randseed=7", "read --randseed=7", true),
        ] {
            let directory = TempDir::new().unwrap();
            let base = "--filename=data --bs=4k --size=64k --verify=crc32c --verify_state_save=0";
            good(who, directory.path(), &format!("{base} --do_verify=0 --rw={wrote}"));
            good(who, directory.path(), &format!("{base} --rw={reads}"));
            good(who, directory.path(), &format!("{base} --rw={reads} --verify_write_sequence=1"));
            let (status, _, error) = job(who, directory.path(), &format!("{base} --rw={reads} {switches}"));
            assert_eq!(status == 0, fits, "{who:?} {wrote} {reads}\n{error}");
            assert_eq!(error.starts_with("verify: bad header rand_seed "), !fits, "{who:?} {wrote} {reads}\n{error}");
        }
    }
}

#[test]
fn a_state_ends_what_verify_only_walks_through() {
    let directory = TempDir::new().unwrap();
    let base = "--filename=data --rw=write --bs=4k --verify=md5";
    good(Who::Plumb, directory.path(), &format!("{base} --size=64k --do_verify=0"));
    good(Who::Plumb, directory.path(), &format!("{base} --size=24k --do_verify=0"));
    let only = format!("{base} --size=64k --verify_only --verify_state_save=0");
    let issued = |words: &str| {
        let shown = good(Who::Plumb, directory.path(), words);
        shown.split_once("issued rwts: total=").unwrap().1.split_once(' ').unwrap().0.to_owned()
    };
    assert_eq!(issued(&only), "16,16,0,0");
    assert_eq!(issued(&format!("{only} --verify_state_load=1")), "6,6,0,0");
}

#[test]
fn no_check_takes_writes_that_were_walked_through_for_done() {
    let directory = TempDir::new().unwrap();
    let base = "--filename=data --size=64k --rw=write --verify=md5 --verify_state_save=0";
    for who in [Who::Newest, Who::Plumb] {
        good(who, directory.path(), &format!("{base} --do_verify=0"));
        for format in ["json", "normal", "terse"] {
            let file = format!("{format}.out");
            good(who, directory.path(), &format!("{base} --verify_only --output-format={format} --output={file}"));
            for command in ["check", "explain"] {
                let said = plumb(directory.path(), [command, &file]).end().stdout;
                assert!(said.contains("job v") || said.contains("job w"), "{who:?} {format} {command}\n{said}");
                for word in ["written bytes", ", write", "contradict"] {
                    assert!(!said.contains(word), "{who:?} {format} {command}: {word}\n{said}");
                }
            }
        }
    }
}

#[test]
fn a_forgiving_job_ends_well_and_shows_its_errors() {
    let directory = TempDir::new().unwrap();
    let base = "--filename=data --size=64k --verify=crc32c --verify_state_save=0";
    good(Who::Plumb, directory.path(), &format!("{base} --rw=write"));
    flip(&directory.path().join("data"), 5000);
    flip(&directory.path().join("data"), 50_000);
    for (words, status, named) in [
        ("", 1, 1),
        ("--continue_on_error=verify", 0, 2),
        ("--ignore_error=,,EILSEQ", 0, 2),
        ("--ignore_error=,,EIO", 1, 1),
        ("--continue_on_error=all --verify_fatal=1", 1, 1),
    ] {
        let (ended, shown, error) = job(Who::Plumb, directory.path(), &format!("{base} --rw=read {words}"));
        let count = error.lines().filter(|line| line.starts_with("crc32c: verify failed at file data offset ")).count();
        assert_eq!((ended, count), (status, named), "{words}\n{error}");
        assert!(shown.contains("err=84"), "{words}\n{shown}");
    }
}

#[test]
fn bad_blocks_are_dumped_as_read_and_as_they_should_be() {
    for writer in [Who::Plumb, Who::Fio] {
        let directory = TempDir::new().unwrap();
        let file = |name: &str| fs::read(directory.path().join(name)).unwrap();
        let base = "--filename=data --size=64k --verify=sha1 --verify_state_save=0";
        good(writer, directory.path(), &format!("{base} --rw=write"));
        let right = file("data")[8192..12288].to_vec();
        flip(&directory.path().join("data"), 8192 + 1001);
        flip(&directory.path().join("data"), 16384 + 9);
        flip(&directory.path().join("data"), 16384);
        let words = format!("{base} --rw=read --verify_dump=1 --continue_on_error=verify");
        let (_, _, error) = job(Who::Plumb, directory.path(), &words);
        assert!(error.contains("received data dumped as data.8192.received"), "{error}");
        assert_eq!(file("data.8192.received"), file("data")[8192..12288]);
        assert_eq!(file("data.8192.expected"), right, "{writer:?}");
        assert_eq!(file("data.16384.hdr_fail"), file("data")[16384..20480]);
    }
}

#[test]
fn a_state_is_left_by_every_job_that_writes_and_verifies() {
    let directory = TempDir::new().unwrap();
    let left = |name: &str| directory.path().join(name).exists();
    good(Who::Plumb, directory.path(), "--size=16k --rw=read --verify=null --ioengine=null");
    good(Who::Plumb, directory.path(), "--size=16k --rw=write --verify=md5 --verify_state_save=0");
    assert!(!left("local-w-0-verify.state"));
    good(
        Who::Plumb,
        directory.path(),
        "--size=16k --rw=write --verify=md5 --do_verify=0 --numjobs=2 --group_reporting",
    );
    assert!(left("local-w-0-verify.state") && left("local-w-1-verify.state"));
    good(
        Who::Plumb,
        directory.path(),
        "--size=16k --rw=write --verify=md5 --name=b --size=16k --rw=write --verify=md5",
    );
    assert!(left("local-b-1-verify.state"));
}

/// Reads that a job issued, by its report.
fn reads(report: &str) -> &str {
    report.split_once("issued rwts: total=").unwrap().1.split_once(',').unwrap().0
}

#[test]
fn states_are_exchanged_with_fio_in_both_directions() {
    for (writer, reader) in [(Who::Plumb, Who::Fio), (Who::Fio, Who::Plumb), (Who::Plumb, Who::Plumb)] {
        let directory = TempDir::new().unwrap();
        let format = if reader == Who::Fio { "--verify_format=3.33" } else { "" };
        let base = "--filename=data --verify=crc32c";
        let words =
            format!("{base} --rw=write --size=64k --do_verify=0 {}", if writer == Who::Plumb { format } else { "" });
        good(writer, directory.path(), &words);
        // A state of 6 writes, and damage behind them.
        good(writer, directory.path(), &words.replace("size=64k", "size=24k"));
        flip(&directory.path().join("data"), 40_000);
        let load = "--verify_state_load=1 --verify_state_save=0";
        for how in ["--rw=read", "--rw=write --verify_only"] {
            let shown = good(reader, directory.path(), &format!("{base} --size=64k {how} {load}"));
            assert_eq!(reads(&shown), "6", "{writer:?} to {reader:?} {how}");
        }
        assert_eq!(job(reader, directory.path(), &format!("{base} --size=64k --rw=read")).0, 1);
    }
}

/// How many writes the state file of job `w` counts.
fn counted(directory: &Path) -> u64 {
    let state = fs::read(directory.join("local-w-0-verify.state")).unwrap();
    u64::from_le_bytes(state[32..40].try_into().unwrap())
}

#[test]
fn a_state_of_synced_writes_promises_what_survives_a_crash() {
    const WRITES: &str = "--filename=f --bs=4k --size=160k --verify=crc32c";
    for (words, expected) in [
        ("--rw=write --fsync=16", 32..=32),
        ("--rw=write --fdatasync=16", 32..=32),
        // Up to seven writes are in flight when the sync is submitted, and it may pass them by.
        ("--rw=write --fsync=16 --ioengine=libaio --iodepth=8", 25..=32),
        ("--rw=randwrite --randseed=7 --fsync=16", 32..=32),
        ("--rw=write", 0..=0),
        ("--rw=write --end_fsync=1", 40..=40),
    ] {
        let directory = TempDir::new().unwrap();
        let at = directory.path();
        let (status, _, error) =
            job(Who::Plumb, at, &format!("{WRITES} {words} --do_verify=0 --verify_policy=fsynced"));
        assert_eq!(status, 0, "{words}: {error}");
        let synced = counted(at);
        assert!(expected.contains(&synced), "{words}: {synced}");
        // The machine crashes: what was not synced is gone.
        let order = good(Who::Plumb, at, &format!("{WRITES} {words} --debug=io --ioengine=null --verify_state_save=0"));
        let offsets: Vec<u64> = order
            .lines()
            .filter(|line| line.contains("queue: ") && line.contains("ddir=1"))
            .filter_map(|line| u64::from_str_radix(line.split_once("off=0x")?.1.split_once(',')?.0, 16).ok())
            .collect();
        assert_eq!(offsets.len(), 40, "{words}: {order}");
        let file = OpenOptions::new().write(true).open(at.join("f")).unwrap();
        for &offset in &offsets[usize::try_from(synced).unwrap()..] {
            file.write_all_at(&[0; 4096], offset).unwrap();
        }
        let verify = format!("{WRITES} {words} --verify_only=1 --verify_state_load=1 --verify_state_save=0");
        let verify = format!("{verify} --verify_policy=fsynced");
        if synced == 0 {
            let (status, _, error) = job(Who::Plumb, at, &verify);
            assert!(status == 0 && error.contains("nothing was verified"), "{words}: {error}");
        } else {
            assert_eq!(reads(&good(Who::Plumb, at, &verify)), synced.to_string(), "{words}");
            let file = OpenOptions::new().write(true).open(at.join("f")).unwrap();
            file.write_all_at(&[0; 4096], offsets[usize::try_from(synced).unwrap() - 1]).unwrap();
            let (status, _, error) = job(Who::Plumb, at, &verify);
            assert!(status == 1 && error.contains("verify"), "{words}: a synced write is missing: {error}");
        }
    }
}

#[test]
fn a_state_that_cannot_be_used_ends_the_job_with_its_reason() {
    let directory = TempDir::new().unwrap();
    let words = "--filename=data --size=64k --verify=crc32c --rw=randwrite";
    let fault = |words: &str| {
        let (status, _, error) =
            job(Who::Plumb, directory.path(), &format!("{words} --verify_only --verify_state_load=1"));
        assert_eq!(status, 1, "{error}");
        error
    };
    good(Who::Fio, directory.path(), words);
    assert!(fault(words).contains("fio drew the random order"));
    good(Who::Plumb, directory.path(), words);
    assert!(fault(&format!("{words} --randseed=5")).contains("give randseed=137"));
    flip(&directory.path().join("local-w-0-verify.state"), 40);
    assert!(fault(words).contains("checksum"));
    fs::remove_file(directory.path().join("local-w-0-verify.state")).unwrap();
    assert!(fault(words).contains("No such file"));
}

#[test]
fn trimmed_blocks_of_the_history_read_as_zeros() {
    let directory = TempDir::new().unwrap();
    let device = LoopDevice::new(directory.path(), 1 << 20).unwrap();
    let base = format!(
        "--filename={} --direct=1 --size=1m --rw=randwrite --verify=crc32c --verify_state_save=0 --ioengine=libaio \
         --iodepth=4 --trim_percentage=50 --trim_backlog=16",
        device.path().display()
    );
    let shown = good(Who::Plumb, directory.path(), &base);
    let issued = shown.split_once("issued rwts: total=").unwrap().1.lines().next().unwrap();
    let counts: Vec<u64> = issued.split([',', ' ']).take(3).map(|count| count.parse().unwrap()).collect();
    assert_eq!((counts[0], counts[1]), (256, 256), "{issued}");
    assert!((90..=170).contains(&counts[2]), "half of the blocks: {issued}");
    let zeros =
        fs::read(device.path()).unwrap().chunks(4096).filter(|block| block.iter().all(|byte| *byte == 0)).count();
    assert_eq!(zeros as u64, counts[2]);
}

#[test]
fn verify_threads_find_what_the_loop_finds_on_their_cpus() {
    let directory = TempDir::new().unwrap();
    let base = "--filename=data --size=1m --verify=md5 --verify_state_save=0 --verify_async=3 --verify_async_cpus=0";
    good(Who::Plumb, directory.path(), &format!("{base} --rw=randwrite --ioengine=libaio --iodepth=16"));
    flip(&directory.path().join("data"), 77_777);
    let (status, _, error) = job(Who::Plumb, directory.path(), &format!("{base} --rw=read"));
    assert!(status == 1 && error.contains("md5: verify failed at file data offset 73728"), "{error}");
    let (status, _, error) = job(Who::Plumb, directory.path(), &base.replace("cpus=0", "cpus=4000"));
    assert!(status == 1 && error.contains("verify_async_cpus"), "{error}");
}

#[test]
fn jobs_that_share_zones_find_a_changed_byte_only() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("f");
    fs::write(&file, vec![0; 2 << 20]).unwrap();
    let words = "--filename=f --size=2m --bs=16k --rw=randwrite --zonemode=zbd --zonesize=64k --max_open_zones=8 \
                 --numjobs=4 --verify=crc32c --verify_state_save=0 --group_reporting --loops=2";
    for seed in 1..=20 {
        let isolation = ["", "--thread"][seed % 2];
        good(
            Who::Plumb,
            directory.path(),
            &format!("{words} {isolation} --randseed={seed} --ioengine=libaio --iodepth=4"),
        );
    }
    // A byte of one block is changed again and again while it waits to be verified.
    let ended = AtomicBool::new(false);
    let (status, _, error) = std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = OpenOptions::new().write(true).open(&file).unwrap();
            while !ended.load(Relaxed) {
                file.write_all_at(&[0xa5], (5 << 16) + 1000).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let outcome = job(Who::Plumb, directory.path(), &format!("{words} --rate_iops=200"));
        ended.store(true, Relaxed);
        outcome
    });
    assert_ne!(status, 0);
    assert!(error.contains("offset 327680"), "{error}");
}

#[test]
fn zone_resets_are_counted_for_writes_and_trims_only() {
    let directory = TempDir::new().unwrap();
    let device = LoopDevice::new(directory.path(), 16 << 20).unwrap();
    let zones = format!("--filename={} --direct=1 --zonemode=zbd --zonesize=1m", device.path().display());
    let shown = good(
        Who::Plumb,
        directory.path(),
        &format!(
            "{zones} --bs=256k --rw=write --size=5000k --offset=100k --name=t {zones} --stonewall --rw=trim --bs=1m \
             --size=8m --name=plain --stonewall --filename=f --rw=write --size=64k"
        ),
    );
    let lines: Vec<&str> = shown.lines().filter(|line| line.contains(": IOPS=")).collect();
    assert!(lines[0].ends_with("; 0 zone resets") && lines[1].ends_with("; 3 zone resets"), "{shown}");
    assert!(!lines[2].contains("resets"), "{shown}");
    assert!(shown.contains("offset=102400 is rounded up to 1048576, the start of a zone"), "{shown}");
    assert!(shown.contains("4173824 bytes from there are rounded down to 3145728, the end of a zone"), "{shown}");
}

//! Jobs that verify: what they write is read back, and a block that does not is named.

use crate::support::{job, options, run_jobs};
use measure::Direction;
use model::JobResult;
use plan::Plan;
use plan::{Digest, IgnoredErrors, JobPlan, Mix, VerifyMethod, VerifyPlan};
use run::{Event, Observer};
use std::os::unix::fs::FileExt;
use std::path::Path;

fn verify(method: VerifyMethod) -> VerifyPlan {
    VerifyPlan { method, check: true, sequence: true, seed: true, ..VerifyPlan::default() }
}

/// A job on one file of 1 MiB that verifies with crc32c.
fn checked(directory: &Path, engine: &'static str, mix: Mix) -> JobPlan {
    let mut job = job("checked", engine);
    job.files.names = vec![directory.join("data")];
    job.load.mix = mix;
    job.verify = Some(verify(VerifyMethod::Digest(Digest::Crc32c)));
    job
}

fn run(job: JobPlan) -> JobResult {
    run_jobs(vec![job]).jobs.remove(0)
}

fn counts(result: &JobResult) -> (u64, u64) {
    (result.directions.read.ios, result.directions.write.ios)
}

#[test]
fn every_write_is_read_back_once_by_every_kind_of_engine() {
    for engine in ["psync", "libaio", "io_uring", "mmap"] {
        let directory = tempfile::tempdir().unwrap();
        let mut job = checked(directory.path(), engine, Mix::Only(Direction::Write));
        job.load.random = true;
        if matches!(engine, "libaio" | "io_uring") {
            (job.depth.depth, job.depth.low, job.depth.reap_max) = (8, 8, 8);
        }
        let result = run(job);
        assert_eq!((result.error.clone(), counts(&result)), (None, (256, 256)), "{engine}");
        assert_eq!(result.verified_bytes, Some(1 << 20), "{engine}");
    }
}

#[test]
fn the_time_of_a_check_is_in_no_latency() {
    for engine in ["psync", "libaio"] {
        let directory = tempfile::tempdir_in("/dev/shm").unwrap();
        let mut job = checked(directory.path(), engine, Mix::Only(Direction::Write));
        job.verify = Some(verify(VerifyMethod::Digest(Digest::Sha3_512)));
        job.load.block_size = measure::PerDirection::all(plan::BlockSize::Fixed(1 << 18));
        let read = run(job).directions.read;
        let (in_latency, phase) = (read.total.unwrap().moments.sum(), u128::from(read.runtime.get()));
        assert!(2 * in_latency < phase, "{engine}: {in_latency} of {phase} ns, most of which were checksums");
    }
}

#[test]
fn a_backlog_reads_as_much_as_the_end_would() {
    let directory = tempfile::tempdir().unwrap();
    let mut job = checked(directory.path(), "psync", Mix::Only(Direction::Write));
    job.verify.as_mut().unwrap().backlog = Some(10);
    let result = run(job);
    assert_eq!((result.error.clone(), counts(&result)), (None, (256, 256)));
}

#[test]
fn where_blocks_are_written_twice_only_the_last_write_is_judged() {
    let directory = tempfile::tempdir().unwrap();
    let mut job = checked(directory.path(), "psync", Mix::Only(Direction::Write));
    (job.load.random, job.load.cover_all) = (true, false);
    let result = run(job);
    let (reads, writes) = counts(&result);
    assert_eq!((result.error.clone(), writes), (None, 256));
    assert!(reads < writes && reads > 100, "{reads} distinct blocks of 256 draws");
}

#[test]
fn without_the_check_phase_nothing_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let mut job = checked(directory.path(), "psync", Mix::Only(Direction::Write));
    job.verify.as_mut().unwrap().check = false;
    let result = run(job);
    assert_eq!((counts(&result), result.verified_bytes), ((0, 256), Some(0)));
    let mut plain = checked(directory.path(), "psync", Mix::Only(Direction::Write));
    plain.verify = None;
    assert_eq!(run(plain).verified_bytes, None);
}

#[test]
fn a_reader_finds_a_changed_byte_and_a_forgiving_one_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(run(checked(directory.path(), "psync", Mix::Only(Direction::Write))).error, None);
    let data = std::fs::OpenOptions::new().write(true).open(directory.path().join("data")).unwrap();
    data.write_all_at(b"?", 20 * 4096 + 300).unwrap();
    let reader = || checked(directory.path(), "psync", Mix::Only(Direction::Read));

    let error = run(reader()).error.expect("the block is not what was written");
    assert_eq!(error.errno, libc::EILSEQ);
    assert!(error.message.contains("crc32c") && error.message.contains("offset 81920"), "{}", error.message);

    let mut forgiving = reader();
    forgiving.limits.continue_on_error.verify = true;
    let result = run(forgiving);
    assert_eq!((result.error.clone(), result.forgiven_errors, result.first_forgiven_errno), (None, 1, libc::EILSEQ));
    assert_eq!(counts(&result), (256, 0));
}

#[test]
fn writes_and_reads_back_have_separate_times() {
    let directory = tempfile::tempdir().unwrap();
    let mut job = checked(directory.path(), "psync", Mix::Only(Direction::Write));
    job.pace.iops.write = Some(1000);
    let result = run(job);
    let (read, write) = (result.directions.read.runtime, result.directions.write.runtime);
    assert!(write.as_millis_ceil() >= 254, "256 writes at 1,000 a second: {write:?}");
    assert!(read < write && read.get() > 0, "reading back is not paced: {read:?}");
}

/// Keeps what workers say.
#[derive(Default)]
struct Ear(Vec<String>);

impl Observer for Ear {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Finding(text) = event {
            self.0.push(text.to_owned());
        }
    }
}

fn run_and_hear(job: JobPlan) -> (JobResult, Vec<String>) {
    let mut ear = Ear::default();
    let plan = Plan { jobs: vec![job], global_options: Vec::new() };
    let mut result = run::execute(&plan, &options(), &mut ear).unwrap();
    (result.jobs.remove(0), ear.0)
}

fn damage(directory: &Path, blocks: &[u64]) {
    let data = std::fs::OpenOptions::new().read(true).write(true).open(directory.join("data")).unwrap();
    for block in blocks {
        let (place, mut byte) = (block * 4096 + 300, [0]);
        data.read_exact_at(&mut byte, place).unwrap();
        data.write_all_at(&[byte[0] ^ 0x10], place).unwrap();
    }
}

#[test]
fn every_forgiven_mismatch_is_named_however_many_there_are() {
    for threads in [0, 3] {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(run(checked(directory.path(), "psync", Mix::Only(Direction::Write))).error, None);
        let bad: Vec<u64> = (0..100).map(|index| index * 2).collect();
        damage(directory.path(), &bad);
        let mut reader = checked(directory.path(), "psync", Mix::Only(Direction::Read));
        reader.limits.continue_on_error.verify = true;
        reader.verify.as_mut().unwrap().threads = threads;
        let (result, mut heard) = run_and_hear(reader);
        assert_eq!((result.error.clone(), result.forgiven_errors), (None, 100));
        heard.sort_by_key(|text| {
            text.split_once("offset ").unwrap().1.split_once(',').unwrap().0.parse::<u64>().unwrap()
        });
        assert_eq!(heard.len(), 100);
        for (text, block) in heard.iter().zip(bad) {
            let place = format!(
                "crc32c: verify failed at file {}/data offset {}, length 4096 (requested block: offset={}, length=4096)",
                directory.path().display(),
                block * 4096,
                block * 4096
            );
            assert_eq!(text.lines().next(), Some(place.as_str()));
        }
    }
}

#[test]
fn every_block_of_an_io_with_several_headers_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let with_interval = |mix| {
        let mut job = checked(directory.path(), "psync", mix);
        job.verify.as_mut().unwrap().interval = Some(1024);
        job
    };
    assert_eq!(run(with_interval(Mix::Only(Direction::Write))).error, None);
    let data = std::fs::OpenOptions::new().write(true).open(directory.path().join("data")).unwrap();
    data.write_all_at(b"?", 4096 + 100).unwrap();
    data.write_all_at(b"?", 4096 + 3000).unwrap();
    let (result, heard) = run_and_hear(with_interval(Mix::Only(Direction::Read)));
    assert_eq!(result.error.map(|error| error.errno), Some(libc::EILSEQ));
    let places: Vec<bool> = ["offset 4096, length 1024", "offset 6144, length 1024"]
        .map(|place| heard.iter().any(|text| text.contains(place)))
        .to_vec();
    assert_eq!((heard.len(), places), (2, vec![true, true]));
}

#[test]
fn only_listed_errors_are_forgiven_where_a_list_is_given() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(run(checked(directory.path(), "psync", Mix::Only(Direction::Write))).error, None);
    damage(directory.path(), &[3]);
    let with_list = |verify: Vec<i32>| {
        let mut reader = checked(directory.path(), "psync", Mix::Only(Direction::Read));
        reader.limits.continue_on_error.verify = true;
        reader.limits.ignored = IgnoredErrors { verify, ..IgnoredErrors::default() };
        run(reader).error.map(|error| error.errno)
    };
    assert_eq!(with_list(Vec::new()), None);
    assert_eq!(with_list(vec![libc::EILSEQ]), None);
    assert_eq!(with_list(vec![libc::EIO]), Some(libc::EILSEQ));
}

#[test]
fn a_list_of_errors_forgives_errors_outside_of_the_medium() {
    // A regular file cannot be trimmed: ENOTTY.
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("data"), vec![0; 1 << 20]).unwrap();
    let trimming = |write: Vec<i32>| {
        let mut job = checked(directory.path(), "psync", Mix::Only(Direction::Trim));
        job.verify = None;
        job.limits.continue_on_error.write = true;
        job.limits.error_dump = true;
        job.limits.ignored.write = write;
        run_and_hear(job)
    };
    let (result, heard) = trimming(vec![libc::ENOTTY, libc::EOPNOTSUPP]);
    assert_eq!((result.error.clone(), result.forgiven_errors, heard.len()), (None, 256, 256));
    assert!(heard[0].contains("data") && heard[0].contains("trim offset=0, buflen=4096"), "{}", heard[0]);
    assert!(trimming(vec![libc::ENOSPC]).0.error.is_some());
}

#[test]
fn a_replay_reads_back_the_same_blocks_as_a_memory() {
    let reads = |replay| {
        let directory = tempfile::tempdir().unwrap();
        let mut job = checked(directory.path(), "psync", Mix::ReadWrite);
        job.load.random = true;
        job.limits.loops = 2;
        job.verify.as_mut().unwrap().replay = replay;
        let result = run(job);
        assert_eq!(result.error, None);
        counts(&result)
    };
    assert_eq!(reads(true), reads(false));
}

#[test]
fn engines_that_move_nothing_compare_nothing() {
    for engine in ["null", "sim"] {
        let mut job = job("fake", engine);
        job.load.mix = Mix::Only(Direction::Write);
        job.verify = Some(verify(VerifyMethod::Digest(Digest::Md5)));
        assert_eq!((counts(&run(job))), (256, 256), "{engine}");
    }
}

#[test]
fn a_job_that_only_verifies_writes_nothing_and_makes_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let only = || {
        let mut job = checked(directory.path(), "psync", Mix::Only(Direction::Write));
        let verify = job.verify.as_mut().unwrap();
        (verify.only, verify.sequence, verify.seed) = (true, false, false);
        job
    };
    let error = run(only()).error.expect("there is no file");
    assert_eq!(error.operation, "verify_only");
    assert!(!directory.path().join("data").exists());
    assert_eq!(run(checked(directory.path(), "psync", Mix::Only(Direction::Write))).error, None);
    damage(directory.path(), &[7]);
    let before = std::fs::read(directory.path().join("data")).unwrap();
    let (result, heard) = run_and_hear(only());
    assert_eq!(result.error.map(|error| error.errno), Some(libc::EILSEQ));
    assert!(heard[0].contains("offset 28672"), "{}", heard[0]);
    assert_eq!(std::fs::read(directory.path().join("data")).unwrap(), before);
    assert_eq!(result.directions.write.bytes, 0);
}

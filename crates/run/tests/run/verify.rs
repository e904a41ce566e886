//! Jobs that verify: what they write comes back, and a block that does not is named.

use crate::support::{job, run_jobs};
use job::plan::{Digest, JobPlan, Mix, VerifyMethod, VerifyPlan};
use measure::Direction;
use model::JobResult;
use std::os::unix::fs::FileExt;
use std::path::Path;

fn verify(method: VerifyMethod) -> VerifyPlan {
    VerifyPlan { method, check: true, interval: None, pattern: Vec::new(), backlog: None }
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
    assert_eq!(counts(&run(job)), (0, 256));
}

#[test]
fn a_reader_finds_the_byte_that_changed_and_a_forgiving_one_goes_on() {
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
fn writes_and_reads_back_have_times_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let mut job = checked(directory.path(), "psync", Mix::Only(Direction::Write));
    job.pace.iops.write = Some(1000);
    let result = run(job);
    let (read, write) = (result.directions.read.runtime, result.directions.write.runtime);
    assert!(write.as_millis_ceil() >= 254, "256 writes at 1,000 a second: {write:?}");
    assert!(read < write && read.get() > 0, "reading back is not paced: {read:?}");
}

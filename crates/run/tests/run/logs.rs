//! Logs beside the result, against a device whose truth is known.

use crate::support::{run_one, sim};
use job::plan::JobPlan;
use measure::Nanos;
use std::path::Path;

/// The rows of a log as numbers.
fn rows(directory: &Path, name: &str) -> Vec<Vec<u64>> {
    let text = std::fs::read_to_string(directory.join(name)).unwrap();
    let number = |word: &str| word.trim().parse().unwrap();
    text.lines().map(|line| line.split(',').map(number).collect()).collect()
}

/// 4 KiB reads of 100 µs each, logged under `directory`.
fn logged(directory: &Path, seconds: u64) -> JobPlan {
    let mut job = sim(Nanos::from_micros(100), 1);
    let stem = || Some(directory.join("x").display().to_string());
    job.record.logs.bandwidth = stem();
    job.record.logs.iops = stem();
    job.record.logs.latency = stem();
    job.record.logs.per_job = true;
    job.limits.runtime = Some(Nanos::from_secs(seconds));
    job.limits.time_based = true;
    job
}

#[test]
fn without_averaging_there_is_a_row_per_io() {
    let directory = tempfile::tempdir().unwrap();
    run_one(logged(directory.path(), 1));
    let clat = rows(directory.path(), "x_clat.1.log");
    assert_eq!(clat.len(), 10_000);
    assert_eq!(clat[0], [0, 100_000, 0, 4096, 0]);
    assert_eq!(clat[9], [1, 100_000, 0, 4096, 0]);
    assert_eq!(rows(directory.path(), "x_iops.1.log")[5000], [500, 1, 0, 4096, 0]);
    assert_eq!(
        rows(directory.path(), "x_bw.1.log")[0],
        [0, 40_960, 0, 4096, 0],
        "4,096 bytes in 100 µs are 40,960 a ms"
    );
}

#[test]
fn an_averaged_row_ends_each_window() {
    let directory = tempfile::tempdir().unwrap();
    let mut job = logged(directory.path(), 2);
    job.record.logs.average = Nanos::from_millis(500);
    run_one(job);
    let at = |name| rows(directory.path(), name).into_iter().map(|row| (row[0], row[1])).collect::<Vec<_>>();
    assert_eq!(at("x_lat.1.log"), [(500, 100_000), (1000, 100_000), (1500, 100_000), (2000, 100_000)]);
    for (index, (ms, iops)) in at("x_iops.1.log").into_iter().enumerate() {
        assert_eq!(ms, 500 * (index as u64 + 1));
        assert!((9_998..=10_002).contains(&iops), "{iops} IOPS at {ms} ms");
    }
}

#[test]
fn a_ramp_is_not_logged_and_time_counts_from_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let mut job = logged(directory.path(), 1);
    job.limits.ramp = Nanos::from_secs(2);
    run_one(job);
    let clat = rows(directory.path(), "x_clat.1.log");
    assert_eq!((clat.len(), clat[0][0]), (10_000, 0));
}

#[test]
fn a_log_that_cannot_be_made_is_the_jobs_error() {
    let mut job = logged(Path::new("/nowhere/to/be/found"), 1);
    job.record.logs.latency = None;
    let result = crate::support::run_jobs(vec![job]).jobs.remove(0);
    let error = result.error.expect("there is no such directory");
    assert_eq!(error.errno, libc::ENOENT);
    assert!(error.message.contains("/nowhere/to/be/found/x_bw.1.log"), "{}", error.message);
}

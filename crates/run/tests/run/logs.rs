//! Logs next to the result, against a device whose truth is known.

use crate::support::{depth, run_jobs, run_one, sim, use_engine};
use house::sum_over_time;
use measure::Nanos;
use plan::{JobPlan, Mix, WindowValue};
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
        assert_eq!(iops, 10_000, "at {ms} ms");
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

/// Windows as they are wanted, to the point: 10 ms, 100 ms and 1 s.
const WINDOWS_MS: [u64; 3] = [10, 100, 1000];

#[test]
fn rows_over_windows_add_up_to_the_result_and_end_at_multiples() {
    for ms in WINDOWS_MS {
        let directory = tempfile::tempdir().unwrap();
        let mut job = logged(directory.path(), 3);
        depth(&mut job, 4);
        // A window holds many I/Os, and KiB/s are whole numbers.
        job.engine_options.set("sim_service_time", plan::option::Value::Integer(25_000));
        job.load.mix = Mix::ReadWrite;
        job.record.logs.average = Nanos::from_millis(ms);
        let result = run_one(job);
        let (bandwidth, iops) = (rows(directory.path(), "x_bw.1.log"), rows(directory.path(), "x_iops.1.log"));
        for (direction, found) in result.directions.iter() {
            let (bytes, ios) =
                (sum_over_time(&bandwidth, direction as u64, ms) * 1024, sum_over_time(&iops, direction as u64, ms));
            if found.ios == 0 {
                assert_eq!((bytes, ios), (0, 0));
                continue;
            }
            // Each row is cut to a whole KiB/s, and to a whole I/O per second; the four in flight at the end complete
            // in the millisecond that the last row has begun.
            assert!(found.bytes - bytes <= 3 * 1024 + 1024 + 4 * 4096, "{ms} ms: {bytes} of {}", found.bytes);
            assert!(found.ios - ios <= 3 + 1 + 4, "{ms} ms: {ios} of {}", found.ios);
        }
        assert!(bandwidth.iter().all(|row| row[0] % ms == 0), "{ms} ms");
        // 4 KiB in 25 µs, four at once, are 655,360,000 bytes a second: nothing can be faster.
        let fastest = bandwidth.iter().map(|row| row[1]).max().unwrap();
        assert!(fastest * 1024 <= 655_360_000, "{fastest} KiB/s");
        assert_eq!(rows_of_both(&bandwidth, ms), 0, "a window has no block size");
    }
}

/// The block size in every row.
fn rows_of_both(rows: &[Vec<u64>], ms: u64) -> u64 {
    let sizes: std::collections::BTreeSet<u64> = rows.iter().map(|row| row[3]).collect();
    assert_eq!(sizes.len(), 1, "{ms} ms: {sizes:?}");
    *sizes.first().unwrap()
}

#[test]
fn a_histogram_log_adds_up_to_the_bins_of_the_result() {
    for (ms, coarseness) in [(10, 0), (100, 3), (1000, 6), (0, 0)] {
        let directory = tempfile::tempdir().unwrap();
        let mut job = sim(Nanos::from_micros(70), 2);
        depth(&mut job, 3);
        job.load.mix = Mix::ReadWrite;
        job.limits.runtime = Some(Nanos::from_millis(2500));
        job.limits.time_based = true;
        job.record.logs.per_job = true;
        job.record.logs.histogram = Some(directory.path().join("x").display().to_string());
        job.record.logs.histogram_interval = Nanos::from_millis(ms);
        job.record.logs.coarseness = coarseness;
        let result = run_one(job);
        let rows = rows(directory.path(), "x_clat_hist.1.log");
        for (direction, found) in result.directions.iter() {
            let histogram = found.completion.as_ref().and_then(|latency| latency.histogram.as_ref());
            let mut expected = vec![0; 1856 >> coarseness];
            for (bucket, count) in histogram.into_iter().flat_map(|histogram| histogram.iter()) {
                expected[bucket >> coarseness] += count;
            }
            let mut sums = vec![0; 1856 >> coarseness];
            for row in rows.iter().filter(|row| row[1] == direction as u64) {
                assert_eq!((row.len(), row[2]), (3 + (1856 >> coarseness), 4096));
                sums.iter_mut().zip(&row[3..]).for_each(|(sum, bin)| *sum += bin);
            }
            assert_eq!(sums, expected, "{ms} ms, coarseness {coarseness}, {direction:?}");
        }
        let expected = if ms == 0 { 2 } else { 2 * 2500u64.div_ceil(ms) };
        // What was in flight at the end may complete in a separate window.
        assert!((expected..=expected + 2).contains(&(rows.len() as u64)), "{} rows, {expected} expected", rows.len());
    }
}

#[test]
fn offsets_priorities_and_moments_of_issue_have_their_columns() {
    let directory = tempfile::tempdir().unwrap();
    let mut job = logged(directory.path(), 1);
    depth(&mut job, 2);
    job.limits.runtime = None;
    job.limits.time_based = false;
    job.record.logs.offset = true;
    job.record.logs.issue_time = true;
    run_one(job);
    let clat = rows(directory.path(), "x_clat.1.log");
    assert_eq!(clat.len(), 256, "a MiB in blocks of 4 KiB");
    for log in ["x_lat.1.log", "x_bw.1.log"] {
        assert!(rows(directory.path(), log).iter().all(|row| row[6] == 0), "{log} has no times of issue");
    }
    for (index, row) in clat.iter().enumerate() {
        let [at_ms, latency, 0, 4096, offset, 0, issued] = row[..] else { panic!("{row:?}") };
        assert_eq!(offset, 4096 * index as u64, "each I/O its own offset, also of those reaped together");
        assert_eq!((issued + latency) / 1_000_000, at_ms, "issue and latency make the row's time");
    }
}

#[test]
fn a_window_keeps_its_mean_its_largest_or_both() {
    // Eight I/Os of 100 µs and two of 1 ms.
    for (keeps, expected) in [
        (WindowValue::Average, &[2, 280_000, 0, 0, 0][..]),
        (WindowValue::Largest, &[2, 1_000_000, 0, 0, 0]),
        (WindowValue::Both, &[2, 280_000, 1_000_000, 0, 0, 0]),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let mut job = logged(directory.path(), 1);
        job.files.size = Some(plan::Extent::Bytes(40 << 10));
        job.limits.time_based = false;
        job.engine_options.set("sim_faults", plan::option::Value::Text("read:5:delay=900".to_owned()));
        job.record.logs.average = Nanos::from_secs(1);
        job.record.logs.window_value = keeps;
        run_one(job);
        assert_eq!(rows(directory.path(), "x_clat.1.log"), [expected.to_vec()], "{keeps:?}");
    }
}

#[test]
fn rows_of_single_ios_have_a_zero_column_for_the_largest_value() {
    let directory = tempfile::tempdir().unwrap();
    let mut job = logged(directory.path(), 1);
    job.files.size = Some(plan::Extent::Bytes(8 << 10));
    job.limits.time_based = false;
    job.record.logs.window_value = WindowValue::Both;
    run_one(job);
    assert_eq!(rows(directory.path(), "x_clat.1.log"), [[0, 100_000, 0, 0, 4096, 0]; 2]);
    assert_eq!(rows(directory.path(), "x_iops.1.log"), [[0, 1, 0, 0, 4096, 0]; 2]);
}

#[test]
fn a_compressed_log_is_inflated_to_the_same_rows() {
    let text_of = |packed: bool| {
        let directory = tempfile::tempdir().unwrap();
        let mut job = logged(directory.path(), 1);
        job.record.logs.packed = packed;
        job.record.logs.piece = Some(1 << 10);
        run_one(job);
        if !packed {
            return std::fs::read_to_string(directory.path().join("x_clat.1.log")).unwrap();
        }
        let bytes = std::fs::read(directory.path().join("x_clat.1.log.fz")).unwrap();
        let mut text = Vec::new();
        formats::fio::log::inflate(bytes.as_slice(), &mut text).unwrap();
        String::from_utf8(text).unwrap()
    };
    let plain = text_of(false);
    assert_eq!(plain.lines().count(), 10_000);
    assert!(plain == text_of(true));
}

#[test]
fn times_count_from_another_clock_where_that_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let mut job = logged(directory.path(), 1);
    job.record.logs.alternate_epoch = true;
    let before = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    run_one(job);
    let first = u128::from(rows(directory.path(), "x_clat.1.log")[0][0]);
    assert!((before..before + 60_000).contains(&first), "{first} ms, started at {before}");
}

#[test]
fn clones_without_a_number_share_one_log() {
    let directory = tempfile::tempdir().unwrap();
    let mut job = logged(directory.path(), 1);
    job.clones = 2;
    job.record.logs.per_job = false;
    run_jobs(vec![job]);
    assert_eq!(rows(directory.path(), "x_iops.log").len(), 20_000);
}

#[test]
fn a_latency_that_is_not_measured_has_no_log() {
    let directory = tempfile::tempdir().unwrap();
    let mut job = logged(directory.path(), 1);
    job.record.total_latency = false;
    run_one(job);
    assert!(!directory.path().join("x_lat.1.log").exists() && directory.path().join("x_clat.1.log").exists());
}

#[test]
fn a_log_that_cannot_be_written_is_the_error_of_its_job() {
    let full = tempfile::tempdir().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut job = logged(full.path(), 1);
    (job.record.logs.iops, job.record.logs.latency) = (None, None);
    job.limits.time_based = false;
    // The file of the log leads to a disk that is always full.
    std::os::unix::fs::symlink("/dev/full", full.path().join("x_bw.1.log")).unwrap();
    let mut jobs = run_jobs(vec![job, logged(directory.path(), 1)]).jobs;
    let (failed, sound) = (jobs.remove(0), jobs.remove(0));
    let error = failed.error.clone().expect("the disk is full");
    assert_eq!(error.errno, libc::ENOSPC);
    assert!(error.message.contains("x_bw.1.log"), "{}", error.message);
    assert_eq!((failed.ios(), sound.error), (256, None));
}

#[test]
fn samples_keep_to_their_own_intervals() {
    let mut job = sim(Nanos::from_micros(100), 1);
    job.limits.runtime = Some(Nanos::from_secs(2));
    job.limits.time_based = true;
    job.record.bandwidth_interval = Nanos::from_millis(100);
    job.record.iops_interval = Nanos::from_millis(700);
    let read = run_one(job).directions.read;
    assert_eq!((read.bandwidth_samples.count, read.bandwidth_samples.mean), (20, 40_000.0));
    assert_eq!((read.iops_samples.count, read.iops_samples.mean), (2, 10_000.0));
}

/// In real time, too, the rows make the total, and no row is faster than a processor.
#[test]
fn rows_over_windows_of_a_real_run_add_up_to_its_bytes() {
    for (engine, ms) in [("null", 10), ("null", 100), ("null", 1000), ("psync", 10), ("psync", 100)] {
        let directory = tempfile::Builder::new().tempdir_in("/dev/shm").unwrap();
        let mut job = logged(directory.path(), 1);
        use_engine(&mut job, engine);
        job.engine_options = Default::default();
        job.files.directories = vec![directory.path().to_owned()];
        job.limits.runtime = Some(Nanos::from_millis(1100));
        job.record.logs.average = Nanos::from_millis(ms);
        let result = run_one(job);
        let rows = rows(directory.path(), "x_bw.1.log");
        let bytes = sum_over_time(&rows, 0, ms) * 1024;
        let found = result.directions.read.bytes;
        // A row is cut to a whole KiB/s and its time to a whole ms.
        let share = bytes as f64 / found as f64;
        assert!((0.98..1.01).contains(&share), "{engine}, {ms} ms: {bytes} of {found}");
        let iops: u64 = rows.iter().map(|row| row[1] * 1024 / 4096).max().unwrap();
        assert!(iops < 200_000_000, "{iops} I/Os a second are more than a processor makes");
    }
}

/// Rows are written while they come: what a log holds does not stay in memory.
#[test]
fn memory_does_not_grow_with_a_log() {
    // Other tests in this process take memory meanwhile.
    house::in_own_process("logs::memory_does_not_grow_with_a_log", compare_memory);
}

fn compare_memory() {
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap().to_owned();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let log = |ios: u64| {
        let directory = tempfile::tempdir().unwrap();
        let mut job = logged(directory.path(), 1);
        (job.limits.runtime, job.limits.time_based, job.limits.loops) = (None, false, ios / 256);
        (job.record.logs.bandwidth, job.record.logs.latency) = (None, None);
        std::os::unix::fs::symlink("/dev/null", directory.path().join("x_iops.1.log")).unwrap();
        run_one(job);
    };
    log(1_024);
    let before = resident();
    log(300_032);
    let grown = resident().saturating_sub(before);
    // A row is 64 bytes: kept, they would be 19 MB.
    assert!(grown < 8_000, "{grown} KiB more");
}

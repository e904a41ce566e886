//! Replays in virtual time, to the nanosecond, and one in real time, to the millisecond.

use crate::support::{depth, job, run_jobs, run_one, sim};
use measure::Nanos;
use plan::{Hold, Isolation, JobPlan, ReplayPlan, Timing};
use std::path::{Path, PathBuf};

/// A record of reads of 4 KiB at these microseconds, each at its own offset.
fn record(directory: &Path, at_us: impl IntoIterator<Item = u64>) -> PathBuf {
    let mut text = String::from("fio version 3 iolog\n0 disk add\n0 disk open\n");
    for (number, at) in at_us.into_iter().enumerate() {
        text.push_str(&format!("{at} disk read {} 4096\n", number * 4096));
    }
    let path = directory.join("in.iolog");
    std::fs::write(&path, text).unwrap();
    path
}

fn replay(mut job: JobPlan, log: &Path) -> JobPlan {
    job.files.size = None;
    job.record.iolog = Some(log.with_file_name("out.iolog"));
    job.replay = Some(ReplayPlan { logs: vec![log.to_owned()], ..ReplayPlan::default() });
    job
}

/// When each I/O was issued, in microseconds, from the record of the replay.
fn issued(log: &Path) -> Vec<u64> {
    let text = std::fs::read_to_string(log.with_file_name("out.iolog")).unwrap();
    let ios = text.lines().filter(|line| line.contains(" read ") || line.contains(" write "));
    ios.map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect()
}

const SERVICE: Nanos = Nanos::from_micros(100);

#[test]
fn a_replay_issues_each_io_at_its_recorded_moment() {
    let directory = tempfile::tempdir().unwrap();
    let moments: Vec<u64> = (0..500).map(|number| number * 1_003 + number % 7).collect();
    let log = record(directory.path(), moments.clone());
    for in_flight in [1, 8] {
        let _ = std::fs::remove_file(log.with_file_name("out.iolog"));
        let mut job = replay(sim(SERVICE, 8), &log);
        depth(&mut job, in_flight);
        let result = run_one(job);
        assert_eq!(issued(&log), moments, "depth {in_flight}");
        let latency = &result.directions.read.completion.as_ref().unwrap().moments;
        assert_eq!((latency.count(), latency.minimum(), latency.maximum()), (500, Some(SERVICE), Some(SERVICE)));
        assert_eq!(result.runtime, Nanos::from_micros(moments[499] + 100));
    }
}

#[test]
fn being_late_once_delays_nothing_that_comes_later() {
    let directory = tempfile::tempdir().unwrap();
    let log = record(directory.path(), [0, 10, 20, 30, 5_000, 6_000]);
    let mut job = replay(sim(Nanos::from_millis(1), 1), &log);
    depth(&mut job, 1);
    run_one(job);
    assert_eq!(issued(&log), [0, 1_000, 2_000, 3_000, 5_000, 6_000]);
}

#[test]
fn a_slow_io_does_not_hold_up_the_next_at_depth() {
    let directory = tempfile::tempdir().unwrap();
    let log = record(directory.path(), [0, 10, 20, 30]);
    let mut job = replay(sim(Nanos::from_millis(50), 4), &log);
    depth(&mut job, 4);
    let result = run_one(job);
    assert_eq!(issued(&log), [0, 10, 20, 30]);
    assert_eq!(result.runtime, Nanos::from_micros(50_030));
}

#[test]
fn time_scale_no_stall_loops_and_number_ios() {
    let directory = tempfile::tempdir().unwrap();
    let log = record(directory.path(), [0, 1_000, 2_000]);
    let run = |change: &dyn Fn(&mut JobPlan)| {
        let _ = std::fs::remove_file(log.with_file_name("out.iolog"));
        let mut job = replay(sim(SERVICE, 1), &log);
        change(&mut job);
        run_one(job);
        issued(&log)
    };
    let timing = |job: &mut JobPlan, timing| job.replay.as_mut().unwrap().timing = timing;
    assert_eq!(run(&|job| timing(job, Timing::Percent(200))), [0, 500, 1_000]);
    assert_eq!(run(&|job| timing(job, Timing::Percent(50))), [0, 2_000, 4_000]);
    assert_eq!(run(&|job| timing(job, Timing::None)), [0, 100, 200]);
    let thinking = |job: &mut JobPlan| {
        timing(job, Timing::None);
        job.pace.think = Nanos::from_micros(400);
    };
    assert_eq!(run(&thinking), [0, 500, 1_000]);
    assert_eq!(run(&|job| job.limits.loops = 2), [0, 1_000, 2_000, 2_100, 3_100, 4_100]);
    assert_eq!(run(&|job| job.limits.ios = Some(2)), [0, 1_000]);
    assert_eq!(run(&|job| job.limits.runtime = Some(Nanos::from_micros(1_500))), [0, 1_000]);
    let time_based = |job: &mut JobPlan| {
        job.limits.runtime = Some(Nanos::from_micros(3_500));
        job.limits.time_based = true;
    };
    assert_eq!(run(&time_based), [0, 1_000, 2_000, 2_100, 3_100]);
}

#[test]
fn a_long_record_is_played_in_pieces_as_it_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    let moments: Vec<u64> = (0..20_000).map(|number| number * 101).collect();
    let log = record(directory.path(), moments.clone());
    for hold in [Hold::Ahead, Hold::Pieces] {
        let _ = std::fs::remove_file(log.with_file_name("out.iolog"));
        let mut job = replay(sim(SERVICE, 1), &log);
        job.replay.as_mut().unwrap().hold = hold;
        run_one(job);
        assert_eq!(issued(&log), moments, "{hold:?}");
    }
}

#[test]
fn a_real_replay_keeps_its_time_to_a_millisecond() {
    let directory = tempfile::tempdir().unwrap();
    let moments: Vec<u64> = (0..200).map(|number| number * 2_500).collect();
    let log = record(directory.path(), moments.clone());
    // On a shared machine any sleep may be late by a time slice; most are not, and none pushes the others back.
    let late: Vec<u64> = (0..3)
        .map(|_| {
            let _ = std::fs::remove_file(log.with_file_name("out.iolog"));
            run_one(replay(job("real", "null"), &log));
            let found = issued(&log);
            assert_eq!(found.len(), moments.len());
            assert!(found.iter().zip(&moments).all(|(found, due)| found >= due), "an I/O came before its time");
            let mut late: Vec<u64> = found.iter().zip(&moments).map(|(found, due)| found - due).collect();
            late.sort_unstable();
            late[late.len() * 3 / 4]
        })
        .collect();
    assert!(late.iter().any(|&late| late < 1_000), "three of four I/Os were up to {late:?} µs late");
}

#[test]
fn a_damaged_record_ends_the_job_before_its_first_io() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("bad.iolog");
    std::fs::write(&log, "fio version 3 iolog\n0 a add\n0 a read 0 512\n0 a raed 0 512\n").unwrap();
    let result = run_jobs(vec![replay(job("bad", "null"), &log)]).jobs.remove(0);
    let error = result.error.unwrap();
    assert!(error.message.contains("bad.iolog:4: `raed` is not an action"), "{}", error.message);
    assert_eq!((error.errno, result.directions.read.ios), (libc::EINVAL, 0));
}

#[test]
fn an_existing_file_is_never_recreated_for_a_record() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mine");
    std::fs::write(&file, "precious").unwrap();
    let log = directory.path().join("in.iolog");
    let name = file.display();
    std::fs::write(&log, format!("fio version 3 iolog\n0 {name} add\n0 {name} read 0 1048576\n")).unwrap();
    let mut job = replay(job("x", "psync"), &log);
    job.isolation = Isolation::Thread;
    let error = run_jobs(vec![job]).jobs.remove(0).error.unwrap();
    assert!(error.message.contains("the file ends before"), "{}", error.message);
    assert_eq!(std::fs::read(&file).unwrap(), b"precious");
}

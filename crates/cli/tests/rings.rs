//! Options of rings in whole runs of `plumb fio`: which calls the worker makes, and what the report says of it.

use crate::calls::traced;
use crate::context::{fio_json, place};

/// 64 reads, 8 in flight, 4 at a time.
const JOB: &str = "--name=a --ioengine=io_uring --rw=randread --size=256k --iodepth=8 --iodepth_batch=4 \
    --iodepth_batch_complete_min=4";

/// Calls of a run that submit `submitted` and wait for `awaited`.
fn calls(lines: &[String], submitted: u32, awaited: u32) -> usize {
    let shape = format!(", {submitted}, {awaited}, ");
    lines.iter().filter(|line| line.contains(&shape)).count()
}

#[test]
fn the_last_batch_is_submitted_by_the_call_that_waits() {
    let joined = traced("io_uring_enter", &format!("{JOB} --submit_and_wait"));
    // The first batch finds room in the queue; each other one fills it.
    assert_eq!((calls(&joined, 4, 0), calls(&joined, 4, 4)), (1, 15), "{joined:#?}");
    let apart = traced("io_uring_enter", JOB);
    assert_eq!((calls(&apart, 4, 0), calls(&apart, 4, 4)), (16, 0), "{apart:#?}");
    let unmeasured = traced("io_uring_enter", &format!("{JOB} --gtod_reduce=1"));
    assert_eq!((calls(&unmeasured, 4, 0), calls(&unmeasured, 4, 4)), (1, 15), "{unmeasured:#?}");
}

#[test]
fn latencies_of_ios_whose_submission_was_not_seen_are_total() {
    let directory = place();
    let submissions = |words: &str| {
        let result = fio_json(&directory, format!("{JOB} {words}"));
        let read = &result["jobs"][0]["read"];
        assert_eq!(read["total_ios"], 64);
        assert_eq!(read["lat_ns"]["N"], 64);
        (read["slat_ns"]["N"].as_u64().unwrap(), read["clat_ns"]["mean"] == read["lat_ns"]["mean"])
    };
    assert_eq!(submissions("--submit_and_wait"), (0, true));
    assert_eq!(submissions(""), (64, false));
}

#[test]
fn times_of_waits_are_an_argument_or_in_registered_memory() {
    // IORING_ENTER_EXT_ARG has a name in every strace; IORING_ENTER_EXT_ARG_REG is newer than most.
    let waits = |words: &str| {
        let lines = traced("io_uring_enter", &format!("{JOB} {words}"));
        let timed = lines.iter().filter(|line| line.contains("EXT_ARG")).count();
        (timed > 0, lines.iter().any(|line| line.contains("0x40") || line.contains("EXT_ARG_REG")))
    };
    assert_eq!(waits("--batch_wait=10s --submit_and_wait"), (true, false));
    assert_eq!(waits("--batch_wait=10s --submit_and_wait --registerwaits"), (true, true));
    assert_eq!(waits("--submit_and_wait"), (false, false));
}

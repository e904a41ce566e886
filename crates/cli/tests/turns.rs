//! Jobs that take turns on a thread, as a user sees them: system calls, messages, errors.

use crate::calls::traced;
use crate::context::{fio, fio_json, place};
use house::Tmpfs;
use std::collections::BTreeSet;

#[test]
fn one_call_submits_and_waits_for_the_jobs_of_a_thread() {
    let enters = |words: &str| {
        let base = "--name=a --ioengine=io_uring --filename=f --size=1m --rw=randread --number_ios=40 --numjobs=20";
        let lines = traced("io_uring_enter", &format!("{base} {words}"));
        let threads: BTreeSet<&str> = lines.iter().filter_map(|line| line.split_whitespace().next()).collect();
        (lines.len(), threads.len())
    };
    let ((alone, threads), (together, thread)) = (enters(""), enters("--jobs_per_thread=20"));
    // 800 I/Os one at a time are 800 submissions, and a wait for each that the page cache does not answer at once.
    assert!(alone >= 800 && threads >= 20, "{alone} calls of {threads} threads");
    // Twenty of them are one call as long as all jobs run; a machine that does other work lets some lag behind.
    assert!((40..400).contains(&together), "{together} calls for 800 I/Os");
    assert_eq!(thread, 1);
}

#[test]
fn the_report_has_the_jobs_and_the_result_their_shared_thread() {
    let directory = place();
    let words = "--name=a --ioengine=io_uring --size=64k --numjobs=5 --jobs_per_thread=2";
    let text = fio(&directory, format!("{words} --result=r.json")).succeeds().prints("Starting 3 processes\n").stdout;
    assert_eq!(text.matches("issued rwts: total=16,0,0,0").count(), 5, "{text}");
    let result = directory.read("r.json");
    let said = "2 jobs take turns on a thread; the CPU time of each is an equal share of the thread's";
    assert!(result.contains(said), "{result}");
    let grouped = fio_json(&directory, format!("{words} --group_reporting"));
    assert_eq!(grouped["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(grouped["jobs"][0]["read"]["total_ios"].as_u64(), Some(80));
    assert_eq!(grouped["jobs"][0]["job options"]["jobs_per_thread"].as_str(), Some("2"));
}

#[test]
fn a_full_file_system_ends_only_the_job_that_writes_to_it() {
    let (small, directory) = (Tmpfs::new(1 << 20).unwrap(), place());
    let places = format!("--directory={}:{}", small.path().display(), directory.path().display());
    let words = "--name=a --ioengine=io_uring --rw=write --size=2m --fallocate=none --numjobs=2 --jobs_per_thread=2";
    fio(&directory, format!("{words} {places} --output-format=json --output=report"))
        .fails()
        .complains("No space left on device");
    let report: serde_json::Value = serde_json::from_str(&directory.read("report")).unwrap();
    let errors = [0, 1].map(|job| report["jobs"][job]["error"].as_i64());
    assert_eq!(errors, [Some(28), Some(0)]);
    assert_eq!(report["jobs"][1]["write"]["total_ios"].as_u64(), Some(512));
}

#[test]
fn what_would_keep_the_thread_from_other_jobs_is_refused() {
    let directory = place();
    for (words, reason) in [
        ("--ioengine=psync", "engine psync cannot be shared by the jobs of a thread"),
        ("--ioengine=libaio", "it works with io_uring, null"),
        ("--hipri", "hipri with jobs_per_thread: it says how one job waits"),
        ("--sqthread_poll", "sqthread_poll with jobs_per_thread: it says how one job waits"),
        ("--submit_and_wait", "submit_and_wait with jobs_per_thread: it says how one job waits"),
        ("--batch_wait=5", "batch_wait with jobs_per_thread: it says how one job waits"),
        ("--busy_poll=5", "busy_poll with jobs_per_thread: it says how one job waits"),
        ("--io_submit_mode=offload", "io_submit_mode with jobs_per_thread: offload starts a thread for each I/O"),
        (
            "--cpus_allowed=0 --cpus_allowed_policy=split",
            "cpus_allowed_policy with jobs_per_thread: split gives each clone",
        ),
        ("--thinktime=10 --thinktime_spin=5", "thinktime_spin with jobs_per_thread: a job that spins"),
        ("--thinktime=10 --thinkcycles=5", "thinkcycles with jobs_per_thread: a job that spins"),
        ("--verify=md5 --verify_async=2", "verify_async with jobs_per_thread: a job that waits for verify threads"),
        ("--lockfile=exclusive", "lockfile with jobs_per_thread: a job that waits for a lock"),
        ("--sync_file_range=write:8", "sync_file_range with jobs_per_thread: it is a call that waits"),
        ("--verify=md5 --trim_percentage=10", "trim_percentage with jobs_per_thread: a trim is a call"),
        ("--exec_postrun=true", "exec_postrun with jobs_per_thread: a job that waits for its command"),
        ("--lockmem=1m", "lockmem with jobs_per_thread: each clone would lock its part"),
        ("--rw=randtrim", "trims with jobs_per_thread: a trim is a call that waits"),
        ("--iodepth=16384", "would keep 65536 I/Os in one queue; 32768 is the most"),
    ] {
        let base = "--name=a --size=64k --rw=write --ioengine=io_uring --numjobs=4 --jobs_per_thread=4";
        fio(&directory, format!("{base} {words}")).fails().complains(reason);
        let with = base.replace("--jobs_per_thread=4", "--parse-only");
        fio(&directory, format!("{with} {words}")).succeeds();
    }
}

//! What is seen during a run: it adds up to what the run itself counted.

use crate::support::{Blind, job, run_jobs, run_processes};
use measure::{Direction, Nanos};
use plan::{Extent, Mix};

#[test]
fn the_intervals_add_up_to_what_the_jobs_counted() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut jobs = Vec::new();
    for name in ["one", "another"] {
        let mut one = job(name, "psync");
        one.files.directories = vec![directory.path().to_owned()];
        one.files.size = Some(Extent::Bytes(8 << 20));
        one.limits.runtime = Some(Nanos::from_millis(1200));
        one.limits.time_based = true;
        jobs.push(one);
    }
    let result = run_jobs(jobs);
    let monitored = result.monitored.as_ref().unwrap();
    let whole = monitored.whole();
    let counted: u64 = result.jobs.iter().map(|job| job.directions[Direction::Read].ios).sum();
    assert_eq!((whole.ios, whole.bytes[0]), ([counted, 0, 0], counted * 4096));
    assert!(monitored.intervals.len() >= 2 && monitored.intervals.iter().any(|interval| interval.measuring == 2));
    assert_eq!((monitored.targets.len(), whole.workers.len()), (2, 2));
    for (index, worker) in whole.workers.iter().enumerate() {
        assert_eq!(worker.ios, result.jobs[index].ios(), "worker {index}");
        // Where the kernel keeps the account: reads of a cached file take processor time and pass through the kernel.
        if let (Some(on_cpu), Some(io_bytes)) = (worker.on_cpu, worker.io_bytes) {
            assert!(on_cpu > Nanos::ZERO && io_bytes[0] >= 4096, "worker {index}: {worker:?}");
        }
    }
    assert!(whole.cpu.is_some_and(|cpu| cpu.total() > 0));
}

#[test]
fn the_syncs_of_the_intervals_add_up_to_those_of_the_job() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut writes = job("writes", "psync");
    writes.files.directories = vec![directory.path().to_owned()];
    (writes.load.mix, writes.load.fsync_every) = (Mix::Only(Direction::Write), 2);
    let result = run_processes(vec![writes, job("reads", "null")], &mut Blind);
    let counted = result.jobs[0].sync.count;
    assert!(counted > 100, "{counted}");
    let whole = result.monitored.as_ref().unwrap().whole();
    assert_eq!(
        (whole.sync_latencies.total(), whole.latencies[1].total()),
        (counted, result.jobs[0].directions.write.ios)
    );
}

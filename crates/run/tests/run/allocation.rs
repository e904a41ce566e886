//! The loop allocates nothing: ten times the I/O is not one allocation more.

use crate::support::{Blind, depth, job, options};
use measure::Nanos;
use plan::Plan;
use plan::{Extent, JobPlan, Mix};
use run::RunOptions;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static COUNTED: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// No device is sampled meanwhile: the recorder allocates memory for each interval.
fn unwatched() -> RunOptions {
    RunOptions { device_interval: Nanos::from_secs(3600), ..options() }
}

const BLOCKS: u64 = 5_000;

/// Allocations of a run that reads all its blocks `passes` times, less what the parent may have needed: it looks
/// after its workers a hundred times a second, and makes some short lists each time.
fn allocations(mut job: JobPlan, passes: u64) -> u128 {
    const OF_A_LOOK: u128 = 10;
    let begun = std::time::Instant::now();
    job.files.size = Some(Extent::Bytes(BLOCKS * 4096));
    job.limits.loops = passes;
    let region = Region::new(COUNTED);
    let result = run::execute(&Plan { jobs: vec![job], ..Plan::default() }, &unwatched(), &mut Blind).unwrap();
    let result = &result.jobs[0];
    assert_eq!(result.error, None);
    let counted = region.change();
    assert_eq!(result.ios(), passes * BLOCKS);
    let looks = begun.elapsed().as_millis() / 10;
    ((counted.allocations + counted.reallocations) as u128).saturating_sub(looks * OF_A_LOOK)
}

#[test]
fn ten_times_the_io_brings_no_allocation_per_io() {
    house::in_own_process("allocation::ten_times_the_io_brings_no_allocation_per_io", count_allocations);
}

fn count_allocations() {
    let directory = tempfile::tempdir().unwrap();
    let alone = [("null", 1, 1), ("null", 8, 1), ("sim", 8, 1), ("psync", 1, 1), ("libaio", 8, 1), ("io_uring", 8, 1)];
    let in_turns = [("null", 1, 2), ("io_uring", 8, 2)];
    for (engine, in_flight, jobs_per_thread) in alone.into_iter().chain(in_turns) {
        for random in [false, true] {
            let mut job = job("few", engine);
            job.jobs_per_thread = jobs_per_thread;
            depth(&mut job, in_flight);
            job.load.random = random;
            job.load.mix = Mix::ReadWrite;
            job.files.directories = vec![directory.path().to_owned()];
            // The first run lays out the file.
            allocations(job.clone(), 1);
            let (few, many) = (allocations(job.clone(), 1), allocations(job, 10));
            // One allocation in 64 I/Os would be 703 more.
            assert!(many <= few + 300, "{engine} at depth {in_flight}: {few} in one pass, {many} in ten");
        }
    }
}

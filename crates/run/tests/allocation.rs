//! The loop allocates nothing: ten times the I/O is not one allocation more.

#[cfg(test)]
#[expect(dead_code, reason = "of the plans for tests only some are needed here")]
#[path = "run/support.rs"]
mod support;

#[cfg(test)]
mod tests {
    use crate::support::{Blind, depth, job, options};
    use job::Plan;
    use job::plan::{Extent, JobPlan, Mix};
    use measure::Nanos;
    use plumb_run::RunOptions;
    use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
    use std::alloc::System;

    #[global_allocator]
    static COUNTED: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

    /// Nobody looks at the devices meanwhile: what the monitor notes of each interval is memory of its own.
    fn unwatched() -> RunOptions {
        RunOptions { device_interval: Nanos::from_secs(3600), ..options() }
    }

    fn allocations(mut job: JobPlan, blocks: u64) -> usize {
        job.files.size = Some(Extent::Bytes(blocks * 4096));
        let region = Region::new(COUNTED);
        let result =
            plumb_run::execute(&Plan { jobs: vec![job], ..Plan::default() }, &unwatched(), &mut Blind).unwrap();
        let result = &result.jobs[0];
        assert_eq!(result.error, None);
        let counted = region.change();
        assert_eq!(result.ios(), blocks);
        counted.allocations + counted.reallocations
    }

    #[test]
    fn ten_times_the_io_brings_no_allocation_per_io() {
        let directory = tempfile::tempdir().unwrap();
        for (engine, in_flight) in [("null", 1), ("null", 8), ("sim", 8), ("psync", 1), ("libaio", 8), ("io_uring", 8)]
        {
            for random in [false, true] {
                let mut job = job("few", engine);
                depth(&mut job, in_flight);
                job.load.random = random;
                job.load.mix = Mix::ReadWrite;
                job.files.directories = vec![directory.path().to_owned()];
                let many = allocations(job.clone(), 20_000);
                // The second run finds a file that is large enough and lays out none.
                let (few, many) = (allocations(job.clone(), 2_000), allocations(job, 20_000).min(many));
                // A parent that looks more often at longer runs, on a busy machine, allocates for its lists of who may start;
                // one allocation per batch of eight I/Os would be 2,250 more.
                assert!(many <= few + 600, "{engine} at depth {in_flight}: {few} for 2,000 I/Os, {many} for 20,000");
            }
        }
    }
}

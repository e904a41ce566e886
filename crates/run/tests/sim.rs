//! Every number of a run against the truth of the simulated device.

mod support;

use job::option::Value;
use job::plan::{Extent, Mix};
use measure::{Direction, Nanos};
use support::{depth, job, run_one, sim};

const SERVICE: Nanos = Nanos::from_micros(100);

/// A time-based job on a device of four servers at 100 µs.
fn four_servers(runtime: Nanos) -> job::plan::JobPlan {
    let mut job = sim(SERVICE, 4);
    depth(&mut job, 4);
    job.limits.runtime = Some(runtime);
    job.limits.time_based = true;
    job
}

#[test]
fn depth_4_at_100_us_is_exactly_40k_iops() {
    let result = run_one(four_servers(Nanos::from_secs(1)));
    let read = &result.directions.read;
    assert_eq!((read.ios, read.bytes, read.runtime), (40_000, 40_000 * 4096, Nanos::from_secs(1)));
    assert_eq!(read.iops(), Some(40_000.0));
    assert_eq!(read.bytes_per_second(), Some(40_000 * 4096));
    assert_eq!(result.runtime, Nanos::from_secs(1));
}

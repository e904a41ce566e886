//! Workers of a group become one: by fio's rules, and in any grouping.

use measure::{Direction, Histogram, Moments, Nanos, SampleStatistics};
use model::{DirectionResult, JobResult, LatencyStatistics, RunResult};
use proptest::prelude::*;

prop_compose! {
    fn statistics()(values in prop::collection::vec(0u64..1 << 40, 0..30), kept in prop::bool::weighted(0.8)) -> LatencyStatistics {
        let (mut moments, mut histogram) = (Moments::new(), Box::new(Histogram::new()));
        for value in values {
            moments.record(Nanos(value));
            histogram.record(Nanos(value));
        }
        LatencyStatistics { moments, histogram: kept.then_some(histogram) }
    }
}

prop_compose! {
    // Whole floats: adding them is exact, so that the order of additions can be distinguished from a real difference.
    fn samples()(count in 0u64..100, minimum in 0u64..1000, maximum in 1000u64..5000, mean in 0u32..9000, squares in 0u32..9000)
        -> SampleStatistics {
        SampleStatistics { count, minimum, maximum, mean: f64::from(mean), squares: f64::from(squares) }
    }
}

prop_compose! {
    fn direction()(
        bytes in 0u64..1 << 40, ios in 0u64..1 << 30, runtime in 0u64..1 << 40, latency in prop::option::of(statistics()),
        bandwidth_samples in samples(), iops_samples in samples(), open in prop::option::of((statistics(), statistics(), 0u64..99)),
    ) -> DirectionResult {
        let sent_late = open.as_ref().map(|(_, _, late)| *late);
        let (response, lateness) = open.map(|(response, lateness, _)| (response, lateness)).unzip();
        DirectionResult {
            bytes, ios, runtime: Nanos(runtime), completion: latency, bandwidth_samples, iops_samples, response, lateness, sent_late,
            ..DirectionResult::default()
        }
    }
}

prop_compose! {
    fn job()(
        read in direction(), write in direction(), runtime in 0u64..1 << 40, user in 0u64..1 << 40, level in prop::array::uniform7(0u64..1 << 40),
        forgiven in 0u64..3, errno in 1i32..99, elapsed in 0u64..1000,
    ) -> JobResult {
        let mut job = JobResult { workers: 1, runtime: Nanos(runtime), elapsed_s: elapsed, ..JobResult::default() };
        (job.directions.read, job.directions.write) = (read, write);
        job.cpu.user = Nanos(user);
        job.depth.level = level;
        job.latency_bins.record(Nanos(user), 3);
        if forgiven > 0 {
            (job.forgiven_errors, job.first_forgiven_errno) = (forgiven, errno);
        }
        job
    }
}

fn merged(mut first: JobResult, second: &JobResult) -> JobResult {
    first.merge(second);
    first
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_does_not_matter_which_two_of_three_workers_merge_first(a in job(), b in job(), c in job()) {
        let left = merged(merged(a.clone(), &b), &c);
        let right = merged(a, &merged(b, &c));
        prop_assert!(left == right);
    }

    #[test]
    fn response_times_are_read_as_written_and_absent_without_a_rate(job in job()) {
        let written = serde_json::to_value(&job).unwrap();
        prop_assert!(serde_json::from_value::<JobResult>(written.clone()).unwrap() == job);
        let read = &job.directions.read;
        for (key, is_there) in [("response", read.response.is_some()), ("lateness", read.lateness.is_some()), ("sent_late", read.sent_late.is_some())] {
            prop_assert_eq!(written["directions"]["read"].get(key).is_some(), is_there, "{}", key);
        }
    }

    #[test]
    fn nothing_is_lost_and_nothing_is_invented(a in job(), b in job()) {
        let both = merged(a.clone(), &b);
        prop_assert_eq!(both.ios(), a.ios() + b.ios());
        let count = |job: &JobResult| job.directions.read.completion.as_ref().map_or(0, |found| found.moments.count());
        prop_assert_eq!(count(&both), count(&a) + count(&b));
        let late = |job: &JobResult| {
            let read = &job.directions.read;
            (read.sent_late.unwrap_or(0), read.response.as_ref().map_or(0, |found| found.moments.count()))
        };
        let (mine, theirs) = (late(&a), late(&b));
        prop_assert_eq!(late(&both), (mine.0 + theirs.0, mine.1 + theirs.1));
        let part_or_none = |job: &JobResult| {
            let completion = job.directions.read.completion.as_ref();
            completion.filter(|found| found.moments.count() > 0).map(|found| found.histogram.as_ref().map(|kept| kept.total()))
        };
        let whole = match (part_or_none(&a), part_or_none(&b)) {
            (Some(mine), Some(theirs)) => Some(mine.zip(theirs).map(|(mine, theirs)| mine + theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        prop_assert_eq!(part_or_none(&both), whole, "percentiles of a part are not those of the whole");
    }
}

/// A worker that moved `bytes` in `runtime_ms`, of which it spent `user_ms` on the CPU.
fn worker(bytes: u64, runtime_ms: u64, user_ms: u64, mean: f64) -> JobResult {
    let mut job = JobResult { workers: 1, runtime: Nanos::from_millis(runtime_ms), ..JobResult::default() };
    job.style.group_reporting = true;
    job.cpu.user = Nanos::from_millis(user_ms);
    job.directions.read = DirectionResult {
        bytes,
        ios: bytes / 4096,
        runtime: Nanos::from_millis(runtime_ms),
        bandwidth_samples: SampleStatistics { count: 3, minimum: 10, maximum: 20, mean, squares: 8.0 },
        ..DirectionResult::default()
    };
    job
}

#[test]
fn a_group_is_rated_over_its_longest_worker() {
    let both = merged(worker(4096 * 1000, 1000, 100, 15.0), &worker(4096 * 3000, 2000, 500, 16.0));
    let read = &both.directions.read;
    assert_eq!(read.runtime, Nanos::from_millis(2000));
    assert_eq!(read.bytes_per_second(), Some(4096 * 4000 / 2));
    assert_eq!(read.iops(), Some(2000.0));
    assert_eq!(read.worker_rates, Some((4096 * 1000, 4096 * 1500)));
}

#[test]
fn samples_of_a_group_are_sums() {
    let both = merged(worker(4096, 1000, 0, 15.0), &worker(4096, 1000, 0, 16.0));
    let samples = &both.directions.read.bandwidth_samples;
    assert_eq!((samples.count, samples.minimum, samples.maximum, samples.mean), (6, 20, 40, 31.0));
    // Two workers with S = 8 each: the sums of squares add up, and five degrees of freedom remain.
    assert_eq!(samples.deviation(), (16.0f64 / 5.0).sqrt());
}

#[test]
fn cpu_time_of_a_group_is_shared_by_the_sum_of_its_run_times() {
    let both = merged(worker(4096, 1000, 100, 0.0), &worker(4096, 2000, 500, 0.0));
    assert_eq!((both.cpu.user, both.runtime), (Nanos::from_millis(600), Nanos::from_millis(3000)));
}

#[test]
fn only_workers_that_ask_for_it_share_a_row() {
    let mut jobs: Vec<JobResult> = (0..4).map(|_| worker(4096, 1000, 0, 1.0)).collect();
    jobs[2].style.group_reporting = false;
    jobs[3].echo.group = 1;
    let rows = RunResult { jobs, ..RunResult::default() }.reported_jobs();
    assert_eq!(rows.iter().map(|row| row.workers).collect::<Vec<_>>(), [2, 1, 1]);
    assert!(rows.iter().all(|row| Direction::ALL.iter().all(|&direction| row.directions[direction].ios <= 2)));
}

//! Every number of a run against the truth of the simulated device.

use crate::support::{ALL, depth, run_jobs, run_one, sim};
use measure::{BytesPerSecond, Histogram, Nanos, PerDirection};
use model::{JobResult, LatencyStatistics};
use plan::option::Value;
use plan::{BlockSize, DepthPlan, Extent, JobPlan, Mix};

const SERVICE: Nanos = Nanos::from_micros(100);

/// A time-based job on a device of four servers at 100 µs.
fn four_servers(runtime: Nanos) -> JobPlan {
    timed(sim(SERVICE, 4), 4, runtime)
}

fn timed(mut job: JobPlan, in_flight: u32, runtime: Nanos) -> JobPlan {
    depth(&mut job, in_flight);
    job.limits.runtime = Some(runtime);
    job.limits.time_based = true;
    job
}

/// A job of this number of I/Os of 4 KiB.
fn of_ios(mut job: JobPlan, in_flight: u32, ios: u64) -> JobPlan {
    depth(&mut job, in_flight);
    job.files.size = Some(Extent::Bytes(ios * 4096));
    job
}

fn option(job: &mut JobPlan, name: &'static str, text: &str) {
    job.engine_options.set(name, Value::Text(text.to_owned()));
}

fn read_latency(result: &JobResult) -> &LatencyStatistics {
    result.directions.read.completion.as_ref().unwrap()
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

#[test]
fn every_latency_of_equal_service_is_the_service_time() {
    let mut job = four_servers(Nanos::from_secs(1));
    job.record.total_percentiles = true;
    let result = run_one(job);
    let read = &result.directions.read;
    for latency in [read.completion.as_ref().unwrap(), read.total.as_ref().unwrap()] {
        let moments = &latency.moments;
        assert_eq!((moments.count(), moments.minimum(), moments.maximum()), (40_000, Some(SERVICE), Some(SERVICE)));
        assert_eq!((moments.mean(), moments.deviation()), (Some(100_000.0), Some(0.0)));
        let mut expected = Histogram::new();
        expected.record_many(SERVICE, 40_000);
        assert_eq!(latency.histogram.as_deref(), Some(&expected));
    }
    let submission = read.submission.as_ref().unwrap();
    assert_eq!((submission.moments.count(), submission.moments.maximum()), (40_000, Some(Nanos::ZERO)));
    let bins = &result.latency_bins;
    assert_eq!((bins.us[6], bins.us.iter().sum::<u64>()), (40_000, 40_000), "100 µs is below 250 and not below 100");
}

#[test]
fn a_queue_before_one_server_shows_in_every_latency() {
    let result = run_one(of_ios(sim(SERVICE, 1), 4, 1000));
    let latency = read_latency(&result);
    // 100, 200 and 300 µs while the queue fills, then four services each.
    let sum = 100_000 + 200_000 + 300_000 + 997 * 400_000;
    assert_eq!(latency.moments.sum(), sum);
    assert_eq!((latency.moments.minimum(), latency.moments.maximum()), (Some(SERVICE), Some(Nanos::from_micros(400))));
    let half = latency.histogram.as_ref().unwrap().percentiles(&[0.05, 0.25, 50.0]).unwrap();
    let expected = [SERVICE, Nanos::from_micros(300), Nanos::from_micros(400)].map(|latency| {
        let mut one = Histogram::new();
        one.record(latency);
        one.percentiles(&[100.0]).unwrap()[0]
    });
    assert_eq!(half, expected);
    assert_eq!(result.runtime, Nanos::from_millis(100));
}

#[test]
fn submission_and_completion_sum_to_total_with_any_service() {
    let mut job = of_ios(sim(SERVICE, 2), 8, 5000);
    option(&mut job, "sim_distribution", "exponential");
    let result = run_one(job);
    let read = &result.directions.read;
    let sum = |latency: &Option<LatencyStatistics>| latency.as_ref().unwrap().moments.sum();
    assert_eq!(sum(&read.submission) + sum(&read.completion), sum(&read.total));
    assert_eq!(read.total.as_ref().unwrap().moments.count(), 5000);
    assert!(read.total.as_ref().unwrap().moments.deviation().unwrap() > 0.0);
}

/// The journal of a run: sizes of submit calls and of reap calls in their order.
fn journal(mut job: JobPlan) -> (JobResult, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    option(&mut job, "sim_journal", path.to_str().unwrap());
    let result = run_one(job);
    let lines = std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect();
    (result, lines)
}

#[test]
fn batches_of_4_at_depth_8_refill_at_the_low_mark_of_2() {
    let mut job = of_ios(sim(SERVICE, 8), 8, 300);
    job.depth = DepthPlan { depth: 8, batch: 4, reap_min: 1, reap_max: 1, low: 2, ..DepthPlan::default() };
    let (result, lines) = journal(job);
    let fill = ["submit 4", "submit 4"];
    let reap = ["reap 1 1 1"; 6];
    let refill = ["submit 4", "submit 2"];
    let start: Vec<&str> = [&fill[..], &reap, &refill, &reap, &refill].concat();
    assert_eq!(lines[..start.len()], start);
    // 8 first, then 6 per round: 4 of them submitted at depth 6 and 2 at depth 8.
    // 4 at the end are submitted at depth 6.
    assert_eq!(result.depth.level, [0, 0, 4 + 4 * 48 + 4, 4 + 2 * 48, 0, 0, 0]);
    assert_eq!(result.depth.submit[1], result.depth.submits);
}

#[test]
fn reaping_4_at_least_empties_the_queue_at_a_low_mark_of_2() {
    let mut job = of_ios(sim(SERVICE, 8), 8, 400);
    job.depth = DepthPlan { depth: 8, batch: 4, reap_min: 4, reap_max: 4, low: 2, ..DepthPlan::default() };
    let (result, lines) = journal(job);
    assert_eq!(lines[..6], ["submit 4", "submit 4", "reap 4 4 4", "reap 4 4 4", "submit 4", "submit 4"]);
    assert_eq!((result.depth.level[2], result.depth.level[3]), (200, 200));
}
#[test]
fn a_minimum_of_0_polls_after_each_io_and_waits_only_when_full() {
    let mut job = of_ios(sim(SERVICE, 2), 2, 6);
    job.depth = DepthPlan { depth: 2, batch: 2, reap_min: 0, reap_max: 2, low: 2, ..DepthPlan::default() };
    let (_, lines) = journal(job);
    assert_eq!(lines[..5], ["submit 1", "reap 0 2 0", "submit 1", "reap 0 2 0", "reap 1 2 2"]);
}

#[test]
fn single_submissions_fill_the_queue_one_by_one() {
    let (result, lines) = journal(of_ios(sim(SERVICE, 8), 8, 1000));
    assert!(lines[..8].iter().all(|line| line == "submit 1"));
    assert_eq!(lines[8..10], ["reap 1 1 1", "submit 1"]);
    assert_eq!(result.depth.level, [1, 2, 4, 993, 0, 0, 0]);
}

#[test]
fn a_ramp_does_not_count_and_ends_to_the_nanosecond() {
    let mut job = four_servers(Nanos::from_secs(1));
    job.limits.ramp = Nanos::from_millis(700);
    let result = run_one(job);
    let read = &result.directions.read;
    assert_eq!((read.ios, read.bytes, read.runtime), (40_000, 40_000 * 4096, Nanos::from_secs(1)));
    assert_eq!(read_latency(&result).moments.count(), 40_000);
    assert_eq!(read.iops_samples.count, 2);
    // Depths are counted at submission: the 4 in flight when the ramp ended were submitted in it.
    assert_eq!(result.depth.level.iter().sum::<u64>(), 39_996);
}

#[test]
fn a_ramp_ends_inside_a_pause() {
    let mut job = timed(sim(SERVICE, 1), 1, Nanos::from_secs(2));
    job.limits.ramp = Nanos::from_millis(1_500);
    job.pace.iops.read = Some(1);
    let result = run_one(job);
    assert_eq!((result.directions.read.ios, result.runtime), (2, Nanos::from_secs(2)));
}

#[test]
fn a_rate_in_ios_is_kept_exactly() {
    let mut job = timed(sim(SERVICE, 4), 4, Nanos::from_secs(2));
    job.pace.iops.read = Some(1_000);
    let result = run_one(job);
    assert_eq!((result.directions.read.ios, result.runtime), (2_000, Nanos::from_secs(2)));
    assert_eq!(result.directions.read.iops_samples.mean, 1_000.0);
    assert_eq!(read_latency(&result).moments.mean(), Some(100_000.0));
}

#[test]
fn a_rate_in_bytes_is_kept_exactly() {
    let mut job = timed(sim(SERVICE, 1), 1, Nanos::from_secs(1));
    job.pace.rate.read = Some(BytesPerSecond(4096 * 500));
    let result = run_one(job);
    assert_eq!((result.directions.read.bytes, result.runtime), (4096 * 500, Nanos::from_secs(1)));
}

#[test]
fn think_time_separates_ios() {
    let mut job = timed(sim(SERVICE, 1), 1, Nanos::from_secs(1));
    (job.pace.think, job.pace.think_spin) = (Nanos::from_micros(900), Nanos::from_micros(300));
    let result = run_one(job);
    assert_eq!((result.directions.read.ios, result.runtime), (1_000, Nanos::from_secs(1)));
    assert_eq!(read_latency(&result).moments.maximum(), Some(SERVICE), "thinking is not waiting for the device");
}

#[test]
fn ios_and_loops_are_counted_exactly() {
    let mut job = of_ios(sim(SERVICE, 2), 2, 1_000);
    job.limits.ios = Some(123);
    assert_eq!(run_one(job).directions.read.ios, 123);
    let mut job = of_ios(sim(SERVICE, 2), 2, 50);
    job.limits.loops = 3;
    assert_eq!(run_one(job).directions.read.ios, 150);
}

#[test]
fn samples_are_taken_every_half_second() {
    let result = run_one(four_servers(Nanos::from_secs(2)));
    let read = &result.directions.read;
    let (iops, bandwidth) = (&read.iops_samples, &read.bandwidth_samples);
    assert_eq!((iops.count, iops.minimum, iops.maximum, iops.mean), (4, 40_000, 40_000, 40_000.0));
    assert_eq!((bandwidth.count, bandwidth.minimum, bandwidth.deviation()), (4, 160_000, 0.0));
    let short = run_one(four_servers(Nanos::from_millis(499)));
    assert_eq!(short.directions.read.iops_samples.count, 0);
}
#[test]
fn syncs_have_their_own_statistics_and_are_no_writes() {
    let mut job = of_ios(sim(SERVICE, 1), 1, 100);
    job.load.mix = Mix::Only(measure::Direction::Write);
    job.load.fsync_every = 10;
    job.load.end_fsync = true;
    let result = run_one(job);
    assert_eq!(result.directions.write.ios, 100);
    let syncs = result.sync.count;
    assert!((9..=10).contains(&syncs), "{syncs}");
    assert_eq!((result.sync.latency.moments.count(), result.sync.latency.moments.mean()), (syncs, Some(100_000.0)));
    // The flush at the end takes its time but is not among the syncs.
    assert_eq!(result.runtime, Nanos(100_000 * (100 + syncs + 1)));
}

#[test]
fn short_transfers_are_continued_and_counted() {
    for in_flight in [1, 4] {
        let mut job = of_ios(sim(SERVICE, 4), in_flight, 100);
        option(&mut job, "sim_faults", "read:10:short=512");
        let result = run_one(job);
        let read = &result.directions.read;
        assert_eq!((read.ios, read.bytes, read.short_ios), (100, 100 * 4096, 11));
        assert_eq!(read_latency(&result).moments.count(), 100);
        assert_eq!(read_latency(&result).moments.maximum(), Some(Nanos::from_micros(200)));
    }
}

#[test]
fn the_first_error_ends_the_job_and_says_where() {
    let mut job = of_ios(sim(SERVICE, 1), 1, 100);
    option(&mut job, "sim_faults", "read:10:error=EIO");
    let result = run_jobs(vec![job]).jobs.remove(0);
    let error = result.error.unwrap();
    assert_eq!((error.errno, error.operation.as_str()), (5, "read"));
    assert!(error.message.contains("4096 bytes at offset 36864"), "{}", error.message);
    assert_eq!((result.directions.read.ios, result.directions.read.bytes), (10, 9 * 4096));
}

#[test]
fn forgiven_errors_are_counted_and_end_nothing() {
    let mut job = of_ios(sim(SERVICE, 4), 4, 100);
    option(&mut job, "sim_faults", "read:10:error=EIO");
    job.limits.continue_on_error = ALL;
    let result = run_one(job);
    assert_eq!((result.forgiven_errors, result.first_forgiven_errno), (10, 5));
    assert_eq!((result.directions.read.ios, result.directions.read.bytes), (100, 90 * 4096));
    assert_eq!(read_latency(&result).moments.count(), 90);
}

#[test]
fn both_directions_of_a_mix_are_measured_apart() {
    let mut job = of_ios(sim(SERVICE, 4), 4, 4_000);
    job.load.mix = Mix::ReadWrite;
    job.load.block_size =
        PerDirection { read: BlockSize::Fixed(4096), write: BlockSize::Fixed(4096), trim: BlockSize::Fixed(4096) };
    let result = run_one(job);
    let (read, write) = (&result.directions.read, &result.directions.write);
    assert_eq!(read.ios + write.ios, 4_000);
    assert!(read.ios > 1_500 && write.ios > 1_500);
    assert_eq!((read.bytes, write.bytes), (read.ios * 4096, write.ios * 4096));
    assert_eq!(read.runtime, result.runtime);
    assert_eq!(result.directions.trim.runtime, Nanos::ZERO);
}

#[test]
fn without_latencies_counts_and_times_are_the_same() {
    let mut job = four_servers(Nanos::from_secs(1));
    job.record.total_latency = false;
    job.record.completion_latency = false;
    job.record.submission_latency = false;
    let result = run_one(job);
    assert_eq!((result.directions.read.ios, result.runtime), (40_000, Nanos::from_secs(1)));
    assert_eq!(result.directions.read.completion, None);
}

#[test]
fn clones_are_separate_workers_and_merge_into_their_group() {
    let mut job = four_servers(Nanos::from_secs(1));
    job.clones = 3;
    job.record.group_reporting = true;
    let result = run_jobs(vec![job]);
    assert_eq!(result.jobs.len(), 3);
    let merged = result.reported_jobs();
    assert_eq!((merged.len(), merged[0].workers, merged[0].directions.read.ios), (1, 3, 120_000));
    assert_eq!(merged[0].directions.read.iops(), Some(120_000.0));
}

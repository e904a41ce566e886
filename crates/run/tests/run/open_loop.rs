//! Response time and lateness of jobs with a rate, against the laws of queues and of arithmetic.

use crate::support::{Blind, depth, job, run_one, run_processes, sim};
use measure::{BytesPerSecond, Moments, Nanos};
use model::{DirectionResult, JobResult, LatencyStatistics};
use plan::option::Value;
use plan::{Extent, JobPlan, Mix, RateStep};

const SERVICE: Nanos = Nanos::from_micros(100);

/// Reads of one server at 100 µs; `per_second` of them are due per second.
fn arriving(per_second: u64, in_flight: u32, seconds: u64) -> JobPlan {
    let mut job = sim(SERVICE, 1);
    depth(&mut job, in_flight);
    // So much that no pass ends, which would wait for all that is in flight.
    job.files.size = Some(Extent::Bytes(1 << 40));
    job.pace.iops.read = Some(per_second);
    job.limits.runtime = Some(Nanos::from_secs(seconds));
    job.limits.time_based = true;
    job
}

fn option(job: &mut JobPlan, name: &'static str, text: &str) {
    job.engine_options.set(name, Value::Text(text.to_owned()));
}

fn moments(latency: &Option<LatencyStatistics>) -> &Moments {
    &latency.as_ref().unwrap().moments
}

fn percentile(latency: &Option<LatencyStatistics>, percent: f64) -> f64 {
    latency.as_ref().unwrap().histogram.as_ref().unwrap().percentile(percent).unwrap().as_f64()
}

/// Response time is lateness and total latency, to the nanosecond and in every I/O.
fn adds_up(direction: &DirectionResult) {
    let [response, lateness, total] = [&direction.response, &direction.lateness, &direction.total].map(moments);
    assert_eq!((response.count(), lateness.count()), (direction.ios, direction.ios));
    assert_eq!(response.sum(), lateness.sum() + total.sum());
}

// Poisson arrivals at one server with exponential service: the response time is exponential with μ − λ.
#[test]
fn response_time_at_80_percent_load_is_that_of_m_m_1() {
    let mut job = arriving(8000, 4096, 1000);
    job.pace.poisson = true;
    option(&mut job, "sim_distribution", "exponential");
    let read = run_one(job).directions.read;
    adds_up(&read);
    assert!(read.ios.abs_diff(8_000_000) < 15_000, "{} arrivals", read.ios);
    for (percent, law) in [(50.0, 2_f64.ln() / 2000.0), (99.0, 100_f64.ln() / 2000.0)] {
        let found = percentile(&read.response, percent) / 1e9;
        assert!((found / law - 1.0).abs() < 0.02, "p{percent}: {found} s, by the law {law} s");
    }
    assert_eq!((moments(&read.lateness).maximum(), read.sent_late), (Some(Nanos::ZERO), Some(0)));
}

// Every 50,000th I/O blocks the only server for a second: once in ten seconds at half its load.
#[test]
fn a_stall_of_a_second_is_in_all_response_times_due_meanwhile() {
    let stalls = |mut job: JobPlan| {
        option(&mut job, "sim_faults", "read:50000:delay=1000000");
        run_one(job).directions.read
    };
    let mut closed = arriving(5000, 1, 60);
    closed.pace.iops.read = None;
    for (name, read) in [("no rate", stalls(closed)), ("a rate", stalls(arriving(5000, 1, 60)))] {
        assert!(percentile(&read.completion, 99.0) < 102_000.0, "{name}: 1 in 50,000 is below the 99th percentile");
        assert_eq!(read.response.is_some(), name == "a rate");
    }
    for in_flight in [1, 10_000] {
        let read = stalls(arriving(5000, in_flight, 60));
        adds_up(&read);
        let response = percentile(&read.response, 99.0) / 1e9;
        assert!((0.8..1.0).contains(&response), "depth {in_flight}: {response} s");
        assert_eq!(read.sent_late, Some(0), "virtual time is never late");
    }
}

#[test]
fn waiting_for_room_in_the_queue_counts_as_response_time() {
    for in_flight in [1, 4] {
        // Twice what the server does: the I/O with number k is due at 50 k µs and ends at 100 (k + 1) µs.
        let read = run_one(arriving(20_000, in_flight, 1)).directions.read;
        adds_up(&read);
        // Those in flight at the end are awaited.
        assert_eq!(read.ios, 10_000 + u64::from(in_flight - 1));
        let waits: u128 = (0..u128::from(read.ios)).map(|number| 50_000 * number + 100_000).sum();
        assert_eq!(moments(&read.response).sum(), waits);
        assert_eq!(moments(&read.response).maximum(), Some(Nanos(50_000 * (read.ios - 1) + 100_000)));
        assert_eq!(moments(&read.total).maximum(), Some(Nanos(100_000 * u64::from(in_flight))));
        assert_eq!(read.sent_late, Some(0), "the depth was the reason");
    }
}

#[test]
fn below_the_capacity_even_arrivals_are_served_at_once() {
    for mut job in [arriving(5000, 1, 1), arriving(5000, 8, 1), arriving(5000, 1, 1)] {
        if job.depth.depth == 8 {
            // The same rate in bytes, per direction.
            job.pace.iops.read = None;
            job.pace.rate.read = Some(BytesPerSecond(5000 * 4096));
        }
        let read = run_one(job).directions.read;
        adds_up(&read);
        let (response, lateness) = (moments(&read.response), moments(&read.lateness));
        assert_eq!((response.minimum(), response.maximum(), response.count()), (Some(SERVICE), Some(SERVICE), 5000));
        assert_eq!((lateness.maximum(), read.sent_late), (Some(Nanos::ZERO), Some(0)));
    }
}

#[test]
fn only_a_measured_direction_with_a_rate_responds() {
    let mut job = arriving(1, 4, 2);
    (job.load.mix, job.load.random, job.load.read_percent) = (Mix::ReadWrite, true, 50);
    (job.pace.iops.read, job.pace.iops.write) = (None, Some(1000));
    let directions = run_one(job.clone()).directions;
    assert_eq!((&directions.read.response, directions.read.sent_late), (&None, None));
    assert!(directions.read.ios > 0 && directions.read.completion.is_some());
    adds_up(&directions.write);
    (job.record.total_latency, job.record.completion_latency, job.record.submission_latency) = (false, false, false);
    assert_eq!(run_one(job).directions.write.response, None);
}

#[test]
fn a_rate_over_time_overloads_a_server_and_lets_it_recover() {
    let mut job = arriving(1, 64, 4);
    job.pace.iops.read = None;
    let step = |(second, iops): (u64, u64)| RateStep { from: Nanos::from_secs(second), iops };
    // Twice the capacity for a second, then a quarter of it: the backlog of 10,000 is gone after 1.33 s more.
    job.pace.profile = [(0, 20_000), (1, 2500)].map(step).to_vec();
    let read = run_one(job).directions.read;
    adds_up(&read);
    assert!(read.ios.abs_diff(20_000 + 3 * 2500) <= 1, "{}", read.ios);
    let response = moments(&read.response);
    let longest = response.maximum().unwrap().get();
    assert!(longest.abs_diff(Nanos::SECOND.get()) < 1_000_000, "{longest} ns");
    assert_eq!((response.minimum(), read.sent_late), (Some(SERVICE), Some(0)));
}

#[test]
fn a_ramp_leaves_its_response_times_out() {
    let mut job = arriving(20_000, 1, 1);
    job.limits.ramp = Nanos::SECOND;
    let read = run_one(job).directions.read;
    // The backlog of the ramp is dropped at its end, and so are its response times.
    assert_eq!(read.ios, moments(&read.response).count());
    assert!(moments(&read.response).maximum().unwrap() < Nanos::from_millis(600));
}

#[test]
fn the_histograms_of_a_process_are_read_with_its_record() {
    let mut job = arriving(20_000, 4, 1);
    job.pace.poisson = true;
    let read = |result: &model::RunResult| result.jobs[0].directions.read.clone();
    let of_process = read(&run_processes(vec![job.clone()], &mut Blind));
    adds_up(&of_process);
    assert_eq!(of_process, run_one(job).directions.read, "the same numbers as of a thread");
}

/// Jobs on real time, with and without a queue.
fn real(engine: &'static str, in_flight: u32) -> JobResult {
    let directory = tempfile::tempdir().unwrap();
    let mut job = job("real", engine);
    job.files.directories = vec![directory.path().to_owned()];
    depth(&mut job, in_flight);
    job.pace.iops.read = Some(2000);
    job.pace.poisson = true;
    run_one(job)
}

#[test]
fn response_is_lateness_plus_latency_on_real_engines() {
    for (engine, in_flight) in [("null", 1), ("null", 8), ("psync", 1), ("libaio", 8), ("mmap", 1)] {
        let read = real(engine, in_flight).directions.read;
        assert_eq!(read.ios, 256, "{engine}");
        adds_up(&read);
        assert!(read.sent_late.is_some_and(|late| late <= read.ios), "{engine}");
    }
}

//! The native result file: nothing is lost between writing and reading.

use formats::{FormatError, native};
use measure::{Histogram, Moments, Nanos};
use model::{DeviceUsage, Grade, JobError, JobResult, LatencyStatistics, Note, RunResult};
use proptest::prelude::*;

fn statistics() -> impl Strategy<Value = LatencyStatistics> {
    (prop::collection::vec(0u64..1 << 40, 0..40), any::<bool>()).prop_map(|(values, keeps_histogram)| {
        let (mut moments, mut histogram) = (Moments::new(), Box::new(Histogram::new()));
        for value in values {
            moments.record(Nanos(value));
            histogram.record(Nanos(value));
        }
        LatencyStatistics { moments, histogram: keeps_histogram.then_some(histogram) }
    })
}

prop_compose! {
    fn job()(
        name in "\\PC{0,12}", description in prop::option::of("\\PC{0,20}"), options in prop::collection::vec(("[a-z]{1,8}", "\\PC{0,8}"), 0..4),
        numbers in any::<[u64; 6]>(), mean in 0.0..1e12f64, latency in prop::option::of(statistics()), sync in statistics(),
        errno in prop::option::of(1..133i32), level in any::<[u64; 7]>(), percentiles in prop::collection::vec(0.0..100.0f64, 0..20),
    ) -> JobResult {
        let mut job = JobResult { workers: 1, pid: 4711, runtime: Nanos(numbers[0]), ..JobResult::default() };
        job.echo.name = name;
        job.echo.description = description;
        job.echo.options = options;
        let pace = plan::Pace { think: Nanos(numbers[3]), flow: Some(7), ..plan::Pace::default() };
        job.workload = Some(plan::Workload { pace, polls: true, ..plan::Workload::default() });
        job.style.percentiles = percentiles;
        job.directions.write.bytes = numbers[1];
        job.directions.write.ios = numbers[2];
        job.directions.write.completion = latency;
        job.directions.write.bandwidth_samples.mean = mean;
        job.directions.trim.worker_rates = Some((numbers[3], numbers[4]));
        job.sync.count = numbers[5];
        job.sync.latency = sync;
        job.depth.level = level;
        job.error = errno.map(|errno| JobError { errno, operation: "write".into(), message: "at 4096".into(), signal: None });
        job
    }
}

prop_compose! {
    fn result()(
        jobs in prop::collection::vec(job(), 0..4), ended in any::<u64>(), program in "\\PC{0,12}",
        drift in prop::option::of(-1e3..1e3f64), evidence in prop::collection::vec(("[a-z_]{1,8}", -1e9..1e9f64), 0..3),
    ) -> RunResult {
        let mut result = RunResult { ended_unix_ms: ended, jobs, ..RunResult::default() };
        result.environment.program = program;
        result.environment.clock = Some(model::ClockNote { source: "tsc".into(), drift_ppm: drift, why_not_tsc: None });
        result.devices = vec![DeviceUsage { name: "sda".into(), members: vec![DeviceUsage::default()], ..DeviceUsage::default() }];
        result.notes = vec![Note { check: "cache".into(), grade: Grade::ValidWithLimits, sentence: "so".into(), evidence }];
        result
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_result_read_back_is_the_result_that_was_written(result in result()) {
        let text = native::write(&result).unwrap();
        prop_assert!(native::read(&text).unwrap() == result);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        let _ = native::read(&text);
    }
}

// Few, because each is 65 results.
proptest! {
    #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_result_of_many_jobs_is_read_back_as_written(result in result(), more in 65..70usize, changed in job()) {
        let mut result = result;
        if !result.jobs.is_empty() {
            result.jobs = result.jobs.iter().cycle().take(more).cloned().collect();
            result.jobs[more / 2] = changed;
            let text = native::write(&result).unwrap();
            let is_dense = text.starts_with("{\n  \"schema\": 3,\n");
            prop_assert!(is_dense);
            prop_assert!(native::read(&text).unwrap() == result);
        }
    }
}

#[test]
fn a_short_file_of_jobs_that_would_fill_the_memory_is_refused() {
    let job = format!("{{\"name\": \"{}\"}}", "x".repeat(1 << 20));
    let text =
        format!("{{\"schema\": 3, \"program\": \"plumb\", \"result\": {{\"jobs\": [{job}{}]}}}}", ", {}".repeat(5000));
    let error = native::read(&text).unwrap_err().to_string();
    assert!(error.contains("5001 jobs that are each what the first one is in 1048587 bytes"), "{error}");
}

#[test]
fn a_file_without_workloads_has_them_from_its_options() {
    let options = |list: &[(&str, &str)]| list.iter().map(|&(a, b)| (a.to_owned(), b.to_owned())).collect();
    let mut result = RunResult { jobs: vec![JobResult::default()], ..RunResult::default() };
    result.global_options = options(&[("rw", "randwrite"), ("thinktime", "2ms")]);
    result.jobs[0].echo.options = options(&[("thinktime", "0"), ("end_fsync", "1")]);
    let workload = native::read(&native::write(&result).unwrap()).unwrap().jobs[0].workload.clone().unwrap();
    assert_eq!((workload.mix, workload.is_sequential()), (plan::Mix::Only(measure::Direction::Write), false));
    assert_eq!((workload.pace.is_limited(), workload.flushes.at_end), (false, true));
}

#[test]
fn a_survey_without_workloads_has_them_from_its_options() {
    let mut result = RunResult { jobs: vec![JobResult::default()], ..RunResult::default() };
    result.jobs[0].echo.options = vec![("rw".to_owned(), "randwrite".to_owned())];
    result.jobs[0].directions.write.ios = 1;
    let text = native::write(&result).unwrap();
    let run: serde_json::Value = serde_json::from_str(&text).unwrap();
    let survey = serde_json::json!({ "schema": 1, "tests": [{ "result": run["result"] }] }).to_string();
    let pattern = |text: &str| {
        let (readings, damage) = formats::stream::parse(text.as_bytes());
        assert!(damage.is_empty(), "{damage:?}");
        let [model::reading::Reading { found: model::reading::Content::Run(run), .. }] = readings.as_slice() else {
            panic!("{readings:?}")
        };
        run.jobs[0].pattern.clone()
    };
    assert_eq!(pattern(&text).as_deref(), Some("randwrite"));
    assert_eq!(pattern(&survey).as_deref(), Some("randwrite"));
}

#[test]
fn the_file_opens_with_its_schema_and_program() {
    let mut result = RunResult::default();
    result.environment.program = "plumb 0.1.0".into();
    let text = native::write(&result).unwrap();
    assert!(text.starts_with("{\n  \"schema\": 1,\n  \"program\": \"plumb 0.1.0\",\n  \"result\": {"), "{text}");
}

/// Whether jobs have a rate, and so response times and how late their I/Os were issued.
#[derive(Clone, Copy, PartialEq)]
enum Rate {
    None,
    Kept,
}

/// A run of this many jobs over ten minutes, each with its own latencies.
fn many_jobs(count: u64, rate: Rate) -> RunResult {
    let latency = |job: u64, from: u64| {
        let (mut moments, mut histogram) = (Moments::new(), Box::new(Histogram::new()));
        for step in 0..200_u64 {
            // Rising and falling counts in 200 of the buckets, others in each job.
            let latency = Nanos(from + from * step / 64 + job * 97 % 1009);
            let ios = 1 + (step * (200 - step) / 40) * (job * 31 % 17 + 1) / 9;
            histogram.record_many(latency, ios);
            moments.record(latency);
        }
        LatencyStatistics { moments, histogram: Some(histogram) }
    };
    let job = |number: u64| {
        let mut job = JobResult { workers: 1, pid: 4000, runtime: Nanos::from_secs(600), ..JobResult::default() };
        (job.echo.name, job.pid) = ("a job".to_owned(), u32::try_from(9000 + number).expect("small"));
        job.echo.options = vec![("rw".to_owned(), "randrw".to_owned()), ("runtime".to_owned(), "600".to_owned())];
        job.workload = Some(plan::Workload::default());
        for direction in [measure::Direction::Read, measure::Direction::Write] {
            let found = &mut job.directions[direction];
            (found.ios, found.bytes) = (30_000 + number * 13 % 997, (30_000 + number * 13 % 997) * 4096);
            found.completion = Some(latency(number, 90_000));
            if rate == Rate::Kept {
                (found.response, found.lateness) =
                    (Some(latency(number * 7, 97_000)), Some(latency(number * 3, 4_000)));
                found.sent_late = Some(number * 11 % 101);
            }
        }
        job
    };
    let interval = |number: u64| {
        let worker = |worker: u64| model::WorkerGain {
            on_cpu: Some(Nanos(worker * 7_919_003 % 40_000_003)),
            run_delay: Some(Nanos(worker * number * 104_729 % 1_299_709)),
            switches: Some(100 + worker),
            io_bytes: Some([worker * 4096; 4]),
            ios: 50 + worker % 7,
        };
        let workers = (0..64).map(worker).collect();
        model::Interval { until: Nanos::from_secs(2 * number), ios: [50_000, 50_000, 0], workers, ..Default::default() }
    };
    let monitored = model::Monitored { intervals: (1..=300).map(interval).collect(), ..Default::default() };
    RunResult { jobs: (0..count).map(job).collect(), monitored: Some(monitored), ..RunResult::default() }
}

#[test]
fn ten_minutes_of_a_thousand_jobs_are_less_than_5_mb() {
    for (rate, most) in [(Rate::None, 3_000_000), (Rate::Kept, 5_000_000)] {
        let result = many_jobs(1000, rate);
        let text = native::write(&result).unwrap();
        println!("{} bytes", text.len());
        assert!(text.len() < most, "{} bytes", text.len());
        assert!(native::read(&text).unwrap() == result);
    }
}

/// Written by plumb before histograms were packed: 3 of the 65 jobs of `--ioengine=null --rw=randrw --size=256k
/// --rate_iops=2000`.
#[test]
fn a_mistake_in_a_result_of_many_jobs_is_refused_with_its_job() {
    let text = native::write(&many_jobs(65, Rate::None)).unwrap();
    for (from, to, expected) in [
        ("\"pid\":9007", "\"pid\":\"x\"", "job 8: invalid type: string"),
        ("\"histogram\":\"", "\"histogram\":\"D", "a histogram of job 1 "),
        ("\"on_cpu\":[0,", "\"on_cpu\":[", "the workers of interval 1 "),
        ("\"jobs\": [\n", "\"jobs\": [[\n", "native, line "),
    ] {
        let error = native::read(&text.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(expected), "{from}: {error}");
    }
    let (readings, damages) = formats::stream::parse(text.as_bytes());
    assert_eq!((readings.len(), damages.len()), (1, 0), "in parse as well");
    assert_eq!(formats::results::results(text.as_bytes()).found[0].result.jobs.len(), 65);
}

#[test]
fn a_file_of_another_schema_is_refused_by_number() {
    let text = native::write(&RunResult::default()).unwrap().replace("\"schema\": 1", "\"schema\": 99");
    let error = native::read(&text).unwrap_err();
    assert!(matches!(error, FormatError::Schema { found: 99, known: model::SCHEMA }), "{error}");
}

#[test]
fn a_broken_file_is_refused_with_its_line() {
    let text = native::write(&RunResult::default()).unwrap().replace("\"jobs\": []", "\"jobs\": 7");
    let error = native::read(&text).unwrap_err().to_string();
    assert!(error.starts_with("native, line ") && error.contains("invalid type"), "{error}");
}

#[test]
fn a_result_among_other_text_keeps_its_samples() {
    let mut result = RunResult { monitored: Some(model::Monitored::default()), ..RunResult::default() };
    let mut job = model::JobResult { workers: 3, ..model::JobResult::default() };
    (job.directions.read.ios, job.directions.read.bytes) = (10, 40_960);
    result.jobs.push(job);
    let document = formats::native::write(&result).unwrap();
    let found = formats::results::results(format!("$ plumb fio ...\n{document}done\n").as_bytes()).found;
    assert_eq!(found.len(), 1);
    assert!(found[0].result.monitored.is_some() && found[0].result.printed().is_none(), "{:?}", found[0].result);
}

//! RunResult → each format → what was read: equal up to what the format can hold.

use formats::fio::text as fio_text;
use formats::stream::parse;
use formats::{FORMATS, View, result_as_reading};
use measure::{Histogram, Moments, Nanos};
use model::reading::{Content, ReadDirection, ReadJob, ReadLatency, ReadRun};
use model::{JobResult, LatencyStatistics, RunResult};
use proptest::prelude::*;

fn utc() -> View {
    View::in_zone(jiff::tz::TimeZone::UTC)
}

fn latencies(values: &[u64]) -> LatencyStatistics {
    let (mut moments, mut histogram) = (Moments::new(), Box::new(Histogram::new()));
    for &value in values {
        moments.record(Nanos(value));
        histogram.record(Nanos(value));
    }
    LatencyStatistics { moments, histogram: Some(histogram) }
}

prop_compose! {
    fn job()(
        name in "[a-z][a-z0-9_-]{0,10}", block in 1u64..1_000_000, milliseconds in 1u64..10_000_000,
        reads in prop::collection::vec(100u64..1 << 33, 1..30), writes in prop::collection::vec(100u64..1 << 33, 0..30),
        cpu in (0u64..100, 0u64..100), faults in any::<[u16; 3]>(), pid in 1u32..100_000,
    ) -> JobResult {
        let mut job = JobResult { workers: 1, pid, runtime: Nanos::from_millis(milliseconds), ..JobResult::default() };
        job.echo.name = name;
        job.echo.iodepth = 4;
        for (direction, values) in [(measure::Direction::Read, &reads), (measure::Direction::Write, &writes)] {
            let found = &mut job.directions[direction];
            found.ios = values.len() as u64;
            found.bytes = block * found.ios;
            if !values.is_empty() {
                found.runtime = Nanos::from_millis(milliseconds);
                found.completion = Some(latencies(values));
                let total: Vec<u64> = values.iter().map(|value| value + 77).collect();
                found.total = Some(LatencyStatistics { histogram: None, ..latencies(&total) });
            }
            values.iter().for_each(|&value| job.latency_bins.record(Nanos(value), 1));
        }
        job.depth.level[2] = job.ios();
        job.cpu.user = Nanos::from_millis(milliseconds * cpu.0 / 100);
        job.cpu.system = Nanos::from_millis(milliseconds * cpu.1 / 100);
        [job.cpu.switches, job.cpu.major_faults, job.cpu.minor_faults] = faults.map(u64::from);
        job
    }
}

fn result() -> impl Strategy<Value = RunResult> {
    prop::collection::vec(job(), 1..3).prop_map(|mut jobs| {
        for (number, job) in (1..).zip(&mut jobs) {
            job.echo.number = number;
            job.echo.name = format!("{}{number}", job.echo.name);
        }
        let mut result = RunResult { jobs, ended_unix_ms: 1_795_170_534_296, ..RunResult::default() };
        result.environment.program = "fio-3.33".to_owned();
        result
    })
}

/// Every run in a text; terse has one per line.
fn runs(text: &str) -> Vec<ReadJob> {
    let (readings, damages) = parse(text.as_bytes());
    assert!(damages.is_empty(), "{damages:?}\n{text}");
    let run = |found: Content| match found {
        Content::Run(run) => run.jobs,
        other => panic!("{other:?}"),
    };
    readings.into_iter().flat_map(|reading| run(reading.found)).collect()
}

fn truth(result: &RunResult) -> Vec<ReadJob> {
    match result_as_reading::reading(result, "truth", 1).found {
        Content::Run(run) => run.jobs,
        other => panic!("{other:?}"),
    }
}

/// Equal up to a part of the value and an absolute step.
fn near(what: &str, found: Option<f64>, truth: Option<f64>, part: f64, step: f64) {
    match (found, truth) {
        (Some(found), Some(truth)) => {
            assert!((found - truth).abs() <= part * truth.abs() + step, "{what}: read {found}, true {truth}");
        }
        (None, _) => {}
        (Some(found), None) => panic!("{what}: invented {found}"),
    }
}

/// What a format may lose: a part of a rate, a part of a latency and a step of it, a step of a share.
struct Loss {
    rate: f64,
    latency: f64,
    step_ns: f64,
    rate_step: f64,
}

fn compare_latency(what: &str, found: Option<&ReadLatency>, truth: Option<&ReadLatency>, loss: &Loss) {
    let Some(truth) = truth else {
        assert!(found.is_none(), "{what}: invented");
        return;
    };
    let found = found.unwrap_or_else(|| panic!("{what}: lost"));
    for (name, get) in [
        ("min", (|latency| latency.min_ns) as fn(&ReadLatency) -> Option<f64>),
        ("max", |latency| latency.max_ns),
        ("mean", |latency| latency.mean_ns),
        ("deviation", |latency| latency.deviation_ns),
    ] {
        assert!(get(found).is_some(), "{what} {name}: lost");
        near(&format!("{what} {name}"), get(found), get(truth), loss.latency, loss.step_ns);
    }
    for (percent, value) in &found.percentiles {
        let true_value =
            truth.percentiles.iter().find(|(known, _)| (known - percent).abs() < 1e-6).map(|(_, value)| *value);
        near(&format!("{what} {percent} %"), Some(*value), true_value, loss.latency, loss.step_ns);
    }
}

fn compare(found: &[ReadJob], truth: &[ReadJob], loss: &Loss) {
    assert_eq!(found.len(), truth.len());
    for (found, truth) in found.iter().zip(truth) {
        assert_eq!((&found.name, found.errno), (&truth.name, truth.errno));
        near("switches", found.switches, truth.switches, 0.0, 0.0);
        near("user", found.user_percent, truth.user_percent, 0.0, 0.006);
        assert_eq!(found.directions.len(), truth.directions.len());
        for (found, truth) in found.directions.iter().zip(&truth.directions) {
            compare_direction(found, truth, loss);
        }
        let percent: f64 = found.latency_shares.iter().map(|share| share.percent).sum();
        assert!((percent - 100.0).abs() < 0.5, "{percent}");
    }
}

fn compare_direction(found: &ReadDirection, truth: &ReadDirection, loss: &Loss) {
    assert_eq!(found.kind, truth.kind);
    assert!(
        found.bytes.is_some() && found.iops.is_some() && found.bytes_per_second.is_some() && found.runtime_ms.is_some()
    );
    near("bytes", found.bytes, truth.bytes, loss.rate, 1024.0);
    near("rate", found.bytes_per_second, truth.bytes_per_second, loss.rate, 1024.0);
    near("iops", found.iops, truth.iops, loss.rate, loss.rate_step);
    near("runtime", found.runtime_ms, truth.runtime_ms, 0.0, 0.0);
    compare_latency("clat", found.completion.as_ref(), truth.completion.as_ref(), loss);
    compare_latency("lat", found.total.as_ref(), truth.total.as_ref(), loss);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_up_to_what_the_format_holds(result in result()) {
        let truth = truth(&result);
        for (name, loss) in [
            ("native", Loss { rate: 0.0, latency: 1e-9, step_ns: 0.0, rate_step: 0.0 }),
            ("fio-json", Loss { rate: 1e-6, latency: 1e-6, step_ns: 1e-5, rate_step: 1e-5 }),
            ("fio-json+", Loss { rate: 1e-6, latency: 1e-6, step_ns: 1e-5, rate_step: 1e-5 }),
            // Whole µs; deviations and means have six decimals of them.
            ("fio-terse", Loss { rate: 1e-6, latency: 1e-6, step_ns: 1000.0, rate_step: 1.0 }),
            // Four figures; latencies in whole µs or ms once they are large.
            ("fio-text", Loss { rate: 0.011, latency: 0.011, step_ns: 1e6, rate_step: 1.0 }),
        ] {
            let format = FORMATS.iter().find(|format| format.name == name).expect("the test's own data");
            let text = format.write.expect("the test's own data")(&result, &utc()).expect("the test's own data");
            let found = runs(&text);
            compare(&found, &truth, &loss);
        }
    }

    #[test]
    fn text_and_json_of_one_run_say_the_same(result in result()) {
        let text = fio_text::write(&result, &utc());
        let json = formats::fio::json::write(&result, &utc());
        compare(&runs(&text), &runs(&json), &Loss { rate: 0.011, latency: 0.011, step_ns: 1e6, rate_step: 1.0 });
    }

    #[test]
    fn a_reading_of_a_result_is_the_result_again(result in result()) {
        let jobs = truth(&result);
        let run = ReadRun { jobs: jobs.clone(), ..ReadRun::default() };
        let again = truth(&result_as_reading::result(run));
        compare(&again, &jobs, &Loss { rate: 1e-6, latency: 1e-6, step_ns: 1.0, rate_step: 1e-6 });
    }
}

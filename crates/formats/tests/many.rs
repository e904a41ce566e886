//! Counts beyond 32 bits: merged, written in each format and read back without loss.

use formats::fio::{json as fio_json, terse as fio_terse, text as fio_text};
use formats::{View, native};
use measure::{Direction, Histogram, Moments, Nanos};
use model::{JobResult, LatencyStatistics, RunResult};

/// A number of I/Os, doubled from a few: more than 32 bits hold.
const DOUBLINGS: u32 = 34;
const LATENCIES: [u64; 4] = [90, 5_000, 5_000, 20_000_000_000];
const ALL: u64 = (LATENCIES.len() as u64) << DOUBLINGS;

fn latency() -> LatencyStatistics {
    let (mut moments, mut histogram) = (Moments::new(), Box::new(Histogram::new()));
    for value in LATENCIES {
        moments.record(Nanos(value));
        histogram.record(Nanos(value));
    }
    let mut all = LatencyStatistics { moments, histogram: Some(histogram) };
    for _ in 0..DOUBLINGS {
        let same = all.clone();
        all.merge(&same);
    }
    all
}

fn result() -> RunResult {
    let mut job = JobResult { workers: 1, runtime: Nanos::from_secs(86_400), ..JobResult::default() };
    job.echo.name = "many".to_owned();
    let found = &mut job.directions[Direction::Read];
    (found.ios, found.bytes, found.runtime) = (ALL, ALL * 4096, Nanos::from_secs(86_400));
    found.completion = Some(latency());
    found.total = found.completion.clone();
    LATENCIES.iter().for_each(|&value| job.latency_bins.record(Nanos(value), 1 << DOUBLINGS));
    job.depth.level[0] = ALL;
    RunResult { jobs: vec![job], ..RunResult::default() }
}

#[test]
fn merging_doubles_every_count_and_moves_no_percentile() {
    let latency = latency();
    let histogram = latency.histogram.unwrap();
    assert_eq!((histogram.total(), latency.moments.count()), (ALL, ALL));
    let found = histogram.percentiles(&[25.0, 50.0, 75.0, 99.9]).unwrap();
    assert_eq!(found[0], Nanos(90));
    assert!(found[1] == found[2] && found[3] > Nanos(19_000_000_000), "{found:?}");
    let mean = LATENCIES.iter().sum::<u64>() as f64 / 4.0;
    assert!((latency.moments.mean().unwrap() / mean - 1.0).abs() < 1e-9, "{:?}", latency.moments.mean());
}

#[test]
fn every_format_holds_counts_beyond_32_bits() {
    let result = result();
    let view = View::in_zone(jiff::tz::TimeZone::UTC);
    let text = native::write(&result).unwrap();
    assert_eq!(native::read(&text).unwrap(), result);
    let json = fio_json::write_with_bins(&result, &view);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let read = &value["jobs"][0]["read"];
    assert_eq!((read["total_ios"].as_u64(), read["clat_ns"]["N"].as_u64()), (Some(ALL), Some(ALL)));
    let bins = read["clat_ns"]["bins"].as_object().unwrap().values().filter_map(serde_json::Value::as_u64);
    assert_eq!(bins.sum::<u64>(), ALL);
    let again = fio_json::read(&json).unwrap();
    assert_eq!(again.jobs[0].directions[Direction::Read].completion.as_ref().unwrap().moments.count(), ALL);
    let terse = fio_terse::write(&result, fio::TerseVersion::V3);
    assert!(terse.contains(&format!(";{};", ALL * 4)), "KiB read: {terse}");
    let normal = fio_text::write(&result, &view);
    assert!(normal.contains(&format!("issued rwts: total={ALL},0,0,0")), "{normal}");
}

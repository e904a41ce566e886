//! From results to what is drawn: the numbers in the data are those of the result.

use measure::{Direction, Histogram, Moments, Nanos};
use model::reading::{IozoneHead, IozoneRow, IozoneUnit};
use model::{DeviceUsage, DirectionResult, Echo, JobResult, LatencyStatistics, RunResult};
use report::data::{Devices, Level, Quantity, Surface};

/// `users` workers that read 8 KiB for four seconds: 90 % of the reads took 90 µs, the rest 700 µs.
fn run(users: u32, ios: u64) -> RunResult {
    let mut latency = LatencyStatistics { moments: Moments::new(), histogram: Some(Box::new(Histogram::new())) };
    for (ns, count) in [(90_000, ios * 9 / 10), (700_000, ios / 10)] {
        latency.moments.record_many(Nanos(ns), count);
        latency.histogram.as_mut().expect("a test's own data").record_many(Nanos(ns), count);
    }
    let read = DirectionResult {
        bytes: ios * 8192,
        ios,
        runtime: Nanos::from_secs(4),
        total: Some(latency),
        ..DirectionResult::default()
    };
    let echo = Echo { iodepth: 1, engine: "psync".into(), ..Echo::default() };
    let mut job = JobResult { workers: users, echo, ..JobResult::default() };
    job.directions.read = read;
    let device = DeviceUsage {
        name: "sda".into(),
        ios: [ios / 2, 0],
        sectors: Some([ios * 8, 0]),
        ticks_ms: [ios / 20, 0],
        in_queue_ms: 8_000,
        busy_ms: 3_000,
        elapsed_ms: Some(4_000),
        ..DeviceUsage::default()
    };
    RunResult { jobs: vec![job], devices: vec![device], ..RunResult::default() }
}

fn level(result: &RunResult, direction: Direction) -> Option<Level> {
    Level::of(8.0, result, direction, &analysis::check(result))
}

#[test]
fn a_level_has_the_numbers_of_its_run() {
    // 151 µs on average: 8 users do 8 × 4 s ÷ 151 µs reads.
    let level = level(&run(8, 211_920), Direction::Read).unwrap();
    assert!((level.average_ns - 151_000.0).abs() < 1.0, "{level:?}");
    assert!((level.iops - 52_980.0).abs() < 1e-6 && (level.rate - 52_980.0 * 8192.0).abs() < 1e-3);
    assert!(level.at_work.is_none());
    let shares: Vec<(f64, f64, f64)> = level.bins.iter().map(|bin| (bin.from_ns, bin.to_ns, bin.share)).collect();
    assert_eq!(shares, [(5e4, 1e5, 0.9), (5e5, 1e6, 0.1)]);
    assert!((level.p99_ns.unwrap() / 7e5 - 1.0).abs() < 0.02 && level.max_ns == Some(7e5));
    assert_eq!(level.p9999_ns, None, "too few samples for a fact");
}

/// fio's own default: total latency has moments only, completion latency the histogram.
#[test]
fn a_run_with_completion_percentiles_only_has_its_shares() {
    let mut result = run(8, 211_920);
    let read = &mut result.jobs[0].directions.read;
    read.completion = read.total.clone();
    read.total.as_mut().expect("a test's own data").histogram = None;
    let level = level(&result, Direction::Read).unwrap();
    assert_eq!(level.bins.len(), 2);
    assert!((level.average_ns - 151_000.0).abs() < 1.0 && level.p99_ns.is_some());
}

#[test]
fn a_level_whose_users_were_idle_says_how_many_were_at_work() {
    let at_work = level(&run(8, 105_960), Direction::Read).unwrap().at_work.unwrap();
    assert!((at_work.busy - 4.0).abs() < 0.01 && at_work.asked == 8.0, "{at_work:?}");
}

#[test]
fn a_direction_that_did_not_move_has_no_level() {
    assert_eq!(level(&run(8, 1_000), Direction::Write), None);
    assert_eq!(level(&RunResult::default(), Direction::Read), None);
}

#[test]
fn devices_stand_next_to_the_program() {
    let table = Devices::of("x", &run(8, 40_000)).unwrap();
    let row = |quantity| table.rows.iter().find(|row| row.quantity == quantity).unwrap();
    assert_eq!((row(Quantity::Iops).program, row(Quantity::Iops).ratio), (Some(10_000.0), Some(0.5)));
    assert_eq!(row(Quantity::Rate).devices, [("sda".to_owned(), 10_000.0 * 4096.0)]);
    assert_eq!(row(Quantity::Queue).devices[0].1, 2.0);
    assert_eq!(row(Quantity::Utilisation).devices[0].1, 0.75);
    assert_eq!(row(Quantity::Latency).devices[0].1, 1e5);
    assert_eq!(table.sentences, ["read throughput: the devices moved only 50 % of what the program counted."]);
    assert_eq!(Devices::of("x", &RunResult::default()), None);
}

#[test]
fn a_surface_holds_each_test_of_iozone() {
    let row = |file: f64, record: f64, read: f64| IozoneRow {
        head: IozoneHead { unit: IozoneUnit::KibPerSecond, ..IozoneHead::default() },
        file_bytes: file * 1024.0,
        record_bytes: record * 1024.0,
        values: vec![("write", 1.0), ("read", read)],
        processor_percent: Vec::new(),
    };
    let rows = [row(64.0, 4.0, 1024.0), row(64.0, 8.0, 2048.0), row(128.0, 4.0, 512.0)];
    let surfaces = Surface::of("iozone", &rows.iter().collect::<Vec<_>>());
    assert_eq!(surfaces.iter().map(|(test, _)| *test).collect::<Vec<_>>(), ["write", "read"]);
    let read = &surfaces[1].1;
    assert_eq!(
        (read.files.clone(), read.records.clone()),
        (vec!["64 KiB".into(), "128 KiB".into()], vec!["4 KiB".into(), "8 KiB".to_owned()])
    );
    let mib = 1048576.0;
    assert_eq!(read.rates, [vec![Some(mib), Some(2.0 * mib)], vec![Some(0.5 * mib), None]]);
    assert!(
        read.sentences[0].contains("The highest is 2 MiB/s with records of 8 KiB in a file of 64 KiB"),
        "{:?}",
        read.sentences
    );
}

/// A rate, kept while a device stalled: the latencies show it in a few I/Os, the response time in a tenth of them.
#[test]
fn the_response_time_is_drawn_over_the_latency_and_tabulated() {
    let mut result = run(1, 20_000);
    let page_of = |result: &RunResult| {
        let text = formats::native::write(result).expect("a result can be written");
        let source = report::sources::Source::read("open.json", text.as_bytes()).expect("text in memory");
        report::sources::page(&[source], &crate::sentences::request())
    };
    let ids = |page: &report::page::Page| page.numbers.columns.iter().map(|column| column.id).collect::<Vec<_>>();
    let drawn = |page: &report::page::Page| {
        let cdf = page.pictures.iter().find(|picture| picture.chart.name == "cdf").expect("a distribution");
        let systems = cdf.data["systems"].as_array().expect("systems").clone();
        systems.iter().map(|one| one["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    let without = page_of(&result);
    assert!(!ids(&without).contains(&"response_p99_ms"));
    assert_eq!(drawn(&without).len(), 1);
    let mut response = LatencyStatistics { moments: Moments::new(), histogram: Some(Box::new(Histogram::new())) };
    for (ns, count) in [(100_000, 18_000), (900_000_000, 2_000)] {
        response.moments.record_many(Nanos(ns), count);
        response.histogram.as_mut().expect("a test's own data").record_many(Nanos(ns), count);
    }
    result.jobs[0].directions.read.response = Some(response);
    let with = page_of(&result);
    let at = |id: &str| with.numbers.columns.iter().position(|column| column.id == id).expect("a column");
    let value = |id: &str| with.numbers.rows[0][at(id)].as_f64().expect("a number");
    assert!(
        (value("response_p50_ms") / 0.1 - 1.0).abs() < 0.02 && (value("response_p99_ms") / 900.0 - 1.0).abs() < 0.02
    );
    let names = drawn(&with);
    assert_eq!((names.len(), &names[1]), (2, &format!("{}, response time", names[0])));
}

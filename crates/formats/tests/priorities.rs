//! Latencies per priority: what Debian's fio printed of one run as text and as JSON is the same, and none of it is
//! lost.

use formats::result_as_reading;
use formats::stream::{Event, Parser, parse};
use model::reading::{Content, PriorityTime, ReadPriority, Reading};

const PRINTED: &str = include_str!("golden/fio-3.33/priorities.txt");

/// Both reports of the run; the text does not count next to the JSON.
fn both() -> Vec<Reading> {
    let mut readings = Vec::new();
    let mut parser = Parser::new(|event| match event {
        Event::Reading(reading) => readings.push(reading),
        Event::Repeated(repeated) => readings.push(repeated.reading),
        Event::Damage(damage) => panic!("{damage:?}"),
    });
    parser.feed(PRINTED.as_bytes());
    parser.finish();
    readings
}

fn directions(readings: &[Reading], format: &str) -> Vec<Vec<ReadPriority>> {
    let reading = readings.iter().find(|reading| reading.format == format).expect("one of this format");
    match &reading.found {
        Content::Run(run) => run.jobs[0].directions.iter().map(|direction| direction.priorities.clone()).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn text_and_json_of_a_run_with_two_priorities_say_the_same() {
    let readings = both();
    let (text, json) = (directions(&readings, "fio-text"), directions(&readings, "fio-json"));
    assert_eq!((text.len(), json.len()), (2, 2));
    for (text, json) in text.iter().flatten().zip(json.iter().flatten()) {
        assert_eq!((text.class, text.level, text.time), (json.class, json.level, json.time));
        assert!((text.percent.unwrap() - json.percent.unwrap()).abs() < 0.005, "{text:?}");
        let (found, truth) = (&text.latency, &json.latency);
        assert_eq!((found.min_ns, found.percentiles.clone()), (truth.min_ns, truth.percentiles.clone()));
        // The text rounds the longest to a hundred ns (`3995.9k`), the mean to a hundredth.
        assert!((found.max_ns.unwrap() - truth.max_ns.unwrap()).abs() <= 50.0, "{text:?}");
        assert!((found.mean_ns.unwrap() - truth.mean_ns.unwrap()).abs() <= 0.005, "{text:?}");
    }
}

#[test]
fn the_priorities_stand_next_to_the_percentiles_of_all() {
    let readings = both();
    let first = &directions(&readings, "fio-text")[0];
    let shown: Vec<_> = first.iter().map(|of| (of.class, of.level, of.hint, of.percent)).collect();
    assert_eq!(shown, [(0.0, 0.0, None, Some(41.38)), (2.0, 3.0, None, Some(58.62))]);
    assert_eq!(first[1].latency.percentiles[0], (1.0, 1192.0));
    let Content::Run(run) = &readings.iter().find(|reading| reading.format == "fio-text").unwrap().found else {
        panic!("no run");
    };
    let all = run.jobs[0].directions[0].completion.as_ref().unwrap();
    assert_eq!(all.percentiles.len(), 17, "a priority's percentiles are not added to those of all");
}

#[test]
fn hint_and_total_times_are_read_a_bad_priority_is_named() {
    let lines = |word: &str| {
        format!(
            "  read: IOPS=1, BW=1KiB/s (1kB/s)(1KiB/1msec)\n    {word} prio 1/0/4 (usec): min=1, max=9, avg=2.00, stdev=1.00\n    \
             {word} prio 1/0/4 (50.00% of IOs) percentiles (usec):\n     |  1.00th=[    1], 99.00th=[    9]\n"
        )
    };
    let (readings, damages) = parse(lines("lat").as_bytes());
    assert!(damages.is_empty(), "{damages:?}");
    let found = &directions(&readings, "fio-text")[0][0];
    assert_eq!((found.time, found.hint, found.latency.max_ns), (PriorityTime::Total, Some(4.0), Some(9000.0)));
    assert_eq!(found.latency.percentiles, [(1.0, 1000.0), (99.0, 9000.0)]);
    let (_, damages) = parse(lines("clat").replace("max=9", "max=x").as_bytes());
    assert_eq!(damages.len(), 1, "{damages:?}");
}

#[test]
fn a_result_rebuilt_from_a_report_has_them_again() {
    let readings = both();
    for reading in &readings {
        let Content::Run(run) = &reading.found else { panic!("{reading:?}") };
        let again = result_as_reading::reading(&result_as_reading::result((**run).clone()), reading.format, 1);
        let (first, second) = (directions(&readings, reading.format), directions(&[again], reading.format));
        for (before, after) in first.iter().flatten().zip(second.iter().flatten()) {
            assert_eq!((before.class, before.level), (after.class, after.level));
            assert!((before.percent.unwrap() - after.percent.unwrap()).abs() < 0.01, "{before:?} {after:?}");
            assert!((before.latency.mean_ns.unwrap() - after.latency.mean_ns.unwrap()).abs() < 1.0, "{after:?}");
        }
        assert_eq!(first.iter().map(Vec::len).collect::<Vec<_>>(), second.iter().map(Vec::len).collect::<Vec<_>>());
    }
}

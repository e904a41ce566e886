//! The key `plumb` at the end of fio's JSON: results that fio does not have, in the schema of plumb's result files.
//!
//! Normally only the remarks, what limited the run and what the engine says of the kernel: the samples grow with time
//! and workers. Each member and each interval is printed on one line, so that line-based tools can read it too.

use super::write::Detail;
use crate::tree::Tree;
use measure::{Direction, PerDirection};
use model::{
    Calibration, DirectionResult, JobResult, Lasting, LatencyStatistics, Layers, LimitedBy, LowestTraffic, Monitored,
    Note, Origin, Phase, RunResult, SCHEMA, UntilRegime,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub(super) const KEY: &str = "plumb";

/// Returns `document` (which ends with `\n}`) with the key added; unchanged if plumb did not measure the result.
pub(super) fn appended(document: String, result: &RunResult, rows: &[JobResult], detail: Detail) -> String {
    let Some(monitored) = &result.monitored else { return document };
    let Some(open) = document.strip_suffix("\n}") else { return document };
    // All map keys here are strings, so serialization cannot fail; a float that JSON cannot represent becomes null.
    let value = |value: serde_json::Result<Value>| value.unwrap_or(Value::Null);
    let in_full = detail == Detail::Everything;
    let has_response = |row: &JobResult| row.directions.iter().any(|(_, found)| found.response.is_some());
    let jobs = rows.iter().filter(|_| rows.iter().any(has_response)).map(|row| open_loop(row, detail));
    let calibrations: Vec<_> = rows.iter().map(|row| &row.calibration).collect();
    let members = [
        ("schema", json!(SCHEMA)),
        ("limited_by", value(serde_json::to_value(&result.limited_by))),
        ("until_regime", value(serde_json::to_value(&result.until_regime))),
        ("layers", value(serde_json::to_value(&result.layers))),
        ("lasting", value(serde_json::to_value(&result.lasting))),
        ("phases", value(serde_json::to_value(&result.phases))),
        ("notes", value(serde_json::to_value(&result.notes))),
        ("warnings", json!(result.warnings)),
        ("engine_notes", json!(result.environment.engine_notes)),
        ("jobs", jobs.collect()),
        ("calibration", value(serde_json::to_value(calibrations))),
        ("lowest_traffic", value(serde_json::to_value(result.lowest_traffic.as_ref().filter(|_| in_full)))),
    ];
    let is_nothing = |value: &Value| value.as_array().map_or(value.is_null(), |list| list.iter().all(Value::is_null));
    let stated = members.iter().filter(|(_, value)| !is_nothing(value));
    let mut lines: Vec<String> = stated.map(|(key, value)| format!("    \"{key}\" : {value}")).collect();
    if in_full {
        lines.push(format!("    \"monitored\" : {}", monitored_lines(value(serde_json::to_value(monitored)))));
    }
    format!("{open},\n  \"{KEY}\" : {{\n{}\n  }}\n}}", lines.join(",\n"))
}

/// Returns `document` with this value under the key.
pub(super) fn with_member(document: String, value: Option<&Value>) -> String {
    match (document.strip_suffix("\n}"), value) {
        (Some(open), Some(value)) => format!("{open},\n  \"{KEY}\" : {value}\n}}"),
        _ => document,
    }
}

/// Response times of a row: an object for each direction with a rate.
fn open_loop(row: &JobResult, detail: Detail) -> Value {
    let timed = |latency: &Option<LatencyStatistics>| {
        let Some(latency) = latency else { return Value::Null };
        let percents = &row.style.percentiles;
        let found = latency.histogram.as_ref().and_then(|histogram| histogram.percentiles(percents));
        let named = percents.iter().zip(found.unwrap_or_default());
        let named: Map<String, Value> =
            named.map(|(percent, found)| (format!("{percent:.6}"), json!(found.get()))).collect();
        let kept = LatencyStatistics { histogram: None, moments: latency.moments };
        let mut value = serde_json::to_value(if detail == Detail::Percentiles { &kept } else { latency });
        if let Ok(Value::Object(members)) = &mut value {
            members.insert("percentile_ns".to_owned(), Value::Object(named));
        }
        value.unwrap_or(Value::Null)
    };
    let object = |found: &DirectionResult| json!({"response": timed(&found.response), "lateness": timed(&found.lateness), "sent_late": found.sent_late});
    let open = row.directions.iter().filter(|(_, found)| found.response.is_some());
    let open = open.map(|(direction, found)| (direction.word().to_owned(), object(found)));
    Value::Object([("jobname".to_owned(), json!(row.echo.name))].into_iter().chain(open).collect())
}

fn monitored_lines(monitored: Value) -> String {
    let members = monitored.as_object().into_iter().flatten().map(|(key, value)| match value.as_array() {
        Some(rows) if !rows.is_empty() => {
            let rows: Vec<String> = rows.iter().map(|row| format!("        {row}")).collect();
            format!("      \"{key}\" : [\n{}\n      ]", rows.join(",\n"))
        }
        _ => format!("      \"{key}\" : {value}"),
    });
    format!("{{\n{}\n    }}", members.collect::<Vec<_>>().join(",\n"))
}

/// Response times of a direction.
#[derive(Deserialize)]
struct OpenLoop {
    response: Option<LatencyStatistics>,
    lateness: Option<LatencyStatistics>,
    sent_late: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Own {
    schema: u32,
    jobs: Vec<PerDirection<Option<OpenLoop>>>,
    calibration: Vec<Option<Box<Calibration>>>,
    limited_by: Option<LimitedBy>,
    until_regime: Option<UntilRegime>,
    layers: Option<Box<Layers>>,
    lasting: Option<Lasting>,
    phases: Vec<Phase>,
    notes: Vec<Note>,
    warnings: Vec<String>,
    engine_notes: Vec<String>,
    lowest_traffic: Option<LowestTraffic>,
    monitored: Option<Monitored>,
}

/// Reads the key into `result`. A section with another schema or an error is ignored: the rest is fio's and valid.
pub(super) fn read_into(root: &Tree<'_>, result: &mut RunResult) {
    // By its text: a second reader of all these fields, one for trees, would make the program larger.
    let own = root.get(KEY).and_then(|own| serde_json::from_str(&serde_json::to_string(own).ok()?).ok());
    let own = own.filter(|own: &Own| own.schema == SCHEMA);
    if let Some(own) = own {
        for (job, open) in result.jobs.iter_mut().zip(own.jobs) {
            for direction in Direction::ALL {
                let Some(OpenLoop { response, lateness, sent_late }) = &open[direction] else { continue };
                let found = &mut job.directions[direction];
                (found.response, found.lateness) = (response.clone(), lateness.clone());
                found.sent_late = *sent_late;
            }
        }
        for (job, calibration) in result.jobs.iter_mut().zip(own.calibration) {
            job.calibration = calibration;
        }
        if let (None, Origin::Report(printed)) = (&own.monitored, &mut result.origin) {
            result.origin = Origin::JudgedReport(std::mem::take(printed));
        }
        result.limited_by = own.limited_by;
        result.until_regime = own.until_regime;
        result.layers = own.layers;
        result.lasting = own.lasting;
        result.phases = own.phases;
        result.notes = own.notes;
        result.warnings = own.warnings;
        result.environment.engine_notes = own.engine_notes;
        result.lowest_traffic = own.lowest_traffic;
        result.monitored = own.monitored;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::View;
    use crate::fio::json as fio_json;
    use measure::Nanos;
    use model::{
        DeviceFacts, DeviceGain, Environment, GroupLimit, Interval, IoGroup, JobResult, Limiter, Named, SomeIos,
    };

    fn monitored() -> RunResult {
        let interval = |n: u64| Interval {
            until: Nanos::from_secs(n),
            ios: [n, 0, 0],
            devices: vec![DeviceGain { busy_ms: n, ..DeviceGain::default() }],
            ..Interval::default()
        };
        RunResult {
            jobs: vec![JobResult::default()],
            monitored: Some(Monitored {
                devices: vec![DeviceFacts { name: "a\"b".into(), leaf: true, ..DeviceFacts::default() }],
                intervals: vec![interval(1), interval(2)],
                ..Monitored::default()
            }),
            limited_by: Some(LimitedBy {
                limiter: Limiter::Device,
                share_percent: 97.5,
                sentence: "busy".into(),
                evidence: vec![("busy_percent".into(), 97.5)],
            }),
            lowest_traffic: Some(LowestTraffic { disks: vec!["sda".into()], read_bytes: 1, written_bytes: 2 }),
            environment: Environment { engine_notes: vec!["ring".into()], ..Environment::default() },
            ..RunResult::default()
        }
    }

    fn view() -> View {
        View::in_zone(jiff::tz::TimeZone::UTC)
    }

    #[test]
    fn what_is_written_under_our_key_is_read_back() {
        let result = monitored();
        let read = fio_json::read(&fio_json::write_in_full(&result, &view())).unwrap();
        assert_eq!((&read.monitored, &read.limited_by), (&result.monitored, &result.limited_by));
        assert_eq!(read.lowest_traffic, result.lowest_traffic);
        assert_eq!(read.environment.engine_notes, ["ring"]);
        for write in [fio_json::write, fio_json::write_with_bins] {
            let read = fio_json::read(&write(&result, &view())).unwrap();
            assert_eq!((read.monitored, read.lowest_traffic), (None, None), "the samples are left out");
            assert_eq!(read.limited_by, result.limited_by);
            assert_eq!(read.environment.engine_notes, ["ring"]);
        }
    }

    #[test]
    fn where_the_time_went_is_under_our_key_and_read_back() {
        let mut result = monitored();
        let parts = Named(vec![("tags".to_owned(), Nanos(3)), ("device".to_owned(), Nanos(5))]);
        let around = SomeIos { count: 2, time: Nanos(8), parts, ..SomeIos::default() };
        let group = IoGroup {
            direction: "read".into(),
            times: Named(vec![("p50".to_owned(), Some(Nanos(4))), ("p99".to_owned(), None)]),
            around: Named(vec![("p50".to_owned(), around)]),
            ..IoGroup::default()
        };
        let limit = GroupLimit { group: "/a".into(), reads_per_second: Some(7), ..GroupLimit::default() };
        let layers = Layers { ios: 2, groups: vec![group], limits: vec![limit], ..Layers::default() };
        result.layers = Some(Box::new(layers));
        for write in [fio_json::write, fio_json::write_with_bins, fio_json::write_in_full] {
            let read = fio_json::read(&write(&result, &view())).unwrap();
            assert_eq!(read.layers, result.layers);
        }
    }

    #[test]
    fn the_share_of_the_tool_is_under_our_key_and_read_back() {
        let mut result = monitored();
        let tool = Calibration { total_ns: Some([400, 900]), reap_ns: Some(1.5), ..Calibration::default() };
        result.jobs = vec![JobResult::default(), JobResult::default()];
        result.jobs[1].calibration = Some(Box::new(tool.clone()));
        for write in [fio_json::write, fio_json::write_with_bins, fio_json::write_in_full] {
            let read = fio_json::read(&write(&result, &view())).unwrap();
            let found: Vec<_> = read.jobs.iter().map(|job| job.calibration.as_deref()).collect();
            assert_eq!(found, [None, Some(&tool)]);
        }
    }

    #[test]
    fn response_times_are_under_our_key_for_each_job_and_read_back() {
        let mut result = monitored();
        let mut latency = LatencyStatistics { histogram: Some(Box::default()), ..LatencyStatistics::default() };
        for micros in 1..=100 {
            latency.moments.record(Nanos::from_micros(micros));
            latency.histogram.as_mut().unwrap().record(Nanos::from_micros(micros));
        }
        let mut open = JobResult::default();
        open.directions.write = DirectionResult {
            ios: 100,
            response: Some(latency.clone()),
            lateness: Some(latency),
            sent_late: Some(3),
            ..DirectionResult::default()
        };
        result.jobs.push(open);
        for (write, keeps_bins) in [
            (fio_json::write as fn(&_, &_) -> _, false),
            (fio_json::write_with_bins, true),
            (fio_json::write_in_full, true),
        ] {
            let text: String = write(&result, &view());
            let json: Value = serde_json::from_str(&text).unwrap();
            let jobs = &json[KEY]["jobs"];
            assert_eq!(jobs[0].as_object().unwrap().len(), 1, "a job without a rate has its name only");
            let p99 = jobs[1]["write"]["response"]["percentile_ns"]["99.000000"].as_u64().unwrap();
            assert!(p99.abs_diff(99_000) < 1_000, "{p99}");
            let read = fio_json::read(&text).unwrap();
            let (found, expected) = (&read.jobs[1].directions.write, &result.jobs[1].directions.write);
            assert_eq!((found.sent_late, &read.jobs[0].directions.read.response), (Some(3), &None));
            assert_eq!(found.response.as_ref().unwrap().moments, expected.response.as_ref().unwrap().moments);
            assert_eq!(found.response.as_ref().unwrap().histogram.is_some(), keeps_bins);
        }
    }

    #[test]
    fn the_rest_of_the_document_is_as_without_it() {
        let mut result = monitored();
        let with = fio_json::write(&result, &view());
        result.monitored = None;
        let without = fio_json::write(&result, &view());
        assert!(!without.contains("\"plumb\" :"));
        let (mut with, without): (Value, Value) =
            (serde_json::from_str(&with).unwrap(), serde_json::from_str(&without).unwrap());
        assert_eq!(with.as_object().unwrap().keys().next_back().map(String::as_str), Some(KEY));
        with.as_object_mut().unwrap().shift_remove(KEY);
        assert_eq!(with, without);
    }

    #[test]
    fn a_faulty_key_spoils_nothing() {
        for own in ["5", "{\"schema\":99}", "{\"schema\":1,\"monitored\":[]}"] {
            let text = format!("{{\"fio version\":\"x\",\"jobs\":[],\"plumb\":{own}}}");
            assert_eq!(fio_json::read(&text).unwrap().monitored, None, "{own}");
        }
    }
}

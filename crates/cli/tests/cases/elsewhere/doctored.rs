//! Genuine reports of fio in which one number is changed to what no run can print.

use super::said_of;
use crate::context::{place, plumb};
use serde_json::{Map, Value, json};
use std::path::Path;

/// A kept report, the change, and what `plumb check` says of it then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doctored {
    pub(super) name: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
    check: &'static str,
    says: &'static str,
}

const fn case(name: &'static str, file: &'static str, [from, to]: [&'static str; 2], says: &'static str) -> Doctored {
    Doctored { name, file, from, to, check: "contradiction", says }
}

const JSON: &str = "fio-3.41.json";
const BINS: &str = "fio-3.41-bins.json";
const TEXT: &str = "fio-3.41.txt";
const OLDER_TEXT: &str = "fio-3.33-libaio.txt";
const LINE: &str = "fio-3.25.terse";
const FLUSHED: &str = "fio-3.33-fdatasync.txt";

/// Each is found, and the report without the change is not called false.
#[rustfmt::skip]
pub(super) const DOCTORED: &[Doctored] = &[
    case("a percentile below the one before", JSON, ["\"90.000000\" : 113152", "\"90.000000\" : 13152"],
        "p90 of clat, 13.2 µs, is below p80, 108 µs"),
    case("a percentile beyond the longest", JSON, ["\"99.990000\" : 12517376", "\"99.990000\" : 22517376"],
        "p99.99 of clat, 22.5 ms, is beyond the longest, 17.2 ms"),
    case("a percentile below the shortest", BINS, ["\"1.000000\" : 38144", "\"1.000000\" : 3814"],
        "p1 of clat, 3.81 µs, is below the shortest, 37.1 µs"),
    case("a mean above the longest", JSON, ["\"mean\" : 222190.316823", "\"mean\" : 22219031.6"],
        "the mean lat of 22.2 ms is above the longest of 17.2 ms"),
    case("a mean below the shortest", JSON, ["\"mean\" : 222190.316823", "\"mean\" : 2221.9"],
        "the mean lat of 2.22 µs is below the shortest of 17.5 µs"),
    case("a shortest above the longest", JSON, ["\"min\" : 17506,", "\"min\" : 17506000,"],
        "the shortest lat of 17.5 ms is longer than the longest of 17.2 ms"),
    case("submission and completion beyond the total", JSON, ["\"mean\" : 8181.560576", "\"mean\" : 98181.5"],
        "submission and completion take 312 µs, both together 222 µs"),
    case("latencies of fewer I/Os than were done", JSON, ["855359.613103,\n          \"N\" : 216051", "855359.613103,\n          \"N\" : 116051"],
        "216,051 I/Os were done, and lat is of 116,051"),
    case("more I/Os than the latencies are of", JSON, ["\"total_ios\" : 216051", "\"total_ios\" : 232110"],
        "232,110 I/Os were done"),
    case("bins of other I/Os", BINS, ["\"37120\" : 14", "\"37120\" : 14000"],
        "clat has 10,742 I/Os, and 24,728 in its bins"),
    case("latencies of 250 %", JSON, ["\"50\" : 40.873220", "\"50\" : 190.873220"],
        "the shares of the latencies add up to 250 %"),
    case("latencies of 59 %", JSON, ["\"50\" : 40.873220", "\"50\" : 0.0"],
        "the shares of the latencies add up to 59 %"),
    case("submissions of 200 %", JSON, ["\"4\" : 100.000000", "\"4\" : 200.000000"],
        "the sizes of submissions add up to 200 %"),
    case("depths of 10 %", JSON, ["\"8\" : 99.996760", "\"8\" : 9.996760"],
        "the shares of the depths add up to 10 %"),
    case("a negative number of I/Os", JSON, ["\"total_ios\" : 216051", "\"total_ios\" : -216051"],
        "is negative: -216051"),
    case("a negative latency", JSON, ["\"min\" : 631", "\"min\" : -631"], "clat min is negative: -631"),
    case("a negative number of a disk", JSON, ["\"read_ticks\" : 22338", "\"read_ticks\" : -22338"],
        "disk loop1: ticks is negative: -22338"),
    case("more bytes than the blocks hold", JSON, ["\"io_bytes\" : 884944896", "\"io_bytes\" : 1769889792"],
        "are not 1,769,889,792 B"),
    case("another bandwidth", JSON, ["\"bw_bytes\" : 147294423", "\"bw_bytes\" : 294588846"],
        "io = bw × runtime does not hold"),
    Doctored { name: "a disk that saw a tenth of the bytes", file: JSON, from: "\"read_sectors\" : 1700296", to: "\"read_sectors\" : 170029",
        check: "cache", says: "90 % of the reads were answered by memory" },
    case("a disk that saw a tenth of the requests", "fio-3.33.json", ["\"read_ios\" : 188314", "\"read_ios\" : 18831"],
        "188,617 direct reads were done, and the disks completed 18,831"),
    Doctored { name: "an engine that drops its I/Os", file: JSON, from: "\"libaio\"", to: "\"null\"",
        check: "nothing moved", says: "engine `null` drops every I/O" },
    Doctored { name: "latencies of more users than there were", file: JSON, from: "\"mean\" : 222190.316823", to: "\"mean\" : 444380.6",
        check: "busy users", says: "rate and latency contradict each other" },
    case("text: a percentile below the one before", TEXT, ["90.00th=[  127]", "90.00th=[   27]"],
        "p90 of clat, 27 µs, is below p80, 113 µs"),
    case("text: a percentile beyond the longest", TEXT, ["99.99th=[12911]", "99.99th=[22911]"],
        "p99.99 of clat, 22.9 ms, is beyond the longest, 13 ms"),
    case("text: a mean above the longest", TEXT, ["avg=212.67", "avg=21267.00"],
        "the mean lat of 21.3 ms is above the longest of 13 ms"),
    case("text: submission beyond the total", TEXT, ["avg=10.03", "avg=210.03"],
        "submission and completion take 413 µs, both together 213 µs"),
    case("text: latencies of 200 %", TEXT, ["100=55.80%", "100=155.80%"],
        "the shares of the latencies add up to 200 %"),
    case("text: a group that moved more than its job", TEXT, ["io=147MiB", "io=1470MiB"],
        "group 0, read: it moved 1,541,406,720 B, and its jobs 154,140,672 B"),
    case("text: other I/Os issued", TEXT, ["total=37559,", "total=75118,"], "issued = iops × runtime does not hold"),
    case("text: a flush beyond its longest", FLUSHED, ["99.99th=[ 8455]", "99.99th=[98455]"],
        "p99.99 of sync, 98.5 ms, is beyond the longest, 8.44 ms"),
    case("text: a mean that the percentiles exclude", TEXT, ["avg=202.63", "avg=82.63"],
        "the mean clat is 82.6 µs, and by its percentiles at least"),
    case("text: a disk that saw a tenth of the requests", OLDER_TEXT, ["ios=398218/", "ios=39821/"],
        "405,165 reads were done, and the disks completed 39,821 requests"),
    case("text: a disk that was idle", OLDER_TEXT,
        ["ios=398218/1, merge=0/0, ticks=32043/1, in_queue=32043, util=80.09%", "ios=0/0, merge=0/0, ticks=0/0, in_queue=0, util=0.00%"],
        "405,165 reads were done, and the disks completed 0 requests"),
    case("text: an idle disk with requests", OLDER_TEXT, ["util=80.09%", "util=0.00%"],
        "disk vda: it did 398,219 requests in 32 s of time, and was idle"),
    case("text: a depth that was never reached", OLDER_TEXT,
        ["1=0.1%, 2=0.1%, 4=0.1%, 8=100.0%", "1=100.0%, 2=0.1%, 4=0.1%, 8=0.0%"],
        "7.67 I/Os were in flight, and by the depths there were at most 1"),
    case("a depth that was never reached", JSON,
        ["\"1\" : 0.100000,\n        \"2\" : 0.100000,\n        \"4\" : 0.100000,\n        \"8\" : 99.996760", "\"1\" : 100.0,\n        \"2\" : 0.1,\n        \"4\" : 0.0,\n        \"8\" : 0.0"],
        "I/Os were in flight, and by the depths there were at most 1"),
    case("terse: a percentile below the one before", LINE, ["90.000000%=129", "90.000000%=29"],
        "p90 of clat, 29 µs, is below p80, 111 µs"),
    case("terse: a mean above the longest", LINE, ["119.946770", "119946.770"],
        "the mean lat of 120 ms is above the longest of 8.37 ms"),
    case("terse: latencies of 194 %", LINE, ["43.45%;55.06%", "93.45%;99.06%"],
        "the shares of the latencies add up to 194 %"),
];

impl Doctored {
    /// Checks that the change is found, and that nothing is found without it.
    pub(super) fn is_found(&self) -> Result<(), String> {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join(super::KEPT).join(self.file);
        let text = std::fs::read_to_string(&kept).expect("readable");
        let places = text.matches(self.from).count();
        if places == 0 {
            return Err(format!("{} does not have {}", kept.display(), self.from));
        }
        let id = format!(": {}: ", self.check);
        let genuine = said_of(&kept);
        if genuine.contains(&id) {
            return Err(format!("without the change: {genuine}"));
        }
        let place = place();
        place.write("report", text.replacen(self.from, self.to, 1));
        let ended = plumb(&place, "check --strict report").end();
        let is_line =
            |line: &str| line.contains(&id) && line.contains(self.says) && line.ends_with("[NOT A STORAGE RESULT]");
        match ended.stdout.lines().any(is_line) && ended.status == Some(4) {
            true => Ok(()),
            false => Err(ended.to_string()),
        }
    }
}

/// A document of fio 3 in the form of fio 2: latencies in microseconds, sizes in KiB, without options, counts of
/// latencies and sectors of disks.
pub(super) fn as_of_fio_2(text: &str) -> String {
    const NOT_YET: [&str; 12] = [
        "job options",
        "job_start",
        "job_runtime",
        "sync",
        "iodepth_submit",
        "iodepth_complete",
        "latency_ns",
        "io_kbytes",
        "bw_bytes",
        "iops_samples",
        "bw_samples",
        "N",
    ];
    fn older(value: &Value) -> Value {
        match value {
            Value::Object(object) => {
                let known =
                    object.iter().filter(|(key, _)| !NOT_YET.contains(&key.as_str()) && !key.ends_with("_sectors"));
                Value::Object(known.map(|(key, value)| member(key, value)).collect::<Map<_, _>>())
            }
            Value::Array(values) => Value::Array(values.iter().map(older).collect()),
            other => other.clone(),
        }
    }
    fn member(key: &str, value: &Value) -> (String, Value) {
        match key {
            "io_bytes" => (key.to_owned(), json!(value.as_u64().unwrap_or(0) / 1024)),
            "fio version" => (key.to_owned(), json!("fio-2.2.10")),
            "slat_ns" | "clat_ns" | "lat_ns" => {
                (key.trim_end_matches("_ns").to_owned(), in_microseconds(&older(value)))
            }
            _ => (key.to_owned(), older(value)),
        }
    }
    fn in_microseconds(value: &Value) -> Value {
        let Value::Object(object) = value else {
            return value.as_f64().map_or(Value::Null, |ns| json!((ns / 1e3).floor()));
        };
        let scaled = object.iter().map(|(key, value)| match key.as_str() {
            "mean" | "stddev" => (key.clone(), json!(value.as_f64().unwrap_or(0.0) / 1e3)),
            _ => (key.clone(), in_microseconds(value)),
        });
        Value::Object(scaled.filter(|(key, _)| key != "bins").collect())
    }
    let document = text.find("{\n").map_or(text, |start| &text[start..]);
    let value: Value = serde_json::from_str(document).expect("one document");
    let mut old = older(&value);
    if let Some(root) = old.as_object_mut() {
        root.remove("global options");
    }
    format!("{old:#}\n")
}

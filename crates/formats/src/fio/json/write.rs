//! RunResult → fio's JSON.

use super::steer;
use crate::fio::group::{Divisor, Group, RowPart, each_once, percent_of_group, shown};
use crate::fio::text::{mean_of, version_line};
use crate::fio::{group, percent_rows};
use crate::{View, local_time};
use measure::Histogram;
use model::{
    DeviceUsage, DirectionResult, JobResult, LatencyStatistics, PriorityLatency, ReportStyle, RunResult, Unified,
};
use serde_json::{Map, Value, json};

/// The ETA that fio prints while the remaining time is unknown: the largest signed 32-bit number.
pub(super) const UNKNOWN_ETA_S: u64 = 2_147_483_647;

/// The document of `--output-format=json`, with a trailing newline.
pub fn write(result: &RunResult, view: &View) -> String {
    document(result, view, Detail::Percentiles)
}

/// The document of `--output-format=json+`: latency bins in addition to the percentiles.
pub fn write_with_bins(result: &RunResult, view: &View) -> String {
    document(result, view, Detail::Bins)
}

/// The document of `--output-format=json-full`: latency bins, and everything that only plumb measures.
pub fn write_in_full(result: &RunResult, view: &View) -> String {
    document(result, view, Detail::Everything)
}

/// Detail in which a result is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// fio's numbers, and plumb's remarks.
    Percentiles,
    /// The histograms of latencies as well.
    Bins,
    /// The samples of the run as well.
    Everything,
}

fn document(result: &RunResult, view: &View, detail: Detail) -> String {
    let rows = group::printed_rows(result);
    let groups = group::of_rows(&rows);
    let mut root = Map::new();
    root.insert("fio version".into(), json!(version_line(&result.environment.program)));
    root.insert("timestamp".into(), json!(result.ended_unix_ms / 1000));
    root.insert("timestamp_ms".into(), json!(result.ended_unix_ms));
    root.insert("time".into(), json!(local_time::spelled(result.ended_unix_ms, &view.zone)));
    if !result.global_options.is_empty() {
        root.insert("global options".into(), options(&result.global_options));
    }
    root.insert("jobs".into(), rows.iter().map(|row| job(row, &groups, detail)).collect());
    if !result.devices.is_empty() {
        root.insert("disk_util".into(), Value::Array(disk_entries(&result.devices)));
    }
    steer::put_idleness(&mut root, result);
    super::own::appended(spelled(&Value::Object(root)), result, &rows, detail) + "\n"
}

pub(super) fn options(pairs: &[(String, String)]) -> Value {
    Value::Object(pairs.iter().map(|(name, value)| (name.clone(), json!(value))).collect())
}

pub(super) fn job(row: &JobResult, groups: &[Group], detail: Detail) -> Value {
    let mut job = Map::new();
    let mut put = |key: &str, value: Value| {
        job.insert(key.to_owned(), value);
    };
    put("jobname", json!(row.echo.name));
    put("groupid", json!(row.echo.group));
    if row.started_unix_ms > 0 {
        put("job_start", json!(row.started_unix_ms));
    }
    put("error", json!(row.errno()));
    put("eta", json!(row.remaining_s.unwrap_or(UNKNOWN_ETA_S)));
    put("elapsed", json!(row.elapsed_s));
    if !row.echo.options.is_empty() {
        put("job options", options(&row.echo.options));
    }
    for (kind, found) in shown(row) {
        // With `unified_rw_reporting=both`, the sum of the directions is after the syncs; `mixed` has it alone.
        if kind == RowPart::Mixed && row.style.unified == Unified::Both {
            put("sync", sync_object(row, detail));
        }
        let share = percent_of_group(row, kind, &found, groups, Divisor::Exact);
        put(kind.word(), direction_object(&found, &row.style, share, detail));
    }
    if row.style.unified == Unified::None {
        put("sync", sync_object(row, detail));
    }
    let (user, system) = crate::fio::text::cpu_percent(row);
    put("job_runtime", json!(row.runtime.get() / 1_000_000));
    put("usr_cpu", json!(user));
    put("sys_cpu", json!(system));
    put("ctx", json!(row.cpu.switches));
    put("majf", json!(row.cpu.major_faults));
    put("minf", json!(row.cpu.minor_faults));
    put("iodepth_level", named(&percent_rows::LEVEL_NAMES, &percent_rows::level(row)));
    put("iodepth_submit", named(&percent_rows::BATCH_NAMES, &percent_rows::submit(&row.depth)));
    put("iodepth_complete", named(&percent_rows::BATCH_NAMES, &percent_rows::complete(&row.depth)));
    let (ns, us, ms) = percent_rows::latency(row);
    put("latency_ns", named(&percent_rows::LATENCY_NAMES, &ns));
    put("latency_us", named(&percent_rows::LATENCY_NAMES, &us));
    put("latency_ms", named(&percent_rows::LATENCY_NAMES, &ms));
    if row.style.shows_errors {
        put("total_err", json!(row.forgiven_errors));
        put("first_error", json!(row.first_forgiven_errno));
    }
    steer::put_goal(&mut job, row);
    if let Some(description) = &row.echo.description {
        job.insert("desc".to_owned(), json!(description));
    }
    super::steer::put_blocks(&mut job, row);
    steer::put_steady(&mut job, row);
    steer::put_zone_resets(&mut job, row);
    Value::Object(job)
}

fn sync_object(row: &JobResult, detail: Detail) -> Value {
    let wanted = row.style.completion_percentiles || row.style.total_percentiles;
    let latency = latency_object(Some(&row.sync.latency), wanted.then_some(&row.style.percentiles), detail);
    json!({ "total_ios": row.sync.count, "lat_ns": latency })
}

fn named(names: &[&str], shares: &[f64]) -> Value {
    Value::Object(names.iter().zip(shares).map(|(&name, &share)| (name.to_owned(), json!(share))).collect())
}

fn direction_object(found: &DirectionResult, style: &ReportStyle, percent_of_group: f64, detail: Detail) -> Value {
    let bytes_per_second = found.bytes_per_second().unwrap_or(0);
    let (bandwidth, iops) = (&found.bandwidth_samples, &found.iops_samples);
    let latency = |statistics: &Option<LatencyStatistics>, wanted: bool| {
        latency_object(statistics.as_ref(), wanted.then_some(&style.percentiles), detail)
    };
    let mut object = json!({
        "io_bytes": found.bytes,
        "io_kbytes": found.bytes >> 10,
        "bw_bytes": bytes_per_second,
        "bw": bytes_per_second >> 10,
        "iops": found.iops().unwrap_or(0.0),
        "runtime": found.runtime.as_millis_ceil(),
        "total_ios": found.ios,
        "short_ios": found.short_ios,
        "drop_ios": found.dropped_ios,
        "slat_ns": latency(&found.submission, style.submission_percentiles),
        "clat_ns": latency(&found.completion, style.completion_percentiles),
        "lat_ns": latency(&found.total, style.total_percentiles),
        "prios": priorities(found, style, detail),
        "bw_min": bandwidth.minimum,
        "bw_max": bandwidth.maximum,
        "bw_agg": percent_of_group,
        "bw_mean": bandwidth.mean,
        "bw_dev": bandwidth.deviation(),
        "bw_samples": bandwidth.count,
        "iops_min": iops.minimum,
        "iops_max": iops.maximum,
        "iops_mean": iops.mean,
        "iops_stddev": iops.deviation(),
        "iops_samples": iops.count,
    });
    // fio omits the key if all I/Os had the same priority.
    if found.priorities.len() < 2
        && let Some(object) = object.as_object_mut()
    {
        object.shift_remove("prios");
    }
    object
}

fn priorities(found: &DirectionResult, style: &ReportStyle, detail: Detail) -> Value {
    let key = if style.total_percentiles { "lat_ns" } else { "clat_ns" };
    let wanted = style.total_percentiles || style.completion_percentiles;
    let one = |of: &PriorityLatency| {
        let latency = latency_object(Some(&of.latency), wanted.then_some(&style.percentiles), detail);
        json!({ "prioclass": of.class, "prio": of.level, "priohint": of.hint, key: latency })
    };
    found.priorities.iter().map(one).collect()
}

/// A latency, with these percentiles.
fn latency_object(statistics: Option<&LatencyStatistics>, percentiles: Option<&[f64]>, detail: Detail) -> Value {
    let nothing = LatencyStatistics::default();
    let statistics = statistics.unwrap_or(&nothing);
    let moments = &statistics.moments;
    let mut object = Map::new();
    let bound = |value: Option<measure::Nanos>| json!(value.map_or(0, measure::Nanos::get));
    object.insert("min".into(), bound(moments.minimum()));
    object.insert("max".into(), bound(moments.maximum()));
    object.insert("mean".into(), json!(moments.mean().unwrap_or(0.0)));
    object.insert("stddev".into(), json!(moments.deviation().unwrap_or(0.0)));
    object.insert("N".into(), json!(moments.count()));
    let histogram = statistics.histogram.as_ref().filter(|_| moments.count() > 0);
    if let Some((histogram, percentiles)) = histogram.zip(percentiles) {
        write_percentiles(&mut object, histogram, percentiles, detail);
    }
    Value::Object(object)
}

fn write_percentiles(object: &mut Map<String, Value>, histogram: &Histogram, percentiles: &[f64], detail: Detail) {
    let values = histogram.percentiles(percentiles).unwrap_or_default();
    let named = percentiles.iter().zip(values).map(|(percent, value)| (format!("{percent:.6}"), json!(value.get())));
    object.insert("percentile".into(), Value::Object(named.collect()));
    if detail != Detail::Percentiles {
        let bins =
            histogram.iter().map(|(bucket, count)| (Histogram::bucket_value(bucket).get().to_string(), json!(count)));
        object.insert("bins".into(), Value::Object(bins.collect()));
    }
}

/// The entries of devices and of the devices below them.
pub(super) fn disk_entries(devices: &[DeviceUsage]) -> Vec<Value> {
    each_once(devices).into_iter().map(disk).collect()
}

fn disk(device: &DeviceUsage) -> Value {
    let mut object = Map::new();
    object.insert("name".into(), json!(device.name));
    put_usage(&mut object, ["", "write_merges"], device);
    if let Some(mean) = mean_of(&device.members) {
        // fio's key is singular here, and tools that read its JSON depend on it.
        put_usage(&mut object, ["aggr_", "write_merge"], &mean);
    }
    Value::Object(object)
}

fn put_usage(object: &mut Map<String, Value>, [prefix, write_merges]: [&str; 2], device: &DeviceUsage) {
    let sectors = device.sectors.map(|[read, written]| [("read_sectors", read), ("write_sectors", written)]);
    let requests = [("read_ios", device.ios[0]), ("write_ios", device.ios[1])];
    let others = [
        ("read_merges", device.merges[0]),
        (write_merges, device.merges[1]),
        ("read_ticks", device.ticks_ms[0]),
        ("write_ticks", device.ticks_ms[1]),
        ("in_queue", device.in_queue_ms),
    ];
    let counters = requests.into_iter().chain(sectors.into_iter().flatten()).chain(others);
    object.extend(counters.map(|(key, value)| (format!("{prefix}{key}"), json!(value))));
    object.insert(format!("{prefix}util"), json!(device.utilisation_percent().unwrap_or(0.0)));
}

// fio's JSON layout: two spaces of indent, `"key" : value`, floats with six decimals.

/// Formats `value` as fio prints it, without a trailing newline.
pub(super) fn spelled(value: &Value) -> String {
    let mut text = String::new();
    push(&mut text, value, 0);
    text
}

fn push(text: &mut String, value: &Value, depth: usize) {
    let [open, close] = match value {
        Value::Object(_) => ['{', '}'],
        Value::Array(_) => ['[', ']'],
        Value::Number(number) if number.is_f64() => {
            return text.push_str(&format!("{:.6}", number.as_f64().unwrap_or(0.0)));
        }
        _ => return text.push_str(&value.to_string()),
    };
    text.push(open);
    let members = value.as_object().into_iter().flatten().map(|(key, value)| (Some(key), value));
    let entries = value.as_array().into_iter().flatten().map(|value| (None, value));
    for (index, (key, value)) in members.chain(entries).enumerate() {
        text.push_str(if index > 0 { ",\n" } else { "\n" });
        text.push_str(&"  ".repeat(depth + 1));
        if let Some(key) = key {
            text.push_str(&format!("{} : ", Value::from(key.as_str())));
        }
        push(text, value, depth + 1);
    }
    text.push('\n');
    text.push_str(&"  ".repeat(depth));
    text.push(close);
}

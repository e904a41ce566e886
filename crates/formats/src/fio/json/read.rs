//! Reader of fio's JSON since 3.0 → RunResult; values that the document lacks keep their defaults.
//!
//! Not in the document: process ids, the numbers of submit and reap calls (their bins then hold shares, see
//! [`model::DepthStatistics`]) and the time over which disks were sampled. Without json+ bins, a histogram is rebuilt
//! from the percentiles: the coarsest one that yields exactly those percentiles.

use super::write::UNKNOWN_ETA_S;
use crate::fio::percent_rows::{LEAST_DEPTH_SHARE, LEAST_LATENCY_SHARE};
use crate::from_printed::{self, LARGEST, LONGEST_MS, histogram_of_percentiles, rounded, share_of};
use crate::{FormatError, echoed};
use measure::{Direction, Histogram, Moments, Nanos, SampleStatistics};
use model::{
    CpuUsage, DepthStatistics, DeviceUsage, DirectionResult, Echo, JobError, JobResult, LatencyBins, LatencyStatistics,
    PriorityLatency, ReportStyle, RunResult, SyncResult, Unified,
};
use serde_json::{Map, Value};

type Object = Map<String, Value>;

/// The last JSON document in fio's output: from a line that is `{` to the next line that is `}`. Programs print text
/// around it, and `--status-interval` prints one document per interval.
pub fn last_document(text: &str) -> Option<&str> {
    let end = last_line_start(text, "}")?;
    let start = last_line_start(&text[..end], "{")?;
    text.get(start..=end)
}

/// Byte offset of the last line that is exactly `line`.
fn last_line_start(text: &str, line: &str) -> Option<usize> {
    let mut end = text.len();
    loop {
        let start = text[..end].rfind(line)?;
        let rest = &text[start + line.len()..];
        let opens = start == 0 || text.as_bytes()[start - 1] == b'\n';
        if opens && (rest.is_empty() || rest.starts_with('\n') || rest.starts_with("\r\n")) {
            return Some(start);
        }
        end = start;
    }
}

/// Reads the last document in `text`; text before and after it is ignored.
///
/// Errors: no document, broken JSON, or a document without jobs.
pub fn read(text: &str) -> Result<RunResult, FormatError> {
    const WORKS: &str = "the output of fio --output-format=json or json+";
    let refused = |line: usize, what: &str| FormatError::Refused {
        format: "fio-json",
        line,
        what: what.to_owned(),
        works: WORKS,
    };
    // Programs that store the document on one line leave no such lines; then the whole text must be the document.
    let document = last_document(text).unwrap_or_else(|| text.trim());
    let line_before = text[..document.as_ptr() as usize - text.as_ptr() as usize].lines().count();
    let root: Value =
        serde_json::from_str(document).map_err(|error| refused(line_before + error.line(), &error.to_string()))?;
    let jobs = root.get("jobs").and_then(Value::as_array).ok_or_else(|| refused(line_before + 1, "no list `jobs`"))?;
    let mut result = RunResult {
        ended_unix_ms: ended(&root),
        global_options: root.get("global options").map(pairs).unwrap_or_default(),
        ..RunResult::default()
    };
    result.environment.program = text_of(&root, "fio version").unwrap_or_default();
    for (number, job) in (1..).zip(jobs) {
        let job = job.as_object().ok_or_else(|| refused(line_before + 1, "an entry of `jobs` is not an object"))?;
        result.jobs.push(read_job(job, number, &result.global_options));
    }
    result.devices = root.get("disk_util").and_then(Value::as_array).map(|disks| read_disks(disks)).unwrap_or_default();
    super::own::read_into(&root, &mut result);
    Ok(result)
}

fn ended(root: &Value) -> u64 {
    let number = |key: &str| root.get(key).and_then(Value::as_u64);
    number("timestamp_ms").or_else(|| number("timestamp").map(|seconds| seconds.saturating_mul(1000))).unwrap_or(0)
}

fn text_of(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned)
}

pub(super) fn pairs(value: &Value) -> Vec<(String, String)> {
    let entries = value.as_object().into_iter().flatten();
    entries.map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
}

/// A whole number; floats are truncated, a missing or negative value is 0.
fn whole(object: &Object, key: &str) -> u64 {
    let value = object.get(key);
    value.and_then(Value::as_u64).unwrap_or_else(|| rounded(float(object, key).trunc())).min(LARGEST)
}

fn milliseconds(object: &Object, key: &str) -> Nanos {
    Nanos::from_millis(whole(object, key).min(LONGEST_MS))
}

fn float(object: &Object, key: &str) -> f64 {
    object.get(key).and_then(Value::as_f64).filter(|value| value.is_finite()).unwrap_or(0.0)
}

fn small(object: &Object, key: &str) -> u32 {
    u32::try_from(whole(object, key)).unwrap_or(u32::MAX)
}

fn child<'object>(object: &'object Object, key: &str) -> Option<&'object Object> {
    object.get(key).and_then(Value::as_object)
}

fn read_job(job: &Object, number: u32, global: &[(String, String)]) -> JobResult {
    let own = job.get("job options").map(pairs).unwrap_or_default();
    let echoed = echoed::job(global, &own);
    let runtime = milliseconds(job, "job_runtime");
    let errno = job.get("error").and_then(Value::as_i64).and_then(|errno| i32::try_from(errno).ok()).unwrap_or(0);
    let mut found = JobResult {
        echo: echoed.as_ref().map_or_else(Echo::default, |job| echoed::echo(job, own)),
        style: echoed.as_ref().map_or_else(ReportStyle::default, echoed::style),
        workers: echoed.as_ref().map_or(1, echoed::workers),
        workload: echoed.map(|job| job.workload),
        started_unix_ms: whole(job, "job_start"),
        // With `continue_on_error`, `error` repeats the first of the tolerated errors.
        error: (errno != 0 && whole(job, "total_err") == 0).then(|| JobError {
            errno,
            operation: String::new(),
            message: String::new(),
            signal: None,
        }),
        forgiven_errors: whole(job, "total_err"),
        first_forgiven_errno: i32::try_from(whole(job, "first_error")).unwrap_or(0),
        elapsed_s: whole(job, "elapsed"),
        remaining_s: Some(whole(job, "eta")).filter(|&eta| eta != UNKNOWN_ETA_S),
        runtime,
        cpu: CpuUsage {
            user: share_of(runtime, float(job, "usr_cpu")),
            system: share_of(runtime, float(job, "sys_cpu")),
            switches: whole(job, "ctx"),
            major_faults: whole(job, "majf"),
            minor_faults: whole(job, "minf"),
        },
        ..JobResult::default()
    };
    found.echo.name = job.get("jobname").and_then(Value::as_str).unwrap_or_default().to_owned();
    found.echo.group = small(job, "groupid");
    found.echo.number = number;
    found.echo.description = job.get("desc").and_then(Value::as_str).map(str::to_owned).or(found.echo.description);
    // A job that failed before its engine was set up has no depth.
    found.echo.iodepth = small(job, "latency_depth");
    found.style.shows_errors |= job.contains_key("total_err");
    for direction in Direction::ALL {
        if let Some(object) = child(job, direction.word()) {
            found.directions[direction] = read_direction(object, &mut found.style);
        }
    }
    if let Some(mixed) = child(job, "mixed") {
        if child(job, Direction::Read.word()).is_some() {
            found.style.unified = Unified::Both;
        } else {
            // The document does not say which of the modes was used; the sum is the same.
            found.style.unified = Unified::Mixed;
            found.directions.read = read_direction(mixed, &mut found.style);
        }
    }
    if let Some(sync) = child(job, "sync") {
        let latency = child(sync, "lat_ns").and_then(|object| read_latency(object, &mut found.style));
        found.sync = SyncResult { count: whole(sync, "total_ios"), latency: latency.unwrap_or_default() };
    }
    found.latency_goal = super::steer::read_goal(job);
    found.steady = super::steer::read_steady(job);
    found.blocks = super::blocks::read(job);
    let ios = found.ios();
    found.depth = read_depth(job, ios);
    found.latency_bins = read_latency_bins(job, ios);
    found
}

fn read_samples(object: &Object, [count, minimum, maximum, mean, deviation]: [&str; 5]) -> SampleStatistics {
    from_printed::samples(
        whole(object, count),
        [whole(object, minimum), whole(object, maximum)],
        [float(object, mean), float(object, deviation)],
    )
}

fn read_moments(object: &Object, count: u64) -> Moments {
    let bounds = [whole(object, "min"), whole(object, "max")];
    from_printed::moments(count, bounds, [float(object, "mean"), float(object, "stddev")])
}

/// Converts percentages, in the document's order, to counts out of `total`.
fn shares<const BINS: usize>(object: Option<&Object>, total: u64, least: f64) -> [u64; BINS] {
    let mut stated = [0.0; BINS];
    for (slot, (_, share)) in stated.iter_mut().zip(object.into_iter().flatten()) {
        *slot = share.as_f64().unwrap_or(0.0);
    }
    from_printed::counts(&stated, total, least)
}

fn read_direction(object: &Object, style: &mut model::ReportStyle) -> DirectionResult {
    let mut latency = |key: &str| child(object, key).and_then(|latency| read_latency(latency, style));
    let (submission, completion, total) = (latency("slat_ns"), latency("clat_ns"), latency("lat_ns"));
    let by_priority = object.get("prios").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
    let mut priority = |of: &Object| {
        let level = |key: &str| u16::try_from(whole(of, key)).unwrap_or(0);
        let latency = child(of, "clat_ns").or_else(|| child(of, "lat_ns"));
        let latency = latency.and_then(|latency| read_latency(latency, style)).unwrap_or_default();
        PriorityLatency { class: level("prioclass"), level: level("prio"), hint: level("priohint"), latency }
    };
    let printed = |key: &str| object.get(key).and_then(Value::as_f64);
    DirectionResult {
        priorities: by_priority.map(&mut priority).collect(),
        bytes: whole(object, "io_bytes"),
        ios: whole(object, "total_ios"),
        short_ios: whole(object, "short_ios"),
        dropped_ios: whole(object, "drop_ios"),
        // Newer fio versions write zone resets per job, not per direction.
        zone_resets: 0,
        runtime: milliseconds(object, "runtime"),
        submission,
        completion,
        total,
        bandwidth_samples: read_samples(object, ["bw_samples", "bw_min", "bw_max", "bw_mean", "bw_dev"]),
        iops_samples: read_samples(object, ["iops_samples", "iops_min", "iops_max", "iops_mean", "iops_stddev"]),
        worker_rates: None,
        stated: from_printed::stated(printed("bw_bytes").or(printed("bw").map(|kib| kib * 1024.0)), printed("iops")),
    }
}

/// `None` if nothing was measured. The names of the percentiles become the job's percentile list.
fn read_latency(object: &Object, style: &mut model::ReportStyle) -> Option<LatencyStatistics> {
    let count = whole(object, "N");
    if count == 0 {
        return None;
    }
    let mut percentiles: Vec<(f64, u64)> =
        child(object, "percentile").into_iter().flatten().filter_map(number_pair).collect();
    percentiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    if !percentiles.is_empty() {
        style.percentiles = percentiles.iter().map(|&(percent, _)| percent).collect();
    }
    let bins: Vec<(f64, u64)> = child(object, "bins").into_iter().flatten().filter_map(number_pair).collect();
    let histogram = match (bins.is_empty(), percentiles.is_empty()) {
        (false, _) => Some(histogram_of_bins(&bins)),
        (true, false) => Some(histogram_of_percentiles(&percentiles, count, whole(object, "max"))),
        (true, true) => None,
    };
    Some(LatencyStatistics { moments: read_moments(object, count), histogram })
}

fn number_pair((name, value): (&String, &Value)) -> Option<(f64, u64)> {
    Some((name.parse().ok().filter(|name: &f64| name.is_finite())?, value.as_u64()?.min(LARGEST)))
}

fn histogram_of_bins(bins: &[(f64, u64)]) -> Box<Histogram> {
    let mut histogram = Box::new(Histogram::new());
    let mut room = LARGEST;
    for &(latency, count) in bins {
        let count = count.min(room);
        room -= count;
        histogram.record_many(Nanos(rounded(latency)), count);
    }
    histogram
}

/// Submit and reap sizes are stored as counts out of this many calls: a percentage with six decimals.
const PARTS: u64 = 100_000_000;

fn read_depth(job: &Object, ios: u64) -> DepthStatistics {
    let depth = |key: &str, total: u64| shares(child(job, key), total, LEAST_DEPTH_SHARE);
    DepthStatistics {
        level: depth("iodepth_level", ios),
        submit: depth("iodepth_submit", PARTS),
        complete: depth("iodepth_complete", PARTS),
        submits: 0,
        completes: 0,
    }
}

fn read_latency_bins(job: &Object, ios: u64) -> LatencyBins {
    let bins = |key: &str| child(job, key);
    LatencyBins {
        ns: shares(bins("latency_ns"), ios, LEAST_LATENCY_SHARE),
        us: shares(bins("latency_us"), ios, LEAST_LATENCY_SHARE),
        ms: shares(bins("latency_ms"), ios, LEAST_LATENCY_SHARE),
    }
}

/// Reads disks in order. The devices below a stacked device follow it, and nothing distinguishes them from other disks.
fn read_disks(disks: &[Value]) -> Vec<DeviceUsage> {
    let read = |disk: &Object| DeviceUsage {
        name: disk.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
        ios: [whole(disk, "read_ios"), whole(disk, "write_ios")],
        merges: [whole(disk, "read_merges"), whole(disk, "write_merges")],
        sectors: [whole(disk, "read_sectors"), whole(disk, "write_sectors")],
        ticks_ms: [whole(disk, "read_ticks"), whole(disk, "write_ticks")],
        in_queue_ms: whole(disk, "in_queue"),
        stated_utilisation_percent: Some(float(disk, "util")),
        ..DeviceUsage::default()
    };
    disks.iter().filter_map(Value::as_object).map(read).collect()
}

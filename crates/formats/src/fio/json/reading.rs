//! fio's JSON of any generation → [`ReadRun`]: 2.x in KiB and µs, 3.x in ns, json+ with its bins.

use super::read::pairs;
use crate::echoed;
use crate::stream::{Event, Sink};
use model::reading::{
    Found, LatencyShare, PriorityTime, ReadDirection, ReadDisk, ReadJob, ReadKind, ReadLatency, ReadPriority, ReadRun,
    ReadSamples, Reading,
};
use plan::JobPlan;
use serde_json::{Map, Value};

type Object = Map<String, Value>;

/// Reports the run in a document.
pub(crate) fn from_json(root: &Value, line: u64, sink: &mut Sink<'_>) {
    let list = root.get("jobs").or_else(|| root.get("client_stats")).and_then(Value::as_array);
    let Some(list) = list else {
        sink(Event::damage(line, "a JSON document of fio without its list `jobs`".to_owned()));
        return;
    };
    let global = root.get("global options").map(pairs).unwrap_or_default();
    let mut run = ReadRun {
        version: root.get("fio version").and_then(Value::as_str).map(str::to_owned),
        ended_unix_s: number(root.get("timestamp_ms")).map(|ms| ms / 1000.0).or_else(|| number(root.get("timestamp"))),
        ..ReadRun::default()
    };
    for job in list.iter().filter_map(Value::as_object) {
        run.jobs.push(read_job(job, &global, line));
    }
    let disks = root.get("disk_util").and_then(Value::as_array);
    run.disks = disks.into_iter().flatten().filter_map(Value::as_object).map(read_disk).collect();
    if run.jobs.is_empty() {
        sink(Event::damage(line, "a JSON document of fio without a job".to_owned()));
        return;
    }
    for job in run.jobs.iter().filter(|job| job.directions.is_empty() && job.errno.is_none_or(|errno| errno == 0.0)) {
        let name = job.name.as_deref().unwrap_or_default();
        sink(Event::damage(line, format!("the job `{name}` has no numbers")));
    }
    sink(Event::Reading(Reading { format: "fio-json", line, found: Found::Run(Box::new(run)) }));
}

fn number(value: Option<&Value>) -> Option<f64> {
    value.and_then(Value::as_f64).filter(|value| value.is_finite())
}

fn get(object: &Object, key: &str) -> Option<f64> {
    number(object.get(key))
}

fn read_job(job: &Object, global: &[(String, String)], line: u64) -> ReadJob {
    let own = job.get("job options").map(pairs).unwrap_or_default();
    let echoed = echoed::job(global, &own);
    let plan = echoed.as_ref().map(|echoed| &echoed.plan);
    let mut found = ReadJob {
        line,
        name: job.get("jobname").and_then(Value::as_str).map(str::to_owned),
        group: get(job, "groupid"),
        // Without group_reporting, an entry is one worker; with it, the entry covers the clones of all jobs of the
        // group.
        workers: Some(f64::from(echoed.as_ref().map_or(1, echoed::workers))),
        errno: get(job, "error"),
        description: job.get("desc").and_then(Value::as_str).map(str::to_owned),
        pattern: echoed.as_ref().map(|echoed| echoed.workload.pattern().to_owned()),
        engine: echoed.as_ref().map(|echoed| echoed.engine.clone()),
        depth: get(job, "latency_depth").or_else(|| plan.map(|plan| f64::from(plan.depth.asked()))),
        block_sizes: plan.map(block_sizes).unwrap_or_default(),
        user_percent: get(job, "usr_cpu"),
        system_percent: get(job, "sys_cpu"),
        switches: get(job, "ctx"),
        major_faults: get(job, "majf"),
        minor_faults: get(job, "minf"),
        depth_percent: shares(job, "iodepth_level"),
        submit_percent: shares(job, "iodepth_submit"),
        complete_percent: shares(job, "iodepth_complete"),
        forgiven_errors: get(job, "total_err"),
        ..ReadJob::default()
    };
    for (key, unit) in [("latency_ns", 1.0), ("latency_us", 1e3), ("latency_ms", 1e6)] {
        let bins = job.get(key).and_then(Value::as_object).into_iter().flatten();
        found.latency_shares.extend(bins.filter_map(|(bound, share)| {
            let below_ns = bound.parse::<f64>().ok().filter(|bound| bound.is_finite()).map(|bound| bound * unit);
            let percent = number(Some(share)).filter(|share| *share > 0.0)?;
            (below_ns.is_some() || bound == ">=2000").then_some(LatencyShare { below_ns, percent })
        }));
    }
    let kinds = [ReadKind::Read, ReadKind::Write, ReadKind::Trim, ReadKind::Mixed];
    found.directions =
        kinds.into_iter().filter_map(|kind| read_direction(job.get(kind.word())?.as_object()?, kind)).collect();
    let moved =
        |kind: ReadKind, key: &str| job.get(kind.word()).and_then(Value::as_object).and_then(|object| get(object, key));
    found.issued = totals(kinds, |kind| moved(kind, "total_ios"));
    found.short = totals(kinds, |kind| moved(kind, "short_ios"));
    found.dropped = totals(kinds, |kind| moved(kind, "drop_ios"));
    if let Some(sync) = job.get("sync").and_then(Value::as_object) {
        let count = get(sync, "total_ios").unwrap_or(0.0);
        if found.issued.len() == 3 {
            found.issued.push(count);
        }
        found.sync = latency(sync, "lat");
    }
    found
}

/// Smallest and largest block of reads, writes and trims; trailing directions equal to the one before are omitted.
fn block_sizes(plan: &JobPlan) -> Vec<(f64, f64)> {
    let sizes = plan.load.size_ranges();
    let mut found: Vec<_> = sizes.iter().map(|(_, &(low, high))| (f64::from(low), f64::from(high))).collect();
    found.dedup();
    found
}

/// Totals of reads, writes and trims; empty if reads or writes are missing.
fn totals(kinds: [ReadKind; 4], count: impl Fn(ReadKind) -> Option<f64>) -> Vec<f64> {
    match (count(kinds[0]), count(kinds[1])) {
        (Some(reads), Some(writes)) => vec![reads, writes, count(kinds[2]).unwrap_or(0.0)],
        _ => Vec::new(),
    }
}

fn shares(job: &Object, key: &str) -> Vec<f64> {
    job.get(key).and_then(Value::as_object).into_iter().flatten().filter_map(|(_, share)| number(Some(share))).collect()
}

/// `None` for a direction without I/O: fio prints zeros there.
fn read_direction(object: &Object, kind: ReadKind) -> Option<ReadDirection> {
    // Up to fio 2.x `io_bytes` was in KiB; 3.x counts bytes and adds `io_kbytes` in KiB.
    let modern = object.contains_key("io_kbytes") || object.contains_key("slat_ns") || object.contains_key("clat_ns");
    let io = get(object, "io_bytes");
    let moved = if modern { io } else { io.map(|kib| kib * 1024.0) };
    let ios = get(object, "total_ios");
    if moved.or(ios).is_none_or(|moved| moved == 0.0) && ios.is_none_or(|ios| ios == 0.0) {
        return None;
    }
    let kib = |key: &str| get(object, key).map(|kib| kib * 1024.0);
    let bandwidth = ReadSamples {
        min: kib("bw_min"),
        max: kib("bw_max"),
        percent_of_group: get(object, "bw_agg"),
        mean: kib("bw_mean"),
        deviation: kib("bw_dev"),
        count: get(object, "bw_samples"),
    };
    let iops_samples = ReadSamples {
        min: get(object, "iops_min"),
        max: get(object, "iops_max"),
        percent_of_group: None,
        mean: get(object, "iops_mean"),
        deviation: get(object, "iops_stddev"),
        count: get(object, "iops_samples"),
    };
    // Without samples, drop the section: the text report has no line for it either.
    let taken = |samples: ReadSamples| {
        (samples.max.unwrap_or(0.0) > 0.0 || samples.count.unwrap_or(0.0) > 0.0).then_some(samples)
    };
    Some(ReadDirection {
        bytes: moved,
        bytes_per_second: get(object, "bw_bytes").or_else(|| kib("bw")),
        iops: get(object, "iops"),
        runtime_ms: get(object, "runtime"),
        ios,
        submission: latency(object, "slat"),
        completion: latency(object, "clat"),
        total: latency(object, "lat"),
        priorities: object
            .get("prios")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|of| read_priority(of.as_object()?, ios))
            .collect(),
        bandwidth: taken(bandwidth),
        iops_samples: taken(iops_samples),
        ..ReadDirection::new(kind)
    })
}

/// Latencies of one priority; its share is its part of the I/O count.
fn read_priority(object: &Object, ios: Option<f64>) -> Option<ReadPriority> {
    let completion = latency(object, "clat").map(|latency| (PriorityTime::Completion, latency));
    let (time, latency) = completion.or_else(|| Some((PriorityTime::Total, latency(object, "lat")?)))?;
    Some(ReadPriority {
        class: get(object, "prioclass")?,
        level: get(object, "prio")?,
        hint: get(object, "priohint"),
        percent: latency.count.zip(ios).filter(|(_, ios)| *ios > 0.0).map(|(count, ios)| 100.0 * count / ios),
        time,
        latency,
    })
}

/// `NAME_ns` of fio 3.x, or `NAME` in µs of older versions; `None` if nothing was measured.
fn latency(object: &Object, name: &str) -> Option<ReadLatency> {
    let (found, unit) = match object.get(&format!("{name}_ns")) {
        Some(found) => (found, 1.0),
        None => (object.get(name)?, 1e3),
    };
    let found = found.as_object()?;
    let value = |key: &str| get(found, key).map(|value| value * unit);
    if get(found, "N").map_or_else(|| value("max").unwrap_or(0.0) == 0.0, |count| count == 0.0) {
        return None;
    }
    let pairs = |key: &str, of_key: f64, of_value: f64| -> Vec<(f64, f64)> {
        let entries = found.get(key).and_then(Value::as_object).into_iter().flatten();
        let mut pairs: Vec<(f64, f64)> = entries
            .filter_map(|(name, value)| {
                Some((
                    name.parse::<f64>().ok().filter(|name| name.is_finite())? * of_key,
                    number(Some(value))? * of_value,
                ))
            })
            .collect();
        pairs.sort_by(|one, other| one.0.total_cmp(&other.0));
        pairs
    };
    let mut percentiles = pairs("percentile", 1.0, unit);
    // Old versions print unused entries of the percentile list as 0.
    percentiles.retain(|&(percent, _)| percent > 0.0);
    Some(ReadLatency {
        count: get(found, "N"),
        min_ns: value("min"),
        max_ns: value("max"),
        mean_ns: value("mean"),
        deviation_ns: value("stddev"),
        percentiles,
        bins: pairs("bins", unit, 1.0),
    })
}

fn read_disk(disk: &Object) -> ReadDisk {
    let pair = |reads: &str, writes: &str| Some((get(disk, reads)?, get(disk, writes)?));
    ReadDisk {
        name: disk.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
        ios: pair("read_ios", "write_ios"),
        sectors: pair("read_sectors", "write_sectors"),
        merges: pair("read_merges", "write_merges"),
        ticks_ms: pair("read_ticks", "write_ticks"),
        in_queue_ms: get(disk, "in_queue"),
        utilisation_percent: get(disk, "util"),
    }
}

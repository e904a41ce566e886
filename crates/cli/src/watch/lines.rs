//! `plumb watch` for programs: `--json` and `--stream`, a line of JSON for each interval; and all samples in a file
//! that is always new.

use super::sampling::{Machine, ProcessRate, Sample, Track};
use super::{SIGNAL_PAUSE, Source, WatchArgs};
use crate::failure::{Failure, signal_status};
use crate::output::Output;
use crate::safe_files::{AtomicFile, Durability};
use formats::ndjson::IntervalLatencies;
use measure::Nanos;
use model::{DeviceFacts, Interval, Monitored};
use plan::Plan;
use serde_json::{Value, json};
use session::publish::Publisher;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;
use sys::processes::signals::Watch;

/// Prints a line after each interval until a signal comes or `count` lines are printed. Returns 0, or 128 + signal.
pub(super) fn run(
    source: &mut Source<'_>,
    machine: &mut Machine,
    mut out: Output,
    feed: &mut Publisher,
    args: &WatchArgs,
    signals: &Watch,
) -> Result<u8, Failure> {
    let (began, first) = (Instant::now(), machine.at());
    let began_unix_ms = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0);
    feed.begin(None, &Plan::default())?;
    for number in 1..=args.count.unwrap_or(u64::MAX) {
        let due = args.interval.saturating_mul(u32::try_from(number).unwrap_or(u32::MAX));
        while began.elapsed() < due {
            if let Some(signal) = signals.caught() {
                feed.over(Some(signal));
                return feed.finish().map(|()| signal_status(signal));
            }
            std::thread::sleep(due.saturating_sub(began.elapsed()).min(SIGNAL_PAUSE));
        }
        source.look(machine)?;
        out.write(&(line(source.host, machine).to_string() + "\n"))?;
        let (monitored, interval) = gained(machine, first);
        feed.interval_with(&Monitored { began_unix_ms, ..monitored }, &interval, latencies(machine));
    }
    feed.over(None);
    feed.finish().map(|()| 0)
}

/// The devices, and what was counted between the last two samples. The first sample was taken at `first`.
fn gained(machine: &Machine, first: Nanos) -> (Monitored, Interval) {
    let known = machine.devices.iter().filter_map(|(name, track)| Some((name, track.gained?)));
    let (devices, gains) =
        known.map(|(name, gained)| (DeviceFacts { name: name.clone(), ..DeviceFacts::default() }, gained)).unzip();
    let until = machine.at().saturating_sub(first);
    let interval = Interval { until, devices: gains, cpu: machine.ticks, ..Interval::default() };
    (Monitored { devices, ..Monitored::default() }, interval)
}

/// The times of the I/Os of these devices, with `--latency`.
fn latencies(machine: &Machine) -> Option<IntervalLatencies> {
    let gaps = machine.gaps?;
    let known = machine.devices.values().filter(|track| track.gained.is_some());
    let latency = known.map(|track| track.latency().unwrap_or_default()).collect();
    Some(IntervalLatencies { latency, latency_events_lost: gaps.lost, latency_ios_left_out: gaps.left_out })
}

/// The latest sample of everything.
fn line(host: &str, machine: &Machine) -> Value {
    let cpu = machine.cpu.map(|cpu| {
        json!({
            "user_percent": cpu.user + cpu.nice, "system_percent": cpu.system, "iowait_percent": cpu.iowait,
            "steal_percent": cpu.steal, "idle_percent": cpu.idle,
        })
    });
    let devices = machine.devices.iter().filter_map(|(name, track)| {
        let mut sample = sample(track.history.back()?);
        sample["name"] = Value::from(name.as_str());
        if let Some(zones) = zones(track) {
            sample["zoned"] = zones;
        }
        Some(sample)
    });
    let mut line = json!({
        "watch_schema": 1,
        "time": jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
        "host": host,
        "cpu": cpu,
        "devices": devices.collect::<Vec<_>>(),
        "processes": processes(machine),
    });
    if let Some(gaps) = machine.gaps {
        line["latency_events_lost"] = Value::from(gaps.lost);
        line["latency_ios_left_out"] = Value::from(gaps.left_out);
    }
    line
}

/// The zones of a zoned device.
fn zones(track: &Track) -> Option<Value> {
    let zoned = track.zoned.as_ref()?;
    Some(json!({ "model": zoned.model, "zones": zoned.zones, "zone_bytes": zoned.zone_bytes }))
}

/// Writes all kept samples to the first free `plumb-watch-NNN.json` in `directory`. Returns its path.
pub(super) fn save(directory: &Path, host: &str, machine: &Machine) -> io::Result<PathBuf> {
    let mut text = serde_json::to_vec_pretty(&document(host, machine))?;
    text.push(b'\n');
    let mut file = AtomicFile::numbered(directory, "plumb-watch")?;
    file.put(&text, Durability::Synced)?;
    Ok(file.path().to_owned())
}

/// A sample of a device. IOPS is the sum of reads, writes and discards.
fn sample(sample: &Sample) -> Value {
    let (now, at) = (&sample.activity, sample.at);
    let mut value = json!({
        "uptime_s": at.as_secs_f64(),
        "iops": now.together.per_second,
        "reads_per_second": now.reads.per_second,
        "writes_per_second": now.writes.per_second,
        "discards_per_second": now.discards.per_second,
        "flushes_per_second": now.flushes.per_second,
        "read_bytes_per_second": now.reads.sectors_per_second * 512.0,
        "written_bytes_per_second": now.writes.sectors_per_second * 512.0,
        "discarded_bytes_per_second": now.discards.sectors_per_second * 512.0,
        "request_bytes": now.together.request_sectors.map(|sectors| sectors * 512.0),
        "read_await_ms": now.reads.await_ms,
        "write_await_ms": now.writes.await_ms,
        "discard_await_ms": now.discards.await_ms,
        "queue": now.queue,
        "utilisation_percent": now.utilisation_percent,
    });
    if let Some(latency) = sample.latency {
        value["latency"] = json!(latency);
    }
    value
}

/// The processes with the most I/O.
fn processes(machine: &Machine) -> Vec<Value> {
    let process = |rate: &ProcessRate| {
        json!({
            "process": rate.process,
            "name": rate.name,
            "read_bytes_per_second": rate.read_bytes,
            "written_bytes_per_second": rate.written_bytes,
        })
    };
    machine.busiest.iter().map(process).collect()
}

fn document(host: &str, machine: &Machine) -> Value {
    let devices = machine.devices.iter().map(|(name, track)| {
        let samples: Vec<Value> = track.history.iter().map(sample).collect();
        match zones(track) {
            Some(zones) => json!({ "name": name, "zoned": zones, "samples": samples }),
            None => json!({ "name": name, "samples": samples }),
        }
    });
    json!({
        "schema": model::SCHEMA,
        "program": concat!("plumb ", env!("CARGO_PKG_VERSION")),
        "command": "watch",
        "host": host,
        "devices": devices.collect::<Vec<_>>(),
        "processes": processes(machine),
    })
}

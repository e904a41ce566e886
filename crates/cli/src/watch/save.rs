//! Saves the samples to a file that is always new.

use super::processes::Rate;
use super::sampling::Machine;
use crate::safe_files::{AtomicFile, Durability};
use measure::Nanos;
use model::DeviceActivity;
use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};

/// Writes all kept samples to the first free `plumb-watch-NNN.json` in `directory`. Returns its path.
pub(super) fn save(directory: &Path, host: &str, machine: &Machine) -> io::Result<PathBuf> {
    let mut text = serde_json::to_vec_pretty(&document(host, machine))?;
    text.push(b'\n');
    let mut file = AtomicFile::numbered(directory, "plumb-watch")?;
    file.put(&text, Durability::Synced)?;
    Ok(file.path().to_owned())
}

/// A sample of a device. IOPS is the sum of reads, writes and discards.
pub(super) fn sample((at, now): &(Nanos, DeviceActivity)) -> Value {
    json!({
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
    })
}

/// The processes with the most I/O.
pub(super) fn processes(machine: &Machine) -> Vec<Value> {
    let process = |rate: &Rate| {
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
    let devices = machine
        .devices
        .iter()
        .map(|(name, track)| json!({ "name": name, "samples": track.history.iter().map(sample).collect::<Vec<_>>() }));
    json!({
        "schema": model::SCHEMA,
        "program": concat!("plumb ", env!("CARGO_PKG_VERSION")),
        "command": "watch",
        "host": host,
        "devices": devices.collect::<Vec<_>>(),
        "processes": processes(machine),
    })
}

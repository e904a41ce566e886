//! `plumb capacity` on a real device: a loop device that a control group limits to 3,000 reads per second.
//!
//! `capacity::full::NAME` (`--ignored`, `make store`); wants root. The limit of 50 ms is long against the time of a read, so the
//! device is a cliff: below its rate no read is slow, beyond it a backlog grows.

use house::{Cases, Group, LoopDevice};
use std::process::Command;

/// Reads per second of the device.
const LIMIT: u32 = 3_000;

pub(super) fn groups() -> Vec<Cases> {
    vec![Cases::new("capacity", 1).on_request("full::a limit of 3,000 reads is found", found)]
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn found() -> Result<(), String> {
    let place = tempfile::Builder::new().prefix("capacity-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).map_err(said)?;
    let device = LoopDevice::direct(place.path(), 64 << 20).map_err(said)?;
    let name = device.path().file_name().ok_or("a device has a name")?.to_string_lossy().into_owned();
    let group = Group::with_read_iops(&name, LIMIT).map_err(said)?;
    let program = std::env::var_os("PLUMB_LOAD_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_plumb").into());
    let mut command = Command::new(program);
    command.args(["capacity", "--slo", "p99<50ms", "--bs", "4k", "--json", "--no-report"]).arg(device.path());
    let output = group.inside(command).env("PLUMB_STORE", "off").output().map_err(said)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let document: serde_json::Value = serde_json::from_str(&text).map_err(|error| format!("{error}: {output:?}"))?;
    println!("{}", document["sentences"]);
    let within = |key: &str| document[key].as_f64().is_some_and(|rate| (2_900.0..=3_010.0).contains(&rate));
    let is_confirmed = document["confirmed"]["rate"].as_f64().is_some_and(|rate| (2_850.0..=3_010.0).contains(&rate));
    if within("capacity") && is_confirmed { Ok(()) } else { Err(document["sentences"].to_string()) }
}

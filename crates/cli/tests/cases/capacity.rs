//! `plumb capacity` on a device of known capacity: a loop device that a control group limits.
//!
//! `capacity::full::NAME` (`--ignored`, `make store`); wants a quiet machine, and takes about five minutes.

use crate::context::{measured_plumb, place};
use house::{Cases, Group, LoopDevice, Tmpfs};
use serde_json::Value;
use std::time::Duration;

/// Reads per second of the limit.
const LIMIT: u32 = 3_000;
/// The answer lies between these. The limit lets a little more through than its number: 3,006 per second over a minute.
const ANSWERS: std::ops::RangeInclusive<f64> = 2_900.0..=3_010.0;

/// The rows, one at a time: rates are what is measured.
pub(super) fn groups() -> Vec<Cases> {
    vec![Cases::new("capacity", 1).on_request("full::a limit of 3,000 reads per second is found", limit_is_found)]
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn limit_is_found() -> Result<(), String> {
    let memory = Tmpfs::new(600 << 20).map_err(said)?;
    let device = LoopDevice::new(memory.path(), 512 << 20).map_err(said)?;
    let name = device.path().file_name().ok_or("a device has a name")?.to_string_lossy().into_owned();
    let group = Group::with_read_iops(&name, LIMIT).map_err(said)?;
    let words = "capacity --slo p99<50ms --seed 1 --accept backing -o -";
    // It takes minutes.
    let run = group.inside(measured_plumb(place(), words).words([device.path()])).start();
    let ended = run.end_within(Duration::from_mins(20)).ok_or("it has not ended")?;
    let found: Value = serde_json::from_str(&ended.stdout).map_err(|error| format!("{error}: {ended}"))?;
    println!("{}", found["sentences"]);
    let text = |key: &str| found[key].as_str().unwrap_or_default();
    let capacity = found["capacity"].as_f64().unwrap_or_default();
    let is_right = ended.status == Some(0)
        && text("answer") == "holds"
        && ANSWERS.contains(&capacity)
        && text("limited_by").contains("3,000 reads/s")
        && text("engine") == "libaio"
        && text("engine_because").contains("limits");
    if is_right { Ok(()) } else { Err(format!("{found:#} {}", ended.stderr)) }
}

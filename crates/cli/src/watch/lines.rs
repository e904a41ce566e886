//! `plumb watch --json` and `--stream`: lines of JSON for programs and logs, one for each interval.

use super::sampling::Machine;
use super::{SIGNAL_PAUSE, Source, save};
use crate::failure::{Failure, signal_status};
use crate::output::Output;
use measure::Nanos;
use model::{DeviceFacts, Interval, Monitored};
use plan::Plan;
use serde_json::{Value, json};
use session::publish::Publisher;
use std::time::{Duration, Instant};
use sys::processes::signals::Watch;

/// Prints a line after each interval until a signal comes or `count` lines are printed. Returns 0, or 128 + signal.
pub(super) fn run(
    source: &Source<'_>,
    machine: &mut Machine,
    (mut out, feed): (Output, &mut Publisher),
    (interval, count): (Duration, Option<u64>),
    signals: &Watch,
) -> Result<u8, Failure> {
    let (began, first) = (Instant::now(), machine.at());
    let began_unix_ms = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0);
    feed.begin(None, &Plan::default())?;
    for number in 1..=count.unwrap_or(u64::MAX) {
        let due = interval.saturating_mul(u32::try_from(number).unwrap_or(u32::MAX));
        while began.elapsed() < due {
            if let Some(signal) = signals.caught() {
                feed.over(Some(signal));
                return feed.finish().map(|()| signal_status(signal));
            }
            std::thread::sleep(due.saturating_sub(began.elapsed()).min(SIGNAL_PAUSE));
        }
        machine.look(source.root, source.names)?;
        out.write(&(line(source.host, machine).to_string() + "\n"))?;
        let (monitored, interval) = gained(machine, first);
        feed.interval(&Monitored { began_unix_ms, ..monitored }, &interval);
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

/// The latest sample of everything.
fn line(host: &str, machine: &Machine) -> Value {
    let cpu = machine.cpu.map(|cpu| {
        json!({
            "user_percent": cpu.user + cpu.nice, "system_percent": cpu.system, "iowait_percent": cpu.iowait,
            "steal_percent": cpu.steal, "idle_percent": cpu.idle,
        })
    });
    let devices = machine.devices.iter().filter_map(|(name, track)| {
        let mut sample = save::sample(track.history.back()?);
        sample["name"] = Value::from(name.as_str());
        Some(sample)
    });
    json!({
        "watch_schema": 1,
        "time": jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
        "host": host,
        "cpu": cpu,
        "devices": devices.collect::<Vec<_>>(),
        "processes": save::processes(machine),
    })
}

//! What the screen shows: devices, processors and processes between two looks, and what was before.

use super::processes::{self, Processes};
use measure::Nanos;
use model::{CpuActivity, DeviceActivity};
use monitor::{CpuCounters, DeviceCounters, Reading};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

/// Samples that are kept of each device: ten minutes at one per second.
const KEPT: usize = 600;

/// Everything that is known at the moment.
#[derive(Debug, Default)]
pub(super) struct Machine {
    uptime: Option<u64>,
    cpu_counters: CpuCounters,
    processes: Processes,
    /// Shares of processor time since the look before; `None` before there were two.
    pub(super) cpu: Option<CpuActivity>,
    /// The devices by name.
    pub(super) devices: BTreeMap<String, Track>,
    /// The processes with the most I/O, heaviest first.
    pub(super) busiest: Vec<processes::Rate>,
    /// Processes whose account may not be read.
    pub(super) hidden: usize,
    /// Samples so far.
    pub(super) samples: u64,
}

/// One device, now and before.
#[derive(Debug)]
pub(super) struct Track {
    last: DeviceCounters,
    /// The last samples, oldest first, each with the uptime at which it ended.
    pub(super) history: VecDeque<(Nanos, DeviceActivity)>,
}

impl Track {
    /// The latest sample.
    pub(super) fn now(&self) -> Option<&DeviceActivity> {
        self.history.back().map(|(_, activity)| activity)
    }
}

impl Machine {
    /// Looks under `root`; at these devices, or at all that were ever used where none is named.
    pub(super) fn look(&mut self, root: &Path, names: &[String]) -> Result<(), String> {
        let read = |file: &str| {
            let path = root.join(file);
            std::fs::read_to_string(&path).map_err(|error| format!("{}: cannot be read: {error}", path.display()))
        };
        let uptime = monitor::uptime_centiseconds(&read("proc/uptime")?)
            .ok_or_else(|| format!("{}: has no seconds", root.join("proc/uptime").display()))?;
        let cpu = CpuCounters::parse(&read("proc/stat")?).unwrap_or_default();
        let elapsed = self.uptime.map(|before| uptime.saturating_sub(before).max(1));
        self.cpu = elapsed.map(|_| cpu.since(&self.cpu_counters));
        (self.uptime, self.cpu_counters) = (Some(uptime), cpu);
        let readings = match names {
            [] => monitor::whole_devices(root).into_iter().filter(Reading::is_used).collect(),
            names => names.iter().filter_map(|name| monitor::single(root, name)).collect::<Vec<_>>(),
        };
        self.devices.retain(|name, _| readings.iter().any(|reading| reading.name == *name));
        let at = Nanos::from_millis(uptime.saturating_mul(10));
        for reading in readings {
            self.follow(reading, at, elapsed);
        }
        let seconds = elapsed.map(|elapsed| Nanos::from_millis(elapsed * 10).as_secs_f64());
        (self.busiest, self.hidden) = self.processes.look(root, seconds);
        self.samples += 1;
        Ok(())
    }

    fn follow(&mut self, reading: Reading, at: Nanos, elapsed: Option<u64>) {
        let Some(track) = self.devices.get_mut(&reading.name) else {
            self.devices.insert(reading.name, Track { last: reading.counters, history: VecDeque::new() });
            return;
        };
        if let Some(elapsed) = elapsed {
            let gained = reading.counters.since(&track.last);
            track.history.push_back((at, monitor::device_activity(&reading.name, &gained, elapsed, 1)));
            if track.history.len() > KEPT {
                track.history.pop_front();
            }
        }
        track.last = reading.counters;
    }
}

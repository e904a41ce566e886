//! Data of the screen: devices, processors and processes between two samples, and earlier samples.

use measure::Nanos;
use model::{CpuActivity, CpuTicks, DeviceActivity, DeviceGain, DeviceLatency};
use monitor::iostat::IostatError;
use monitor::{CpuCounters, Reading};
use observe::LatencyInterval;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use sys::devices::identity::{BlockDevice, ZonedModel};

/// Samples kept per device: ten minutes at one per second.
const KEPT: usize = 600;

/// All current data.
#[derive(Debug, Default)]
pub(super) struct Machine {
    uptime: Option<u64>,
    cpu_counters: CpuCounters,
    processes: Processes,
    /// Ticks since the previous sample.
    pub(super) ticks: Option<CpuTicks>,
    /// Shares of CPU time since the previous sample; `None` before the second sample.
    pub(super) cpu: Option<CpuActivity>,
    pub(super) devices: BTreeMap<String, Track>,
    /// The processes with the most I/O, heaviest first.
    pub(super) busiest: Vec<ProcessRate>,
    /// Number of processes whose /proc/PID/io may not be read.
    pub(super) hidden: usize,
    pub(super) samples: u64,
    /// Gaps in the latencies of the last interval, with `--latency`.
    pub(super) gaps: Option<LatencyGaps>,
}

/// Gaps in the latencies of an interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LatencyGaps {
    /// Events that the kernel could not keep.
    pub(super) lost: u64,
    /// I/Os without an end because of that.
    pub(super) left_out: u64,
}

/// One device: the latest and earlier samples.
#[derive(Debug)]
pub(super) struct Track {
    last: DeviceGain,
    /// Its zones, if it is a zoned device.
    pub(super) zoned: Option<ZonedModel>,
    /// Everything that was counted between the last two samples; `None` if counters were set back.
    pub(super) gained: Option<DeviceGain>,
    /// The last samples, oldest first.
    pub(super) history: VecDeque<Sample>,
}

/// A sample of a device.
#[derive(Debug)]
pub(super) struct Sample {
    /// Uptime at which it ended.
    pub(super) at: Nanos,
    pub(super) activity: DeviceActivity,
    /// Times of its I/Os, with `--latency`.
    pub(super) latency: Option<DeviceLatency>,
}

impl Track {
    pub(super) fn now(&self) -> Option<&DeviceActivity> {
        self.gained.and(self.history.back()).map(|sample| &sample.activity)
    }

    /// Times of the I/Os between the last two samples.
    pub(super) fn latency(&self) -> Option<DeviceLatency> {
        self.gained.and(self.history.back())?.latency
    }
}

impl Machine {
    /// Takes a sample under `root` of these devices, or of all devices that have done I/O if `names` is empty.
    pub(super) fn look(&mut self, root: &Path, names: &[String]) -> Result<(), IostatError> {
        let (uptime, cpu) = monitor::iostat::read_cpu(root)?;
        let elapsed = self.uptime.map(|before| uptime.saturating_sub(before).max(1));
        self.ticks = elapsed.map(|_| cpu.ticks_since(&self.cpu_counters));
        self.cpu = elapsed.map(|_| cpu.since(&self.cpu_counters));
        (self.uptime, self.cpu_counters) = (Some(uptime), cpu);
        let readings = match names {
            [] => monitor::whole_devices(root).into_iter().filter(Reading::is_used).collect(),
            names => names.iter().filter_map(|name| monitor::single(root, name)).collect::<Vec<_>>(),
        };
        // The counters of a device that returns start from zero again, so its history ends when it disappears.
        self.devices.retain(|name, _| readings.iter().any(|reading| reading.name == *name));
        let at = self.at();
        for reading in readings {
            self.follow(root, reading, at, elapsed);
        }
        let seconds = elapsed.map(|elapsed| Nanos::from_millis(elapsed * 10).as_secs_f64());
        (self.busiest, self.hidden) = self.processes.look(root, seconds);
        self.samples += 1;
        Ok(())
    }

    /// Takes the latencies of the interval that the last sample ended.
    pub(super) fn time(&mut self, taken: &LatencyInterval) {
        for (name, track) in &mut self.devices {
            if let (Some(sample), true) = (track.history.back_mut(), track.gained.is_some()) {
                sample.latency = taken.of(name);
            }
        }
        self.gaps = Some(LatencyGaps { lost: taken.lost, left_out: taken.forgotten });
    }

    /// Time of the last sample, since boot.
    pub(super) fn at(&self) -> Nanos {
        Nanos::from_millis(self.uptime.unwrap_or(0).saturating_mul(10))
    }

    fn follow(&mut self, root: &Path, reading: Reading, at: Nanos, elapsed: Option<u64>) {
        let Some(track) = self.devices.get_mut(&reading.name) else {
            let zoned = BlockDevice::by_name(root, &reading.name).and_then(|device| device.zoned());
            let track = Track { last: reading.counters, zoned, gained: None, history: VecDeque::new() };
            self.devices.insert(reading.name, track);
            return;
        };
        if let Some(elapsed) = elapsed {
            // Counters that were set back do not say what the device did.
            track.gained = monitor::counters::since(&reading.counters, &track.last);
            if let Some(gained) = &track.gained {
                let activity = monitor::device_activity(&reading.name, gained, elapsed, 1);
                track.history.push_back(Sample { at, activity, latency: None });
            }
            if track.history.len() > KEPT {
                track.history.pop_front();
            }
        }
        track.last = reading.counters;
    }
}

/// Maximum number of processes kept for the screen.
const SHOWN_MAX: usize = 50;

/// The I/O rates of one process, from two samples of /proc/PID/io.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ProcessRate {
    pub(super) process: u32,
    pub(super) name: String,
    /// Bytes per second read from devices (`read_bytes` in /proc/PID/io).
    pub(super) read_bytes: f64,
    /// Bytes per second to be written to devices, at once or by later writeback (`write_bytes`).
    pub(super) written_bytes: f64,
}

/// Counters of the last sample, by process ID.
#[derive(Debug, Default)]
struct Processes {
    last: BTreeMap<u32, [u64; 2]>,
}

impl Processes {
    /// Takes a sample. Returns the rates since the last one `seconds` ago, highest first, and the number of processes
    /// whose counters may not be read.
    fn look(&mut self, root: &Path, seconds: Option<f64>) -> (Vec<ProcessRate>, usize) {
        let mut now = BTreeMap::new();
        let (mut rates, mut hidden) = (Vec::new(), 0);
        let entries = std::fs::read_dir(root.join("proc")).into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        for process in numbers {
            let folder = root.join("proc").join(process.to_string());
            let account = match std::fs::read_to_string(folder.join("io")) {
                Ok(text) => monitor::io_bytes(&text),
                Err(error) => {
                    hidden += usize::from(error.kind() == std::io::ErrorKind::PermissionDenied);
                    None
                }
            };
            let Some([_, _, read, written]) = account else { continue };
            now.insert(process, [read, written]);
            let (Some(seconds), Some(before)) = (seconds, self.last.get(&process)) else { continue };
            let gained = [read.saturating_sub(before[0]), written.saturating_sub(before[1])];
            if gained != [0, 0] {
                let name = std::fs::read_to_string(folder.join("comm")).unwrap_or_default();
                let [read_bytes, written_bytes] = gained.map(|bytes| measure::float(bytes) / seconds);
                rates.push(ProcessRate { process, name: name.trim_end().to_owned(), read_bytes, written_bytes });
            }
        }
        self.last = now;
        let weight = |rate: &ProcessRate| rate.read_bytes + rate.written_bytes;
        rates.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then(a.process.cmp(&b.process)));
        rates.truncate(SHOWN_MAX);
        (rates, hidden)
    }
}

//! Activity of one block device during a run, as in fio's disk statistics.

use crate::DeviceGain;
use measure::Nanos;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Differences of a device's counters over the run.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceUsage {
    /// Kernel name, such as `sda`.
    pub name: String,
    /// Completed reads and writes.
    pub ios: [u64; 2],
    /// Merged reads and writes.
    pub merges: [u64; 2],
    /// 512-byte sectors read and written; `None` if another tool's result does not state them.
    pub sectors: Option<[u64; 2]>,
    /// Milliseconds that requests took in total, for reads and writes.
    pub ticks_ms: [u64; 2],
    /// Milliseconds weighted by the number of requests in flight.
    pub in_queue_ms: u64,
    /// Milliseconds with at least one I/O in flight.
    pub busy_ms: u64,
    /// Milliseconds from first to last reading; `None` if another tool does not state it, or below 1 ms.
    pub elapsed_ms: Option<u64>,
    /// Utilisation in percent as stated by another tool's result, if `elapsed_ms` is not known.
    pub stated_utilisation_percent: Option<f64>,
    /// The devices that a stacked one (dm, md) is built on; each also has its own entry.
    pub members: Vec<DeviceUsage>,
}

impl DeviceUsage {
    /// Usage of a device without members, from the increments of its counters in the time `elapsed`.
    pub fn of_gain(name: &str, gain: &DeviceGain, elapsed: Nanos) -> DeviceUsage {
        DeviceUsage {
            name: name.to_owned(),
            ios: [gain.reads.ios, gain.writes.ios],
            merges: [gain.reads.merges, gain.writes.merges],
            sectors: Some([gain.reads.sectors, gain.writes.sectors]),
            ticks_ms: [gain.reads.ticks_ms, gain.writes.ticks_ms],
            in_queue_ms: gain.in_queue_ms,
            busy_ms: gain.busy_ms,
            elapsed_ms: Some(elapsed.get() / Nanos::MILLISECOND.get()).filter(|&elapsed_ms| elapsed_ms > 0),
            ..DeviceUsage::default()
        }
    }

    /// Busy time ÷ elapsed time in percent, at most 100; the stated value if the elapsed time is not known.
    pub fn utilisation_percent(&self) -> Option<f64> {
        let of_time = |elapsed_ms: u64| (100.0 * self.busy_ms as f64 / elapsed_ms as f64).min(100.0);
        self.elapsed_ms.map(of_time).or(self.stated_utilisation_percent)
    }
}

// Rates of a device and of the CPUs in one interval: the numbers of iostat's report.

/// CPU time by use, in percent of the time of all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuActivity {
    /// User mode.
    pub user: f64,
    /// User mode at low priority.
    pub nice: f64,
    /// Kernel, including interrupts.
    pub system: f64,
    /// Idle with I/O outstanding.
    pub iowait: f64,
    /// Taken by the hypervisor.
    pub steal: f64,
    /// Idle.
    pub idle: f64,
}

/// Rates of reads, writes or discards, or of all three together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OperationActivity {
    /// Completed requests per second.
    pub per_second: f64,
    /// Sectors of 512 bytes that were transferred.
    pub sectors: u64,
    /// Sectors per second.
    pub sectors_per_second: f64,
    /// Merged requests per second.
    pub merges_per_second: f64,
    /// Merged requests in percent of all submitted ones; `None` if there were none.
    pub merged_percent: Option<f64>,
    /// Mean time of a request in milliseconds, including the queue; `None` if none completed.
    pub await_ms: Option<f64>,
    /// Mean size of a request in sectors; `None` if none completed.
    pub request_sectors: Option<f64>,
}

/// Rates of flushes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlushActivity {
    /// Completed flushes per second.
    pub per_second: f64,
    /// Mean time of a flush in milliseconds; `None` if none completed.
    pub await_ms: Option<f64>,
}

/// Activity of a device, or of a group of devices, in one interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceActivity {
    /// Name to print; iostat puts a space before the name of a group.
    pub name: String,
    /// Reads.
    pub reads: OperationActivity,
    /// Writes.
    pub writes: OperationActivity,
    /// Discards.
    pub discards: OperationActivity,
    /// Reads, writes and discards together.
    pub together: OperationActivity,
    /// Flushes, which are not counted in the others.
    pub flushes: FlushActivity,
    /// Mean number of requests queued and in flight.
    pub queue: f64,
    /// Time with a request in flight in percent of the interval, not limited to 100.
    pub utilisation_percent: f64,
}

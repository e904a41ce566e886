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
    /// Milliseconds from the first reading to the last; `None` if another tool's result does not state it, or below 1
    /// ms.
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
    #[expect(clippy::cast_precision_loss, reason = "milliseconds")]
    pub fn utilisation_percent(&self) -> Option<f64> {
        let of_time = |elapsed_ms: u64| (100.0 * self.busy_ms as f64 / elapsed_ms as f64).min(100.0);
        self.elapsed_ms.map(of_time).or(self.stated_utilisation_percent)
    }
}

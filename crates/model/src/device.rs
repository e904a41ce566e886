//! What one block device did during a run.

use crate::DeviceGain;
use serde::{Deserialize, Serialize};

/// Differences of a device's counters over the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceUsage {
    /// Kernel name, `sda`.
    pub name: String,
    /// Finished reads and writes.
    pub ios: [u64; 2],
    /// Merged reads and writes.
    pub merges: [u64; 2],
    /// 512-byte sectors read and written.
    pub sectors: [u64; 2],
    /// Milliseconds spent by reads and writes together, read and write.
    pub ticks_ms: [u64; 2],
    /// Weighted milliseconds in queue.
    pub in_queue_ms: u64,
    /// Milliseconds with at least one I/O in flight.
    pub busy_ms: u64,
    /// Milliseconds watched; 0 when a foreign result does not say.
    pub elapsed_ms: u64,
    /// Utilisation in percent as a foreign result states it, where `elapsed_ms` is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated_utilisation_percent: Option<f64>,
    /// The devices below a stacked one (dm, md), whose own usage follows as separate entries.
    pub members: Vec<DeviceUsage>,
}

impl DeviceUsage {
    /// What a device gained in `elapsed_ms` milliseconds, as the usage of a device without members.
    pub fn of_gain(name: &str, gain: &DeviceGain, elapsed_ms: u64) -> DeviceUsage {
        DeviceUsage {
            name: name.to_owned(),
            ios: [gain.reads.ios, gain.writes.ios],
            merges: [gain.reads.merges, gain.writes.merges],
            sectors: [gain.reads.sectors, gain.writes.sectors],
            ticks_ms: [gain.reads.ticks_ms, gain.writes.ticks_ms],
            in_queue_ms: gain.in_queue_ms,
            busy_ms: gain.busy_ms,
            elapsed_ms,
            ..DeviceUsage::default()
        }
    }

    /// Busy time ÷ elapsed time in percent, at most 100; as stated where only that is known; `None` when nothing
    /// was watched.
    #[expect(clippy::cast_precision_loss, reason = "milliseconds")]
    pub fn utilisation_percent(&self) -> Option<f64> {
        (self.elapsed_ms > 0)
            .then(|| (100.0 * self.busy_ms as f64 / self.elapsed_ms as f64).min(100.0))
            .or(self.stated_utilisation_percent)
    }
}

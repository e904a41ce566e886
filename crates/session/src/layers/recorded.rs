//! A recording of `plumb why`: all that is kept of it.

use model::DiskRates;
use observe::Seen;

/// A recording with what was recorded.
#[derive(Debug)]
pub struct Recorded {
    /// The target in words.
    pub target: String,
    /// Name of the machine.
    pub host: Option<String>,
    /// End of the recording, since 1970.
    pub ended_unix_ms: u64,
    /// The I/Os, with all that was seen.
    pub seen: Seen,
    /// Rates of the disks, by results in the store.
    pub disks: Vec<DiskRates>,
    /// True for all programs on a device.
    pub is_device: bool,
    /// True if there was no room for more.
    pub is_full: bool,
}

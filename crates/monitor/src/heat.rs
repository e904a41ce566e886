//! Heat: how warm NVMe devices are, and how often processors were slowed because of it.
//!
//! Reads what /sys gives to everyone. Of other disks the temperature is read after a run only: their driver (drivetemp)
//! asks by a command that waits for the I/Os in flight.

use crate::surroundings::{entries, name, word};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use sys::devices::identity::BlockDevice;

/// Most files with counters of processors that are read per sample.
const FILES_MAX: usize = 64;

/// Counters of the times that processors were slowed because of heat.
#[derive(Debug, Default)]
pub(crate) struct Processors {
    files: Vec<PathBuf>,
}

impl Processors {
    /// Finds the counters under `root`: one of each package, and one of each core, which its threads share.
    pub(crate) fn find(root: &Path) -> Self {
        let all = root.join("sys/devices/system/cpu");
        let mut known: BTreeSet<(&str, u64, u64)> = BTreeSet::new();
        let mut files = Vec::new();
        for cpu in entries(&all) {
            let place = |file: &str| number(&cpu.join("topology").join(file));
            let (Some(package), Some(core)) = (place("physical_package_id"), place("core_id")) else { continue };
            for (counter, key) in [("package", (package, 0)), ("core", (package, core))] {
                let file = cpu.join("thermal_throttle").join(format!("{counter}_throttle_count"));
                if number(&file).is_some() && known.insert((counter, key.0, key.1)) {
                    files.push(file);
                }
            }
        }
        files.truncate(FILES_MAX);
        Processors { files }
    }

    /// Sum of the counters; `None` where the kernel has none, as on virtual machines.
    pub(crate) fn throttles(&self) -> Option<u64> {
        let counts = self.files.iter().filter_map(|file| number(file));
        (!self.files.is_empty()).then(|| counts.fold(0, u64::saturating_add))
    }
}

/// The sensor of a device, if it can be read while I/Os are in flight: that of NVMe, whose driver asks by the admin
/// queue, at most once per second.
pub(crate) fn sensor(device: &BlockDevice) -> Option<PathBuf> {
    sensors(device).find(|sensor| word(&sensor.join("name")).as_deref() == Some("nvme"))
}

/// All sensors of a device.
pub(crate) fn sensors(device: &BlockDevice) -> impl Iterator<Item = PathBuf> {
    let own = device.directory().join("device");
    let all = [entries(&own), entries(&own.join("hwmon"))].concat();
    all.into_iter().filter(|path| name(path).starts_with("hwmon"))
}

/// A temperature of a sensor (`temp1_input`, `temp1_max`) in thousandths of a degree Celsius.
pub(crate) fn millidegrees(sensor: &Path, file: &str) -> Option<i64> {
    word(&sensor.join(file))?.parse().ok()
}

fn number(file: &Path) -> Option<u64> {
    word(file)?.parse().ok()
}

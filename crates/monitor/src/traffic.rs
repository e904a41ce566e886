//! What reached the disks at the bottom: the evidence for whether a number is one of storage or of memory.

use crate::counters::DeviceCounters;
use crate::watch::devices_under;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use sys::device::BlockDevice;

/// What the disks moved, all together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes read from the devices.
    pub read_bytes: u64,
    /// Bytes written to the devices.
    pub written_bytes: u64,
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
    /// Flushes; 0 where the kernel does not count them.
    pub flushes: u64,
}

/// Watches the disks at the bottom of the stacks under a set of files: through partitions, dm, md and loop devices
/// down to the file systems that hold the loops' files, and on.
#[derive(Debug)]
pub struct TrafficWatch {
    leaves: Vec<(BlockDevice, DeviceCounters)>,
    sum: DeviceCounters,
    without: Vec<PathBuf>,
}

impl TrafficWatch {
    /// Reads the counters for the first time.
    pub fn start<P: AsRef<Path>>(root: &Path, paths: &[P]) -> Self {
        let (devices, without) = devices_under(root, paths);
        let leaves: BTreeSet<BlockDevice> = devices.iter().flat_map(|device| device.leaves(root)).collect();
        let read = |device: BlockDevice| {
            let counters = DeviceCounters::parse(&device.counters()?)?;
            Some((device, counters))
        };
        TrafficWatch { leaves: leaves.into_iter().filter_map(read).collect(), sum: DeviceCounters::default(), without }
    }

    /// What was moved since the start. A disk that vanished counts with what was read from it last.
    pub fn traffic(&mut self) -> Traffic {
        for (device, last) in &mut self.leaves {
            let read = device.counters().and_then(|text| DeviceCounters::parse(&text));
            if let Some(counters) = read {
                self.sum.add(&counters.since(last));
                *last = counters;
            }
        }
        const SECTOR: u64 = 512;
        Traffic {
            read_bytes: self.sum.reads.sectors.saturating_mul(SECTOR),
            written_bytes: self.sum.writes.sectors.saturating_mul(SECTOR),
            reads: self.sum.reads.ios,
            writes: self.sum.writes.ios,
            flushes: self.sum.flushes.unwrap_or_default().ios,
        }
    }

    /// The disks that are watched. None means that nothing can be said, not that nothing moved.
    pub fn disks(&self) -> impl Iterator<Item = &BlockDevice> {
        self.leaves.iter().map(|(device, _)| device)
    }

    /// The paths that lie on no disk that could be found: memory, network, or a file system that hides its disks.
    pub fn without_disk(&self) -> &[PathBuf] {
        &self.without
    }
}

//! What the disks under a run's files did while it lasted.

use crate::counters::DeviceCounters;
use measure::Nanos;
use model::DeviceUsage;
use std::path::{Path, PathBuf};
use sys::device::BlockDevice;

/// Watches the whole disks under a set of files; a partition counts as its disk, a stacked device (dm, md) brings the
/// disks it is made of.
///
/// Sampled now and then, because the kernel's milliseconds wrap after 50 days of disk time, or 9 hours at depth 128,
/// and because a device that vanishes leaves what was read last.
#[derive(Debug)]
pub struct DeviceWatch {
    watched: Vec<Watched>,
}

#[derive(Debug)]
struct Watched {
    device: BlockDevice,
    /// Indices of the disks below.
    members: Vec<usize>,
    last: DeviceCounters,
    sum: DeviceCounters,
    started: Nanos,
    last_read: Nanos,
}

impl DeviceWatch {
    /// Begins to watch what lies under `paths`, as seen below `root`, at the moment `now`. Paths without a device of
    /// their own (tmpfs, network file systems) and those that do not exist are passed over.
    pub fn start<P: AsRef<Path>>(root: &Path, paths: &[P], now: Nanos) -> Self {
        let devices = paths.iter().filter_map(|path| BlockDevice::under(root, path.as_ref()).ok().flatten());
        Self::of_devices(devices, now)
    }

    /// Begins to watch these devices and what they are made of.
    pub fn of_devices(devices: impl IntoIterator<Item = BlockDevice>, now: Nanos) -> Self {
        let mut watch = DeviceWatch { watched: Vec::new() };
        for device in devices {
            watch.add(&device.whole(), now);
        }
        watch
    }

    /// Adds a whole device and its members behind it; its index, the old one if it is watched already.
    fn add(&mut self, device: &BlockDevice, now: Nanos) -> Option<usize> {
        if let Some(index) = self.watched.iter().position(|watched| watched.device == *device) {
            return Some(index);
        }
        let last = DeviceCounters::parse(&device.counters()?)?;
        let index = self.watched.len();
        self.watched.push(Watched {
            device: device.clone(),
            members: Vec::new(),
            last,
            sum: DeviceCounters::default(),
            started: now,
            last_read: now,
        });
        let mut members: Vec<usize> = Vec::new();
        for member in device.members() {
            members.extend(self.add(&member.whole(), now).filter(|found| *found != index && !members.contains(found)));
        }
        self.watched[index].members = members;
        Some(index)
    }

    /// The kernel names of the devices, in the order of their usage.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.watched.iter().map(|watched| watched.device.name())
    }

    /// Reads all counters at the moment `now`.
    pub fn sample(&mut self, now: Nanos) {
        for watched in &mut self.watched {
            let read = watched.device.counters().and_then(|text| DeviceCounters::parse(&text));
            if let Some(counters) = read {
                watched.sum.add(&counters.since(&watched.last));
                watched.last = counters;
                watched.last_read = now;
            }
        }
    }

    /// What was done since the start, as of the last sample: stacked devices with their members inside, and the
    /// members behind them as entries of their own.
    pub fn usage(&self) -> Vec<DeviceUsage> {
        (0..self.watched.len()).map(|index| self.usage_of(index, self.watched.len())).collect()
    }

    /// Samples a last time and says what was done.
    pub fn finish(mut self, now: Nanos) -> Vec<DeviceUsage> {
        self.sample(now);
        self.usage()
    }

    /// `depth` ends a stack that contains itself, which sysfs cannot show but a broken recording could.
    fn usage_of(&self, index: usize, depth: usize) -> DeviceUsage {
        let watched = &self.watched[index];
        let members = if depth == 0 { &[][..] } else { &watched.members };
        let elapsed_ms = watched.last_read.saturating_sub(watched.started).get() / Nanos::MILLISECOND.get();
        DeviceUsage {
            members: members.iter().map(|&member| self.usage_of(member, depth - 1)).collect(),
            ..DeviceUsage::of_gain(watched.device.name(), &(&watched.sum).into(), elapsed_ms)
        }
    }
}

/// Paths whose devices can be watched under `root`, apart from those that cannot.
pub(crate) fn devices_under<P: AsRef<Path>>(root: &Path, paths: &[P]) -> (Vec<BlockDevice>, Vec<PathBuf>) {
    let (mut devices, mut without) = (Vec::new(), Vec::new());
    for path in paths.iter().map(AsRef::as_ref) {
        match BlockDevice::under(root, path) {
            Ok(Some(device)) => devices.push(device),
            Ok(None) | Err(_) => without.push(path.to_owned()),
        }
    }
    (devices, without)
}

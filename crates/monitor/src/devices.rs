//! Recorder of devices: reads each device's counters once per sample. The series of intervals, the use of each device
//! (fio's "Disk stats") and the traffic at the bottom of the device stack are views of these samples.
//!
//! Leaves the time of samples to the caller, and the difference of two readings to `counters`.

use crate::counters;
use crate::layers::{Layers, Live};
use crate::surroundings;
use measure::Nanos;
use model::{DeviceFacts, DeviceGain, DeviceUsage, Layer, LowestTraffic};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use sys::devices::identity::{BlockDevice, DeviceNumber, Link, WriteCache, number_under};

/// Bytes per sector in the kernel's counters, regardless of the device's sector size.
const SECTOR: u64 = 512;

/// The devices under a set of paths, from those that hold the paths down to the lowest ones, each once.
#[derive(Debug)]
pub(crate) struct Devices {
    recorded: Vec<RecordedDevice>,
    /// Each device that holds a path, followed by its member devices: the order of fio's disk statistics.
    usage_order: Vec<usize>,
    /// True if each path has a device.
    all_found: bool,
    started: Nanos,
}

#[derive(Debug)]
struct RecordedDevice {
    device: BlockDevice,
    sensor: Option<PathBuf>,
    facts: DeviceFacts,
    /// Indices of the members of a dm or md device. Empty for a loop device, where fio's statistics stop.
    members: Vec<usize>,
    last: DeviceGain,
    last_read: Nanos,
    since_start: DeviceGain,
    since_interval: DeviceGain,
    /// True if a counter was set back: what the device did then is not in the sums.
    set_back: bool,
}

impl Devices {
    /// Finds the devices under `paths` below `root`, and takes the first reading of their counters at `now`.
    ///
    /// A partition is replaced by its disk. Stacks are followed through dm, md, multipath, and from a loop device to
    /// the file system that holds its backing file. The devices under an overlay, and all devices of a btrfs, are
    /// recorded too, but are not in [`Devices::usage`], as in fio. Paths without a device (tmpfs, network file systems)
    /// and devices without counters are omitted.
    pub(crate) fn start<P: AsRef<Path>>(root: &Path, paths: &[P], now: Nanos) -> Self {
        let (mut tops, mut found) = (Vec::new(), DeviceSet { all: true, ..DeviceSet::default() });
        // Many files of a job are on few devices.
        let mut by_number: BTreeMap<DeviceNumber, Option<BlockDevice>> = BTreeMap::new();
        let live = Live(root);
        let mut layers = Layers::new(root, &live);
        for path in paths.iter().map(AsRef::as_ref) {
            let top = number_under(path).ok().and_then(|number| {
                let found = || BlockDevice::by_number(root, number).map(|device| device.whole());
                by_number.entry(number).or_insert_with(found).clone()
            });
            found.add(&mut layers, path, top.as_ref());
            top.into_iter().for_each(|top| push_once(&mut tops, top));
        }
        let all_found = found.all;
        let mut recorded = record(root, &found, now);
        for own in 0..recorded.len() {
            let members = recorded[own].device.members();
            let found = members.iter().filter_map(|member| position(&recorded, &member.whole()));
            let mut members: Vec<usize> = Vec::new();
            found.filter(|&member| member != own).for_each(|member| push_once(&mut members, member));
            recorded[own].members = members;
        }
        let mut usage_order = Vec::new();
        for top in tops.iter().filter_map(|top| position(&recorded, top)) {
            list_with_members(&recorded, top, &mut usage_order);
        }
        Devices { recorded, usage_order, all_found, started: now }
    }

    /// Facts about the devices, in the order of [`Devices::end_interval`].
    pub(crate) fn facts(&self) -> impl Iterator<Item = &DeviceFacts> {
        self.recorded.iter().map(|one| &one.facts)
    }

    /// Reads all counters at `now`.
    ///
    /// The kernel's 32-bit milliseconds wrap after 50 days of device time, which at a depth of 128 is 9 hours, so
    /// samples must be more frequent than that. A device that was unplugged keeps its last reading.
    pub(crate) fn read(&mut self, now: Nanos) {
        for one in &mut self.recorded {
            let Some(counters) = read_counters(&one.device) else { continue };
            // 64-bit sums of differences: unlike the kernel's counters, they do not wrap during a long run.
            match counters::since(&counters, &one.last) {
                Some(gained) => {
                    one.since_start.add(gained);
                    one.since_interval.add(gained);
                }
                None => one.set_back = true,
            }
            (one.last, one.last_read) = (counters, now);
        }
    }

    /// The counters' increase per device from the end of the previous interval to the last reading, where the next
    /// interval starts; and the temperature now.
    pub(crate) fn end_interval(&mut self) -> Vec<DeviceGain> {
        let of_one = |one: &mut RecordedDevice| DeviceGain {
            temperature_millidegrees: one
                .sensor
                .as_ref()
                .and_then(|sensor| surroundings::millidegrees(sensor, "temp1_input")),
            ..std::mem::take(&mut one.since_interval)
        };
        self.recorded.iter_mut().map(of_one).collect()
    }

    /// Use of each device from the start to the last reading. The members of a stacked device are nested in its entry,
    /// and also follow it as separate entries.
    pub(crate) fn usage(&self) -> Vec<DeviceUsage> {
        self.usage_order.iter().map(|&index| self.usage_of(index, self.recorded.len())).collect()
    }

    /// `depth` limits the recursion: in a damaged recording, unlike in sysfs, a device may contain itself.
    fn usage_of(&self, index: usize, depth: usize) -> DeviceUsage {
        let one = &self.recorded[index];
        let members = if depth == 0 { &[][..] } else { &one.members };
        DeviceUsage {
            members: members.iter().map(|&member| self.usage_of(member, depth - 1)).collect(),
            ..DeviceUsage::of_gain(&one.facts.name, &one.since_start, one.last_read.saturating_sub(self.started))
        }
    }

    /// Bytes transferred by the devices at the bottom of the stacks, from the start to the last reading. `None` without
    /// a device, if the device of a path is unknown, or if counters were set back: unobserved traffic must not be
    /// reported as zero.
    pub(crate) fn lowest_traffic(&self) -> Option<LowestTraffic> {
        let mut lowest: Vec<_> = self.recorded.iter().filter(|one| one.facts.leaf).collect();
        lowest.sort_by(|one, other| one.device.cmp(&other.device));
        let bytes = |sectors: fn(&DeviceGain) -> u64| {
            let sectors = lowest.iter().map(|one| sectors(&one.since_start)).fold(0, u64::saturating_add);
            sectors.saturating_mul(SECTOR)
        };
        let observed = self.all_found && lowest.iter().all(|one| !one.set_back);
        (observed && !lowest.is_empty()).then(|| LowestTraffic {
            disks: lowest.iter().map(|one| one.facts.name.clone()).collect(),
            read_bytes: bytes(|gain| gain.reads.sectors),
            written_bytes: bytes(|gain| gain.writes.sectors),
        })
    }
}

/// Devices found under a set of paths.
#[derive(Debug, Default)]
struct DeviceSet {
    /// The devices that hold a path.
    tops: Vec<BlockDevice>,
    /// Devices with those that the layers between show below them, in addition to what sysfs says of the device.
    below: Vec<(BlockDevice, Vec<BlockDevice>)>,
    /// True if each path has a device.
    all: bool,
    /// Layers whose devices are in the lists, and whether there are any.
    seen: Vec<(Vec<Layer>, bool)>,
}

impl DeviceSet {
    fn add(&mut self, layers: &mut Layers<'_>, path: &Path, top: Option<&BlockDevice>) {
        let under = layers.under(path);
        top.into_iter().for_each(|device| push_once(&mut self.tops, device.clone()));
        let seen = self.seen.iter().find(|(layers, _)| *layers == under).map(|&(_, any)| any);
        let any = seen.unwrap_or_else(|| {
            let highest = layers.highest_devices(&under);
            highest.iter().for_each(|device| push_once(&mut self.tops, device.clone()));
            self.below.extend(layers.devices_with_below(&under));
            self.seen.push((under, !highest.is_empty()));
            !highest.is_empty()
        });
        self.all &= top.is_some() || any;
    }

    /// Disks and stacked devices directly below a device, each once.
    fn below(&self, root: &Path, device: &BlockDevice) -> Vec<BlockDevice> {
        let mut below: Vec<BlockDevice> = Vec::new();
        let known = || self.below.iter().filter(|(upper, _)| upper == device);
        // The path of a backing file can be of another mount namespace; the layers know which file system has it.
        if device.backing_file().is_none() || known().next().is_none() {
            device.below(root).iter().for_each(|lower| push_once(&mut below, lower.whole()));
        }
        known().flat_map(|(_, lower)| lower).for_each(|lower| push_once(&mut below, lower.clone()));
        below
    }
}

/// Takes the first reading of all devices of the stacks, breadth first, each once.
fn record(root: &Path, paths: &DeviceSet, now: Nanos) -> Vec<RecordedDevice> {
    let mut known: Vec<BlockDevice> = paths.tops.clone();
    let (mut next, mut found) = (0, Vec::new());
    while let Some(device) = known.get(next).cloned() {
        let below = paths.below(root, &device);
        below.iter().for_each(|lower| push_once(&mut known, lower.clone()));
        if let Some(last) = read_counters(&device) {
            let sensor = surroundings::sensor(&device);
            let warning_millidegrees =
                sensor.as_ref().and_then(|sensor| surroundings::millidegrees(sensor, "temp1_max"));
            let facts = DeviceFacts { top: next < paths.tops.len(), warning_millidegrees, ..facts(&device, &below) };
            let (since_start, since_interval) = (DeviceGain::default(), DeviceGain::default());
            let members = Vec::new();
            let (last_read, set_back) = (now, false);
            found.push(RecordedDevice {
                device,
                sensor,
                facts,
                members,
                last,
                last_read,
                since_start,
                since_interval,
                set_back,
            });
        }
        next += 1;
    }
    found
}

fn push_once<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

fn position(recorded: &[RecordedDevice], device: &BlockDevice) -> Option<usize> {
    recorded.iter().position(|one| one.device == *device)
}

fn list_with_members(recorded: &[RecordedDevice], index: usize, list: &mut Vec<usize>) {
    if !list.contains(&index) {
        list.push(index);
        recorded[index].members.iter().for_each(|&member| list_with_members(recorded, member, list));
    }
}

/// The counters of a device. Kernels before 6.4 count the I/O of an NVMe namespace with native multipath only on its
/// paths: then theirs are added up.
fn read_counters(device: &BlockDevice) -> Option<DeviceGain> {
    let own = counters::parse(&device.counters()?)?;
    let is_used = own.reads.ios > 0 || own.writes.ios > 0;
    let paths = if is_used { Vec::new() } else { device.paths() };
    let of_paths = paths.iter().filter_map(|path| counters::parse(&path.counters()?));
    Some(of_paths.fold(own, |sum, path| {
        let mut both = sum;
        both.add(path);
        // They are at work at the same time.
        DeviceGain { in_flight: sum.in_flight + path.in_flight, busy_ms: sum.busy_ms.max(path.busy_ms), ..both }
    }))
}

fn facts(device: &BlockDevice, below: &[BlockDevice]) -> DeviceFacts {
    let kib = |kib: Option<u64>| kib?.checked_mul(1024);
    let link = device.link();
    DeviceFacts {
        name: device.name().to_owned(),
        leaf: below.is_empty(),
        below: below.iter().map(|lower| lower.name().to_owned()).collect(),
        model: device.model(),
        size_bytes: device.size(),
        rotational: device.is_rotational(),
        scheduler: device.scheduler(),
        write_back: device.write_cache().map(|cache| cache == WriteCache::WriteBack),
        own_write_back: device.own_write_cache().map(|cache| cache == WriteCache::WriteBack),
        cache_switched_off: device.has_cache_switched_off(),
        logical_block_bytes: device.logical_block_size(),
        physical_block_bytes: device.physical_block_size(),
        request_max_bytes: kib(device.max_sectors_kib()),
        queue_requests: device.queue_requests(),
        hardware_queues: device.hardware_queues(),
        read_ahead_bytes: kib(device.read_ahead_kib()),
        discard_max_bytes: device.discard_max_bytes(),
        numa_node: device.numa_node(),
        link_bytes_per_second: link.map(|(Link::Pcie(rate) | Link::Sata(rate))| rate),
        link_half_duplex: matches!(link, Some(Link::Sata(_))),
        ..DeviceFacts::default()
    }
}

//! All devices under a set of paths, from what the paths lie on down to the leaves, with their facts.

use crate::counters::DeviceCounters;
use model::DeviceFacts;
use std::path::Path;
use sys::device::{BlockDevice, WriteCache};

/// A device, what is constant about it, and its counters as read last.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    pub(crate) device: BlockDevice,
    pub(crate) facts: DeviceFacts,
    pub(crate) last: DeviceCounters,
}

/// The whole devices under `paths`, through partitions, dm, md, multipath, and loop devices to the file systems that
/// hold their files; those above first, each once. A device without counters is left out.
pub(crate) fn under(root: &Path, paths: &[&Path]) -> Vec<Watched> {
    let tops = paths.iter().filter_map(|path| BlockDevice::under(root, path).ok().flatten());
    let mut open: Vec<BlockDevice> = Vec::new();
    for top in tops.map(|device| device.whole()) {
        if !open.contains(&top) {
            open.push(top);
        }
    }
    let count = open.len();
    let mut next = 0;
    let mut found = Vec::new();
    while let Some(device) = open.get(next).cloned() {
        let mut below: Vec<BlockDevice> = device.below(root).iter().map(BlockDevice::whole).collect();
        below.dedup();
        open.extend(below.iter().filter(|lower| !open.contains(lower)).cloned().collect::<Vec<_>>());
        let counters = device.counters().and_then(|text| DeviceCounters::parse(&text));
        if let Some(last) = counters {
            let below: Vec<String> = below.iter().map(|lower| lower.name().to_owned()).collect();
            let facts = DeviceFacts { leaf: below.is_empty(), top: next < count, below, ..facts(&device) };
            found.push(Watched { device, facts, last });
        }
        next += 1;
    }
    found
}

fn facts(device: &BlockDevice) -> DeviceFacts {
    let kib = |kib: Option<u64>| kib?.checked_mul(1024);
    DeviceFacts {
        name: device.name().to_owned(),
        model: device.model(),
        size_bytes: device.size(),
        rotational: device.is_rotational(),
        scheduler: device.scheduler(),
        write_back: device.write_cache().map(|cache| cache == WriteCache::WriteBack),
        logical_block_bytes: device.logical_block_size(),
        physical_block_bytes: device.physical_block_size(),
        request_max_bytes: kib(device.max_sectors_kib()),
        queue_requests: device.queue_requests(),
        hardware_queues: device.hardware_queues(),
        read_ahead_bytes: kib(device.read_ahead_kib()),
        discard_max_bytes: device.discard_max_bytes(),
        numa_node: device.numa_node(),
        link_bytes_per_second: device.link_bytes_per_second(),
        ..DeviceFacts::default()
    }
}

//! The devices of a report, in its order.

use super::IostatError;
use super::names::Names;
use super::request::{Listing, Name, Request};
use crate::listing::{self, DeviceFiles, Reading};
use std::collections::{BTreeMap, BTreeSet};

/// Devices that follow each other; with a heading they are a group.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// Name of the sum.
    pub(super) heading: Option<String>,
    pub(super) readings: Vec<Reading>,
}

/// The place of every device of the earlier reports, for reports that are not sorted.
#[derive(Debug, Default)]
pub(super) struct Places(BTreeMap<String, usize>);

impl Places {
    /// Puts new devices after all others. One that vanished has kept its place for its return.
    fn settle(&mut self, readings: &mut [Reading]) {
        for reading in readings.iter() {
            let next = self.0.len();
            self.0.entry(reading.name.clone()).or_insert(next);
        }
        readings.sort_by_key(|reading| self.0.get(&reading.name).copied());
    }
}

/// The requested devices: as given if there are groups, as listed with partitions, otherwise sorted.
pub(super) fn arranged(
    files: &[DeviceFiles],
    request: &Request,
    names: &Names<'_>,
    places: &mut Places,
) -> Result<Vec<Block>, IostatError> {
    let mut blocks = named(files, request, names);
    let seen: BTreeSet<String> =
        blocks.iter().flat_map(|block| &block.readings).map(|reading| reading.name.clone()).collect();
    let mut listed = listed(files, request)?;
    listed.retain(|reading| !seen.contains(&reading.name));
    blocks.last_mut().expect("there is always one block").readings.append(&mut listed);
    if blocks.len() > 1 || request.lists_partitions() {
        blocks.iter_mut().for_each(|block| places.settle(&mut block.readings));
    } else if request.listing == Listing::Whole || !request.names_devices() {
        blocks.iter_mut().for_each(|block| block.readings.sort_by(|one, other| one.name.cmp(&other.name)));
    }
    if !request.names_devices() && matches!(request.listing, Listing::Named | Listing::UsedPartitions) {
        blocks.iter_mut().for_each(|block| block.readings.retain(Reading::is_used));
    }
    Ok(blocks)
}

/// Inserts a reading before the first one whose name is larger than `key`.
fn insert(readings: &mut Vec<Reading>, key: &str, reading: Reading) {
    let later = readings.iter().position(|other| other.name.as_str() > key);
    readings.insert(later.unwrap_or(readings.len()), reading);
}

/// The devices that were requested by name: in a group as given and then their partitions, otherwise sorted. A name of
/// device-mapper is sorted as it was given. If all partitions are listed, those of a named device are not named.
fn named(files: &[DeviceFiles], request: &Request, names: &Names<'_>) -> Vec<Block> {
    let grouped = request.groups() > 0;
    let (mut links, mut seen) = (None, BTreeSet::new());
    let mut block = Block::default();
    let (mut blocks, mut partitions) = (Vec::new(), Vec::new());
    for name in &request.names {
        let (word, find): (_, fn(&DeviceFiles, &str) -> Vec<Reading>) = match name {
            Name::WithPartitions(word) if !request.lists_partitions() => (word, DeviceFiles::with_partitions),
            Name::Device(word) | Name::WithPartitions(word) => {
                (word, |files, name| files.single(name).into_iter().collect())
            }
            Name::Links(kind) => {
                links = Some(kind.as_str());
                continue;
            }
            Name::Group(heading) => {
                let next = Block { heading: Some(format!(" {heading}")), ..Block::default() };
                block.readings.append(&mut partitions);
                blocks.push(std::mem::replace(&mut block, next));
                continue;
            }
        };
        let kernel = names.kernel(word, links);
        let found = files.iter().map(|files| find(files, &kernel)).find(|found| !found.is_empty());
        for reading in found.into_iter().flatten().filter(|reading| seen.insert(reading.name.clone())) {
            match (grouped, reading.name == kernel) {
                (true, true) => block.readings.push(reading),
                (true, false) => partitions.push(reading),
                (false, true) => insert(&mut block.readings, names.sorted_as(word, &kernel), reading),
                (false, false) => insert(&mut block.readings, &reading.name.clone(), reading),
            }
        }
    }
    block.readings.append(&mut partitions);
    blocks.push(block);
    blocks
}

/// The devices that were not requested by name. One that is in several files has its first place and its last counters.
fn listed(files: &[DeviceFiles], request: &Request) -> Result<Vec<Reading>, IostatError> {
    let (named, groups) = (request.names_devices(), request.groups());
    let read: fn(&DeviceFiles) -> Result<Vec<Reading>, IostatError> = match request.listing {
        // If several groups are given without devices, they are all empty.
        Listing::Named if named || groups > 1 => return Ok(Vec::new()),
        Listing::Named | Listing::Whole => |files| Ok(files.whole_devices()),
        Listing::UsedPartitions | Listing::Partitions => diskstats,
    };
    let mut all: Vec<Reading> = Vec::new();
    let mut places = BTreeMap::new();
    for files in files {
        for reading in read(files)? {
            let at = *places.entry(reading.name.clone()).or_insert(all.len());
            match all.get_mut(at) {
                Some(earlier) => *earlier = reading,
                None => all.push(reading),
            }
        }
    }
    Ok(all)
}

/// The lines of /proc/diskstats, or of the same file of devices in user space, which may be missing.
fn diskstats(files: &DeviceFiles) -> Result<Vec<Reading>, IostatError> {
    let path = files.diskstats();
    match (std::fs::read_to_string(&path), files) {
        (Ok(text), _) => Ok(listing::diskstats(&text)),
        (Err(_), DeviceFiles::UserSpace(_)) => Ok(Vec::new()),
        (Err(error), DeviceFiles::Kernel(_)) => Err(IostatError::Unreadable { path, error }),
    }
}

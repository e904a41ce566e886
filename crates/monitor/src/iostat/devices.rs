//! The devices of a report, in its order: those that words of the command line name, and the names that are shown.

use super::IostatError;
use super::command_line::{Flag, Listing, Name, Request};
use crate::listing::{self, DeviceFiles, Reading};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Devices that follow each other; with a heading they are a group.
#[derive(Debug, Default)]
pub(super) struct Block {
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

/// The names of all devices at one moment, under one root.
pub(super) struct Names<'a> {
    root: &'a Path,
    /// Device-mapper names by kernel name; empty without `-N`.
    mapper: BTreeMap<String, String>,
    /// The first link in alphabetical order, by kernel name; empty without `-j`.
    links: BTreeMap<String, String>,
}

impl<'a> Names<'a> {
    pub(super) fn read(root: &'a Path, request: &Request) -> Self {
        let mapper = if request.has(Flag::MapperNames) { listing::mapper_names(root) } else { BTreeMap::new() };
        let mut names = Names { root, mapper, links: BTreeMap::new() };
        if let Some(kind) = request.links() {
            let directory = directory_of_links(root, kind);
            let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
            let mut links: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
            links.sort_unstable_by(|one, other| other.cmp(one));
            // The first in alphabetical order is inserted last, and replaces the others.
            names.links =
                links.into_iter().filter_map(|link| Some((names.below_dev(&directory.join(&link))?, link))).collect();
        }
        names
    }

    /// The name that is shown for a device.
    pub(super) fn shown<'n>(&'n self, kernel: &'n str) -> &'n str {
        self.links.get(kernel).or_else(|| self.mapper.get(kernel)).map_or(kernel, String::as_str)
    }

    /// The name by which a device that was named by `given` is sorted.
    fn sorted_as<'n>(&self, given: &'n str, kernel: &'n str) -> &'n str {
        if self.mapper.get(kernel).is_some_and(|name| name == given) { given } else { kernel }
    }

    /// The kernel's name of a device that the user named by name, path, link or mapper name. `links` is the type of
    /// links whose names are tried first.
    fn kernel(&self, given: &str, links: Option<&str>) -> String {
        let linked = links.and_then(|kind| self.below_dev(&directory_of_links(self.root, kind).join(given)));
        if let Some(kernel) = linked {
            return kernel;
        }
        let short = given.strip_prefix("/dev/").unwrap_or(given);
        if let Some((kernel, _)) = self.mapper.iter().find(|(_, name)| name.as_str() == short) {
            return kernel.clone();
        }
        let inside = self.below_dev(&self.root.join("dev").join(short));
        let elsewhere = || given.starts_with('/').then(|| self.below_dev(Path::new(given))).flatten();
        inside.or_else(elsewhere).unwrap_or_else(|| short.to_owned())
    }

    /// The name below /dev of the file that a path leads to.
    fn below_dev(&self, path: &Path) -> Option<String> {
        let dev = self.root.join("dev").canonicalize().ok()?;
        let name = path.canonicalize().ok()?.strip_prefix(dev).ok()?.to_str()?.to_owned();
        Some(name).filter(|name| !name.is_empty())
    }
}

/// The directory of the links of a type: `id` → /dev/disk/by-id.
fn directory_of_links(root: &Path, kind: &str) -> PathBuf {
    root.join("dev/disk").join(format!("by-{kind}"))
}

impl Request {
    /// Checks that the directories that the command line names exist under `root`.
    ///
    /// # Errors
    /// The first one that does not.
    pub fn check(&self, root: &Path) -> Result<(), IostatError> {
        for files in self.device_files(root) {
            let DeviceFiles::UserSpace(path) = files else { continue };
            if !path.is_dir() {
                let path = path.display();
                return Err(IostatError::CommandLine(format!("-f {path}: no such directory")));
            }
        }
        for name in &self.names {
            let Name::Links(kind) = name else { continue };
            if !directory_of_links(root, kind).is_dir() {
                return Err(IostatError::CommandLine(format!(
                    "-j {kind}: Invalid type of persistent device name: there is no /dev/disk/by-{kind}; {}",
                    types_of_links(root)
                )));
            }
        }
        Ok(())
    }
}

/// The types that `-j` can be given on this machine.
fn types_of_links(root: &Path) -> String {
    let entries = std::fs::read_dir(root.join("dev/disk")).into_iter().flatten().flatten();
    let kind = |entry: std::fs::DirEntry| Some(entry.file_name().to_str()?.strip_prefix("by-")?.to_uppercase());
    let mut kinds: Vec<String> = entries.filter_map(kind).collect();
    kinds.sort();
    if kinds.is_empty() { "/dev/disk has no links".to_owned() } else { format!("there are {}", kinds.join(", ")) }
}

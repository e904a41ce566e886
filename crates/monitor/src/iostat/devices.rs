//! The devices of a report, in its order: those that words of the command line name, and the names that are shown.

use super::IostatError;
use super::command_line::{Flag, Listing, Name, Request};
use crate::listing::{self, DeviceFiles, Listed, Reading};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Devices that follow each other; with a heading they are a group.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) heading: Option<String>,
    pub(super) readings: Vec<Reading>,
    /// Devices of the block that were never used, and are not shown.
    pub(super) unused: usize,
}

/// The place of every device of the earlier reports, for reports that are not sorted.
#[derive(Debug, Default)]
pub(super) struct Places(BTreeMap<String, usize>);

impl Places {
    /// Puts new devices after all others. One that vanished has kept its place for its return.
    fn settle(&mut self, readings: &mut [Reading]) {
        self.add(readings.iter().map(|reading| &reading.name));
        readings.sort_by_key(|reading| self.0.get(&reading.name).copied());
    }

    fn add<'a>(&mut self, names: impl Iterator<Item = &'a String>) {
        for name in names {
            let next = self.0.len();
            self.0.entry(name.clone()).or_insert(next);
        }
    }
}

/// The requested devices: as given if there are groups, as listed with partitions, otherwise sorted.
pub(super) fn arranged(
    files: &[DeviceFiles],
    request: &Request,
    names: &Names<'_>,
    places: &mut Places,
) -> Result<Vec<Block>, IostatError> {
    let words = words(request, names);
    let mut listed = listed(files, request)?;
    let mut order = order(&words);
    let in_list = |name: &str| listed.iter().find(|reading| reading.name == name).cloned();
    let find = |device: &Named| {
        // Of all partitions, a word only gives a place in the list.
        if request.lists_partitions() {
            return in_list(&device.kernel).into_iter().collect();
        }
        let found = match device.with_partitions {
            true => first_of(files, |files| files.with_partitions(&device.kernel)),
            false => first_of(files, |files| files.single(&device.kernel).into_iter().collect()),
        };
        found.into_iter().map(|reading| in_list(&reading.name).unwrap_or(reading)).collect()
    };
    let mut blocks = named(&words, &mut order, find);
    let seen: BTreeSet<String> =
        blocks.iter().flat_map(|block| &block.readings).map(|reading| reading.name.clone()).collect();
    listed.retain(|reading| !seen.contains(&reading.name));
    blocks.last_mut().expect("there is always one block").readings.append(&mut listed);
    if request.groups() > 0 || request.lists_partitions() {
        places.add(order.iter());
        blocks.iter_mut().for_each(|block| places.settle(&mut block.readings));
    } else if request.listing == Listing::Whole || !request.names_devices() {
        blocks.iter_mut().for_each(|block| block.readings.sort_by(|one, other| one.name.cmp(&other.name)));
    }
    if !request.names_devices() && matches!(request.listing, Listing::Named | Listing::UsedPartitions) {
        for block in &mut blocks {
            let all = block.readings.len();
            block.readings.retain(Reading::is_used);
            block.unused = all - block.readings.len();
        }
        blocks.retain(|block| block.heading.is_none() || !block.readings.is_empty());
    }
    Ok(blocks)
}

/// The readings in the first of the files that have any.
fn first_of(files: &[DeviceFiles], read: impl Fn(&DeviceFiles) -> Vec<Reading>) -> Vec<Reading> {
    files.iter().map(read).find(|found| !found.is_empty()).unwrap_or_default()
}

/// Inserts a name before the first one that is larger than `key`.
fn insert(names: &mut Vec<String>, key: &str, name: &str) {
    let later = names.iter().position(|other| other.as_str() > key);
    names.insert(later.unwrap_or(names.len()), name.to_owned());
}

/// The devices that were requested by name, in this order. Partitions that come with their device and that no word
/// names are added to it: sorted, and with groups at the end of the last one.
fn named(words: &[Word], order: &mut Vec<String>, find: impl Fn(&Named) -> Vec<Reading>) -> Vec<Block> {
    let mut seen = BTreeSet::new();
    let mut blocks = vec![Block::default()];
    let mut partitions: BTreeMap<&str, Vec<Reading>> = BTreeMap::new();
    for word in words {
        let device = match word {
            Word::Device(device) => device,
            Word::Group(heading) => {
                if blocks.iter().all(|block| block.heading.as_ref() != Some(heading)) {
                    blocks.push(Block { heading: Some(heading.clone()), ..Block::default() });
                }
                continue;
            }
        };
        let block = blocks.last_mut().expect("there is always one block");
        for reading in find(device) {
            if reading.name != device.kernel {
                partitions.entry(&device.kernel).or_default().push(reading);
            } else if seen.insert(reading.name.clone()) {
                block.readings.push(reading);
            }
        }
    }
    let is_grouped = blocks.len() > 1;
    let last = &mut blocks.last_mut().expect("there is always one block").readings;
    for reading in order.clone().iter().filter_map(|name| partitions.remove(name.as_str())).flatten() {
        if seen.insert(reading.name.clone()) {
            if is_grouped {
                order.push(reading.name.clone());
            } else {
                insert(order, &reading.name, &reading.name);
            }
            last.push(reading);
        }
    }
    let places: BTreeMap<&str, usize> = order.iter().map(String::as_str).zip(0..).collect();
    for block in &mut blocks {
        block.readings.sort_by_key(|reading| places.get(reading.name.as_str()));
    }
    blocks
}

/// A word of the command line.
enum Word {
    Device(Named),
    Group(String),
}

/// A device that a word names.
struct Named {
    /// Its name, where links and mapper names have been replaced.
    kernel: String,
    /// By what it is sorted: a name of device-mapper as it was given.
    key: String,
    with_partitions: bool,
    /// Its word stands before the first group and before `-p` without a device.
    is_sorted: bool,
}

fn words(request: &Request, names: &Names<'_>) -> Vec<Word> {
    let sorted = request.sorted.unwrap_or(usize::MAX);
    let mut links = None;
    let mut found = Vec::new();
    for (at, name) in request.names.iter().enumerate() {
        let (given, with_partitions) = match name {
            Name::Device(given) => (given, false),
            Name::WithPartitions(given) => (given, true),
            Name::Group(heading) => {
                found.push(Word::Group(format!(" {heading}")));
                continue;
            }
            Name::Links(kind) => {
                links = Some(kind.as_str());
                continue;
            }
        };
        // /proc/diskstats, from which all partitions are listed, has no `!`: there the word names nothing.
        if !(request.lists_partitions() && given.contains('!')) {
            let kernel = names.kernel(given, links);
            let key = names.sorted_as(given, &kernel).to_owned();
            found.push(Word::Device(Named { kernel, key, with_partitions, is_sorted: at < sorted }));
        }
    }
    found
}

/// The order of the devices that words name: sorted up to the first group or `-p` without a device, then as given. One
/// that does not exist has its place as well.
fn order(words: &[Word]) -> Vec<String> {
    let mut order: Vec<String> = Vec::new();
    for word in words {
        match word {
            Word::Device(device) if order.contains(&device.kernel) => {}
            Word::Device(device) if device.is_sorted => insert(&mut order, &device.key, &device.kernel),
            Word::Device(device) => order.push(device.kernel.clone()),
            Word::Group(_) => {}
        }
    }
    order
}

/// The devices that were not requested by name. One that is in several files has its first place and its last counters.
fn listed(files: &[DeviceFiles], request: &Request) -> Result<Vec<Reading>, IostatError> {
    let read: fn(&DeviceFiles) -> Result<Vec<Reading>, IostatError> = match request.listing {
        Listing::Named if request.names_devices() => return Ok(Vec::new()),
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
    // A line of four numbers has nothing to extend; as in iostat, its device is shown if a word names it and not all
    // partitions are listed.
    all.retain(|reading| reading.listed == Listed::Whole || !request.has(Flag::Extended));
    Ok(all)
}

/// The lines of /proc/diskstats, or of the same file of devices in user space, which may be missing.
fn diskstats(files: &DeviceFiles) -> Result<Vec<Reading>, IostatError> {
    let path = files.diskstats();
    match (sys::machine::text::kernel_text(&path), files) {
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
        if let Some((kernel, _)) = self.mapper.iter().find(|(_, name)| name.as_str() == given) {
            return kernel.clone();
        }
        // `//dev//sda` is /dev/sda.
        let plain = given.split('/').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
        let short = plain.strip_prefix("dev/").filter(|_| given.starts_with('/')).unwrap_or(given);
        let inside = self.below_dev(&self.root.join("dev").join(short));
        let elsewhere = || given.starts_with('/').then(|| self.below_dev(Path::new(given))).flatten();
        inside.or_else(elsewhere).unwrap_or_else(|| short.replace('!', "/"))
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

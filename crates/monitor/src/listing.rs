//! List of block devices with their counters: /sys/block, partitions, /proc/diskstats, device-mapper names.

use crate::counters;
use model::{DeviceGain, RequestGain};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Set of counters on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// Eleven fields or more.
    Whole,
    /// Four fields: requests and sectors of reads and writes, as for partitions before Linux 2.6.25.
    Brief,
}

/// One device's counters at one point in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Kernel name, with `/` where /sys has `!`.
    pub name: String,
    /// Its counters.
    pub counters: DeviceGain,
    /// Set of counters that were read.
    pub listed: Listed,
}

impl Reading {
    /// True if the device has completed any request.
    pub fn is_used(&self) -> bool {
        let counters = &self.counters;
        let discards = counters.discards.map_or(0, |discards| discards.ios);
        let flushes = counters.flushes.map_or(0, |(flushes, _)| flushes);
        [counters.reads.ios, counters.writes.ios, discards, flushes].iter().any(|&ios| ios > 0)
    }
}

/// Parses the fields after the name.
fn parse_fields(fields: &str) -> Option<(DeviceGain, Listed)> {
    if let Some(whole) = counters::parse(fields) {
        return Some((whole, Listed::Whole));
    }
    let numbers = fields.split_ascii_whitespace().map(|field| field.parse().ok()).collect::<Option<Vec<u64>>>()?;
    let [read_ios, read_sectors, write_ios, write_sectors] = *numbers.first_chunk()?;
    let requests = |ios, sectors| RequestGain { ios, sectors, ..RequestGain::default() };
    let (reads, writes) = (requests(read_ios, read_sectors), requests(write_ios, write_sectors));
    (numbers.len() == 4).then(|| (DeviceGain { reads, writes, ..DeviceGain::default() }, Listed::Brief))
}

/// The valid lines of a /proc/diskstats, in order.
pub fn diskstats(text: &str) -> Vec<Reading> {
    let reading = |line: &str| {
        let mut rest = line;
        let mut words = [""; 3];
        for word in &mut words {
            rest = rest.trim_ascii_start();
            (*word, rest) = rest.split_once(|c: char| c.is_ascii_whitespace())?;
        }
        let [major, minor, name] = words;
        let _numbers: (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
        let (counters, listed) = parse_fields(rest)?;
        Some(Reading { name: name.to_owned(), counters, listed })
    };
    text.lines().filter_map(reading).collect()
}

/// The files with the counters of devices.
#[derive(Clone, Debug)]
pub(crate) enum DeviceFiles {
    /// The kernel's, under this root.
    Kernel(PathBuf),
    /// Those of devices in user space, in this directory.
    UserSpace(PathBuf),
}

impl DeviceFiles {
    /// All whole devices (not partitions), in directory order.
    pub(crate) fn whole_devices(&self) -> Vec<Reading> {
        directories(&self.block())
    }

    /// The device or partition `name`, followed by its partitions in directory order. Empty if there is no such device.
    pub(crate) fn with_partitions(&self, name: &str) -> Vec<Reading> {
        let mut found: Vec<Reading> = self.single(name).into_iter().collect();
        if let Some(file) = file_name(name) {
            found.extend(directories(&self.block().join(file)));
        }
        found
    }

    /// The device or partition `name`.
    pub(crate) fn single(&self, name: &str) -> Option<Reading> {
        let file = file_name(name)?;
        let block = self.block();
        if let Some(whole) = reading(&block.join(&file), name) {
            return Some(whole);
        }
        let disks = std::fs::read_dir(&block).ok()?;
        disks.flatten().find_map(|disk| reading(&disk.path().join(&file), name))
    }

    /// The file with a line for each device and partition.
    pub(crate) fn diskstats(&self) -> PathBuf {
        match self {
            DeviceFiles::Kernel(root) => root.join("proc/diskstats"),
            DeviceFiles::UserSpace(directory) => directory.join("diskstats"),
        }
    }

    fn block(&self) -> PathBuf {
        match self {
            DeviceFiles::Kernel(root) => root.join("sys/block"),
            DeviceFiles::UserSpace(directory) => directory.join("block"),
        }
    }
}

/// All whole devices (not partitions) under `root`, in directory order.
pub fn whole_devices(root: &Path) -> Vec<Reading> {
    DeviceFiles::Kernel(root.to_owned()).whole_devices()
}

/// The device or partition `name` under `root`.
pub fn single(root: &Path, name: &str) -> Option<Reading> {
    DeviceFiles::Kernel(root.to_owned()).single(name)
}

/// File name of a device's directory; `None` for names that would leave /sys/block.
fn file_name(name: &str) -> Option<String> {
    let file = name.replace('/', "!");
    (!file.is_empty() && file != "." && file != "..").then_some(file)
}

fn reading(directory: &Path, name: &str) -> Option<Reading> {
    let (counters, listed) = parse_fields(&sys::machine::text::kernel_text(&directory.join("stat")).ok()?)?;
    Some(Reading { name: name.to_owned(), counters, listed })
}

/// Every subdirectory with a readable `stat`.
fn directories(parent: &Path) -> Vec<Reading> {
    let Ok(entries) = std::fs::read_dir(parent) else { return Vec::new() };
    let read = |entry: std::fs::DirEntry| reading(&entry.path(), &entry.file_name().to_str()?.replace('!', "/"));
    entries.flatten().filter_map(read).collect()
}

/// Device-mapper names by kernel name: `dm-0` → `root`.
pub(crate) fn mapper_names(root: &Path) -> BTreeMap<String, String> {
    let Ok(entries) = std::fs::read_dir(root.join("sys/block")) else { return BTreeMap::new() };
    let named = |entry: std::fs::DirEntry| {
        let name = std::fs::read_to_string(entry.path().join("dm/name")).ok()?;
        Some((entry.file_name().to_str()?.to_owned(), name.trim_end().to_owned()))
    };
    entries.flatten().filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_of_every_age_are_read_in_their_order() {
        let text = "   8  0 sdb 1 2 3 4 5 6 7 8 9 10 11\n 8 1 sda1 7 56 2 16\n 8 2 odd 1 2 3\nnonsense\n\
                    8 3 sda3 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n";
        let found = diskstats(text);
        let names: Vec<_> = found.iter().map(|reading| (reading.name.as_str(), reading.listed)).collect();
        assert_eq!(names, [("sdb", Listed::Whole), ("sda1", Listed::Brief), ("sda3", Listed::Whole)]);
        assert_eq!((found[1].counters.reads.ios, found[1].counters.writes.sectors), (7, 16));
    }

    #[test]
    fn partitions_are_found_by_name_and_behind_their_disk() {
        let root = tempfile::tempdir().unwrap();
        for (directory, stat) in [
            ("sda", "5 0 40 1 0 0 0 0 0 1 1"),
            ("sda/sda1", "3 0 24 1 0 0 0 0 0 1 1"),
            ("cciss!c0d0", "1 0 8 1 0 0 0 0 0 1 1"),
            ("dm-0", "0 0 0 0 0 0 0 0 0 0 0"),
        ] {
            let directory = root.path().join("sys/block").join(directory);
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join("stat"), stat).unwrap();
        }
        std::fs::create_dir_all(root.path().join("sys/block/dm-0/dm")).unwrap();
        std::fs::write(root.path().join("sys/block/dm-0/dm/name"), "root\n").unwrap();
        let names = |found: Vec<Reading>| found.into_iter().map(|reading| reading.name).collect::<Vec<_>>();
        let kernel = DeviceFiles::Kernel(root.path().to_owned());
        assert_eq!(names(kernel.with_partitions("sda")), ["sda", "sda1"]);
        assert_eq!(names(kernel.with_partitions("sda1")), ["sda1"]);
        assert_eq!(names(kernel.with_partitions("cciss/c0d0")), ["cciss/c0d0"]);
        assert_eq!(names(kernel.with_partitions("..")), Vec::<String>::new());
        assert_eq!(whole_devices(root.path()).iter().filter(|reading| reading.is_used()).count(), 2);
        assert_eq!(mapper_names(root.path()), BTreeMap::from([("dm-0".to_owned(), "root".to_owned())]));
    }

    proptest! {
        #[test]
        fn damaged_text_never_panics(text in "[0-9a-z \\n.\\-é]{0,400}") {
            for reading in diskstats(&text) {
                let gained = counters::since(&reading.counters, &DeviceGain::default()).unwrap();
                let _ = crate::device_activity(&reading.name, &gained, 0, 1);
            }
            let _ = (crate::cpu::uptime_centiseconds(&text), crate::CpuCounters::parse(&format!("cpu {text}")));
        }

        #[test]
        fn counters_of_any_size_give_rates(numbers in proptest::collection::vec(any::<u64>(), 17 * 2)) {
            let line = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
            let parsed = |numbers| counters::parse(&line(numbers)).unwrap();
            if let Some(gained) = counters::since(&parsed(&numbers[17..]), &parsed(&numbers[..17])) {
                let activity = crate::device_activity("sda", &gained, 100, 1);
                prop_assert!(activity.queue.is_finite() && activity.utilisation_percent >= 0.0);
            }
            let cpu = |numbers| crate::CpuCounters::parse(&format!("cpu  {}", line(numbers))).unwrap();
            prop_assert!(cpu(&numbers[17..]).since(&cpu(&numbers[..17])).idle >= 0.0);
        }
    }
}

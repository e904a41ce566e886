//! Block devices in sysfs: the device of a path, its place in a stack, and its properties.
//!
//! Everything is read below a given root directory; only the device number of a path comes from the live file system.

use crate::SysError;
use crate::machine::text::{lines, number, word};
use std::collections::BTreeSet;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A device number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber {
    /// Identifies the driver.
    pub major: u32,
    /// Identifies the device of that driver.
    pub minor: u32,
}

impl DeviceNumber {
    /// Converts a device number of stat(2).
    pub fn from_stat(device: u64) -> Self {
        DeviceNumber { major: rustix::fs::major(device), minor: rustix::fs::minor(device) }
    }

    /// Parses `8:1`, the format of sysfs.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl std::fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// Returns the device number of `path` if it is a block device, or else of the device that contains the file or
/// directory. For a path that does not exist, its nearest existing parent counts.
///
/// # Errors
/// If no part of the path can be read.
pub fn number_under(path: &Path) -> Result<DeviceNumber, SysError> {
    let mut candidate = path;
    loop {
        match std::fs::metadata(candidate) {
            Ok(found) if found.file_type().is_block_device() => return Ok(DeviceNumber::from_stat(found.rdev())),
            Ok(found) => return Ok(DeviceNumber::from_stat(found.dev())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                candidate = match candidate.parent() {
                    Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
                    Some(parent) => parent,
                    None => return Err(SysError::path("stat", path, error)),
                };
            }
            Err(error) => return Err(SysError::path("stat", candidate, error)),
        }
    }
}

/// A block device, by its directory in sysfs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockDevice {
    directory: PathBuf,
    name: String,
}

/// Write cache mode (queue/write_cache).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteCache {
    /// Writes complete before they are durable; a flush makes them durable.
    WriteBack,
    /// Writes are durable when they complete, as far as the kernel knows.
    WriteThrough,
}

/// The zones of a zoned device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZonedModel {
    /// `host-managed` or `host-aware`.
    pub model: String,
    /// Their number.
    pub zones: u64,
    /// Size of a zone in bytes.
    pub zone_bytes: u64,
}

/// Link of a device, and its maximum rate in bytes per second after line encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// PCIe has this rate in each direction.
    Pcie(u64),
    /// SATA transfers in one direction at a time.
    Sata(u64),
}

impl BlockDevice {
    /// Returns the device with this number; `None` if sysfs has none, as for file systems without a block device
    /// (tmpfs, overlay, network) and for btrfs, which has virtual device numbers.
    pub fn by_number(root: &Path, number: DeviceNumber) -> Option<Self> {
        Self::of_link(&root.join(format!("sys/dev/block/{number}")))
    }

    /// Returns the disk or stacked device with this kernel name, such as `sda`; not a partition.
    pub fn by_name(root: &Path, name: &str) -> Option<Self> {
        // sysfs replaces slashes in device names by exclamation marks.
        let entry = root.join("sys/block").join(name.replace('/', "!"));
        Self::at(&std::fs::canonicalize(entry).ok()?)
    }

    /// Returns the device that contains `path`, or that `path` is; `None` as in [`BlockDevice::by_number`]. For file
    /// systems with virtual device numbers it uses the mount table.
    ///
    /// # Errors
    /// If the path cannot be read.
    pub fn under(root: &Path, path: &Path) -> Result<Option<Self>, SysError> {
        let number = number_under(path)?;
        Ok(Self::by_number(root, number).or_else(|| {
            let mount = crate::files::mounts::holding(root, path).ok().flatten()?;
            let source = std::fs::metadata(&mount.source).ok().filter(|found| found.file_type().is_block_device())?;
            Self::by_number(root, DeviceNumber::from_stat(source.rdev()))
        }))
    }

    /// Returns the device that a link points to, as there are in many directories of sysfs.
    pub fn of_link(link: &Path) -> Option<Self> {
        Self::at(&std::fs::canonicalize(link).ok()?)
    }

    fn at(directory: &Path) -> Option<Self> {
        let name = directory.file_name()?.to_str()?.replace('!', "/");
        let found = BlockDevice { directory: directory.to_owned(), name };
        (directory.join("dev").exists() || found.is_path()).then_some(found)
    }

    /// True for a path of an NVMe namespace, which has neither a number nor a node.
    fn is_path(&self) -> bool {
        number(&self.directory.join("hidden")) == Some(1)
    }

    /// Kernel name, such as `sda` or `nvme0n1p2`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its directory in /sys/devices.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Device number.
    pub fn number(&self) -> Option<DeviceNumber> {
        DeviceNumber::parse(&word(&self.directory.join("dev"))?)
    }

    /// True if it is a partition of another device.
    pub fn is_partition(&self) -> bool {
        self.directory.join("partition").exists()
    }

    /// Number of the partition on its disk.
    pub fn partition_number(&self) -> Option<u64> {
        number(&self.directory.join("partition"))
    }

    /// Partitions of the device, by name.
    pub fn partitions(&self) -> Vec<BlockDevice> {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let found = entries.filter_map(|entry| Self::at(&entry.path()));
        let mut partitions: Vec<_> = found.filter(BlockDevice::is_partition).collect();
        partitions.sort();
        partitions
    }

    /// The disk of a partition; any other device itself.
    pub fn whole(&self) -> BlockDevice {
        let parent = || Self::at(self.directory.parent()?);
        if self.is_partition() { parent().unwrap_or_else(|| self.clone()) } else { self.clone() }
    }

    /// The devices that a dm or md device is built on, by name; none for others.
    pub fn members(&self) -> Vec<BlockDevice> {
        self.linked("slaves")
    }

    /// The devices that are built on it, by name.
    pub fn holders(&self) -> Vec<BlockDevice> {
        self.linked("holders")
    }

    fn linked(&self, kind: &str) -> Vec<BlockDevice> {
        let entries = std::fs::read_dir(self.directory.join(kind)).into_iter().flatten().flatten();
        let targets = entries.filter_map(|entry| Self::at(&std::fs::canonicalize(entry.path()).ok()?));
        targets.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// True if a loop device bypasses the page cache of its backing file; `None` for other devices.
    pub fn bypasses_page_cache(&self) -> Option<bool> {
        Some(number(&self.whole().directory.join("loop/dio"))? != 0)
    }

    /// Backing file of a loop device.
    pub fn backing_file(&self) -> Option<PathBuf> {
        Some(PathBuf::from(word(&self.whole().directory.join("loop/backing_file"))?))
    }

    /// Position of a loop device's or partition's first byte in the file or device that it is on.
    pub fn first_byte(&self) -> Option<u64> {
        match self.is_partition() {
            true => number(&self.directory.join("start")).map(|sectors| sectors.saturating_mul(512)),
            false => self.backing_offset(),
        }
    }

    /// Offset of a loop device's first byte in its backing file.
    pub fn backing_offset(&self) -> Option<u64> {
        number(&self.whole().directory.join("loop/offset"))
    }

    /// The paths to an NVMe namespace with native multipath, by name: `nvme0c1n1` leads to `nvme0n1` by the second
    /// controller of its subsystem. None of other devices.
    pub fn paths(&self) -> Vec<BlockDevice> {
        let subsystem = self.directory.parent().filter(|above| {
            above.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("nvme-subsys"))
        });
        let (Some(subsystem), Some((front, back))) = (subsystem, self.name.rsplit_once('n')) else { return Vec::new() };
        let (front, back) = (format!("{front}c"), format!("n{back}"));
        let is_path = |path: &Path| {
            let name = path.file_name().and_then(|name| name.to_str());
            let controller = name.and_then(|name| name.strip_prefix(&front)?.strip_suffix(&back));
            controller.is_some_and(|number| number.parse::<u32>().is_ok())
        };
        let inside = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten();
        let controllers = inside(subsystem.to_owned()).filter_map(|entry| std::fs::canonicalize(entry.path()).ok());
        let found =
            controllers.filter(|folder| !folder.starts_with(subsystem)).flat_map(inside).map(|entry| entry.path());
        let paths = found.filter(|path| is_path(path)).filter_map(|path| Self::at(&path));
        paths.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Devices directly below: its members, the paths to an NVMe namespace, the disk of a partition, or the device that
    /// contains the backing file of a loop device.
    pub fn below(&self, root: &Path) -> Vec<BlockDevice> {
        if self.is_partition() {
            return vec![self.whole()];
        }
        let members = [self.members(), self.paths()].concat();
        if !members.is_empty() {
            return members;
        }
        let held = self.backing_file().and_then(|file| Self::under(root, &file).ok().flatten());
        held.into_iter().collect()
    }

    /// Disks at the bottom of the stack, without duplicates, by name: the devices that I/O reaches in the end. A disk
    /// with nothing below it is returned itself.
    pub fn leaves(&self, root: &Path) -> Vec<BlockDevice> {
        let (mut seen, mut leaves, mut open) = (BTreeSet::new(), BTreeSet::new(), vec![self.clone()]);
        while let Some(device) = open.pop() {
            if !seen.insert(device.clone()) {
                continue;
            }
            let below = device.below(root);
            if below.is_empty() {
                leaves.insert(device);
            } else {
                open.extend(below);
            }
        }
        leaves.into_iter().collect()
    }

    /// Text of its `stat` file (kernel doc: block/stat); `None` if the device is gone.
    pub fn counters(&self) -> Option<String> {
        crate::machine::text::kernel_text(&self.directory.join("stat")).ok()
    }

    /// Size in bytes.
    pub fn size(&self) -> Option<u64> {
        // sysfs counts in 512-byte sectors, whatever the sector size of the device.
        number(&self.directory.join("size"))?.checked_mul(512)
    }

    /// Model name, if the driver has one.
    pub fn model(&self) -> Option<String> {
        self.first_word(&["device/model", "device/name", "dm/name", "md/level"])
    }

    /// Serial number or another permanent identifier.
    pub fn serial(&self) -> Option<String> {
        self.first_word(&["serial", "device/serial", "wwid", "device/wwid", "dm/uuid", "md/uuid"])
    }

    /// All permanent identifiers of the whole device: serial number, WWID, UUID.
    pub fn identifiers(&self) -> Vec<String> {
        let whole = self.whole();
        let files = ["serial", "device/serial", "wwid", "device/wwid", "dm/uuid", "md/uuid"];
        let mut words: Vec<String> = Vec::new();
        for found in files.iter().filter_map(|file| word(&whole.directory.join(file))) {
            if !found.is_empty() && !words.contains(&found) {
                words.push(found);
            }
        }
        words
    }

    fn first_word(&self, files: &[&str]) -> Option<String> {
        let whole = self.whole();
        files.iter().find_map(|file| word(&whole.directory.join(file)).filter(|text| !text.is_empty()))
    }

    fn queue_number(&self, file: &str) -> Option<u64> {
        number(&self.whole().directory.join("queue").join(file))
    }

    /// True if it reports itself as rotational.
    pub fn is_rotational(&self) -> Option<bool> {
        Some(self.queue_number("rotational")? != 0)
    }

    /// Current I/O scheduler.
    pub fn scheduler(&self) -> Option<String> {
        let text = word(&self.whole().directory.join("queue/scheduler"))?;
        let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(name, _)| name.to_owned());
        Some(chosen.unwrap_or(text))
    }

    /// Smallest unit that the device can address, in bytes.
    pub fn logical_block_size(&self) -> Option<u64> {
        self.queue_number("logical_block_size")
    }

    /// Smallest unit that the device can write without read-modify-write, in bytes.
    pub fn physical_block_size(&self) -> Option<u64> {
        self.queue_number("physical_block_size")
    }

    /// Maximum size of a request in KiB; larger I/Os are split.
    pub fn max_sectors_kib(&self) -> Option<u64> {
        self.queue_number("max_sectors_kb")
    }

    /// Maximum number of requests that the kernel queues per hardware queue.
    pub fn queue_requests(&self) -> Option<u64> {
        self.queue_number("nr_requests")
    }

    /// Number of hardware queues.
    pub fn hardware_queues(&self) -> Option<u64> {
        let entries = std::fs::read_dir(self.whole().directory.join("mq")).ok()?;
        Some(entries.flatten().count() as u64).filter(|&count| count > 0)
    }

    /// Readahead of buffered sequential reads, in KiB.
    pub fn read_ahead_kib(&self) -> Option<u64> {
        self.queue_number("read_ahead_kb")
    }

    /// NUMA node that it is attached to.
    pub fn numa_node(&self) -> Option<u32> {
        let whole = self.whole();
        let nodes = ["device/numa_node", "device/device/numa_node"];
        // -1 means none.
        nodes.iter().find_map(|file| word(&whole.directory.join(file))?.parse().ok())
    }

    /// Its link: PCIe of an NVMe drive, or SATA.
    pub fn link(&self) -> Option<Link> {
        let whole = self.whole();
        let file = |name: &str| word(&whole.directory.join("device/device").join(name));
        if let (Some(speed), Some(width)) = (file("current_link_speed"), file("current_link_width")) {
            return pcie_rate(&speed, &width).map(Link::Pcie);
        }
        let port = whole.directory.components().find_map(|part| {
            let number = part.as_os_str().to_str()?.strip_prefix("ata")?;
            number.parse::<u32>().ok()
        })?;
        let at = whole.directory.ancestors().find(|at| at.ends_with(format!("ata{port}")))?;
        sata_rate(&word(&at.join(format!("link{port}/ata_link/link{port}/sata_spd")))?).map(Link::Sata)
    }

    /// Write cache mode.
    pub fn write_cache(&self) -> Option<WriteCache> {
        match word(&self.whole().directory.join("queue/write_cache"))?.as_str() {
            "write back" => Some(WriteCache::WriteBack),
            "write through" => Some(WriteCache::WriteThrough),
            _ => None,
        }
    }

    /// Write cache mode as the device itself reports it (SCSI, ATA, virtio, loop), whatever the kernel was set to. Of
    /// other devices (NVMe) the kernel shows that they have a cache: it uses FUA only for those.
    pub fn own_write_cache(&self) -> Option<WriteCache> {
        let whole = self.whole();
        // The driver of loop devices announces a cache for each file that can be flushed.
        if whole.backing_file().is_some() && number(&whole.directory.join("ro")) == Some(0) {
            return Some(WriteCache::WriteBack);
        }
        let scsi = std::fs::read_dir(whole.directory.join("device/scsi_disk")).into_iter().flatten().flatten();
        let mut files = scsi.map(|entry| entry.path().join("cache_type")).chain([whole.directory.join("cache_type")]);
        match files.find_map(|file| word(&file)) {
            Some(mode) => match mode.as_str() {
                "write back" | "write back, no read (daft)" => Some(WriteCache::WriteBack),
                "write through" | "none" => Some(WriteCache::WriteThrough),
                _ => None,
            },
            None => (whole.queue_number("fua") == Some(1)).then_some(WriteCache::WriteBack),
        }
    }

    /// True if the device has a write cache that was switched off (`hdparm -W0`); `None` for devices that are not ATA,
    /// and on kernels before 5.5.
    pub fn has_cache_switched_off(&self) -> Option<bool> {
        // The page "ATA information" of SCSI holds what IDENTIFY DEVICE returned when the disk was found.
        let page = std::fs::read(self.whole().directory.join("device/vpd_pg89")).ok()?;
        let own = self.own_write_cache()?;
        Some(ata_has_write_cache(&page)? && own == WriteCache::WriteThrough)
    }

    /// Maximum size of a discard in bytes; 0 if the device does not support discards.
    pub fn discard_max_bytes(&self) -> Option<u64> {
        self.queue_number("discard_max_bytes")
    }

    /// The zones of a zoned device; `None` for any other.
    pub fn zoned(&self) -> Option<ZonedModel> {
        let model = word(&self.whole().directory.join("queue/zoned")).filter(|model| model != "none")?;
        let zone_bytes = self.queue_number("chunk_sectors")?.checked_mul(512)?;
        Some(ZonedModel { model, zones: self.queue_number("nr_zones")?, zone_bytes })
    }

    /// Most zones that may be open, and most that may be open or closed; `None` where the device has no limit.
    pub fn zone_limits(&self) -> [Option<u32>; 2] {
        ["open", "active"].map(|state| {
            let most = self.queue_number(&format!("max_{state}_zones")).filter(|&most| most > 0);
            most.and_then(|most| u32::try_from(most).ok())
        })
    }

    /// Numbers of reads and writes in flight.
    pub fn in_flight(&self) -> Option<(u64, u64)> {
        let text = lines(&self.directory.join("inflight")).ok()?;
        let mut numbers = text.split_whitespace().map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    }
}

/// True if the data of IDENTIFY DEVICE in this page of SCSI say that the disk has a write cache, switched on or not:
/// bit 5 of word 82. `None` if these data are not valid (words 82 and 83 of other disks are 0 or 0xffff).
fn ata_has_write_cache(page: &[u8]) -> Option<bool> {
    const PAGE: u8 = 0x89;
    const IDENTIFY: usize = 60;
    let word = |number: usize| {
        let at = IDENTIFY + 2 * number;
        page.get(at..at + 2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
    };
    let (supported, valid) = (word(82)?, word(83)?);
    (page.get(1) == Some(&PAGE) && valid >> 14 == 1).then_some(supported & 1 << 5 != 0)
}

/// Parses `8.0 GT/s PCIe` and `4`. The encoding is 8b/10b below 8 GT/s and 128b/130b from there on.
fn pcie_rate(speed: &str, width: &str) -> Option<u64> {
    let tenths = tenths(speed.split_whitespace().next()?)?;
    let lanes: u64 = width.trim().parse().ok()?;
    let bits = tenths.checked_mul(100_000_000)?.checked_mul(lanes)?;
    Some(if tenths < 80 { bits / 10 } else { bits / 130 * 16 })
}

/// Parses `6.0 Gbps`; the encoding is 8b/10b.
fn sata_rate(speed: &str) -> Option<u64> {
    tenths(speed.split_whitespace().next()?)?.checked_mul(10_000_000)
}

/// Parses `8.0` into tenths.
fn tenths(text: &str) -> Option<u64> {
    let (whole, tenth) = text.split_once('.').unwrap_or((text, "0"));
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(10)?
        .checked_add(tenth.parse::<u8>().ok().filter(|&tenth| tenth < 10)?.into())
}

/// Returns all disks and stacked devices that have a number, by name.
///
/// # Errors
/// If `root`/sys/block cannot be read.
pub fn all(root: &Path) -> Result<Vec<BlockDevice>, SysError> {
    let folder = root.join("sys/block");
    let entries = std::fs::read_dir(&folder).map_err(|source| SysError::path("read", &folder, source))?;
    let found = entries.flatten().filter_map(|entry| BlockDevice::at(&std::fs::canonicalize(entry.path()).ok()?));
    let mut devices: Vec<_> = found.filter(|device| !device.is_path()).collect();
    devices.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(devices)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_carry_what_their_encoding_leaves() {
        for (speed, width, expected) in [
            ("8.0 GT/s PCIe", "4", Some(3_938_461_536)),
            ("5.0 GT/s PCIe", "1", Some(500_000_000)),
            ("Unknown", "4", None),
            ("8.0 GT/s", "x", None),
        ] {
            assert_eq!(pcie_rate(speed, width), expected, "{speed} x{width}");
        }
        assert_eq!((sata_rate("6.0 Gbps"), sata_rate("<unknown>")), (Some(600_000_000), None));
    }

    /// A recorded tree: sda with sda1 and sda2, sdb, and dm-0 striped over sda2 and sdb.
    pub(crate) fn recorded() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let sys = root.path().join("sys");
        let device = |path: &str, number: &str, files: &[(&str, &str)]| {
            let folder = sys.join("devices").join(path);
            for (file, text) in files.iter().chain(&[("dev", number)]) {
                let file = folder.join(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, format!("{text}\n")).unwrap();
            }
            fs::create_dir_all(sys.join("dev/block")).unwrap();
            symlink(&folder, sys.join("dev/block").join(number)).unwrap();
            if !path.rsplit('/').next().unwrap().ends_with(['1', '2']) {
                fs::create_dir_all(sys.join("block")).unwrap();
                symlink(&folder, sys.join("block").join(folder.file_name().unwrap())).unwrap();
            }
            folder
        };
        let queue = [
            ("queue/rotational", "1"),
            ("queue/scheduler", "none [mq-deadline] kyber"),
            ("queue/logical_block_size", "512"),
            ("queue/physical_block_size", "4096"),
            ("queue/max_sectors_kb", "1280"),
            ("queue/nr_requests", "64"),
            ("queue/write_cache", "write back"),
            ("queue/discard_max_bytes", "0"),
            ("device/scsi_disk/0:0:0:0/cache_type", "write through"),
            ("size", "2097152"),
            ("device/model", "ST1000NM0011    "),
            ("device/wwid", "naa.5000c5003a"),
            ("inflight", "       3        1"),
            ("stat", "1 2 3 4 5 6 7 8 0 10 11"),
        ];
        device("pci0/host0/sda", "8:0", &queue);
        device("pci0/host0/sda/sda1", "8:1", &[("partition", "1"), ("size", "2048")]);
        let sda2 = device("pci0/host0/sda/sda2", "8:2", &[("partition", "2"), ("size", "4096")]);
        let sdb = device("pci0/host1/sdb", "8:16", &[("size", "2097152"), ("queue/write_cache", "write through")]);
        let stacked = device("virtual/dm-0", "253:0", &[("dm/name", "data"), ("dm/uuid", "LVM-xyz")]);
        fs::create_dir_all(stacked.join("slaves")).unwrap();
        for member in [&sda2, &sdb] {
            symlink(member, stacked.join("slaves").join(member.file_name().unwrap())).unwrap();
            fs::create_dir_all(member.join("holders")).unwrap();
            symlink(&stacked, member.join("holders/dm-0")).unwrap();
        }
        root
    }

    fn number(major: u32, minor: u32) -> DeviceNumber {
        DeviceNumber { major, minor }
    }

    fn names(devices: &[BlockDevice]) -> Vec<&str> {
        devices.iter().map(BlockDevice::name).collect()
    }

    #[test]
    fn a_partition_maps_to_its_disk_and_takes_its_queue() {
        let root = recorded();
        let partition = BlockDevice::by_number(root.path(), number(8, 1)).unwrap();
        assert_eq!((partition.name(), partition.is_partition()), ("sda1", true));
        assert_eq!(partition.size(), Some(2048 * 512));
        let disk = partition.whole();
        assert_eq!((disk.name(), disk.is_partition(), disk.number()), ("sda", false, Some(number(8, 0))));
        assert_eq!(disk.whole(), disk);
        assert_eq!(partition.max_sectors_kib(), Some(1280));
    }

    #[test]
    fn a_disk_states_what_it_is() {
        let root = recorded();
        let disk = BlockDevice::by_name(root.path(), "sda").unwrap();
        assert_eq!(disk.model().as_deref(), Some("ST1000NM0011"));
        assert_eq!(disk.serial().as_deref(), Some("naa.5000c5003a"));
        assert_eq!(disk.scheduler().as_deref(), Some("mq-deadline"));
        assert_eq!((disk.is_rotational(), disk.write_cache()), (Some(true), Some(WriteCache::WriteBack)));
        assert_eq!(disk.own_write_cache(), Some(WriteCache::WriteThrough));
        assert_eq!((disk.logical_block_size(), disk.physical_block_size()), (Some(512), Some(4096)));
        assert_eq!((disk.size(), disk.queue_requests()), (Some(1 << 30), Some(64)));
        assert_eq!((disk.discard_max_bytes(), disk.in_flight()), (Some(0), Some((3, 1))));
        let bare = BlockDevice::by_name(root.path(), "sdb").unwrap();
        assert_eq!((bare.model(), bare.scheduler(), bare.is_rotational()), (None, None, None));
        assert_eq!((bare.write_cache(), bare.own_write_cache()), (Some(WriteCache::WriteThrough), None));
    }

    #[test]
    fn a_disabled_cache_is_seen_where_the_kernel_shows_it() {
        let root = recorded();
        let disk = |name| BlockDevice::by_name(root.path(), name).unwrap();
        assert_eq!(disk("sda").has_cache_switched_off(), None, "not an ATA disk");
        let mut page = vec![0; 572];
        page[1] = 0x89;
        (page[60 + 164], page[60 + 167]) = (1 << 5, 0x40);
        let files = root.path().join("sys/devices/pci0/host0/sda/device");
        let shows = |page: &[u8]| {
            fs::write(files.join("vpd_pg89"), page).unwrap();
            disk("sda").has_cache_switched_off()
        };
        assert_eq!(shows(&page), Some(true));
        page[60 + 164] = 0;
        assert_eq!(shows(&page), Some(false), "it has none");
        page[60 + 167] = 0xff;
        assert_eq!((shows(&page), shows(&page[..100]), shows(&[])), (None, None, None));
        (page[60 + 164], page[60 + 167]) = (1 << 5, 0x40);
        fs::write(files.join("scsi_disk/0:0:0:0/cache_type"), "write back\n").unwrap();
        assert_eq!(shows(&page), Some(false), "it is on");
        fs::write(root.path().join("sys/devices/pci0/host1/sdb/queue/fua"), "1\n").unwrap();
        let nvme = disk("sdb");
        assert_eq!(
            (nvme.write_cache(), nvme.own_write_cache()),
            (Some(WriteCache::WriteThrough), Some(WriteCache::WriteBack))
        );
    }

    #[test]
    fn a_stack_leads_down_to_its_disks_and_back_up() {
        let root = recorded();
        let stacked = BlockDevice::by_name(root.path(), "dm-0").unwrap();
        assert_eq!(stacked.model().as_deref(), Some("data"));
        assert_eq!(names(&stacked.members()), ["sda2", "sdb"]);
        assert_eq!(names(&stacked.leaves(root.path())), ["sda", "sdb"]);
        let sdb = BlockDevice::by_name(root.path(), "sdb").unwrap();
        assert_eq!(names(&sdb.holders()), ["dm-0"]);
        assert_eq!(names(&sdb.leaves(root.path())), ["sdb"]);
    }

    #[test]
    fn a_namespace_leads_down_to_its_paths() {
        let root = tempfile::tempdir().unwrap();
        let subsystem = root.path().join("sys/devices/virtual/nvme-subsystem/nvme-subsys0");
        let file = |path: PathBuf, text: &str| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        file(subsystem.join("nvme0n1/dev"), "259:0\n");
        file(subsystem.join("nvme0n12/dev"), "259:1\n");
        for controller in ["nvme0", "nvme1"] {
            let folder = root.path().join("sys/devices/pci").join(controller);
            for namespace in ["1", "12"] {
                let path = folder.join(format!("nvme0c{}n{namespace}", &controller[4..]));
                file(path.join("hidden"), "1\n");
                file(path.join("queue/scheduler"), "[none] kyber\n");
            }
            symlink(folder, subsystem.join(controller)).unwrap();
        }
        fs::create_dir_all(root.path().join("sys/block")).unwrap();
        for device in ["virtual/nvme-subsystem/nvme-subsys0/nvme0n1", "pci/nvme1/nvme0c1n1"] {
            let device = root.path().join("sys/devices").join(device);
            symlink(&device, root.path().join("sys/block").join(device.file_name().unwrap())).unwrap();
        }
        let head = BlockDevice::by_name(root.path(), "nvme0n1").unwrap();
        assert_eq!(names(&head.paths()), ["nvme0c0n1", "nvme0c1n1"]);
        assert_eq!(names(&head.leaves(root.path())), ["nvme0c0n1", "nvme0c1n1"]);
        let path = BlockDevice::by_name(root.path(), "nvme0c1n1").unwrap();
        assert_eq!((path.scheduler().as_deref(), path.number(), path.paths()), (Some("none"), None, Vec::new()));
        assert_eq!(names(&all(root.path()).unwrap()), ["nvme0n1"], "paths are no devices that can be opened");
    }

    #[test]
    fn what_is_not_there_is_none() {
        let root = recorded();
        assert_eq!(BlockDevice::by_number(root.path(), number(8, 99)), None);
        assert_eq!(BlockDevice::by_name(root.path(), "sdz"), None);
        assert_eq!(names(&all(root.path()).unwrap()), ["dm-0", "sda", "sdb"]);
        assert!(all(&root.path().join("nowhere")).is_err());
    }

    #[test]
    fn numbers_read_as_sysfs_writes_them() {
        assert_eq!(DeviceNumber::parse("259:12\n"), Some(number(259, 12)));
        assert_eq!(number(259, 12).to_string(), "259:12");
        for bad in ["", "8", "8:", ":1", "8:x", "-1:0"] {
            assert_eq!(DeviceNumber::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_file_that_does_not_exist_yet_lies_where_its_folder_does() {
        let folder = tempfile::tempdir().unwrap();
        let here = number_under(folder.path()).unwrap();
        assert_eq!(number_under(&folder.path().join("not/yet/there")).unwrap(), here);
        assert_eq!(number_under(Path::new("not-yet-there")).unwrap(), number_under(Path::new(".")).unwrap());
    }
}

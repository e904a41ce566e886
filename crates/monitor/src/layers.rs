//! The layers under a target: file systems and devices from its own down to what stores the bytes.
//!
//! A function of the recorded /proc and /sys and of a [`Lookup`], which answers what these do not contain: the device
//! and mount of a path. Leaves the judgement of what was found to `analysis`.

use model::{Bottom, Layer};
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use sys::devices::identity::{BlockDevice, DeviceNumber};
use sys::files::mounts::{self, Mount, Place};

const LAYERS_MAX: usize = 64;

/// File systems whose files are in the memory of this machine.
const MEMORY_FILE_SYSTEMS: &[&str] = &["tmpfs", "ramfs", "hugetlbfs", "devtmpfs"];

/// File systems without a local device, and the reason why their storage is not visible.
const REMOTE_FILE_SYSTEMS: &[(&str, &str)] = &[
    ("fuse", "a program outside of the kernel answers"),
    ("virtiofs", "the host of this virtual machine answers"),
    ("9p", "the host of this virtual machine or a server answers"),
    ("nfs", "a server answers"),
    ("nfs4", "a server answers"),
    ("cifs", "a server answers"),
    ("smb3", "a server answers"),
    ("ceph", "servers answer"),
    ("lustre", "servers answer"),
    ("beegfs", "servers answer"),
    ("gpfs", "servers answer"),
    ("afs", "servers answer"),
    ("orangefs", "servers answer"),
    ("zfs", "ZFS does not show the devices of its pool to the kernel"),
];

/// Devices without visible devices below, by the beginning of their names: type and bottom. A reason is `Unknown`, none
/// is memory.
const OPAQUE_DEVICES: &[(&str, &str, Option<&str>)] = &[
    ("zram", "zram", None),
    ("ram", "brd", None),
    ("nullb", "null_blk", None),
    ("nbd", "nbd", Some("a server answers over a network or a socket")),
    ("rnbd", "rnbd", Some("a server answers over a network")),
    ("rbd", "rbd", Some("a Ceph cluster answers")),
    ("drbd", "drbd", Some("DRBD does not show its devices")),
    ("ublkb", "ublk", Some("a program outside of the kernel answers")),
    ("loop", "loop", Some("it has no backing file")),
    ("dm-", "dm", Some("the device mapper shows no device below it")),
    ("md", "md", Some("the array shows no device below it")),
];

/// Models of devices that only look like disks: their data is in the memory of this machine.
const MEMORY_MODELS: &[&str] = &["scsi_debug", "RAMDISK-MCP", "RAMDISK-DR"];

/// Answers that /proc and /sys do not contain.
pub(crate) trait Lookup {
    /// Device and mount of an existing path; `None` if it does not exist or cannot be read.
    fn place(&self, path: &Path) -> Option<PathTarget>;
    /// Device of the file system with the backing file of a loop device.
    fn loop_backing(&self, name: &str) -> Option<DeviceNumber>;
}

/// A path that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathTarget {
    Block(DeviceNumber),
    /// A file or directory on a file system.
    File(Place),
}

/// The running system, whose /proc and /sys are below this root.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Live<'a>(pub(crate) &'a Path);

impl Lookup for Live<'_> {
    fn place(&self, path: &Path) -> Option<PathTarget> {
        let found = std::fs::metadata(path).ok()?;
        if found.file_type().is_block_device() {
            return Some(PathTarget::Block(DeviceNumber::from_stat(found.rdev())));
        }
        Some(PathTarget::File(Place { id: mounts::number_of(path), device: DeviceNumber::from_stat(found.dev()) }))
    }

    fn loop_backing(&self, name: &str) -> Option<DeviceNumber> {
        // The loop devices of a recorded tree are others than those in /dev.
        let path = Path::new("/dev").join(name);
        if self.0 != Path::new("/") {
            return None;
        }
        let backing = sys::devices::ioctl::loop_backing(&File::open(&path).ok()?, &path).ok()?;
        Some(backing.device)
    }
}

/// Finds layers; reads the mount table once, and goes down from each mount once.
pub(crate) struct Layers<'a> {
    root: &'a Path,
    lookup: &'a dyn Lookup,
    mounts: Vec<Mount>,
    /// Results by mount, for file systems whose files all have the same layers.
    known: HashMap<u64, Vec<Layer>>,
}

impl<'a> Layers<'a> {
    pub(crate) fn new(root: &'a Path, lookup: &'a dyn Lookup) -> Self {
        Layers { root, lookup, mounts: mounts::read(root).unwrap_or_default(), known: HashMap::new() }
    }

    /// The layers under `path`, its own first; for a path that does not exist those of its nearest parent. Empty if
    /// neither can be read.
    pub(crate) fn under(&mut self, path: &Path) -> Vec<Layer> {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let nearest = absolute.ancestors().find_map(|path| Some((path, self.lookup.place(path)?)));
        let Some((path, found)) = nearest else { return Vec::new() };
        let mount = match found {
            PathTarget::File(place) => {
                mounts::of_place(&self.mounts, place, path).filter(|mount| mount.kind != "overlay")
            }
            PathTarget::Block(_) => None,
        };
        let mount = mount.map(|mount| mount.id);
        if let Some(known) = mount.and_then(|mount| self.known.get(&mount)) {
            return known.clone();
        }
        let mut way = WayDown { all: self, found: Vec::new() };
        way.add(path, found);
        let found = way.found;
        if let Some(mount) = mount {
            self.known.insert(mount, found.clone());
        }
        found
    }

    /// The disks and stacked devices that hold these layers' target.
    pub(crate) fn highest_devices(&self, layers: &[Layer]) -> Vec<BlockDevice> {
        if layers.is_empty() { Vec::new() } else { self.devices_from(layers, vec![0]) }
    }

    /// Each disk or stacked device of these layers, with those directly below it.
    pub(crate) fn devices_with_below(&self, layers: &[Layer]) -> Vec<(BlockDevice, Vec<BlockDevice>)> {
        let pair = |layer: &Layer| Some((self.whole(layer)?, self.devices_from(layers, layer.below.clone())));
        layers.iter().filter_map(pair).collect()
    }

    /// The first disks and stacked devices on the ways down from these positions.
    fn devices_from(&self, layers: &[Layer], mut open: Vec<usize>) -> Vec<BlockDevice> {
        let (mut found, mut seen) = (Vec::new(), Vec::new());
        while let Some(at) = open.pop() {
            let Some(layer) = layers.get(at).filter(|_| !seen.contains(&at)) else { continue };
            seen.push(at);
            match self.whole(layer) {
                Some(device) => found.push(device),
                None => open.extend(&layer.below),
            }
        }
        found
    }

    /// The device of a layer; `None` for file systems and partitions.
    fn whole(&self, layer: &Layer) -> Option<BlockDevice> {
        let is_whole = layer.device && layer.kind != "partition";
        is_whole.then(|| BlockDevice::by_name(self.root, &layer.name))?
    }
}

/// The layers of one target while they are collected.
struct WayDown<'a, 'b> {
    all: &'b Layers<'a>,
    found: Vec<Layer>,
}

impl WayDown<'_, '_> {
    /// Adds the layers of an existing path. Returns the position of the first; `None` if there are too many.
    fn add(&mut self, path: &Path, found: PathTarget) -> Option<usize> {
        match found {
            PathTarget::Block(number) => match BlockDevice::by_number(self.all.root, number) {
                Some(device) => self.device(&device),
                None => {
                    let why = "this device is not in /sys".to_owned();
                    let bottom = Some(Bottom::Unknown(why));
                    let (name, kind) = (path.display().to_string(), "device".to_owned());
                    self.push(Layer { name, kind, device: true, bottom, ..Layer::default() })
                }
            },
            PathTarget::File(place) => match mounts::of_place(&self.all.mounts, place, path).cloned() {
                Some(mount) => self.file_system(&mount, path),
                None => self.unlisted(place, path),
            },
        }
    }

    fn push(&mut self, layer: Layer) -> Option<usize> {
        self.found.push(layer);
        (self.found.len() <= LAYERS_MAX).then(|| self.found.len() - 1)
    }

    /// A file system that is not in the mount table, as in another mount namespace: its device may still be known.
    fn unlisted(&mut self, place: Place, path: &Path) -> Option<usize> {
        let at = self.push(Layer {
            name: path.display().to_string(),
            kind: "not mounted here".to_owned(),
            ..Layer::default()
        })?;
        let devices: Vec<BlockDevice> = BlockDevice::by_number(self.all.root, place.device).into_iter().collect();
        self.on_devices(at, &devices)
    }

    fn file_system(&mut self, mount: &Mount, path: &Path) -> Option<usize> {
        let name = mount.point.display().to_string();
        let is_same = |layer: &Layer| !layer.device && layer.name == name && layer.kind == mount.kind;
        if let Some(known) = self.found.iter().position(is_same) {
            // The directories of an overlay in a container are paths of its host: here they can be paths in the
            // overlay.
            return (mount.kind != "overlay").then_some(known);
        }
        let at = self.push(Layer {
            name,
            kind: mount.kind.clone(),
            options: Some(mount.options.clone()),
            ..Layer::default()
        })?;
        let kind = mount.kind.as_str();
        let general = if kind.starts_with("fuse.") { "fuse" } else { kind };
        if MEMORY_FILE_SYSTEMS.contains(&kind) {
            self.found[at].bottom = Some(Bottom::Memory);
        } else if let Some((_, why)) = REMOTE_FILE_SYSTEMS.iter().find(|(remote, _)| *remote == general) {
            self.found[at].bottom = Some(Bottom::Unknown((*why).to_owned()));
        } else if kind == "overlay" {
            self.overlay(at, mount, path);
        } else if kind == "ecryptfs" {
            self.held_by(at, &mount.source);
        } else {
            let devices = self.devices_of(mount);
            self.on_devices(at, &devices);
        }
        Some(at)
    }

    fn on_devices(&mut self, at: usize, devices: &[BlockDevice]) -> Option<usize> {
        let below: Vec<usize> = devices.iter().filter_map(|device| self.device(device)).collect();
        if below.is_empty() {
            self.found[at].bottom = Some(Bottom::Unknown("no device below it is visible here".to_owned()));
        }
        self.found[at].below = below;
        Some(at)
    }

    /// Devices of a file system: that of its number, or those of its source, which btrfs and bcachefs may have several
    /// of.
    fn devices_of(&self, mount: &Mount) -> Vec<BlockDevice> {
        let root = self.all.root;
        if let Some(device) = BlockDevice::by_number(root, mount.device) {
            return vec![device];
        }
        let device_at = |path: &str| match self.all.lookup.place(Path::new(path))? {
            PathTarget::Block(number) => BlockDevice::by_number(root, number),
            PathTarget::File(_) => None,
        };
        let source = mount.source.to_string_lossy();
        let named: Vec<BlockDevice> = source.split(':').filter_map(device_at).collect();
        let (Some(first), "btrfs") = (named.first(), mount.kind.as_str()) else { return named };
        let all = |folder: std::fs::DirEntry| {
            let entries = std::fs::read_dir(folder.path().join("devices")).ok()?.flatten();
            let members = entries.filter_map(|entry| BlockDevice::of_link(&entry.path()));
            let mut members: Vec<BlockDevice> = members.collect();
            members.sort();
            members.contains(first).then_some(members)
        };
        let file_systems = std::fs::read_dir(root.join("sys/fs/btrfs")).into_iter().flatten().flatten();
        file_systems.into_iter().find_map(all).unwrap_or(named)
    }

    /// The directory of the overlay that holds the file: the upper one, into which also files that are written are
    /// copied, or the first of the lower ones that has it.
    fn overlay(&mut self, at: usize, mount: &Mount, path: &Path) {
        let inside = path.strip_prefix(&mount.point).unwrap_or(Path::new(""));
        let option =
            |name: &str| mount.options.split(',').find_map(|option| option.strip_prefix(name)?.strip_prefix('='));
        let upper = option("upperdir").map(PathBuf::from);
        let lower =
            option("lowerdir").unwrap_or_default().split(':').filter(|part| !part.is_empty()).map(PathBuf::from);
        let branches: Vec<PathBuf> = upper.into_iter().chain(lower).collect();
        let holds = |branch: &&PathBuf| branch.is_absolute() && self.all.lookup.place(&branch.join(inside)).is_some();
        let Some(branch) = branches.iter().find(holds).or(branches.first()).cloned() else {
            self.found[at].bottom = Some(Bottom::Unknown("its directories are not known".to_owned()));
            return;
        };
        self.held_by(at, &branch);
    }

    /// Continues with the file system of a file or directory that holds this layer.
    fn held_by(&mut self, at: usize, path: &Path) {
        self.found[at].held_by = Some(path.display().to_string());
        let place = if path.is_absolute() { self.all.lookup.place(path) } else { None };
        self.continue_at(at, path, place);
    }

    fn continue_at(&mut self, at: usize, path: &Path, place: Option<PathTarget>) {
        match place.and_then(|found| self.add(path, found)) {
            Some(below) => self.found[at].below = vec![below],
            None => {
                let why = match self.found[at].kind.as_str() {
                    "overlay" => "its directories are not visible from here".to_owned(),
                    _ => format!("{} is not visible from here", path.display()),
                };
                self.found[at].bottom = Some(Bottom::Unknown(why));
            }
        }
    }

    fn device(&mut self, device: &BlockDevice) -> Option<usize> {
        if let Some(known) = self.found.iter().position(|layer| layer.device && layer.name == device.name()) {
            return Some(known);
        }
        let at = self.push(Layer { name: device.name().to_owned(), device: true, ..Layer::default() })?;
        let (kind, bottom) = bottom_of(self.all.root, device);
        kind.clone_into(&mut self.found[at].kind);
        self.found[at].first_byte = device.first_byte();
        if let Some(file) = device.backing_file().filter(|_| !device.is_partition()) {
            self.found[at].held_by = Some(file.display().to_string());
            self.found[at].bypasses_page_cache = device.bypasses_page_cache();
            let place = self.backing_place(device, &file);
            self.continue_at(at, &file, place);
            return Some(at);
        }
        let below = device.below(self.all.root);
        let below: Vec<usize> = below.iter().filter_map(|lower| self.device(lower)).filter(|&one| one != at).collect();
        if below.is_empty() {
            self.found[at].bottom = Some(bottom);
        }
        self.found[at].below = below;
        Some(at)
    }

    /// The place of the backing file of a loop device. A path in sysfs may be one of another mount namespace, and
    /// another file here: the device number of the kernel decides.
    fn backing_place(&self, device: &BlockDevice, file: &Path) -> Option<PathTarget> {
        let number = self.all.lookup.loop_backing(device.name());
        match (self.all.lookup.place(file), number) {
            (Some(PathTarget::File(place)), Some(number)) if place.device != number => {
                Some(PathTarget::File(Place { id: None, device: number }))
            }
            (None, Some(number)) => Some(PathTarget::File(Place { id: None, device: number })),
            (found, _) => found,
        }
    }
}

/// The name under which the driver of a device registered its numbers, in /proc/devices.
fn driver(root: &Path, device: &BlockDevice) -> Option<String> {
    let major = device.number()?.major.to_string();
    let text = sys::machine::text::kernel_text(&root.join("proc/devices")).ok()?;
    let (_, of_blocks) = text.split_once("Block devices:")?;
    let mut numbers = of_blocks.lines().filter_map(|line| line.trim().split_once(' '));
    numbers.find(|(number, _)| *number == major).map(|(_, name)| name.to_owned())
}

/// Type of a device, and its bottom if no device is visible below it.
fn bottom_of(root: &Path, device: &BlockDevice) -> (&'static str, Bottom) {
    let name = device.name();
    // Devices of null_blk have any name that configfs gave them.
    if driver(root, device).as_deref() == Some("nullb") {
        return ("null_blk", Bottom::Memory);
    }
    let is_of = |prefix: &str| {
        name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    };
    if device.is_partition() {
        return ("partition", Bottom::Unknown("its disk is not in /sys".to_owned()));
    }
    if let Some((_, kind, why)) = OPAQUE_DEVICES.iter().find(|(prefix, ..)| is_of(prefix)) {
        // A pool of LVM, and a device that was made without LVM.
        let compresses = device.identifiers().iter().any(|id| id.starts_with("VDO-") || id.ends_with("-vpool"));
        let kind = if *kind == "dm" && compresses { "vdo" } else { kind };
        return (kind, why.map_or(Bottom::Memory, |why| Bottom::Unknown(why.to_owned())));
    }
    let kind = if is_of("bcache") { "bcache" } else { "disk" };
    let is_memory = device.model().is_some_and(|model| MEMORY_MODELS.contains(&model.as_str()));
    (kind, if is_memory { Bottom::Memory } else { Bottom::Disk })
}

#[cfg(test)]
#[path = "layers_tests.rs"]
mod tests;

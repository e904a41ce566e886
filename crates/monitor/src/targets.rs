//! Facts about the files and devices of the jobs: location, unwritten parts, cached parts.

use crate::layers::{Layers, Live};
use model::{CachedBytes, FileAttribute, GroupLimits, IoCap, MountFacts, TargetAccess, TargetFacts, TargetIdentity};
use rustix::fs::IFlags;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use sys::devices::identity::{BlockDevice, DeviceNumber};
use sys::devices::ioctl::{LoopBacking, loop_backing};
use sys::files::extents::{Extent, Extents, State};
use sys::processes::cgroup::Groups;

const TARGETS_MAX: usize = 64;

/// A file or block device used by a job, with the job's region. Other file types are not examined: opening a pipe would
/// have side effects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Path of the file or device.
    pub path: PathBuf,
    /// First byte of the job's region.
    pub start: u64,
    /// End of the region: the byte after its last.
    pub end: u64,
    /// Use that the job makes of it.
    pub access: TargetAccess,
}

/// Adds the facts about targets that are not known yet; several regions of one target are merged.
pub(crate) fn begin(root: &Path, targets: &[Target], known: &mut Vec<TargetFacts>) {
    for facts in known.iter_mut() {
        for again in targets.iter().filter(|target| target.path.as_path() == Path::new(&facts.path)) {
            facts.access = facts.access.map(|access| access.and(again.access));
        }
    }
    let room = TARGETS_MAX.saturating_sub(known.len());
    let known_paths: HashSet<&Path> = known.iter().map(|facts| Path::new(&facts.path)).collect();
    // A job can have 100,000 files: they are looked up by path, and those beyond the limit are not kept.
    let mut places: HashMap<&Path, usize> = HashMap::new();
    let mut fresh: Vec<Target> = Vec::new();
    for target in targets.iter().filter(|target| !known_paths.contains(target.path.as_path())) {
        match places.get(target.path.as_path()) {
            Some(&place) => {
                let one = &mut fresh[place];
                (one.start, one.end) = (one.start.min(target.start), one.end.max(target.end));
                one.access = one.access.and(target.access);
            }
            None if fresh.len() < room => {
                places.insert(&target.path, fresh.len());
                fresh.push(target.clone());
            }
            None => {}
        }
    }
    let live = Live(root);
    let mut layers = Layers::new(root, &live);
    let found = fresh.iter().map(|target| TargetFacts { layers: layers.under(&target.path), ..facts(root, target) });
    known.extend(found);
}

/// Determines the cached bytes again, after the run.
pub(crate) fn end(known: &mut [TargetFacts]) {
    for facts in known {
        let path = PathBuf::from(&facts.path);
        facts.cached_after = open(&path).and_then(|(file, _)| cached(&file, &path, facts.size_bytes));
    }
}

/// Limits of the groups, with the names of the devices; `None` without a group.
pub(crate) fn group_limits(root: &Path, groups: &Groups) -> Option<GroupLimits> {
    if groups.is_empty() {
        return None;
    }
    let limits = groups.limits();
    let io = limits.io.iter().map(|limit| IoCap {
        group: Some(limit.group.clone()),
        device: BlockDevice::by_number(root, limit.device)
            .map_or_else(|| limit.device.to_string(), |device| device.name().to_owned()),
        read_bytes_per_second: limit.read_bytes_per_second,
        write_bytes_per_second: limit.write_bytes_per_second,
        read_iops: limit.read_iops,
        write_iops: limit.write_iops,
    });
    Some(GroupLimits { cpus: limits.cpus, memory_bytes: limits.memory_bytes, io: io.collect() })
}

/// Types of targets that are examined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nature {
    Regular,
    Block,
}

/// Opens the target for reading; `None` if it does not exist, is not readable, or is of another type.
fn open(path: &Path) -> Option<(File, Nature)> {
    let kind = std::fs::metadata(path).ok()?.file_type();
    let nature = match (kind.is_file(), kind.is_block_device()) {
        (true, _) => Nature::Regular,
        (_, true) => Nature::Block,
        _ => return None,
    };
    Some((File::open(path).ok()?, nature))
}

fn facts(root: &Path, target: &Target) -> TargetFacts {
    let path = target.path.as_path();
    let device = BlockDevice::under(root, path).ok().flatten().map(|device| device.whole().name().to_owned());
    let mut facts = TargetFacts {
        path: path.display().to_string(),
        region_bytes: target.end.saturating_sub(target.start),
        access: Some(target.access),
        device,
        ..TargetFacts::default()
    };
    let Some((file, nature)) = open(path) else { return facts };
    facts.identity = identity(&file, path);
    facts.size_bytes = match nature {
        Nature::Regular => file.metadata().map_or(0, |found| found.len()),
        Nature::Block => sys::devices::ioctl::size(&file, path).unwrap_or(0),
    };
    if nature == Nature::Regular {
        let mount = sys::files::mounts::holding(root, path).ok().flatten();
        facts.mount = mount.map(|mount| MountFacts {
            point: mount.point.display().to_string(),
            kind: mount.kind,
            options: mount.options,
        });
        let end = target.end.min(facts.size_bytes);
        facts.past_end_bytes = Some(target.end.saturating_sub(target.start.max(facts.size_bytes)));
        facts.cached_before = cached(&file, path, facts.size_bytes);
        facts.attributes = attributes(&file);
        if let Ok(extents) = sys::files::extents::as_they_are(&file, path) {
            read_extents(&extents, target.start.min(end)..end, &mut facts);
        }
    } else {
        facts.cached_before = cached(&file, path, facts.size_bytes);
        let region = target.start..target.end.min(facts.size_bytes);
        facts.provisioned_bytes = provisioned(&file, &region);
        let missing =
            facts.provisioned_bytes.map(|bytes| (region.end.saturating_sub(region.start)).saturating_sub(bytes));
        facts.unwritten_bytes = missing.or_else(|| unwritten_behind(root, path, region));
    }
    facts
}

/// Bytes of a thin volume's region that it has provisioned, at most; `None` for other devices.
fn provisioned(device: &File, region: &Range<u64>) -> Option<u64> {
    let number = DeviceNumber::from_stat(device.metadata().ok()?.rdev());
    let found = sys::devices::thin::provisioned(number)?;
    Some(found.bytes.min(found.end.min(region.end).saturating_sub(region.start)))
}

/// Bytes of a loop device's region that its backing file has no data for; `None` for other devices, and if the file is
/// not visible here.
fn unwritten_behind(root: &Path, path: &Path, region: Range<u64>) -> Option<u64> {
    let device = BlockDevice::under(root, path).ok().flatten().filter(|device| !device.is_partition())?;
    let (image, skip) = (device.backing_file()?, device.backing_offset()?);
    let holds = loop_backing(&File::open(path).ok()?, path).ok()?;
    let file = File::open(&image).ok()?;
    if sys::devices::identity::number_under(&image).ok()? != holds.device {
        return None;
    }
    let (start, end) = (region.start.checked_add(skip)?, region.end.checked_add(skip)?);
    let unwritten = sys::files::extents::as_they_are(&file, &image).ok()?.unwritten_within(start, end);
    let size = file.metadata().ok()?.len();
    never_written(unwritten, cached(&file, &image, size))
}

fn read_extents(extents: &Extents, region: Range<u64>, facts: &mut TargetFacts) {
    let bytes = |has: fn(&Extent) -> bool| extents.bytes_within(region.start, region.end, has);
    let inline = bytes(|extent| extent.state == State::Inline);
    let unwritten = extents.unwritten_within(region.start, region.end).saturating_sub(inline);
    facts.unwritten_bytes = never_written(unwritten, facts.cached_before);
    facts.inline_bytes = Some(inline);
    facts.shared_bytes = Some(bytes(|extent| extent.shared));
    facts.compressed_bytes = Some(bytes(|extent| extent.encoded && extent.state != State::Inline));
}

/// Attributes of a file; none on file systems without them.
fn attributes(file: &File) -> Vec<FileAttribute> {
    let Ok(flags) = rustix::fs::ioctl_getflags(file) else { return Vec::new() };
    let known = [
        (IFlags::COMPRESSED, FileAttribute::Compressed),
        (IFlags::JOURNALING, FileAttribute::JournaledData),
        (IFlags::SYNC, FileAttribute::Synchronous),
        (IFlags::NOCOW, FileAttribute::OverwrittenInPlace),
    ];
    known.into_iter().filter(|(flag, _)| flags.contains(*flag)).map(|(_, attribute)| attribute).collect()
}

/// Bytes that were never written, out of `unwritten` bytes that have no data on the device: dirty pages are subtracted,
/// because writeback will put them there. `None` if the kernel does not report dirty pages.
fn never_written(unwritten: u64, cached: Option<CachedBytes>) -> Option<u64> {
    match cached {
        _ if unwritten == 0 => Some(0),
        Some(CachedBytes { dirty_bytes: Some(dirty), .. }) => Some(unwritten.saturating_sub(dirty)),
        Some(CachedBytes { bytes: 0, .. }) => Some(unwritten),
        _ => None,
    }
}

fn cached(file: &File, path: &Path, size: u64) -> Option<CachedBytes> {
    let found = sys::files::residency::of_file(file, path, size).ok()?;
    Some(CachedBytes { bytes: found.cached_bytes, dirty_bytes: found.dirty_bytes })
}

/// Most loop devices on top of each other.
const LOOPS_MAX: usize = 8;

/// The identity of an open target: the same for all of its names. It is that of its bytes, not of what stores them.
fn identity(file: &File, path: &Path) -> Option<TargetIdentity> {
    let found = file.metadata().ok()?;
    let number = |number: u64| DeviceNumber::from_stat(number).to_string();
    let kind = found.file_type();
    if !kind.is_block_device() {
        return kind.is_file().then(|| TargetIdentity::File(number(found.dev()), found.ino()));
    }
    match loop_backing(file, path) {
        Ok(backing) if backing.offset == 0 => behind(backing),
        _ => Some(TargetIdentity::Device(number(found.rdev()))),
    }
}

/// The identity of what a loop device shows from its start, through loop devices below it.
fn behind(mut backing: LoopBacking) -> Option<TargetIdentity> {
    for _ in 0..LOOPS_MAX {
        let Some(device) = backing.is_device else {
            return Some(TargetIdentity::File(backing.device.to_string(), backing.inode));
        };
        let below = BlockDevice::by_number(Path::new("/"), device).and_then(|device| {
            let path = Path::new("/dev").join(device.name());
            loop_backing(&File::open(&path).ok()?, &path).ok()
        });
        match below.filter(|below| below.offset == 0) {
            Some(below) => backing = below,
            None => return Some(TargetIdentity::Device(device.to_string())),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dirty_pages_are_not_taken_for_holes() {
        let cached = |bytes, dirty_bytes| Some(CachedBytes { bytes, dirty_bytes });
        for (unwritten, seen, expected) in [
            (100, cached(60, Some(60)), Some(40)),
            (100, cached(100, Some(0)), Some(100)),
            (100, cached(0, None), Some(100)),
            (100, cached(1, None), None),
            (100, None, None),
            (0, None, Some(0)),
        ] {
            assert_eq!(never_written(unwritten, seen), expected, "{unwritten} {seen:?}");
        }
    }

    fn of_path(path: &Path) -> Option<TargetIdentity> {
        identity(&File::open(path).unwrap(), path)
    }

    #[test]
    fn all_names_of_a_file_have_its_identity_and_a_copy_has_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let [one, hard, soft, copy] = ["one", "hard", "soft", "copy"].map(|name| folder.path().join(name));
        std::fs::write(&one, "x").unwrap();
        std::fs::hard_link(&one, &hard).unwrap();
        std::os::unix::fs::symlink(&one, &soft).unwrap();
        std::fs::copy(&one, &copy).unwrap();
        let first = of_path(&one);
        assert!(matches!(first, Some(TargetIdentity::File(..))));
        assert_eq!((of_path(&hard), of_path(&soft)), (first.clone(), first.clone()));
        assert_ne!(of_path(&copy), first);
        assert_eq!(of_path(folder.path()), None, "a directory is not a target");
    }
}

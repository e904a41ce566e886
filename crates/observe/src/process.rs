//! Facts about processes from /proc: threads and children, what a descriptor is, limits of control groups.

use crate::event::Thread;
use measure::Nanos;
use rustc_hash::FxHashMap;
use rustix::fs::OFlags;
use std::collections::HashSet;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use sys::devices::identity::{self, BlockDevice, DeviceNumber};
use sys::processes::cgroup::{Groups, IoLimit};

/// An open file or block device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OpenFile {
    /// Its number in its file system.
    pub inode: u64,
    /// Its path, as its process sees it.
    pub path: String,
    /// How it was opened: `direct`, `sync`, `dsync`, `append`.
    pub flags: String,
}

/// The kind of file behind a descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// A file or a block device.
    Storage(OpenFile),
    /// A socket, pipe, terminal, or a file of the kernel.
    Other,
    /// The process or the descriptor is gone.
    Gone,
}

/// Threads of a process and of all its descendants.
pub(crate) fn family(process: u32) -> Vec<Thread> {
    let parents = parents();
    let (mut known, mut open) = (HashSet::from([process]), vec![process]);
    while let Some(next) = open.pop() {
        for child in parents.iter().filter(|child| child.parent == next) {
            if known.insert(child.process) {
                open.push(child.process);
            }
        }
    }
    known.into_iter().flat_map(threads).collect()
}

/// Threads of a process; none if it is gone.
pub(crate) fn threads(process: u32) -> Vec<Thread> {
    let entries = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(Thread)).collect()
}

struct Child {
    process: u32,
    parent: u32,
}

fn parents() -> Vec<Child> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let of_entry = |entry: std::fs::DirEntry| {
        let process = entry.file_name().to_str()?.parse().ok()?;
        Some(Child { process, parent: status(process, "PPid:")? })
    };
    entries.filter_map(of_entry).collect()
}

fn status(process: u32, key: &str) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok())
}

/// True while the process runs: one that has ended and was not waited for does not.
pub(crate) fn is_running(process: u32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    text.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
}

/// The process of a thread.
pub(crate) fn of_thread(thread: Thread) -> Option<u32> {
    status(u32::try_from(thread.0).ok()?, "Tgid:")
}

/// Name of a thread.
pub(crate) fn name(thread: Thread) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{}/comm", thread.0)).ok()?;
    Some(text.trim_end().to_owned())
}

pub(crate) fn behind(process: u32, descriptor: i32) -> Behind {
    let path = format!("/proc/{process}/fd/{descriptor}");
    let Ok(found) = std::fs::metadata(&path) else { return Behind::Gone };
    let Ok(target) = std::fs::read_link(&path) else { return Behind::Gone };
    let is_of_kernel = ["/proc", "/sys"].iter().any(|top| target.starts_with(Path::new(top)));
    let kind = found.file_type();
    if (!kind.is_file() || is_of_kernel) && !kind.is_block_device() {
        return Behind::Other;
    }
    let flags = flags(process, descriptor).unwrap_or_default();
    Behind::Storage(OpenFile { inode: found.ino(), path: target.to_string_lossy().into_owned(), flags })
}

/// The flags of an open file in words.
fn flags(process: u32, descriptor: i32) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{process}/fdinfo/{descriptor}")).ok()?;
    let octal = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    let flags = OFlags::from_bits_retain(u32::from_str_radix(octal.trim(), 8).ok()?);
    // The flag of O_DSYNC is a part of O_SYNC.
    let is_sync = flags.contains(OFlags::SYNC);
    let words = [
        (flags.contains(OFlags::DIRECT), "direct"),
        (is_sync, "sync"),
        (flags.contains(OFlags::DSYNC) && !is_sync, "dsync"),
        (flags.contains(OFlags::APPEND), "append"),
    ];
    let words: Vec<&str> = words.into_iter().filter(|(is_set, _)| *is_set).map(|(_, word)| word).collect();
    Some(words.join(" "))
}

/// Limits on I/O of the groups of a thread.
pub(crate) fn limits(thread: Thread) -> Vec<IoLimit> {
    let Ok(number) = u32::try_from(thread.0) else { return Vec::new() };
    Groups::of_thread(Path::new("/"), number).map(|groups| groups.limits().io).unwrap_or_default()
}

/// The disk of each partition.
pub(crate) fn wholes() -> FxHashMap<DeviceNumber, DeviceNumber> {
    let disks = identity::all(Path::new("/")).unwrap_or_default();
    let of_disk = |disk: &BlockDevice| {
        let whole = disk.number();
        let pair = move |part: BlockDevice| Some((part.number()?, whole?));
        disk.partitions().into_iter().filter_map(pair).collect::<Vec<_>>()
    };
    disks.iter().flat_map(of_disk).collect()
}

/// The clock of the events.
pub(crate) fn now() -> Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    Nanos(part(time.tv_sec).saturating_mul(1_000_000_000).saturating_add(part(time.tv_nsec)))
}

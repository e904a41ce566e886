//! What kind of file system holds a path, and how much room it has.

use crate::failure::Failure;
use rustix::fs::{StatVfs, statvfs};
use std::path::Path;

/// Room on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// Bytes in all.
    pub(crate) total: u64,
    /// Bytes that this user may still fill.
    pub(crate) free: u64,
}

/// The room on the file system that holds `path`.
pub(crate) fn room(path: &Path) -> Result<Room, Failure> {
    let found: StatVfs = statvfs(path)
        .map_err(|error| Failure::new(format!("{}: cannot ask for free space: {error}", path.display())))?;
    Ok(Room {
        total: found.f_blocks.saturating_mul(found.f_frsize),
        free: found.f_bavail.saturating_mul(found.f_frsize),
    })
}

/// The kind of file system that holds `path`, `ext4` or `tmpfs`; `None` when the mount table does not tell.
pub(crate) fn kind(root: &Path, path: &Path) -> Option<String> {
    sys::mounts::holding(root, path).ok().flatten().map(|mount| mount.kind)
}

/// The disk under `path`, or that `path` is, with its model where one is known: `nvme0n1 (ACME 1 TB)`.
pub(crate) fn disk(root: &Path, path: &Path) -> Option<String> {
    let device = sys::device::BlockDevice::under(root, path).ok().flatten()?;
    Some(match device.model() {
        Some(model) => format!("{} ({})", device.name(), model.trim()),
        None => device.name().to_owned(),
    })
}

//! Type and free space of the file system that holds a path.

use crate::error::SurveyError;
use rustix::fs::{StatVfs, statvfs};
use std::path::Path;

/// Space on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// Total size in bytes.
    pub(crate) total: u64,
    /// Bytes available to this user.
    pub(crate) free: u64,
}

/// Space on the file system that holds `path`.
pub(crate) fn room(path: &Path) -> Result<Room, SurveyError> {
    let found: StatVfs =
        statvfs(path).map_err(|error| SurveyError::at(path, format!("cannot ask for free space: {error}")))?;
    Ok(Room {
        total: found.f_blocks.saturating_mul(found.f_frsize),
        free: found.f_bavail.saturating_mul(found.f_frsize),
    })
}

/// Type of the file system that holds `path`, such as `ext4` or `tmpfs`; `None` if the mount table does not list it.
pub(crate) fn kind(root: &Path, path: &Path) -> Option<String> {
    sys::files::mounts::holding(root, path).ok().flatten().map(|mount| mount.kind)
}

/// The disk under `path`, or `path` itself, with its model if known: `nvme0n1 (ACME 1 TB)`.
pub(crate) fn disk(root: &Path, path: &Path) -> Option<String> {
    let device = sys::devices::identity::BlockDevice::under(root, path).ok().flatten()?;
    Some(match device.model() {
        Some(model) => format!("{} ({})", device.name(), model.trim()),
        None => device.name().to_owned(),
    })
}

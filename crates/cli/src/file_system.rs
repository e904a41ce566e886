//! What kind of file system holds a path, and how much room it has.

use crate::failure::Failure;
use rustix::fs::{StatVfs, statfs, statvfs};
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

/// Magic numbers of file systems. Source: statfs(2), linux/magic.h.
const MAGICS: &[(u32, &str)] = &[
    (0xEF53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683E, "btrfs"),
    (0x0102_1994, "tmpfs"),
    (0x8584_58F6, "ramfs"),
    (0x9584_58F6, "hugetlbfs"),
    (0x794C_7630, "overlay"),
    (0x6969, "nfs"),
    (0xFF53_4D42, "cifs"),
    (0x6573_5546, "fuse"),
    (0x2FC1_2FC1, "zfs"),
    (0xF2F5_2010, "f2fs"),
    (0x0102_1997, "9p"),
    (0xCA45_1A4E, "bcachefs"),
    (0x00C3_6400, "ceph"),
    (0x4D44, "vfat"),
    (0x2011_BAB0, "exfat"),
];

/// The kind of file system that holds `path`, `ext4` or `tmpfs`; its magic number when it has no name here.
pub(crate) fn kind(path: &Path) -> Option<String> {
    let found = statfs(path).ok()?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "magic numbers have 32 bits")]
    let magic = found.f_type as u32;
    let name = MAGICS.iter().find(|&&(number, _)| number == magic).map(|&(_, name)| name.to_owned());
    Some(name.unwrap_or_else(|| format!("type {magic:#x}")))
}

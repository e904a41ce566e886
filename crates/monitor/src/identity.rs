//! Identity of a target: the same for all of its names.
//!
//! Leaves the layers under a target to `layers`; an identity is that of its bytes, not of what stores them.

use model::TargetIdentity;
use std::fs::File;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use sys::devices::identity::{BlockDevice, DeviceNumber};
use sys::devices::ioctl::LoopBacking;

/// Most loop devices on top of each other.
const LOOPS_MAX: usize = 8;

/// The identity of an open target.
pub(crate) fn of(file: &File, path: &Path) -> Option<TargetIdentity> {
    let found = file.metadata().ok()?;
    let number = |number: u64| DeviceNumber::from_stat(number).to_string();
    let kind = found.file_type();
    if !kind.is_block_device() {
        return kind.is_file().then(|| TargetIdentity::File(number(found.dev()), found.ino()));
    }
    match sys::devices::ioctl::loop_backing(file, path) {
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
            sys::devices::ioctl::loop_backing(&File::open(&path).ok()?, &path).ok()
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

    fn of_path(path: &Path) -> Option<TargetIdentity> {
        of(&File::open(path).unwrap(), path)
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

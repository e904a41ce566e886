//! Plain files whose bytes the kernel shows as devices: those of loop devices, and those that NVMe and SCSI targets
//! export. Writing to such a file changes what is mounted from it.

use crate::SysError;
use crate::devices::claims::{Claim, uses};
use crate::devices::identity::{BlockDevice, DeviceNumber, all};
use crate::devices::ioctl;
use crate::machine::text::word;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A file or block device, whatever its name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    File(DeviceNumber, u64),
    Device(DeviceNumber),
}

impl Place {
    fn of(path: &Path) -> Option<Place> {
        let found = std::fs::metadata(path).ok()?;
        let kind = found.file_type();
        match () {
            () if kind.is_block_device() => Some(Place::Device(DeviceNumber::from_stat(found.rdev()))),
            () if kind.is_file() => Some(Place::File(DeviceNumber::from_stat(found.dev()), found.ino())),
            () => None,
        }
    }
}

/// The use that the kernel makes of a file.
#[derive(Clone, Debug)]
enum Shown {
    /// This loop device shows it.
    Loop(BlockDevice),
    /// A target exports it; its name.
    Target(String),
}

/// All files and devices that the kernel shows or exports as devices.
#[derive(Debug)]
pub struct BackingFiles(Vec<(Place, Shown)>);

impl BackingFiles {
    /// Finds them in sysfs and configfs.
    pub fn find(root: &Path) -> Self {
        let loops = all(root).unwrap_or_default().into_iter().flat_map(|device| {
            let places = places_of_loop(root, &device);
            places.into_iter().map(move |place| (place, Shown::Loop(device.clone())))
        });
        let targets =
            exported(root).into_iter().filter_map(|(path, name)| Some((Place::of(&path)?, Shown::Target(name))));
        BackingFiles(loops.chain(targets).collect())
    }

    /// Claims on a plain file: it is exported, or a loop device shows it that is in use.
    ///
    /// # Errors
    /// If it cannot be found out whether the loop device is in use.
    pub fn claims(&self, root: &Path, file: &Path) -> Result<Vec<Claim>, SysError> {
        let mut claims = Vec::new();
        if self.0.is_empty() {
            return Ok(claims);
        }
        let Some(place @ Place::File(..)) = Place::of(file) else { return Ok(claims) };
        for (_, shown) in self.0.iter().filter(|(other, _)| *other == place) {
            match shown {
                Shown::Target(name) => claims.push(Claim::Exported(name.clone())),
                Shown::Loop(device) => {
                    let used = uses(root, &root.join("dev").join(device.name()), device)?;
                    let name = device.name().to_owned();
                    claims
                        .extend(used.into_iter().map(|used| Claim::Shown { name: name.clone(), used: Box::new(used) }));
                }
            }
        }
        claims.dedup();
        Ok(claims)
    }
}

/// Names of the targets that export a device or a partition of it. They do not hold it exclusively.
pub(super) fn targets_on(root: &Path, device: &BlockDevice) -> Vec<Claim> {
    let around = device.partitions().into_iter().chain([device.clone(), device.whole()]);
    let numbers: Vec<DeviceNumber> = around.filter_map(|device| device.number()).collect();
    let is_it = |path: &Path| matches!(Place::of(path), Some(Place::Device(number)) if numbers.contains(&number));
    let mut found: Vec<Claim> =
        exported(root).into_iter().filter(|(path, _)| is_it(path)).map(|(_, name)| Claim::Exported(name)).collect();
    found.dedup();
    found
}

/// The backing file of a loop device, as the kernel knows it and by its name, which another mount namespace may have
/// given it.
fn places_of_loop(root: &Path, device: &BlockDevice) -> Vec<Place> {
    let Some(name) = device.backing_file() else { return Vec::new() };
    let node = root.join("dev").join(device.name());
    let known = std::fs::File::open(&node).ok().and_then(|open| ioctl::loop_backing(&open, &node).ok());
    let known = known.filter(|backing| backing.is_device.is_none());
    let known = known.map(|backing| Place::File(backing.device, backing.inode));
    let named = Place::of(&name).filter(|place| Some(*place) != known);
    known.into_iter().chain(named).collect()
}

/// Paths that are exported by the kernel's NVMe target and SCSI target, with the name of the target.
fn exported(root: &Path) -> Vec<(PathBuf, String)> {
    let config = root.join("sys/kernel/config");
    let mut found = Vec::new();
    for subsystem in folders(&config.join("nvmet/subsystems")) {
        for namespace in folders(&subsystem.join("namespaces")) {
            if word(&namespace.join("enable")).as_deref() == Some("1")
                && let Some(path) = word(&namespace.join("device_path"))
            {
                found.push((
                    PathBuf::from(path),
                    format!("namespace {} of nvmet {}", last(&namespace), last(&subsystem)),
                ));
            }
        }
    }
    for adapter in folders(&config.join("target/core")) {
        for object in folders(&adapter) {
            if word(&object.join("enable")).as_deref() == Some("1")
                && let Some(path) = word(&object.join("udev_path"))
            {
                found.push((PathBuf::from(path), format!("SCSI target {}/{}", last(&adapter), last(&object))));
            }
        }
    }
    found
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

fn last(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.chars().filter(|letter| !letter.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_a_target_exports_is_claimed_while_it_is_enabled() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("image");
        std::fs::write(&file, "x").unwrap();
        let namespace = root.path().join("sys/kernel/config/nvmet/subsystems/nqn.a/namespaces/3");
        std::fs::create_dir_all(&namespace).unwrap();
        std::fs::write(namespace.join("device_path"), format!("{}\n", file.display())).unwrap();
        for (enable, claims) in [("0\n", &[][..]), ("1\n", &["is exported by namespace 3 of nvmet nqn.a"])] {
            std::fs::write(namespace.join("enable"), enable).unwrap();
            let found = BackingFiles::find(root.path()).claims(root.path(), &file).unwrap();
            assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), claims);
        }
        let other = root.path().join("other");
        std::fs::write(&other, "x").unwrap();
        assert_eq!(BackingFiles::find(root.path()).claims(root.path(), &other).unwrap(), []);
    }
}

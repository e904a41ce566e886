//! Claims on a block device: mounts, holders and existing data, which are reasons not to write to it.
//!
//! This module only collects facts; the caller decides whether the device may be written to. It opens devices for
//! reading only.

use crate::SysError;
use crate::devices::identity::BlockDevice;
use crate::devices::{backing, ioctl, writers};
use crate::files::mounts;
use std::fs::File;
use std::io::ErrorKind;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A reason not to write to a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The device, a partition of it, its whole disk or a device built on it is mounted.
    Mounted {
        /// Mount point.
        point: PathBuf,
        /// A process in whose mount namespace it is mounted, if it is not our own.
        seen_by: Option<u32>,
    },
    /// It is active swap space.
    Swap,
    /// A device is built on it or on a partition of it; its name.
    Holder(String),
    /// It is open exclusively (O_EXCL).
    Held,
    /// Another loop device has the same backing file, and is in use.
    Twin {
        /// Name of that device.
        name: String,
        /// How it is used.
        used: Box<Claim>,
    },
    /// The kernel exports it to other machines; the name of the target.
    Exported(String),
    /// Another process has it open for writing.
    OpenForWriting {
        /// Name of its program.
        program: String,
        /// Its number.
        process: u32,
    },
    /// A loop device shows this plain file, and is in use.
    Shown {
        /// Name of that device.
        name: String,
        /// How it is used.
        used: Box<Claim>,
    },
    /// It has a partition, by name.
    Partition(String),
    /// It has a signature of a file system, RAID or partition table, as libblkid reports it.
    Signature {
        /// Type, such as `ext4`, `LVM2_member` or `gpt`.
        kind: String,
        /// Offset in bytes from the start, as `wipefs` prints it.
        offset: String,
    },
    /// A part of it in which signatures are cannot be read, so that wipefs does not see them.
    Unreadable {
        /// Start of that part, in bytes.
        offset: u64,
        /// The error of the read.
        errno: i32,
    },
}

impl Claim {
    /// True if the device is in use now; the other claims are signs of data.
    pub fn is_use(&self) -> bool {
        !matches!(self, Claim::Partition(_) | Claim::Signature { .. } | Claim::Unreadable { .. })
    }

    /// How a sign of data goes away, for someone who does not need what is there.
    pub const fn remedy(&self) -> &'static str {
        match self {
            Claim::Unreadable { .. } => "write zeros to what cannot be read first (blkdiscard --zeroout)",
            _ => "erase it first (wipefs --all)",
        }
    }
}

impl std::fmt::Display for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Claim::Mounted { point, seen_by: None } => write!(f, "is mounted at {}", point.display()),
            Claim::Mounted { point, seen_by: Some(process) } => {
                write!(f, "is mounted at {} in the mount namespace of process {process}", point.display())
            }
            Claim::Swap => write!(f, "is swap space in use"),
            Claim::Holder(name) => write!(f, "is in use: {name} is built on it"),
            Claim::Held => write!(f, "is in use (a file system, swap, LVM, RAID or another program holds it)"),
            Claim::Twin { name, used } => write!(f, "is on the same file as {name}, which {used}"),
            Claim::Exported(name) => write!(f, "is exported by {name}"),
            Claim::OpenForWriting { program, process } => {
                write!(f, "is open for writing by {program} (process {process})")
            }
            Claim::Shown { name, used } => write!(f, "is what {name} shows, which {used}"),
            Claim::Partition(name) => write!(f, "has the partition {name}"),
            Claim::Signature { kind, offset } => write!(f, "holds data: {kind} (its mark is at byte {offset})"),
            Claim::Unreadable { offset, errno } => {
                let error = std::io::Error::from_raw_os_error(*errno);
                write!(f, "may hold data that wipefs does not see: it cannot be read at byte {offset} ({error})")
            }
        }
    }
}

/// Returns all claims on the device at `path`, those that are uses first.
///
/// # Errors
/// If the mount table cannot be read, the device cannot be opened, or its signatures cannot be read.
pub fn on(root: &Path, path: &Path, device: &BlockDevice) -> Result<Vec<Claim>, SysError> {
    let mut found = uses(root, path, device)?;
    for twin in twins(root, device) {
        let node = root.join("dev").join(twin.name());
        for used in uses(root, &node, &twin)? {
            found.push(Claim::Twin { name: twin.name().to_owned(), used: Box::new(used) });
        }
    }
    let partitions = device.partitions();
    found.extend(partitions.iter().map(|partition| Claim::Partition(partition.name().to_owned())));
    found.extend(signatures(path)?);
    let file = File::open(path).map_err(|error| SysError::path("open", path, error))?;
    found.extend(unreadable(&file, device.size().unwrap_or(0)));
    Ok(found)
}

/// Claims that are uses of the device at this time.
pub(super) fn uses(root: &Path, path: &Path, device: &BlockDevice) -> Result<Vec<Claim>, SysError> {
    let mut found = Vec::new();
    for (mount, seen_by) in mounts::using_anywhere(root, device)? {
        let claim = Claim::Mounted { point: mount.point, seen_by };
        if !found.contains(&claim) {
            found.push(claim);
        }
    }
    if is_swap(root, device) {
        found.push(Claim::Swap);
    }
    let partitions = device.partitions();
    let around = partitions.iter().chain([device]);
    for holder in around.flat_map(BlockDevice::holders) {
        found.push(Claim::Holder(holder.name().to_owned()));
    }
    found.extend(loops_on(root, device).into_iter().map(Claim::Holder));
    if ioctl::is_held(path)? {
        found.push(Claim::Held);
    }
    found.extend(backing::targets_on(root, device));
    found.extend(writers::of(root, device));
    Ok(found)
}

/// Other loop devices with the backing file of this one: writes to one change all of them.
fn twins(root: &Path, device: &BlockDevice) -> Vec<BlockDevice> {
    use std::os::unix::fs::MetadataExt;
    let file = |device: &BlockDevice| {
        let found = std::fs::metadata(device.backing_file()?).ok()?;
        Some((found.dev(), found.ino()))
    };
    let whole = device.whole();
    let Some(mine) = file(&whole) else { return Vec::new() };
    let entries = std::fs::read_dir(root.join("sys/block")).into_iter().flatten().flatten();
    let devices = entries.filter_map(|entry| BlockDevice::by_name(root, entry.file_name().to_str()?));
    devices.filter(|other| *other != whole && file(other) == Some(mine)).collect()
}

/// Names of loop devices whose backing file is the device or a partition of it. The kernel does not list them as
/// holders.
fn loops_on(root: &Path, device: &BlockDevice) -> Vec<String> {
    use std::os::unix::fs::FileTypeExt;
    let entries = std::fs::read_dir(root.join("sys/block")).into_iter().flatten().flatten();
    let is_on = |folder: &Path| {
        let backing = std::fs::read_to_string(folder.join("loop/backing_file")).ok()?;
        let backing = PathBuf::from(backing.trim_end_matches('\n'));
        // A regular file on the device does not matter here: its file system is mounted.
        std::fs::metadata(&backing).ok().filter(|found| found.file_type().is_block_device())?;
        let below = BlockDevice::under(root, &backing).ok().flatten()?;
        (below == *device || below.whole() == *device).then_some(())
    };
    let on = entries.filter(|entry| is_on(&entry.path()).is_some());
    on.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// True if the device or a partition of it is listed in /proc/swaps.
fn is_swap(root: &Path, device: &BlockDevice) -> bool {
    let table = std::fs::read_to_string(root.join("proc/swaps")).unwrap_or_default();
    let areas = table.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    areas.filter_map(|area| BlockDevice::under(root, Path::new(area)).ok().flatten()).any(|area| {
        // A swap file is on a mounted device, which is found as such.
        area == *device || area.whole() == *device
    })
}

/// Paths of the tool: the PATH of a user often lacks the sbin directories.
const TOOLS: &[&str] = &["wipefs", "/usr/sbin/wipefs", "/sbin/wipefs"];

/// Signatures of file systems, RAID, LVM, swap and partition tables, found with wipefs(8) of util-linux; with these
/// options it only reads.
fn signatures(path: &Path) -> Result<Vec<Claim>, SysError> {
    for tool in TOOLS {
        let run = Command::new(tool).args(["--no-act", "--output", "OFFSET,TYPE", "--parsable"]).arg(path).output();
        match run {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(SysError::path("look for data with wipefs", path, error)),
            Ok(output) if output.status.success() => return Ok(marks(&String::from_utf8_lossy(&output.stdout))),
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr);
                return Err(SysError::impossible(format!(
                    "{}: wipefs cannot say whether it holds data: {}",
                    path.display(),
                    said.trim()
                )));
            }
        }
    }
    Err(SysError::impossible(format!(
        "{}: whether it holds data cannot be found out: the program wipefs is missing (install util-linux)",
        path.display()
    )))
}

/// Signatures are less than this from the start of a device (btrfs keeps copies further on, but none alone).
const AT_START: u64 = 8 << 20;
/// The same from its end.
const AT_END: u64 = 1 << 20;

/// The first part that cannot be read of those in which signatures are. Where libblkid cannot read a part, wipefs says
/// that there is no signature at all, and that it succeeded: shown with a namespace of NVMe whose last blocks had no
/// protection information yet, with swap space at its start.
fn unreadable(device: &File, size: u64) -> Option<Claim> {
    let end_starts = size.saturating_sub(AT_END).max(AT_START.min(size));
    [0..AT_START.min(size), end_starts..size].into_iter().find_map(|part| unreadable_in(device, part))
}

fn unreadable_in(device: &File, part: Range<u64>) -> Option<Claim> {
    let mut buffer = [0; 64 << 10];
    let mut offset = part.start;
    while offset < part.end {
        // A read that meets a bad block returns the bytes before it; the next one fails.
        match device.read_at(&mut buffer, offset) {
            Ok(0) => break,
            Ok(bytes) => offset += bytes as u64,
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(rustix::io::Errno::IO.raw_os_error());
                return Some(Claim::Unreadable { offset, errno });
            }
        }
    }
    None
}

/// Parses lines such as `0x438,ext4`, after a heading that starts with `#`.
fn marks(text: &str) -> Vec<Claim> {
    let lines = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(','));
    let printable = |text: &str| text.chars().filter(|letter| !letter.is_control()).collect::<String>();
    lines.map(|(offset, kind)| Claim::Signature { kind: printable(kind.trim()), offset: printable(offset) }).collect()
}

/// Returns the block device that a device for raw commands belongs to: `/dev/sda` for `/dev/sg2`, `/dev/nvme0n1` for
/// `/dev/ng0n1`; a block device itself.
pub fn behind(root: &Path, path: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let found = std::fs::metadata(path).ok()?;
    if found.file_type().is_block_device() {
        return Some(path.to_owned());
    }
    if !found.file_type().is_char_device() {
        return None;
    }
    let number = crate::devices::identity::DeviceNumber::from_stat(found.rdev());
    let folder = root.join(format!("sys/dev/char/{number}"));
    let generic = std::fs::canonicalize(&folder).ok()?.file_name()?.to_str()?.to_owned();
    let name = match generic.strip_prefix("ng") {
        // The directory of an NVMe generic device leads to the controller, so only the name identifies the namespace.
        Some(numbers) if root.join(format!("sys/block/nvme{numbers}")).exists() => format!("nvme{numbers}"),
        _ => std::fs::read_dir(folder.join("device/block")).ok()?.flatten().next()?.file_name().into_string().ok()?,
    };
    Some(root.join("dev").join(name.replace('!', "/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_lines_become_claims_and_odd_bytes_go() {
        let text = "# OFFSET,TYPE\n0x438,ext4\n0x1fe,dos\n0x0,a\u{1b}[31mb\nnonsense\n";
        let found: Vec<String> = marks(text).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "holds data: ext4 (its mark is at byte 0x438)",
                "holds data: dos (its mark is at byte 0x1fe)",
                "holds data: a[31mb (its mark is at byte 0x0)"
            ]
        );
    }

    #[test]
    fn a_device_whose_start_or_end_cannot_be_read_may_hold_data() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(16 << 20).unwrap();
        assert_eq!(unreadable(&file, 16 << 20), None);
        // At byte 0 nothing is mapped, and a read of it fails with EIO.
        let memory = File::open("/proc/self/mem").unwrap();
        let found = unreadable(&memory, 16 << 20).unwrap();
        assert!(!found.is_use());
        assert_eq!(
            found.to_string(),
            "may hold data that wipefs does not see: it cannot be read at byte 0 (Input/output error (os error 5))"
        );
    }

    #[test]
    fn a_namespace_for_raw_commands_is_the_disk_of_its_number() {
        use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
        let root = tempfile::tempdir().unwrap();
        let make = |path: &str| std::fs::create_dir_all(root.path().join(path)).unwrap();
        make("sys/devices/nvme0/ng0n2");
        make("sys/block/nvme0n2");
        make("sys/dev/char");
        std::os::unix::fs::symlink("../../devices/nvme0/ng0n2", root.path().join("sys/dev/char/240:77")).unwrap();
        let node = root.path().join("ng0n2");
        mknodat(CWD, &node, FileType::CharacterDevice, Mode::RUSR, makedev(240, 77)).unwrap();
        assert_eq!(behind(root.path(), &node), Some(root.path().join("dev/nvme0n2")));
        std::fs::remove_dir(root.path().join("sys/block/nvme0n2")).unwrap();
        assert_eq!(behind(root.path(), &node), None);
    }
}

//! Mounted file systems, from /proc/self/mountinfo (proc_pid_mountinfo(5)).

use crate::SysError;
use crate::devices::identity::{BlockDevice, DeviceNumber};
use crate::machine::text::lines;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Number of the mount, as in statx(2).
    pub id: u64,
    /// Device number that stat(2) returns for its files, except for btrfs, where each subvolume has its own.
    pub device: DeviceNumber,
    /// Mount point.
    pub point: PathBuf,
    /// Type, such as `ext4`.
    pub kind: String,
    /// Source, such as `/dev/sda1`.
    pub source: PathBuf,
    /// Options of the mount and of the file system, such as `rw,relatime,...`.
    pub options: String,
}

/// Returns all mounts in the namespace of this process, in the order in which they were made.
///
/// # Errors
/// If `root`/proc/self/mountinfo cannot be read or parsed.
pub fn read(root: &Path) -> Result<Vec<Mount>, SysError> {
    let path = root.join("proc/self/mountinfo");
    let text = lines(&path)?;
    let mounts = text.lines().map(|line| {
        parse(line).ok_or_else(|| SysError::impossible(format!("{}: not a mount: {line}", path.display())))
    });
    mounts.collect()
}

/// Parses `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`.
fn parse(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let (left, right): (Vec<_>, Vec<_>) = (left.split(' ').collect(), right.split(' ').collect());
    Some(Mount {
        id: left.first()?.parse().ok()?,
        device: DeviceNumber::parse(left.get(2)?)?,
        point: unescape(left.get(4)?),
        kind: (*right.first()?).to_owned(),
        source: unescape(right.get(1)?),
        options: format!("{},{}", left.get(5)?, right.get(2).unwrap_or(&"")),
    })
}

/// Decodes white space and backslashes, which are written as three octal digits.
fn unescape(text: &str) -> PathBuf {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&first, others)) = rest.split_first() {
        let digits = others.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if first == b'\\' => {
                plain.push(byte);
                rest = &others[3..];
            }
            _ => {
                plain.push(first);
                rest = others;
            }
        }
    }
    PathBuf::from(OsString::from_vec(plain))
}

/// Returns the mount that contains `path`; for a path that does not exist, that of its nearest existing parent.
///
/// # Errors
/// If the path or the mount table cannot be read.
pub fn holding(root: &Path, path: &Path) -> Result<Option<Mount>, SysError> {
    Ok(in_table(&read(root)?, path)?.cloned())
}

/// Returns the mounts that contain these paths as [`holding`] does, each once, in the order of the first path in it.
/// Paths that cannot be read are left out. The table is read once, however many paths there are.
///
/// # Errors
/// If the mount table cannot be read.
pub fn holding_any(root: &Path, paths: &[&Path]) -> Result<Vec<Mount>, SysError> {
    let table = read(root)?;
    let mut found: Vec<&Mount> = Vec::new();
    for mount in paths.iter().filter_map(|path| in_table(&table, path).ok().flatten()) {
        if !found.contains(&mount) {
            found.push(mount);
        }
    }
    Ok(found.into_iter().cloned().collect())
}

fn in_table<'a>(table: &'a [Mount], path: &Path) -> Result<Option<&'a Mount>, SysError> {
    let device = crate::devices::identity::number_under(path)?;
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let id = absolute.ancestors().find_map(number_of);
    Ok(of_place(table, Place { id, device }, &absolute))
}

/// Numbers that identify the mount of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Number of the mount; `None` on kernels before 5.8, which do not report it.
    pub id: Option<u64>,
    /// Device number of the files.
    pub device: DeviceNumber,
}

/// Selects the mount of a path from a table: the one with its number, or else the innermost of those with its device.
pub fn of_place<'a>(table: &'a [Mount], place: Place, absolute: &Path) -> Option<&'a Mount> {
    let innermost = |mount: &&Mount| (absolute.starts_with(&mount.point), mount.point.as_os_str().len());
    let numbered = place.id.and_then(|id| table.iter().find(|mount| mount.id == id));
    numbered.or_else(|| table.iter().filter(|mount| mount.device == place.device).max_by_key(innermost))
}

/// Returns the number of the mount that contains an existing path; `None` if the kernel does not report it.
pub fn number_of(path: &Path) -> Option<u64> {
    use rustix::fs::{AtFlags, CWD, StatxFlags};
    let found = rustix::fs::statx(CWD, path, AtFlags::STATX_DONT_SYNC, StatxFlags::MNT_ID).ok()?;
    (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
}

/// Returns the mounts of the device, of its partitions, and of devices built on either: a write to the device destroys
/// these file systems. Searches all mount namespaces of visible processes; a mount of another namespace has the ID of a
/// process in it. A partition is also in use if its whole disk is mounted.
///
/// # Errors
/// If the mount table of this process cannot be read.
pub fn using_anywhere(root: &Path, device: &BlockDevice) -> Result<Vec<(Mount, Option<u32>)>, SysError> {
    let mut tables: Vec<(Option<u32>, Vec<Mount>)> = vec![(None, read(root)?)];
    let namespace = |process: &str| std::fs::read_link(root.join("proc").join(process).join("ns/mnt")).ok();
    let mut known: Vec<PathBuf> = namespace("self").into_iter().collect();
    for entry in std::fs::read_dir(root.join("proc")).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some((process, text)) = name.to_str().and_then(|text| Some((text.parse::<u32>().ok()?, text))) else {
            continue;
        };
        // Skips processes that have just ended, and those that may not be read.
        let Some(namespace) = namespace(text) else { continue };
        if known.contains(&namespace) {
            continue;
        }
        if let Ok(table) = lines(&entry.path().join("mountinfo")) {
            tables.push((Some(process), table.lines().filter_map(parse).collect()));
            known.push(namespace);
        }
    }
    let whole = device.whole();
    let mut found: Vec<(Mount, Option<u32>)> = Vec::new();
    for (process, mounts) in tables {
        for mount in mounts {
            let mounted = mounted_device(root, &mount);
            let uses = mounted.is_some_and(|mounted| mounted == whole || reaches(root, &mounted, device));
            if uses && !found.iter().any(|(other, _)| other.device == mount.device && other.point == mount.point) {
                found.push((mount, process));
            }
        }
    }
    Ok(found)
}

/// Device of a file system; for file systems with virtual device numbers, the one at the path of the source.
fn mounted_device(root: &Path, mount: &Mount) -> Option<BlockDevice> {
    BlockDevice::by_number(root, mount.device).or_else(|| {
        let source = std::fs::metadata(&mount.source).ok()?;
        BlockDevice::by_number(root, DeviceNumber::from_stat(std::os::unix::fs::MetadataExt::rdev(&source)))
    })
}

/// True if `target` is `device` or below it in the stack. A partition is above its disk, but not above other
/// partitions.
fn reaches(root: &Path, device: &BlockDevice, target: &BlockDevice) -> bool {
    let (mut open, mut seen) = (vec![device.clone()], Vec::new());
    while let Some(next) = open.pop() {
        if next == *target {
            return true;
        }
        if !seen.contains(&next) {
            open.extend(next.below(root));
            seen.push(next);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
23 22 0:21 / /proc rw - proc proc rw
31 22 253:0 / /mnt/my\040data rw,noatime - xfs /dev/mapper/my\134data rw,attr2
";

    fn recorded() -> tempfile::TempDir {
        let root = crate::devices::identity::tests::recorded();
        std::fs::create_dir_all(root.path().join("proc/self")).unwrap();
        std::fs::write(root.path().join("proc/self/mountinfo"), TABLE).unwrap();
        root
    }

    #[test]
    fn mounts_are_read_with_their_escapes() {
        let mounts = read(recorded().path()).unwrap();
        assert_eq!(mounts.len(), 3);
        assert_eq!((mounts[2].id, mounts[2].point.as_path()), (31, Path::new("/mnt/my data")));
        assert_eq!(mounts[2].source, Path::new("/dev/mapper/my\\data"));
        assert_eq!((mounts[0].kind.as_str(), mounts[0].device.to_string()), ("ext4", "8:1".to_owned()));
        assert_eq!(mounts[0].options, "rw,relatime,rw,errors=remount-ro");
    }

    #[test]
    fn text_without_a_mount_table_says_which_line() {
        let root = recorded();
        std::fs::write(root.path().join("proc/self/mountinfo"), "22 1 8:1 / / rw\n").unwrap();
        assert!(read(root.path()).unwrap_err().to_string().contains("not a mount: 22 1 8:1"));
        for text in ["\\", "\\04", "\\999", "é\\040"] {
            unescape(text);
        }
    }

    #[test]
    fn a_disk_is_in_use_through_its_partitions_and_stacks() {
        let root = recorded();
        let points = |name: &str| {
            let device = BlockDevice::by_name(root.path(), name).unwrap();
            let mounts = using_anywhere(root.path(), &device).unwrap();
            mounts.into_iter().map(|(mount, _)| mount.point.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(points("sda"), ["/", "/mnt/my data"]);
        assert_eq!(points("sdb"), ["/mnt/my data"]);
        assert_eq!(points("dm-0"), ["/mnt/my data"]);
    }

    #[test]
    fn a_path_belongs_to_the_mount_of_its_number_or_its_device() {
        let mounts = read(recorded().path()).unwrap();
        let point = |id, device: &str| {
            let place = Place { id, device: DeviceNumber::parse(device).unwrap() };
            of_place(&mounts, place, Path::new("/mnt/my data/file")).map(|mount| mount.point.clone())
        };
        // As a subvolume of btrfs: its device is not in the table.
        assert_eq!(point(Some(31), "0:99").unwrap(), Path::new("/mnt/my data"));
        assert_eq!(point(None, "253:0").unwrap(), Path::new("/mnt/my data"));
        assert_eq!(point(Some(99), "8:1").unwrap(), Path::new("/"));
        assert_eq!(point(None, "0:99"), None);
    }

    #[test]
    fn the_root_of_this_machine_is_mounted() {
        let mount = holding(Path::new("/"), Path::new("/proc/self/status")).unwrap().unwrap();
        assert_eq!((mount.kind.as_str(), mount.point.as_path()), ("proc", Path::new("/proc")));
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_the_reader(line in "[ -~\\\\é]{0,80}", number in "[0-9:x-]{0,12}") {
            let _ = (parse(&line), parse(&format!("1 2 {number} / /{line} rw - {line}")), unescape(&line));
        }
    }
}

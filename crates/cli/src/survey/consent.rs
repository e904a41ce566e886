//! Whether a device may be overwritten: its owner must repeat who it is, and nobody may be using it.

use super::SYSTEM_ROOT;
use crate::failure::Failure;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use survey::Writes;
use sys::device::{BlockDevice, number_under};

/// Where a file system, a partition table or a member of a stack says that it is there.
const SIGNATURES: &[(u64, &[u8], &str)] = &[
    (0x438, b"\x53\xef", "an ext2, ext3 or ext4 file system"),
    (0, b"XFSB", "an XFS file system"),
    (0x1_0040, b"_BHRfS_M", "a Btrfs file system"),
    (0x400, b"\x10\x20\xf5\xf2", "an F2FS file system"),
    (3, b"NTFS    ", "an NTFS file system"),
    (3, b"EXFAT   ", "an exFAT file system"),
    (0x8001, b"CD001", "an ISO 9660 file system"),
    (0, b"hsqs", "a SquashFS file system"),
    (512, b"EFI PART", "a GPT partition table"),
    (4096, b"EFI PART", "a GPT partition table"),
    (510, b"\x55\xaa", "a partition table or a FAT file system"),
    (0, b"LUKS\xba\xbe", "a LUKS volume"),
    (512, b"LABELONE", "an LVM physical volume"),
    (0x1018, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca", "a bcache device"),
    (4096, b"\xfc\x4e\x2b\xa9", "a member of an md array"),
    (0, b"\xfc\x4e\x2b\xa9", "a member of an md array"),
    (4086, b"SWAPSPACE2", "swap space"),
    (65_526, b"SWAPSPACE2", "swap space"),
    (0x2_0000, b"\x0c\xb1\xba\x00", "a member of a ZFS pool"),
];
const HEAD: usize = 256 << 10;

/// Whether these devices may be written to, by the identities that the user repeated. None repeated: they may not.
/// One that is repeated but does not fit, or a device that somebody uses, is refused.
pub(super) fn writes(devices: &[PathBuf], repeated: &[String]) -> Result<Writes, Failure> {
    if repeated.is_empty() {
        return Ok(Writes::Forbidden);
    }
    let mut unused: Vec<&String> = repeated.iter().collect();
    for path in devices {
        let refused = |why: String| Failure::new(format!("{}: is not overwritten: {why}", path.display()));
        let known = identities(path).map_err(&refused)?;
        let Some(at) = unused.iter().position(|word| known.contains(word)) else {
            let known = known.join(" or ");
            return Err(refused(format!("none of the words after --overwrite is its own; it is {known}")));
        };
        unused.remove(at);
        check_unused(path).map_err(&refused)?;
    }
    match unused.first() {
        Some(word) => Err(Failure::new(format!("--overwrite {word}: none of the devices is called so"))),
        None => Ok(Writes::Allowed),
    }
}

/// What tells a device from all others, the most lasting first: serial number or WWID, else name and size.
fn identities(path: &Path) -> Result<Vec<String>, String> {
    let number = number_under(path).map_err(|error| error.to_string())?;
    let device = BlockDevice::by_number(Path::new(SYSTEM_ROOT), number);
    let device = device.ok_or("the kernel tells nothing about it")?;
    let lasting = device.whole().serial().map(|serial| serial.split_whitespace().collect::<Vec<_>>().join("-"));
    let size = device.size().ok_or("the kernel does not tell its size")?;
    // A partition shares its disk's serial number; its size goes with it.
    Ok(match lasting {
        Some(serial) if device.is_partition() => vec![format!("{serial}:{size}")],
        Some(serial) => vec![serial],
        None => vec![format!("{}:{size}", device.name())],
    })
}

fn check_unused(path: &Path) -> Result<(), String> {
    let root = Path::new(SYSTEM_ROOT);
    let number = number_under(path).map_err(|error| error.to_string())?;
    let device = BlockDevice::by_number(root, number).ok_or("the kernel tells nothing about it")?;
    let mounts = sys::mounts::using(root, &device).map_err(|error| error.to_string())?;
    if let Some(mount) = mounts.first() {
        return Err(format!("it is mounted at {}; unmount it first", mount.point.display()));
    }
    match rustix::fs::open(path, OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty()) {
        Err(rustix::io::Errno::BUSY) => {
            return Err("somebody holds it (a file system, swap, LVM or RAID); take it out of there first".to_owned());
        }
        Err(error) => return Err(format!("it cannot be opened: {error}")),
        Ok(_closed_at_once) => {}
    }
    match signature(path).map_err(|error| format!("it cannot be read: {error}"))? {
        Some(found) => Err(format!("it holds {found}; if nobody needs that, run wipefs --all on it first")),
        None => Ok(()),
    }
}

fn signature(path: &Path) -> std::io::Result<Option<&'static str>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(0))?;
    let mut head = Vec::with_capacity(HEAD);
    file.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(signature_in(&head))
}

fn signature_in(head: &[u8]) -> Option<&'static str> {
    let is_there = |&&(at, magic, _): &&(u64, &[u8], &str)| {
        let from = usize::try_from(at).ok();
        from.and_then(|from| head.get(from..)).is_some_and(|rest| rest.starts_with(magic))
    };
    SIGNATURES.iter().find(is_there).map(|(.., name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_found_where_they_lie() {
        assert_eq!(signature_in(&vec![0; HEAD]), None);
        for (at, magic, name) in SIGNATURES {
            let mut head = vec![0; HEAD];
            let at = usize::try_from(*at).unwrap();
            head[at..at + magic.len()].copy_from_slice(magic);
            assert_eq!(signature_in(&head), Some(*name));
        }
        assert_eq!(signature_in(b"XFS"), None, "a short device has no room for one");
    }

    #[test]
    fn no_word_is_no_consent() {
        assert_eq!(writes(&[PathBuf::from("/dev/does-not-exist")], &[]).unwrap(), Writes::Forbidden);
        let refused = writes(&[PathBuf::from("/dev/null")], &["x".to_owned()]).unwrap_err();
        assert!(format!("{refused:?}").contains("not overwritten"), "{refused:?}");
    }
}

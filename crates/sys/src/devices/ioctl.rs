//! ioctls of an open block device: size, sector sizes, discard, cache flush, and a check for exclusive use.

use crate::SysError;
use crate::devices::identity::DeviceNumber;
use crate::files::operations::{OpenFlags, open};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// `_IOR(0x12, 114, size_t)` of linux/fs.h.
const BLKGETSIZE64: libc::Ioctl = 0x8008_1272;
/// `_IO(0x12, 119)` of linux/fs.h.
const BLKDISCARD: libc::Ioctl = 0x1277;
/// `_IO(0x12, 97)` of linux/fs.h.
const BLKFLSBUF: libc::Ioctl = 0x1261;

/// `LOOP_GET_STATUS64` of linux/loop.h.
const LOOP_GET_STATUS64: libc::Ioctl = 0x4C05;

/// Size of `struct loop_info64` of linux/loop.h in words. The first four are the device and the inode of the backing
/// file, its number if it is a device, and the offset in it.
const LOOP_STATUS_WORDS: usize = 29;

/// The place of a loop device's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopBacking {
    /// Device of the file system with the backing file.
    pub device: DeviceNumber,
    /// Inode of the backing file.
    pub inode: u64,
    /// Number of the device that is the backing file; `None` for a regular file.
    pub is_device: Option<DeviceNumber>,
    /// Offset of the loop device's first byte in the backing file.
    pub offset: u64,
}

/// Returns the backing file of a loop device, which the kernel knows also for a file that was removed, or that is in
/// another mount namespace.
///
/// # Errors
/// ENOTTY if the file is not a loop device, ENXIO if it has no backing file.
pub fn loop_backing(device: &File, path: &Path) -> Result<LoopBacking, SysError> {
    let mut status = [0u64; LOOP_STATUS_WORDS];
    // SAFETY: the call writes a structure of this size to a local that outlives it.
    match unsafe { libc::ioctl(device.as_raw_fd(), LOOP_GET_STATUS64, status.as_mut_ptr()) } {
        0 => Ok(LoopBacking {
            device: DeviceNumber::from_stat(status[0]),
            inode: status[1],
            is_device: (status[2] != 0).then(|| DeviceNumber::from_stat(status[2])),
            offset: status[3],
        }),
        _ => Err(SysError::path("LOOP_GET_STATUS64", path, io::Error::last_os_error())),
    }
}

/// Returns the size of the device in bytes. `path` is for messages, here and below.
///
/// # Errors
/// ENOTTY if the file is not a block device.
pub fn size(device: &File, path: &Path) -> Result<u64, SysError> {
    let mut bytes = 0u64;
    // SAFETY: the call writes one u64 to a local that outlives it.
    match unsafe { libc::ioctl(device.as_raw_fd(), BLKGETSIZE64, &raw mut bytes) } {
        0 => Ok(bytes),
        _ => Err(SysError::path("BLKGETSIZE64", path, io::Error::last_os_error())),
    }
}

/// Sector sizes of a device in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sectors {
    /// Logical sector: the unit of addressing, to which direct I/O is aligned.
    pub logical: u32,
    /// Physical sector: the unit that it writes without read-modify-write.
    pub physical: u32,
}

/// Returns the sector sizes of the device.
///
/// # Errors
/// ENOTTY if the file is not a block device.
pub fn sectors(device: &File, path: &Path) -> Result<Sectors, SysError> {
    let failed = |call| move |errno: rustix::io::Errno| SysError::path(call, path, errno);
    let logical = rustix::fs::ioctl_blksszget(device).map_err(failed("BLKSSZGET"))?;
    let physical = rustix::fs::ioctl_blkpbszget(device).map_err(failed("BLKPBSZGET"))?;
    Ok(Sectors { logical, physical })
}

/// Discards a range, which consists of whole logical sectors.
///
/// # Errors
/// EOPNOTSUPP if the device cannot discard, EINVAL for an unaligned range, EBADF if it is not open for writing.
pub fn discard(device: &File, path: &Path, offset: u64, length: u64) -> Result<(), SysError> {
    let range = [offset, length];
    // SAFETY: the call reads two u64 from a local that outlives it.
    match unsafe { libc::ioctl(device.as_raw_fd(), BLKDISCARD, range.as_ptr()) } {
        0 => Ok(()),
        _ => Err(SysError::path("BLKDISCARD", path, io::Error::last_os_error())),
    }
}

/// Writes back the dirty buffers of the device and drops its page cache.
///
/// # Errors
/// EACCES without CAP_SYS_ADMIN, ENOTTY if the file is not a block device.
pub fn drop_cache(device: &File, path: &Path) -> Result<(), SysError> {
    // SAFETY: the call takes no argument.
    match unsafe { libc::ioctl(device.as_raw_fd(), BLKFLSBUF, 0) } {
        0 => Ok(()),
        _ => Err(SysError::path("BLKFLSBUF", path, io::Error::last_os_error())),
    }
}

/// True if the kernel holds the device for a mounted file system, a stacked device or swap. Checked by opening it with
/// O_EXCL.
///
/// # Errors
/// If it cannot be opened for another reason.
pub fn is_held(path: &Path) -> Result<bool, SysError> {
    match open(path, OpenFlags::RDONLY | OpenFlags::EXCL, 0) {
        Ok(_) => Ok(false),
        Err(error) if error.errno() == Some(libc::EBUSY) => Ok(true),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::path::PathBuf;
    use std::process::Command;

    const SIZE: u64 = 4 << 20;

    struct Loop {
        device: PathBuf,
        _folder: tempfile::TempDir,
    }

    impl Loop {
        /// `None` if loop devices cannot be created.
        fn attach() -> Option<Self> {
            let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
            let image = folder.path().join("image");
            std::fs::write(&image, vec![7; usize::try_from(SIZE).unwrap()]).unwrap();
            let made = Command::new("losetup").args(["--find", "--show"]).arg(&image).output().ok()?;
            let device = String::from_utf8(made.stdout).ok().filter(|_| made.status.success())?;
            Some(Loop { device: PathBuf::from(device.trim()), _folder: folder })
        }
    }

    impl Drop for Loop {
        fn drop(&mut self) {
            let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
        }
    }

    #[test]
    fn a_loop_device_has_its_size_and_forgets_what_is_discarded() {
        let Some(target) = Loop::attach() else { return };
        let path = target.device.as_path();
        let mut device = open(path, OpenFlags::RDWR, 0).unwrap();
        assert_eq!(size(&device, path).unwrap(), SIZE);
        let sectors = sectors(&device, path).unwrap();
        assert!(sectors.logical >= 512 && sectors.physical >= sectors.logical, "{sectors:?}");
        match discard(&device, path, 0, SIZE / 2) {
            Err(error) => assert_eq!(error.errno(), Some(libc::EOPNOTSUPP), "{error}"),
            Ok(()) => {
                drop_cache(&device, path).unwrap();
                let mut bytes = Vec::new();
                device.read_to_end(&mut bytes).unwrap();
                let half = bytes.len() / 2;
                assert!(bytes[..half].iter().all(|&byte| byte == 0) && bytes[half..].iter().all(|&byte| byte == 7));
            }
        }
        assert_eq!(discard(&device, path, 1, 512).unwrap_err().errno(), Some(libc::EINVAL));
    }

    #[test]
    fn a_loop_device_is_in_sysfs_and_is_held_only_when_used() {
        let root = Path::new("/");
        let Some(target) = Loop::attach() else { return };
        assert!(!is_held(&target.device).unwrap());
        let found = crate::devices::identity::BlockDevice::under(root, &target.device).unwrap().unwrap();
        assert_eq!(target.device.file_name().unwrap().to_str(), Some(found.name()));
        assert_eq!(found.size(), Some(SIZE));
        let backing = found.backing_file().unwrap();
        assert!(backing.ends_with("image"));
        let holds = loop_backing(&File::open(&target.device).unwrap(), &target.device).unwrap();
        assert_eq!(holds.device, crate::devices::identity::number_under(&backing).unwrap());
        let file = std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(&backing).unwrap());
        assert_eq!((holds.inode, holds.is_device, holds.offset), (file, None, 0));
        assert_eq!(found.bypasses_page_cache(), Some(false));
        assert!(crate::files::mounts::using_anywhere(root, &found).unwrap().is_empty());
        let _holder = open(&target.device, OpenFlags::RDONLY | OpenFlags::EXCL, 0).unwrap();
        assert!(is_held(&target.device).unwrap());
    }

    #[test]
    fn a_file_is_not_a_block_device() {
        let path = Path::new("/proc/version");
        let file = File::open(path).unwrap();
        for error in [size(&file, path).map(drop), sectors(&file, path).map(drop), discard(&file, path, 0, 512)] {
            assert!(error.unwrap_err().to_string().starts_with("/proc/version: BLK"));
        }
        assert_eq!(loop_backing(&file, path).unwrap_err().errno(), Some(libc::ENOTTY));
    }
}

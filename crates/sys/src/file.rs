//! File operations beyond the standard library: open flags, reserving space, advice, direct I/O, free space.

use crate::SysError;
use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags, StatxFlags};
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;

pub use rustix::fs::Advice;
/// Flags of open(2).
pub use rustix::fs::OFlags as OpenFlags;

/// Opens a file with the flags of open(2), close-on-exec always; `mode` is for a file that it makes.
///
/// # Errors
/// As open(2); the message names O_DIRECT where that is the likely reason.
pub fn open(path: &Path, flags: OpenFlags, mode: u32) -> Result<File, SysError> {
    let opened = rustix::fs::open(path, flags | OFlags::CLOEXEC | OFlags::LARGEFILE, Mode::from_raw_mode(mode));
    opened.map(File::from).map_err(|errno| {
        let error = io::Error::from(errno);
        let no_direct = errno == rustix::io::Errno::INVAL && flags.contains(OFlags::DIRECT);
        SysError::path(
            if no_direct { "open with O_DIRECT, which its file system may not have" } else { "open" },
            path,
            error,
        )
    })
}

/// What sync_file_range(2) does with a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncRange {
    /// Wait for writeback that is under way.
    pub wait_before: bool,
    /// Begin writeback.
    pub write: bool,
    /// Wait for it.
    pub wait_after: bool,
}

/// sync_file_range(2) of `length` bytes from `offset`.
///
/// # Errors
/// The kernel's word: EIO, ENOSPC, EINVAL.
pub fn sync_range(file: BorrowedFd<'_>, offset: u64, length: u64, how: SyncRange) -> io::Result<()> {
    let flags = [
        (how.wait_before, libc::SYNC_FILE_RANGE_WAIT_BEFORE),
        (how.write, libc::SYNC_FILE_RANGE_WRITE),
        (how.wait_after, libc::SYNC_FILE_RANGE_WAIT_AFTER),
    ];
    let flags = flags.iter().filter(|(wanted, _)| *wanted).fold(0, |all, (_, flag)| all | flag);
    let number = |bytes: u64| i64::try_from(bytes).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL));
    let (offset, length) = (number(offset)?, number(length)?);
    // SAFETY: the call takes no memory; the descriptor is open for as long as it is borrowed.
    let result = unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, flags) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Tells the kernel how long data written to this inode will live: 1 none, 2 short, 3 medium, 4 long, 5 extreme
/// (fcntl(2), F_SET_RW_HINT).
///
/// # Errors
/// EINVAL where the file system has no such hints.
pub fn set_write_hint(file: BorrowedFd<'_>, hint: u64) -> io::Result<()> {
    /// `F_LINUX_SPECIFIC_BASE + 12` of linux/fcntl.h.
    const F_SET_RW_HINT: libc::c_int = 1036;
    // SAFETY: F_SET_RW_HINT reads one u64 from the pointer, which `hint` holds for the whole call.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), F_SET_RW_HINT, &raw const hint) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The hint that was set, 0 for none (F_GET_RW_HINT).
///
/// # Errors
/// EINVAL where the file system has no such hints.
pub fn write_hint(file: BorrowedFd<'_>) -> io::Result<u64> {
    /// `F_LINUX_SPECIFIC_BASE + 11` of linux/fcntl.h.
    const F_GET_RW_HINT: libc::c_int = 1035;
    let mut hint: u64 = 0;
    // SAFETY: F_GET_RW_HINT writes one u64 to the pointer, which `hint` holds for the whole call.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), F_GET_RW_HINT, &raw mut hint) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(hint) }
}

/// How space is reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserve {
    /// fallocate: reserved and part of the file, reads as zeros without reaching the device.
    Allocate,
    /// fallocate with FALLOC_FL_KEEP_SIZE: reserved beyond the end, the size stays.
    KeepSize,
    /// Given back, a hole in the file.
    PunchHole,
    /// Zeros, by whatever means the file system has.
    ZeroRange,
    /// posix_fallocate: as the first, and written with zeros where the file system cannot reserve.
    Posix,
}

/// Reserves, or gives back, the space of `length` bytes from `offset`. `path` is for messages.
///
/// # Errors
/// EOPNOTSUPP where the file system cannot, ENOSPC when it is full.
pub fn reserve(file: &File, path: &Path, how: Reserve, offset: u64, length: u64) -> Result<(), SysError> {
    let flags = match how {
        Reserve::Allocate => FallocateFlags::empty(),
        Reserve::KeepSize => FallocateFlags::KEEP_SIZE,
        Reserve::PunchHole => FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
        Reserve::ZeroRange => FallocateFlags::ZERO_RANGE,
        Reserve::Posix => return reserve_posix(file, path, offset, length),
    };
    rustix::fs::fallocate(file, flags, offset, length).map_err(|errno| SysError::path("fallocate", path, errno))
}

fn reserve_posix(file: &File, path: &Path, offset: u64, length: u64) -> Result<(), SysError> {
    let (Ok(offset), Ok(length)) = (i64::try_from(offset), i64::try_from(length)) else {
        return Err(SysError::path("posix_fallocate", path, io::Error::from_raw_os_error(libc::EFBIG)));
    };
    // SAFETY: posix_fallocate touches no memory of this process.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), offset, length) } {
        0 => Ok(()),
        // It returns the error instead of setting errno.
        errno => Err(SysError::path("posix_fallocate", path, io::Error::from_raw_os_error(errno))),
    }
}

/// Tells the kernel how the file will be used, from `offset` on; a `length` of `None` is to its end.
///
/// # Errors
/// ESPIPE for pipes.
pub fn advise(
    file: &File,
    path: &Path,
    advice: Advice,
    offset: u64,
    length: Option<NonZeroU64>,
) -> Result<(), SysError> {
    rustix::fs::fadvise(file, offset, length, advice).map_err(|errno| SysError::path("fadvise", path, errno))
}

/// Takes the file out of the page cache: writes back what is dirty, then lets go of it. Pages that others have mapped
/// or locked stay.
///
/// # Errors
/// When the writing back fails.
pub fn drop_cache(file: &File, path: &Path) -> Result<(), SysError> {
    match rustix::fs::fdatasync(file) {
        // Devices and file systems without anything to write back refuse.
        Ok(()) | Err(rustix::io::Errno::INVAL | rustix::io::Errno::ROFS) => {}
        Err(errno) => return Err(SysError::path("fdatasync", path, errno)),
    }
    advise(file, path, Advice::DontNeed, 0, None)
}

/// What O_DIRECT asks of memory and offsets, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectAlignment {
    /// Of buffers.
    pub memory: u32,
    /// Of offsets and lengths.
    pub offset: u32,
}

/// What direct I/O on this file asks for; `None` when neither the kernel (statx with STATX_DIOALIGN, 6.1) nor, for a
/// block device, its sector size tells.
pub fn direct_alignment(file: &File) -> Option<DirectAlignment> {
    let told = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok();
    let told = told.filter(|told| told.stx_mask & StatxFlags::DIOALIGN.bits() != 0 && told.stx_dio_offset_align > 0);
    let by_kernel =
        told.map(|told| DirectAlignment { memory: told.stx_dio_mem_align, offset: told.stx_dio_offset_align });
    by_kernel.or_else(|| {
        let sector = rustix::fs::ioctl_blksszget(file).ok()?;
        Some(DirectAlignment { memory: sector, offset: sector })
    })
}

/// Room in a file system, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Everything.
    pub total: u64,
    /// Free for root.
    pub free: u64,
    /// Free for everyone.
    pub available: u64,
}

/// The room in the file system that holds `path`.
///
/// # Errors
/// When the path cannot be looked at.
pub fn room(path: &Path) -> Result<Room, SysError> {
    let found = rustix::fs::statvfs(path).map_err(|errno| SysError::path("statvfs", path, errno))?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Ok(Room { total: bytes(found.f_blocks), free: bytes(found.f_bfree), available: bytes(found.f_bavail) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;
    use std::path::PathBuf;

    /// A file on the disk under the sources, not on a tmpfs.
    fn fresh() -> (tempfile::TempDir, PathBuf, File) {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("file");
        let file = open(&path, OpenFlags::RDWR | OpenFlags::CREATE | OpenFlags::EXCL, 0o640).unwrap();
        (folder, path, file)
    }

    #[test]
    fn flags_and_mode_reach_the_kernel() {
        let (_folder, path, file) = fresh();
        assert_eq!(file.metadata().unwrap().mode() & 0o777 & !0o640, 0);
        let again = open(&path, OpenFlags::RDWR | OpenFlags::CREATE | OpenFlags::EXCL, 0o640).unwrap_err();
        assert_eq!(again.errno(), Some(libc::EEXIST));
        assert!(again.to_string().starts_with(&path.display().to_string()), "{again}");
    }

    #[test]
    fn direct_where_there_is_none_says_so() {
        let error = open(Path::new("/proc/version"), OpenFlags::RDONLY | OpenFlags::DIRECT, 0).unwrap_err();
        assert!(error.to_string().contains("with O_DIRECT"), "{error}");
        assert_eq!(error.errno(), Some(libc::EINVAL));
    }

    #[test]
    fn each_way_of_reserving_does_what_it_says() {
        let check = |how: Reserve, size: u64, blocks: bool| {
            let (_folder, path, file) = fresh();
            match reserve(&file, &path, how, 0, 1 << 20) {
                Err(error) => assert_eq!(error.errno(), Some(libc::EOPNOTSUPP), "{how:?}: {error}"),
                Ok(()) => {
                    let found = file.metadata().unwrap();
                    assert_eq!((found.len(), found.blocks() > 0), (size, blocks), "{how:?}");
                }
            }
        };
        check(Reserve::Allocate, 1 << 20, true);
        check(Reserve::KeepSize, 0, true);
        check(Reserve::Posix, 1 << 20, true);
        check(Reserve::ZeroRange, 1 << 20, true);
        check(Reserve::PunchHole, 0, false);
    }

    #[test]
    fn an_impossible_reservation_names_the_file() {
        let (_folder, path, file) = fresh();
        for how in [Reserve::Posix, Reserve::Allocate] {
            let error = reserve(&file, &path, how, u64::MAX, 1).unwrap_err();
            assert!(error.to_string().contains(&path.display().to_string()), "{error}");
        }
    }

    #[test]
    fn a_device_or_disk_file_tells_its_direct_alignment() {
        let (_folder, path, file) = fresh();
        if open(&path, OpenFlags::RDWR | OpenFlags::DIRECT, 0).is_err() {
            return;
        }
        if let Some(alignment) = direct_alignment(&file) {
            assert!(alignment.memory.is_power_of_two() && alignment.offset.is_power_of_two(), "{alignment:?}");
        }
        assert_eq!(direct_alignment(&File::open("/proc/version").unwrap()), None);
    }

    #[test]
    fn room_is_consistent() {
        let room = room(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(room.available <= room.free && room.free <= room.total && room.total > 0, "{room:?}");
    }
}

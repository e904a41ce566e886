//! File operations beyond the standard library: open flags, allocation, advice, direct I/O, free space.

use crate::SysError;
use rustix::fs::{FallocateFlags, Mode, OFlags};
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;

pub use rustix::fs::Advice;
/// Flags of open(2).
pub use rustix::fs::OFlags as OpenFlags;

/// Opens a file with the flags of open(2), and always O_CLOEXEC. `mode` applies if the file is created.
///
/// # Errors
/// As open(2); the message mentions O_DIRECT if that is the likely reason.
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

/// Flags of sync_file_range(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncRange {
    /// Wait for writeback in progress.
    pub wait_before: bool,
    /// Start writeback.
    pub write: bool,
    /// Wait for that writeback.
    pub wait_after: bool,
}

/// sync_file_range(2) of `length` bytes from `offset`.
///
/// # Errors
/// As the call: EIO, ENOSPC, EINVAL.
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

/// Sets the expected lifetime of data written to this inode: 1 none, 2 short, 3 medium, 4 long, 5 extreme (fcntl(2),
/// F_SET_RW_HINT).
///
/// # Errors
/// EINVAL if the file system does not support such hints.
pub fn set_write_hint(file: BorrowedFd<'_>, hint: u64) -> io::Result<()> {
    /// `F_LINUX_SPECIFIC_BASE + 12` of linux/fcntl.h.
    const F_SET_RW_HINT: libc::c_int = 1036;
    // SAFETY: F_SET_RW_HINT reads one u64 from the pointer, which `hint` holds for the whole call.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), F_SET_RW_HINT, &raw const hint) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Returns the hint of this inode; 0 if it was not set (F_GET_RW_HINT).
///
/// # Errors
/// EINVAL if the file system does not support such hints.
pub fn write_hint(file: BorrowedFd<'_>) -> io::Result<u64> {
    /// `F_LINUX_SPECIFIC_BASE + 11` of linux/fcntl.h.
    const F_GET_RW_HINT: libc::c_int = 1035;
    let mut hint: u64 = 0;
    // SAFETY: F_GET_RW_HINT writes one u64 to the pointer, which `hint` holds for the whole call.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), F_GET_RW_HINT, &raw mut hint) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(hint) }
}

/// Kinds of allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserve {
    /// fallocate(2): allocated, part of the file, and read as zeros without I/O.
    Allocate,
    /// fallocate(2) with FALLOC_FL_KEEP_SIZE: allocated past the end; the size does not change.
    KeepSize,
    /// FALLOC_FL_PUNCH_HOLE: freed, a hole in the file.
    PunchHole,
    /// FALLOC_FL_ZERO_RANGE: zeros, by the means of the file system.
    ZeroRange,
    /// posix_fallocate(3): as the first, but writes zeros if the file system has no fallocate.
    Posix,
}

/// Allocates or frees `length` bytes from `offset`. `path` is for messages.
///
/// # Errors
/// EOPNOTSUPP if the file system cannot do it, ENOSPC if it is full.
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
        // posix_fallocate returns the error instead of setting errno.
        errno => Err(SysError::path("posix_fallocate", path, io::Error::from_raw_os_error(errno))),
    }
}

/// Announces the access pattern of the file from `offset` on (posix_fadvise(2)); a `length` of `None` means up to its
/// end.
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

/// Drops the file from the page cache after writing back its dirty pages. Pages that other processes have mapped or
/// locked stay.
///
/// # Errors
/// If the writeback fails.
pub fn drop_cache(file: &File, path: &Path) -> Result<(), SysError> {
    match rustix::fs::fdatasync(file) {
        // Read-only devices, and files that cannot be synced, return these errors.
        Ok(()) | Err(rustix::io::Errno::INVAL | rustix::io::Errno::ROFS) => {}
        Err(errno) => return Err(SysError::path("fdatasync", path, errno)),
    }
    advise(file, path, Advice::DontNeed, 0, None)
}

/// Space of a file system, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Total space.
    pub total: u64,
    /// Free space for root.
    pub free: u64,
    /// Free space for unprivileged users.
    pub available: u64,
}

/// Returns the space of the file system that contains `path`.
///
/// # Errors
/// If the path cannot be read.
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

    /// A file on the file system of the sources, not on a tmpfs.
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
    fn room_is_consistent() {
        let room = room(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(room.available <= room.free && room.free <= room.total && room.total > 0, "{room:?}");
    }
}

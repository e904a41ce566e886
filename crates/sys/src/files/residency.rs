//! Amount of a file that is in the page cache: reads of that part do not reach the device.

use crate::SysError;
use crate::machine::mapping::PAGE;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Pages of a file that are in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Residency {
    /// Bytes in the page cache.
    pub cached_bytes: u64,
    /// Dirty bytes among these; `None` on kernels before 6.5, which do not report them.
    pub dirty_bytes: Option<u64>,
    /// Bytes that were examined.
    pub of_bytes: u64,
}

/// Examines the first `length` bytes of the file. `path` is for messages.
///
/// # Errors
/// If both cachestat(2) and mincore(2) fail.
pub fn of_file(file: &File, path: &Path, length: u64) -> Result<Residency, SysError> {
    match by_cachestat(file, length) {
        Ok(found) => Ok(found),
        Err(_) => by_mincore(file, length).map_err(|source| SysError::path("mincore", path, source)),
    }
}

/// System call number of cachestat(2), the same on all architectures.
const SYS_CACHESTAT: libc::c_long = 451;

/// `struct cachestat_range` of linux/mman.h.
#[repr(C)]
struct Range {
    offset: u64,
    length: u64,
}

/// `struct cachestat` of linux/mman.h, in pages.
#[repr(C)]
#[derive(Default)]
struct CacheStat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

fn by_cachestat(file: &File, length: u64) -> io::Result<Residency> {
    let range = Range { offset: 0, length };
    let mut found = CacheStat::default();
    let call = |found: *mut CacheStat| {
        // SAFETY: both pointers are to locals that outlive the call.
        unsafe { libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), &raw const range, found, 0) }
    };
    // A length of 0 would mean the whole file.
    if length > 0 && call(&raw mut found) != 0 {
        return Err(io::Error::last_os_error());
    }
    let bytes = |pages: u64| pages.saturating_mul(PAGE as u64).min(length);
    let dirty_bytes = Some(bytes(found.dirty + found.writeback));
    Ok(Residency { cached_bytes: bytes(found.cached), dirty_bytes, of_bytes: length })
}

/// Bytes that are mapped at a time for mincore: 256 KiB of results.
const WINDOW: u64 = 1 << 30;

fn by_mincore(file: &File, length: u64) -> io::Result<Residency> {
    let mut found = Residency { of_bytes: length, ..Residency::default() };
    let mut offset = 0;
    while offset < length {
        let window = WINDOW.min(length - offset);
        let size = usize::try_from(window).map_err(io::Error::other)?;
        // SAFETY: a null hint without MAP_FIXED lets the kernel choose free addresses; nothing is read through it.
        let start = unsafe { mmap(std::ptr::null_mut(), size, ProtFlags::READ, MapFlags::SHARED, file, offset) }?;
        let mut pages = vec![0u8; size.div_ceil(PAGE)];
        // SAFETY: the range was just mapped and `pages` has a byte for each of its pages.
        let answered = unsafe { libc::mincore(start, size, pages.as_mut_ptr()) };
        let error = io::Error::last_os_error();
        // SAFETY: the range was mapped above and nothing refers to it.
        unsafe { munmap(start, size) }?;
        if answered != 0 {
            return Err(error);
        }
        let cached = pages.iter().filter(|&&page| page & 1 != 0).count() as u64;
        found.cached_bytes += (cached * PAGE as u64).min(window);
        offset += window;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_was_written_is_cached_until_it_is_dropped() {
        const SIZE: u64 = 1 << 20;
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("file");
        let mut file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        file.write_all(&vec![1; usize::try_from(SIZE).unwrap()]).unwrap();
        let cached = of_file(&file, &path, SIZE).unwrap();
        assert_eq!((cached.cached_bytes, cached.of_bytes), (SIZE, SIZE));
        assert_eq!(by_mincore(&file, SIZE).unwrap().cached_bytes, SIZE);
        assert_eq!(by_mincore(&file, SIZE / 2 + 1).unwrap().cached_bytes, SIZE / 2 + 1);
        crate::files::operations::drop_cache(&file, &path).unwrap();
        if crate::files::mounts::holding(Path::new("/"), &path).unwrap().is_some_and(|mount| mount.kind != "tmpfs") {
            let dropped = of_file(&file, &path, SIZE).unwrap();
            assert_eq!((dropped.cached_bytes, by_mincore(&file, SIZE).unwrap().cached_bytes), (0, 0));
        }
    }

    #[test]
    fn nothing_of_nothing_is_cached() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(of_file(&file, Path::new("x"), 0).unwrap().cached_bytes, 0);
        assert_eq!(by_mincore(&file, 0).unwrap(), Residency::default());
    }
}

//! Buffers for I/O: one aligned arena per worker, with one slot per I/O in flight.
//!
//! This module allocates and frees the memory. Its contents are up to the load.

use crate::SysError;
use crate::machine::mapping::{Mapping, PAGE, round_up};
use rustix::fs::OFlags;
use rustix::mm::MapFlags;
use std::io;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

/// Kinds of memory for an arena.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Private anonymous pages.
    Private,
    /// Private anonymous huge pages of this size in bytes.
    PrivateHuge(u64),
    /// Private mapping of a file, which is created and extended as needed, and never changed by I/O.
    PrivateFile(PathBuf),
    /// Pages of a file on a hugetlbfs, of this size in bytes.
    HugeFile(PathBuf, u64),
    /// Shared anonymous pages.
    Shared,
    /// Shared mapping of a file, extended as needed; data that is read into the buffers ends up in the file.
    SharedFile(PathBuf),
    /// A System V shared memory segment, removed when the last process has detached it.
    Segment,
    /// A System V segment of huge pages of this size in bytes.
    SegmentHuge(u64),
}

/// Memory for `slots` I/Os of up to the same size.
#[derive(Debug)]
pub struct Arena {
    memory: Memory,
    /// Start and length of the memory.
    first: NonNull<u8>,
    bytes: usize,
    start: NonNull<u8>,
    stride: usize,
    slots: usize,
}

// SAFETY: the arena owns its memory, which is not bound to a thread.
unsafe impl Send for Arena {}

#[derive(Debug)]
enum Memory {
    Mapped(#[expect(dead_code, reason = "held for its drop")] Mapping),
    Attached(NonNull<u8>),
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Memory::Attached(start) = self {
            // SAFETY: `start` was returned by shmat, and references to the memory borrow the arena.
            unsafe { libc::shmdt(start.as_ptr().cast()) };
        }
    }
}

impl Arena {
    /// Allocates `slots` buffers of at least `size` bytes, each aligned to a page and to `align` (a power of two; 0 for
    /// a page).
    ///
    /// # Errors
    /// If the kernel cannot provide such memory; the message has advice about huge pages. Also for an alignment that is
    /// not a power of two.
    pub fn new(source: &Source, slots: usize, size: usize, align: usize) -> Result<Self, SysError> {
        let room = Room::of(slots, size, align)?;
        let (memory, first) = source.take(room.bytes)?;
        Ok(Arena::divided(memory, first, room.bytes, &room))
    }

    /// The same memory divided into other slots, for the next worker: its pages are there already, with their old
    /// contents. If it is too small for that, it is freed, and new private pages are allocated.
    ///
    /// # Errors
    /// As [`Arena::new`].
    pub fn again(self, slots: usize, size: usize, align: usize) -> Result<Self, SysError> {
        let room = Room::of(slots, size, align)?;
        if self.bytes < room.bytes {
            drop(self);
            return Arena::new(&Source::Private, slots, size, align);
        }
        Ok(Arena::divided(self.memory, self.first, self.bytes, &room))
    }

    fn divided(memory: Memory, first: NonNull<u8>, bytes: usize, room: &Room) -> Self {
        let skip = first.as_ptr().align_offset(room.align);
        // SAFETY: the slack leaves room to skip up to the next multiple of the alignment inside the memory.
        let start = unsafe { first.add(skip) };
        Arena { memory, first, bytes, start, stride: room.stride, slots: room.slots }
    }

    /// Address of slot 0; slot `s` starts `s * stride()` bytes later. Valid as long as the arena lives.
    pub fn pointer(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Distance of the slots in bytes.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Bytes of one slot; `None` past the last.
    pub fn slot(&self, slot: usize) -> Option<&[u8]> {
        let start = self.slot_start(slot)?;
        // SAFETY: the slot is inside the memory, which was initialised with zeros or with the file's data and is
        // borrowed with us.
        Some(unsafe { std::slice::from_raw_parts(start.as_ptr(), self.stride) })
    }

    /// Bytes of one slot, for writing; `None` past the last.
    pub fn slot_mut(&mut self, slot: usize) -> Option<&mut [u8]> {
        let start = self.slot_start(slot)?;
        // SAFETY: as in `slot`; the exclusive borrow of the arena excludes other references.
        Some(unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), self.stride) })
    }

    fn slot_start(&self, slot: usize) -> Option<NonNull<u8>> {
        // SAFETY: a slot below the count starts inside the memory, by the size computed in `new`.
        (slot < self.slots).then(|| unsafe { self.start.add(slot * self.stride) })
    }
}

/// The memory that slots need.
struct Room {
    slots: usize,
    stride: usize,
    align: usize,
    bytes: usize,
}

impl Room {
    fn of(slots: usize, size: usize, align: usize) -> Result<Self, SysError> {
        let align = align.max(PAGE);
        if !align.is_power_of_two() {
            return Err(SysError::impossible(format!("buffers cannot be aligned to {align}: not a power of two")));
        }
        let too_large = || SysError::impossible(format!("{slots} buffers of {size} bytes do not fit in memory"));
        let stride = round_up(size.max(1), align).ok_or_else(too_large)?;
        // Memory is page-aligned; a larger alignment needs additional space.
        let slack = if align > PAGE { align } else { 0 };
        let bytes =
            stride.checked_mul(slots.max(1)).and_then(|bytes| bytes.checked_add(slack)).ok_or_else(too_large)?;
        Ok(Room { slots, stride, align, bytes: round_up(bytes, PAGE).ok_or_else(too_large)? })
    }
}

impl Source {
    fn take(&self, bytes: usize) -> Result<(Memory, NonNull<u8>), SysError> {
        match self {
            Source::Private => anonymous(bytes, MapFlags::PRIVATE, None),
            Source::PrivateHuge(page) => anonymous(bytes, MapFlags::PRIVATE, Some(*page)),
            Source::Shared => anonymous(bytes, MapFlags::SHARED, None),
            Source::PrivateFile(path) => of_file(path, bytes, MapFlags::PRIVATE),
            Source::SharedFile(path) => of_file(path, bytes, MapFlags::SHARED),
            Source::HugeFile(path, page) => of_file(path, whole_pages(bytes, *page)?.0, MapFlags::SHARED),
            Source::Segment => segment(bytes, None),
            Source::SegmentHuge(page) => segment(bytes, Some(*page)),
        }
    }
}

/// Rounds `bytes` up to whole huge pages. Also returns the page size as a power of two, as in MAP_HUGE_SHIFT flags.
fn whole_pages(bytes: usize, page: u64) -> Result<(usize, u32), SysError> {
    let page = usize::try_from(page).ok().filter(|page| page.is_power_of_two() && *page > PAGE);
    let page = page.ok_or_else(|| SysError::impossible("a huge page is a power of two above 4096 bytes".to_owned()))?;
    let rounded = round_up(bytes, page);
    let rounded = rounded.ok_or_else(|| SysError::impossible(format!("{bytes} bytes do not fit in memory")))?;
    Ok((rounded, page.trailing_zeros()))
}

fn huge_page_advice(bytes: usize, page: u64) -> String {
    let pages = (bytes as u64).div_ceil(page);
    let kib = page / 1024;
    format!("{pages} free pages of {kib} KiB are needed: see /sys/kernel/mm/hugepages/hugepages-{kib}kB/nr_hugepages")
}

fn anonymous(bytes: usize, flags: MapFlags, huge: Option<u64>) -> Result<(Memory, NonNull<u8>), SysError> {
    let mapping = match huge {
        None => Mapping::anonymous(bytes, flags)
            .map_err(|errno| SysError::call_but("mmap of buffers", errno, &format!("{bytes} bytes wanted")))?,
        Some(page) => {
            let (rounded, shift) = whole_pages(bytes, page)?;
            let sized = MapFlags::from_bits_retain(shift << libc::MAP_HUGE_SHIFT);
            Mapping::anonymous(rounded, flags | MapFlags::HUGETLB | sized)
                .map_err(|errno| SysError::call_but("mmap of huge pages", errno, &huge_page_advice(rounded, page)))?
        }
    };
    let start = mapping.start();
    Ok((Memory::Mapped(mapping), start))
}

fn of_file(path: &Path, bytes: usize, flags: MapFlags) -> Result<(Memory, NonNull<u8>), SysError> {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let flags_of_file = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
    // A file that is created only for the buffers is unlinked as soon as it is mapped.
    let (file, is_new) = match rustix::fs::open(path, flags_of_file | OFlags::EXCL, mode) {
        Ok(file) => (file, true),
        Err(rustix::io::Errno::EXIST) => {
            let file = rustix::fs::open(path, flags_of_file, mode);
            (file.map_err(|errno| SysError::path("open for buffers", path, errno))?, false)
        }
        Err(errno) => return Err(SysError::path("open for buffers", path, errno)),
    };
    let size = rustix::fs::fstat(&file).map_err(|errno| SysError::path("fstat", path, errno))?.st_size;
    if size.unsigned_abs() < bytes as u64 {
        rustix::fs::ftruncate(&file, bytes as u64).map_err(|errno| SysError::path("ftruncate", path, errno))?;
    }
    let mapping = Mapping::of_file(std::os::fd::AsFd::as_fd(&file), bytes, flags)
        .map_err(|errno| SysError::path("mmap of buffers", path, errno))?;
    if is_new {
        rustix::fs::unlink(path).map_err(|errno| SysError::path("unlink", path, errno))?;
    }
    let start = mapping.start();
    Ok((Memory::Mapped(mapping), start))
}

fn segment(bytes: usize, huge: Option<u64>) -> Result<(Memory, NonNull<u8>), SysError> {
    let (rounded, flags, advice) = match huge {
        None => (bytes, 0, "see kernel.shmmax and kernel.shmall, or use mem=mmap".to_owned()),
        Some(page) => {
            let (rounded, shift) = whole_pages(bytes, page)?;
            let size = i32::try_from(shift << libc::MAP_HUGE_SHIFT).unwrap_or(0);
            (rounded, libc::SHM_HUGETLB | size, huge_page_advice(rounded, page))
        }
    };
    // SAFETY: shmget touches no memory of this process.
    let id = unsafe { libc::shmget(libc::IPC_PRIVATE, rounded, flags | libc::IPC_CREAT | 0o600) };
    if id == -1 {
        return Err(SysError::call_but("shmget", io::Error::last_os_error(), &advice));
    }
    // SAFETY: a null address lets the kernel choose free addresses.
    let start = unsafe { libc::shmat(id, std::ptr::null(), 0) };
    let attached = if start.addr() == usize::MAX { Err(io::Error::last_os_error()) } else { Ok(start.cast::<u8>()) };
    // Marked for removal at once: the segment lives until the last process detaches it or dies.
    // SAFETY: IPC_RMID takes no buffer.
    unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) };
    let start = attached.map_err(|source| SysError::call("shmat", source))?;
    let start = NonNull::new(start).ok_or_else(|| SysError::impossible("shmat gave address 0".to_owned()))?;
    Ok((Memory::Attached(start), start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &Source, align: usize) -> Arena {
        let mut arena = Arena::new(source, 3, 5000, align).unwrap();
        assert_eq!(
            (arena.slots(), arena.stride() % align.max(PAGE), arena.pointer().addr() % align.max(PAGE)),
            (3, 0, 0)
        );
        assert!(arena.stride() >= 5000);
        for slot in 0..3 {
            let bytes = arena.slot_mut(slot).unwrap();
            bytes.fill(u8::try_from(slot).unwrap() + 1);
        }
        for slot in 0..3 {
            assert!(arena.slot(slot).unwrap().iter().all(|&byte| usize::from(byte) == slot + 1));
        }
        assert!(arena.slot(3).is_none() && arena.slot_mut(3).is_none());
        arena
    }

    #[test]
    fn anonymous_slots_are_aligned_and_apart() {
        for align in [0, 4096, 65536, 1 << 21] {
            check(&Source::Private, align);
            check(&Source::Shared, align);
        }
    }

    #[test]
    fn a_segment_vanishes_with_its_arena() {
        let arena = check(&Source::Segment, 0);
        assert!(matches!(arena.memory, Memory::Attached(_)));
        let address = format!("{:x}-", arena.pointer().addr());
        let mapped = || std::fs::read_to_string("/proc/self/maps").unwrap().contains(&address);
        assert!(mapped());
        drop(arena);
        assert!(!mapped());
    }

    #[test]
    fn shared_files_take_what_is_written_and_private_ones_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let (shared, private) = (folder.path().join("shared"), folder.path().join("private"));
        for path in [&shared, &private] {
            std::fs::write(path, [0]).unwrap();
        }
        drop(check(&Source::SharedFile(shared.clone()), 0));
        drop(check(&Source::PrivateFile(private.clone()), 0));
        let first = |path: &Path| std::fs::read(path).unwrap()[0];
        assert_eq!((first(&shared), first(&private)), (1, 0));
        assert_eq!(std::fs::metadata(&shared).unwrap().len(), 3 * 8192);
    }

    #[test]
    fn a_file_that_is_made_for_the_buffers_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        drop(check(&Source::SharedFile(path.clone()), 0));
        assert!(!path.exists());
    }

    #[test]
    fn what_cannot_be_had_says_what_would_help() {
        let refused =
            |source: Source, size: usize, align: usize| Arena::new(&source, 2, size, align).unwrap_err().to_string();
        assert!(refused(Source::Private, 4096, 5000).contains("not a power of two"));
        assert!(refused(Source::Private, usize::MAX, 0).contains("do not fit"));
        assert!(refused(Source::PrivateHuge(3 << 20), 4096, 0).contains("power of two"));
        assert!(refused(Source::SharedFile("/nowhere/at/all".into()), 4096, 0).contains("/nowhere/at/all"));
        let pages =
            std::fs::read_to_string("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages").unwrap_or_default();
        if pages.trim() == "0" {
            for source in [Source::PrivateHuge(2 << 20), Source::SegmentHuge(2 << 20)] {
                let said = refused(source, 4096, 0);
                assert!(said.contains("1 free pages of 2048 KiB"), "{said}");
            }
        }
    }
}

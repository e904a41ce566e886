//! Extents of a file, by FIEMAP: written, unwritten (allocated but never written), or absent (holes).
//!
//! Reads of holes and unwritten extents return zeros without any I/O on the device, with O_DIRECT or without.

use crate::SysError;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

/// State of a range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Written data on the device.
    Written,
    /// Allocated space that reads as zeros.
    Unwritten,
    /// Data without a place on the device yet (delayed allocation).
    Delayed,
    /// Data inside metadata: reads of it need not reach the data device.
    Inline,
}

/// A range of a file in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Offset in the file, in bytes.
    pub start: u64,
    /// Length in bytes.
    pub length: u64,
    /// Offset on the device, in bytes; 0 if it has none.
    pub physical: u64,
    /// Its state.
    pub state: State,
    /// True if other files share the blocks (reflinks, snapshots), so that writes go to other blocks.
    pub shared: bool,
    /// True if the blocks hold an encoding of the data, which is compression, or encryption by the file system.
    pub encoded: bool,
}

/// Extents of a file in ascending order, with holes in between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extents(pub Vec<Extent>);

impl Extents {
    /// Bytes among the first `size` that are holes, unwritten, or inline.
    pub fn unwritten_bytes(&self, size: u64) -> u64 {
        self.unwritten_within(0, size)
    }

    /// Bytes between `start` and `end` that reads do not fetch from the device.
    pub fn unwritten_within(&self, start: u64, end: u64) -> u64 {
        let has_data = |extent: &Extent| matches!(extent.state, State::Written | State::Delayed);
        end.saturating_sub(start).saturating_sub(self.bytes_within(start, end, has_data))
    }

    /// Bytes between `start` and `end` in extents for which `has` is true.
    pub fn bytes_within(&self, start: u64, end: u64, has: impl Fn(&Extent) -> bool) -> u64 {
        let inside = |extent: &Extent| {
            let (from, to) = (extent.start.max(start), extent.start.saturating_add(extent.length).min(end));
            to.saturating_sub(from)
        };
        self.0.iter().filter(|extent| has(extent)).map(inside).fold(0, u64::saturating_add)
    }

    /// Number of contiguous pieces of written data on the device.
    pub fn pieces(&self) -> usize {
        let written = |extent: &&Extent| extent.state == State::Written;
        let mut pieces = 0;
        let mut next = None;
        for extent in self.0.iter().filter(written) {
            let joins = next == Some((extent.start, extent.physical));
            pieces += usize::from(!joins);
            next = Some((extent.start + extent.length, extent.physical + extent.length));
        }
        pieces
    }
}

/// `struct fiemap` of linux/fiemap.h, without its extents.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Header {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
}

/// `struct fiemap_extent` of linux/fiemap.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// Number of extents per call.
const BATCH: usize = 128;

#[repr(C)]
#[derive(Clone, Copy)]
struct Request {
    header: Header,
    extents: [RawExtent; BATCH],
}

/// `_IOWR('f', 11, struct fiemap)` of linux/fs.h.
const FS_IOC_FIEMAP: libc::Ioctl = 0xC020_660B;
/// FIEMAP_FLAG_SYNC: write delayed allocations first.
const SYNC: u32 = 1;
const LAST: u32 = 0x1;
const UNKNOWN: u32 = 0x2;
const DELALLOC: u32 = 0x4;
const ENCODED: u32 = 0x8;
const INLINE: u32 = 0x200;
const UNWRITTEN: u32 = 0x800;
const SHARED: u32 = 0x2000;

/// Returns the extents of an open file, after its dirty pages are written. `path` is for messages.
///
/// # Errors
/// EOPNOTSUPP on file systems without FIEMAP (tmpfs, most network file systems), and for block devices.
pub fn of_file(file: &File, path: &Path) -> Result<Extents, SysError> {
    read(file, path, SYNC)
}

/// Returns the extents of an open file without writing dirty pages, including delayed ones.
///
/// # Errors
/// As [`of_file`].
pub fn as_they_are(file: &File, path: &Path) -> Result<Extents, SysError> {
    read(file, path, 0)
}

fn read(file: &File, path: &Path, flags: u32) -> Result<Extents, SysError> {
    let mut found = Extents::default();
    let mut start = 0;
    loop {
        let (batch, last) = batch_from(file, start, flags).map_err(|source| SysError::path("FIEMAP", path, source))?;
        let Some(end) = batch.last().map(|extent| extent.start.saturating_add(extent.length)) else {
            return Ok(found);
        };
        found.0.extend(batch);
        if last || end <= start {
            return Ok(found);
        }
        start = end;
    }
}

fn batch_from(file: &File, start: u64, flags: u32) -> std::io::Result<(Vec<Extent>, bool)> {
    let header = Header {
        start,
        length: u64::MAX - start,
        flags,
        extent_count: u32::try_from(BATCH).unwrap_or(0),
        ..Header::default()
    };
    let mut request = Box::new(Request { header, extents: [RawExtent::default(); BATCH] });
    // SAFETY: the request has room for the number of extents it names, and outlives the call.
    if unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut *request) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    let count = usize::try_from(request.header.mapped_extents).unwrap_or(0).min(BATCH);
    let raw = &request.extents[..count];
    let last = raw.last().is_some_and(|extent| extent.flags & LAST != 0);
    Ok((raw.iter().map(RawExtent::read).collect(), last))
}

impl RawExtent {
    fn read(&self) -> Extent {
        let state = match self.flags {
            flags if flags & (DELALLOC | UNKNOWN) != 0 => State::Delayed,
            flags if flags & UNWRITTEN != 0 => State::Unwritten,
            flags if flags & INLINE != 0 => State::Inline,
            _ => State::Written,
        };
        let shared = self.flags & SHARED != 0;
        let encoded = self.flags & ENCODED != 0;
        Extent { start: self.logical, length: self.length, physical: self.physical, state, shared, encoded }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom, Write};

    const BLOCK: u64 = 65536;

    fn extent(start: u64, length: u64, physical: u64, state: State) -> Extent {
        Extent { start, length, physical, state, shared: false, encoded: false }
    }

    #[test]
    fn flags_of_the_kernel_are_read_with_their_bytes() {
        let raw = |logical, flags| RawExtent { logical, length: 100, flags, ..RawExtent::default() };
        let extents =
            Extents([raw(0, SHARED), raw(100, ENCODED | LAST), raw(200, INLINE)].map(|raw| raw.read()).into());
        let bytes = |has: fn(&Extent) -> bool| extents.bytes_within(50, 250, has);
        assert_eq!((bytes(|one| one.shared), bytes(|one| one.encoded)), (50, 100));
        assert_eq!(bytes(|one| one.state == State::Inline), 50);
    }

    #[test]
    fn holes_and_reserved_space_are_unwritten() {
        let extents = Extents(vec![
            extent(0, 100, 1000, State::Written),
            extent(100, 50, 2000, State::Unwritten),
            extent(200, 100, 3000, State::Delayed),
            extent(300, 10, 0, State::Inline),
        ]);
        assert_eq!(extents.unwritten_bytes(310), 50 + 50 + 10);
        assert_eq!(extents.unwritten_within(50, 250), 50 + 50);
        assert_eq!(extents.unwritten_bytes(1000), 800);
        assert_eq!((extents.unwritten_bytes(0), extents.unwritten_within(90, 20)), (0, 0));
    }

    #[test]
    fn neighbours_on_the_device_are_one_piece() {
        let extents = Extents(vec![
            extent(0, 100, 1000, State::Written),
            extent(100, 100, 1100, State::Written),
            extent(200, 100, 5000, State::Written),
            extent(400, 100, 5100, State::Written),
        ]);
        assert_eq!(extents.pieces(), 3);
    }

    #[test]
    fn a_real_file_shows_its_holes_and_reserved_ranges() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("file");
        let mut file = File::create_new(&path).unwrap();
        file.set_len(8 * BLOCK).unwrap();
        let found = |file: &File| match of_file(file, &path) {
            Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => None,
            other => Some(other.unwrap().unwritten_bytes(8 * BLOCK)),
        };
        let Some(sparse) = found(&file) else { return };
        assert_eq!(sparse, 8 * BLOCK);
        file.seek(SeekFrom::Start(2 * BLOCK)).unwrap();
        file.write_all(&vec![7; usize::try_from(2 * BLOCK).unwrap()]).unwrap();
        assert_eq!(found(&file), Some(6 * BLOCK));
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 8 * BLOCK).unwrap();
        assert_eq!(found(&file), Some(6 * BLOCK));
        file.seek(SeekFrom::Start(0)).unwrap();
        file.write_all(&vec![7; usize::try_from(8 * BLOCK).unwrap()]).unwrap();
        assert_eq!(found(&file), Some(0));
    }

    #[test]
    fn a_file_with_more_extents_than_one_call_returns_is_read_whole() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("file");
        let mut file = File::create_new(&path).unwrap();
        for index in 0..300 {
            file.seek(SeekFrom::Start(index * 2 * BLOCK)).unwrap();
            file.write_all(&[1; 4096]).unwrap();
        }
        match of_file(&file, &path) {
            Err(error) => assert_eq!(error.errno(), Some(libc::EOPNOTSUPP)),
            Ok(extents) => {
                let size = 299 * 2 * BLOCK + 4096;
                assert_eq!(size - extents.unwritten_bytes(size), 300 * 4096);
            }
        }
    }
}

//! Zones of a zoned block device: what the kernel reports of them, and the commands that act on one.
//!
//! Source: linux/blkzoned.h.

use crate::SysError;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;

/// `_IOR(0x12, 132, __u32)`.
const BLKGETZONESZ: libc::Ioctl = 0x8004_1284;
/// `_IOWR(0x12, 130, struct blk_zone_report)`.
const BLKREPORTZONE: libc::Ioctl = 0xC010_1282;
/// `_IOW(0x12, 131, struct blk_zone_range)`.
const BLKRESETZONE: libc::Ioctl = 0x4010_1283;
/// `_IOW(0x12, 136, struct blk_zone_range)`.
const BLKFINISHZONE: libc::Ioctl = 0x4010_1288;

/// The kernel counts in sectors of this many bytes.
const SECTOR: u64 = 512;

/// The type of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneKind {
    /// It is written anywhere, as an ordinary device.
    Conventional,
    /// It is written at its write pointer.
    Sequential,
}

/// The condition of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneCondition {
    /// Nothing is written.
    Empty,
    /// It is partly written and holds resources of the device: open or closed.
    Active,
    /// Its write pointer is at its end, or it has none.
    Inactive,
    /// It can be read, and not written or reset.
    ReadOnly,
    /// It cannot be used.
    Offline,
}

/// A zone, in bytes of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Its first byte.
    pub start: u64,
    /// Its size.
    pub length: u64,
    /// Bytes from its start that can be written.
    pub capacity: u64,
    /// Bytes from its start that are written; 0 of a conventional zone.
    pub written: u64,
    /// Its type.
    pub kind: ZoneKind,
    /// Its condition.
    pub condition: ZoneCondition,
}

/// The command that acts on all of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneCommand {
    /// It becomes empty.
    Reset,
    /// It becomes full.
    Finish,
}

/// `struct blk_zone` of linux/blkzoned.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawZone {
    start: u64,
    length: u64,
    write_pointer: u64,
    kind: u8,
    condition: u8,
    non_sequential: u8,
    reset: u8,
    reserved: [u8; 4],
    capacity: u64,
    reserved_after: [u8; 24],
}

/// Zones per call.
const BATCH: usize = 256;

/// `struct blk_zone_report`, with room for a batch.
#[repr(C)]
struct Report {
    sector: u64,
    zones: u32,
    flags: u32,
    found: [RawZone; BATCH],
}

/// The capacity of zones is in the report (Linux 5.9 and newer).
const HAS_CAPACITY: u32 = 1;

impl RawZone {
    fn read(&self, flags: u32) -> Zone {
        let length = self.length.saturating_mul(SECTOR);
        let capacity = if flags & HAS_CAPACITY == 0 { length } else { self.capacity.saturating_mul(SECTOR) };
        let kind = if self.kind == 1 { ZoneKind::Conventional } else { ZoneKind::Sequential };
        let condition = match self.condition {
            1 => ZoneCondition::Empty,
            2..=4 => ZoneCondition::Active,
            0xD => ZoneCondition::ReadOnly,
            0xF => ZoneCondition::Offline,
            _ => ZoneCondition::Inactive,
        };
        let beyond = self.write_pointer.saturating_sub(self.start).saturating_mul(SECTOR).min(capacity);
        let written = match (kind, condition) {
            (ZoneKind::Conventional, _) | (_, ZoneCondition::Empty | ZoneCondition::Offline) => 0,
            (_, ZoneCondition::Inactive | ZoneCondition::ReadOnly) => capacity,
            (_, ZoneCondition::Active) => beyond,
        };
        Zone { start: self.start.saturating_mul(SECTOR), length, capacity, written, kind, condition }
    }
}

/// The zone size of an open device in bytes; `None` if it is not a zoned block device.
pub fn size(device: BorrowedFd<'_>) -> Option<u64> {
    let mut sectors = 0u32;
    // SAFETY: the call writes one u32 to a local that outlives it; a descriptor of another kind fails with ENOTTY.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), BLKGETZONESZ, &raw mut sectors) };
    (result == 0 && sectors > 0).then(|| u64::from(sectors) * SECTOR)
}

/// All zones of a device, in their order. `path` is for messages.
///
/// # Errors
/// ENOTTY or EOPNOTSUPP if it is not a zoned block device.
pub fn report(device: &File, path: &Path) -> Result<Vec<Zone>, SysError> {
    let mut zones: Vec<Zone> = Vec::new();
    loop {
        let from = zones.last().map_or(0, |last| last.start + last.length);
        let found = report_from(device.as_raw_fd(), from)
            .map_err(|errno| SysError::path("BLKREPORTZONE", path, io::Error::from_raw_os_error(errno)))?;
        if found.is_empty() {
            return Ok(zones);
        }
        zones.extend(found);
    }
}

/// Bytes that are written in the zone that begins at byte `start` of an open device. Errors: errno.
pub fn written(device: BorrowedFd<'_>, start: u64) -> Result<u64, i32> {
    let found = report_from(device.as_raw_fd(), start)?;
    found.first().filter(|zone| zone.start == start).map(|zone| zone.written).ok_or(libc::EIO)
}

fn report_from(descriptor: i32, start: u64) -> Result<Vec<Zone>, i32> {
    let found = [RawZone::default(); BATCH];
    let zones = u32::try_from(BATCH).unwrap_or(u32::MAX);
    let mut report = Box::new(Report { sector: start / SECTOR, zones, flags: 0, found });
    // SAFETY: the call writes the head and at most as many zones as the head says, all inside of `report`.
    match unsafe { libc::ioctl(descriptor, BLKREPORTZONE, std::ptr::from_mut(&mut *report)) } {
        0 => {
            let count = (report.zones as usize).min(BATCH);
            // A zone without a length would be reported for ever.
            let whole = report.found[..count].iter().take_while(|zone| zone.length > 0);
            Ok(whole.map(|zone| zone.read(report.flags)).collect())
        }
        _ => Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)),
    }
}

/// Acts on the zone of `length` bytes at byte `start` of an open device. Errors: errno.
pub fn command(device: BorrowedFd<'_>, command: ZoneCommand, start: u64, length: u64) -> Result<(), i32> {
    let request = match command {
        ZoneCommand::Reset => BLKRESETZONE,
        ZoneCommand::Finish => BLKFINISHZONE,
    };
    let range = [start / SECTOR, length / SECTOR];
    // SAFETY: the call reads two u64 from a local that outlives it.
    match unsafe { libc::ioctl(device.as_raw_fd(), request, range.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    fn raw(kind: u8, condition: u8, write_pointer: u64) -> RawZone {
        RawZone { start: 8, length: 8, write_pointer, kind, condition, capacity: 6, ..RawZone::default() }
    }

    #[test]
    fn the_kernel_s_zones_become_bytes() {
        let of = |kind, condition, pointer| {
            let zone = raw(kind, condition, pointer).read(HAS_CAPACITY);
            assert_eq!((zone.start, zone.length, zone.capacity), (4096, 4096, 3072));
            (zone.written, zone.condition)
        };
        assert_eq!(of(1, 0, u64::MAX), (0, ZoneCondition::Inactive));
        assert_eq!(of(2, 1, 8), (0, ZoneCondition::Empty));
        for open_or_closed in 2..=4 {
            assert_eq!(of(2, open_or_closed, 10), (1024, ZoneCondition::Active));
        }
        assert_eq!(of(2, 0xE, u64::MAX), (3072, ZoneCondition::Inactive));
        assert_eq!(of(3, 0xD, 10), (3072, ZoneCondition::ReadOnly));
        assert_eq!(of(2, 0xF, 10), (0, ZoneCondition::Offline));
        assert_eq!(raw(2, 2, u64::MAX).read(0).written, 4096, "a pointer beyond the end");
    }

    #[test]
    fn the_structures_have_the_kernel_s_sizes() {
        assert_eq!((size_of::<RawZone>(), size_of::<Report>()), (64, 16 + 64 * BATCH));
    }

    #[test]
    fn a_file_has_no_zones() {
        let path = Path::new("/proc/version");
        let file = File::open(path).unwrap();
        assert_eq!(size(file.as_fd()), None);
        assert!(report(&file, path).unwrap_err().to_string().starts_with("/proc/version: BLKREPORTZONE"));
        for order in [ZoneCommand::Reset, ZoneCommand::Finish] {
            assert!(command(file.as_fd(), order, 0, 4096).is_err());
        }
        assert!(written(file.as_fd(), 0).is_err());
    }
}

//! Thin volumes of device-mapper: the part of one that has blocks in its pool.
//!
//! Source: linux/dm-ioctl.h, and Documentation/admin-guide/device-mapper/thin-provisioning.rst.

use crate::devices::identity::DeviceNumber;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

/// `_IOWR(0xfd, 12, struct dm_ioctl)`.
const DM_TABLE_STATUS: libc::Ioctl = 0xC138_FD0C;
/// Version of the interface since Linux 2.6.
const VERSION: u32 = 4;
/// The status is as it is, without what the pool has yet to write.
const DM_NOFLUSH: u32 = 1 << 11;
/// Room for the status of a volume that has a single target.
const ANSWER: usize = 512;
const SECTOR: u64 = 512;

/// `struct dm_ioctl`, and room for the answer.
#[repr(C)]
struct Request {
    version: [u32; 3],
    data_size: u32,
    data_start: u32,
    target_count: u32,
    open_count: i32,
    flags: u32,
    event: u32,
    padding: u32,
    device: u64,
    name: [u8; 128],
    uuid: [u8; 129],
    rest: [u8; 7],
    /// `struct dm_target_spec` and the text behind it.
    answer: [u8; ANSWER],
}

const HEAD: u32 = 312;

/// The part of a thin volume that has blocks in its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provisioned {
    /// Their bytes.
    pub bytes: u64,
    /// End of the last of them, in bytes of the volume.
    pub end: u64,
}

/// The provisioned part of this device; `None` if it is not a thin volume, or the caller may not ask (only root may).
pub fn provisioned(device: DeviceNumber) -> Option<Provisioned> {
    let control = File::open(Path::new("/dev/mapper/control")).ok()?;
    let number = u64::from((device.minor & 0xff) | (device.major << 8) | ((device.minor & !0xff) << 12));
    let size = u32::try_from(size_of::<Request>()).ok()?;
    let mut request = Request {
        version: [VERSION, 0, 0],
        data_size: size,
        data_start: HEAD,
        target_count: 0,
        open_count: 0,
        flags: DM_NOFLUSH,
        event: 0,
        padding: 0,
        device: number,
        name: [0; 128],
        uuid: [0; 129],
        rest: [0; 7],
        answer: [0; ANSWER],
    };
    // SAFETY: the call reads and writes at most `data_size` bytes of a local that outlives it.
    match unsafe { libc::ioctl(control.as_raw_fd(), DM_TABLE_STATUS, &raw mut request) } {
        0 if request.target_count == 1 => read(&request.answer),
        _ => None,
    }
}

/// Reads a target: first sector, length, status and place of the next in 24 bytes, its type in 16, and its status:
/// `8192 8191`, the provisioned sectors and the last of them, or `0 -`.
fn read(answer: &[u8]) -> Option<Provisioned> {
    let text = |bytes: &[u8]| Some(std::str::from_utf8(bytes.split(|&byte| byte == 0).next()?).ok()?.to_owned());
    let (kind, status) = (text(answer.get(24..40)?)?, text(answer.get(40..)?)?);
    let (sectors, last) = status.split_once(' ').filter(|_| kind == "thin")?;
    let bytes = sectors.parse::<u64>().ok()?.checked_mul(SECTOR)?;
    let end = match last.trim() {
        "-" => 0,
        last => last.parse::<u64>().ok()?.checked_add(1)?.checked_mul(SECTOR)?,
    };
    Some(Provisioned { bytes, end })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(kind: &str, status: &str) -> Vec<u8> {
        let mut bytes = vec![0; 40];
        bytes[24..24 + kind.len()].copy_from_slice(kind.as_bytes());
        bytes.extend(status.bytes().chain([0, 0xff]));
        bytes
    }

    #[test]
    fn the_status_of_a_volume_says_what_it_has() {
        let found = |bytes, end| Some(Provisioned { bytes, end });
        assert_eq!(read(&answer("thin", "8192 16383")), found(4 << 20, 8 << 20));
        assert_eq!(read(&answer("thin", "0 -")), found(0, 0));
        for (kind, status) in [("thin", "Fail"), ("thin", "Error"), ("thin", "x 1"), ("linear", "8192 16383")] {
            assert_eq!(read(&answer(kind, status)), None, "{kind} {status}");
        }
        assert_eq!(read(&[]), None);
    }

    #[test]
    fn the_request_has_the_kernel_s_size() {
        assert_eq!(size_of::<Request>(), HEAD as usize + ANSWER);
        let nothing = DeviceNumber { major: 0, minor: 0 };
        assert_eq!(provisioned(nothing), None);
    }
}

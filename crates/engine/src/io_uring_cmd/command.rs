//! NVMe commands in the kernel's layout.

use crate::call;
use std::os::fd::RawFd;

/// `struct nvme_uring_cmd` of linux/nvme_ioctl.h; `struct nvme_passthru_cmd` has the same layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Command {
    pub(super) operation: u8,
    pub(super) flags: u8,
    pub(super) reserved: u16,
    pub(super) namespace: u32,
    pub(super) word2: u32,
    pub(super) word3: u32,
    /// Address of the metadata, if they have separate memory.
    pub(super) metadata: u64,
    pub(super) address: u64,
    pub(super) metadata_length: u32,
    pub(super) length: u32,
    /// Command dwords 10 to 15 (cdw10 to cdw15).
    pub(super) words: [u32; 6],
    pub(super) timeout_ms: u32,
    pub(super) result: u32,
}

/// Size of a command in bytes.
const SIZE: usize = 72;
const _: () = assert!(size_of::<Command>() == SIZE);

/// `NVME_URING_CMD_IO`: `_IOWR('N', 0x80, struct nvme_uring_cmd)`; its address is that of the data.
pub(super) const URING_IO: u32 = 0xc048_4e80;
/// `NVME_URING_CMD_IO_VEC`: the address is that of iovecs, and the length is their number.
pub(super) const URING_IO_VECTORED: u32 = 0xc048_4e81;
/// `NVME_IOCTL_ADMIN_CMD`: `_IOWR('N', 0x41, struct nvme_passthru_cmd)`; `NVME_IOCTL_IO_CMD` has 0x43.
const ADMIN: libc::c_ulong = 0xc048_4e41;
const IO: libc::c_ulong = 0xc048_4e43;

/// Opcodes of the NVM command set.
pub(super) const FLUSH: u8 = 0x00;
pub(super) const WRITE: u8 = 0x01;
pub(super) const READ: u8 = 0x02;
pub(super) const WRITE_UNCORRECTABLE: u8 = 0x04;
pub(super) const COMPARE: u8 = 0x05;
pub(super) const WRITE_ZEROES: u8 = 0x08;
pub(super) const DATASET_MANAGEMENT: u8 = 0x09;
pub(super) const VERIFY: u8 = 0x0c;
/// Of the zoned command set: a write to a zone, where the device chooses the place.
pub(super) const ZONE_APPEND: u8 = 0x7d;
const MANAGEMENT_RECEIVE: u8 = 0x12;
/// Identify, of the admin command set.
const IDENTIFY: u8 = 0x06;
/// Attribute bit "deallocate" of Dataset Management.
pub(super) const DEALLOCATE: u32 = 1 << 2;
/// In dword 12: Force Unit Access (FUA), and that zeroes may be written by deallocating.
pub(super) const FUA: u32 = 1 << 30;
pub(super) const ZEROES_DEALLOCATE: u32 = 1 << 25;

/// The range that Dataset Management reads from memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Range {
    pub(super) attributes: u32,
    pub(super) blocks: u32,
    pub(super) start: u64,
}

impl Command {
    /// Identify, which fills `page`; `kind` is its CNS.
    pub(super) fn identify(namespace: u32, kind: u32, page: &mut [u8]) -> Call {
        let command =
            Command { operation: IDENTIFY, words: [kind, 0, 0, 0, 0, 0], ..Command::into_page(namespace, page) };
        Call { command, request: ADMIN }
    }

    /// I/O Management Receive: status of the reclaim unit handles.
    pub(super) fn handle_status(namespace: u32, page: &mut [u8]) -> Call {
        let base = Command::into_page(namespace, page);
        let words = [1, base.length / 4 - 1, 0, 0, 0, 0];
        Call { command: Command { operation: MANAGEMENT_RECEIVE, words, ..base }, request: IO }
    }

    fn into_page(namespace: u32, page: &mut [u8]) -> Command {
        Command {
            namespace,
            address: page.as_mut_ptr().expose_provenance() as u64,
            length: u32::try_from(page.len()).unwrap_or(0),
            ..Command::default()
        }
    }

    /// The command in the 80 bytes that a 128-byte submission entry has for it.
    pub(super) fn bytes(self) -> [u8; 80] {
        let mut bytes = [0; 80];
        // SAFETY: a command is 72 bytes of integers without padding.
        let all = unsafe { std::mem::transmute::<Command, [u8; SIZE]>(self) };
        bytes[..SIZE].copy_from_slice(&all);
        bytes
    }
}

/// A command that a call executes.
pub(super) struct Call {
    command: Command,
    request: libc::c_ulong,
}

impl Call {
    /// Executes it; `Err` has what it returned. The memory that it was made with must still be there.
    pub(super) fn execute(mut self, descriptor: RawFd) -> Result<(), String> {
        let command = &raw mut self.command;
        // SAFETY: the command outlives the call, and the page it points to was lent by the caller, who has waited for
        // this call; the kernel writes `length` bytes of it at most.
        let answer = call::finish(|| unsafe { libc::ioctl(descriptor, self.request, command) as isize });
        match answer {
            0 => Ok(()),
            errno @ ..0 => Err(std::io::Error::from_raw_os_error(i32::try_from(-errno).unwrap_or(0)).to_string()),
            status => Err(format!("NVMe status {status:#x}")),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the lower and the upper half")]
pub(super) const fn halves(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

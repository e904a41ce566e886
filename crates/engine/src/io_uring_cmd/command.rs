//! NVMe commands in the kernel's layout, and the identification of a namespace.

use crate::call;
use crate::contract::{Io, Operation};
use std::os::fd::RawFd;

/// `struct nvme_uring_cmd` of linux/nvme_ioctl.h; `struct nvme_passthru_cmd` has the same layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Command {
    operation: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    word2: u32,
    word3: u32,
    metadata: u64,
    address: u64,
    metadata_length: u32,
    length: u32,
    /// Command dwords 10 to 15 (cdw10 to cdw15).
    words: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

/// Size of a command in bytes.
const SIZE: usize = 72;
const _: () = assert!(size_of::<Command>() == SIZE);

/// `NVME_URING_CMD_IO`: `_IOWR('N', 0x80, struct nvme_uring_cmd)`.
pub(super) const URING_IO: u32 = 0xc048_4e80;
/// `NVME_IOCTL_ADMIN_CMD`: `_IOWR('N', 0x41, struct nvme_passthru_cmd)`.
const ADMIN: libc::c_ulong = 0xc048_4e41;
/// `NVME_IOCTL_ID`: `_IO('N', 0x40)`.
const ID: libc::c_ulong = 0x4e40;

/// Opcodes of the NVM command set, and Identify of the admin command set.
const FLUSH: u8 = 0x00;
const WRITE: u8 = 0x01;
const READ: u8 = 0x02;
const DATASET_MANAGEMENT: u8 = 0x09;
const IDENTIFY: u8 = 0x06;
/// Attribute bit "deallocate" of Dataset Management.
const DEALLOCATE: u32 = 1 << 2;
/// Force Unit Access (FUA), in dword 12.
pub(super) const FUA: u32 = 1 << 30;

/// The range that Dataset Management reads from memory.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Range {
    attributes: u32,
    blocks: u32,
    start: u64,
}

/// A namespace that commands go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Namespace {
    pub(super) number: u32,
    /// Size of a logical block in bytes.
    pub(super) block: u64,
}

impl Namespace {
    /// Identifies the namespace behind a descriptor; `Err` is the reason why it cannot be used.
    pub(super) fn of(descriptor: RawFd) -> Result<Namespace, &'static str> {
        // SAFETY: NVME_IOCTL_ID takes no argument; a descriptor of something else fails with ENOTTY.
        let number = call::finish(|| unsafe { libc::ioctl(descriptor, ID) as isize });
        let number = u32::try_from(number).ok().filter(|&number| number > 0).ok_or("is not an NVMe namespace")?;
        let mut page = vec![0_u8; 4096];
        let mut command = Command {
            operation: IDENTIFY,
            namespace: number,
            address: page.as_mut_ptr().expose_provenance() as u64,
            length: 4096,
            ..Command::default()
        };
        // SAFETY: the command and the page it points to outlive the call, and the kernel writes 4096 bytes at most.
        let answer = call::finish(|| unsafe { libc::ioctl(descriptor, ADMIN, &raw mut command) as isize });
        if answer != 0 {
            return Err("does not answer Identify");
        }
        Ok(Namespace { number, block: block_of(&page)? })
    }

    /// Builds the command of an I/O; `None` if it is not a multiple of the block size. A trim points to `range`, which
    /// is filled in.
    pub(super) fn command(&self, io: &Io, memory: u64, flags: u32, range: &mut Range) -> Option<Command> {
        let length = u64::from(io.length);
        if !io.offset.is_multiple_of(self.block) || !length.is_multiple_of(self.block) {
            return None;
        }
        let (start, blocks) = (io.offset / self.block, u32::try_from(length / self.block).ok()?);
        let base = Command { namespace: self.number, ..Command::default() };
        Some(match io.operation {
            Operation::Sync | Operation::DataSync => Command { operation: FLUSH, ..base },
            Operation::Read | Operation::Write => {
                let [low, high] = halves(start);
                let words = [low, high, blocks.checked_sub(1)? | flags, 0, 0, 0];
                let operation = if io.operation == Operation::Read { READ } else { WRITE };
                Command { operation, address: memory, length: io.length, words, ..base }
            }
            Operation::Trim => {
                *range = Range { attributes: 0, blocks, start };
                let address = std::ptr::from_mut(range).expose_provenance() as u64;
                let words = [0, DEALLOCATE, 0, 0, 0, 0];
                Command { operation: DATASET_MANAGEMENT, address, length: 16, words, ..base }
            }
        })
    }
}

impl Command {
    /// The command in the 80 bytes that a 128-byte submission entry has for it.
    pub(super) fn bytes(self) -> [u8; 80] {
        let mut bytes = [0; 80];
        // SAFETY: a command is 72 bytes of integers without padding.
        let all = unsafe { std::mem::transmute::<Command, [u8; SIZE]>(self) };
        bytes[..SIZE].copy_from_slice(&all);
        bytes
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the lower and the upper half")]
const fn halves(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

/// Logical block size from the Identify Namespace data (NVM Command Set Specification, figure 97: FLBAS and the LBA
/// formats).
fn block_of(page: &[u8]) -> Result<u64, &'static str> {
    let format = page[26];
    let index = usize::from(format & 0xf | (format >> 1) & 0x30);
    let entry = &page[128 + 4 * index..][..4];
    if u16::from_le_bytes([entry[0], entry[1]]) > 0 {
        return Err("is formatted with metadata, which plumb does not transfer");
    }
    match entry[2] {
        shift @ 9..=16 => Ok(1 << shift),
        _ => Err("says no size of its blocks"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACE: Namespace = Namespace { number: 3, block: 4096 };

    fn io(operation: Operation, offset: u64, length: u32) -> Io {
        Io { slot: 0, operation, target: 0, offset, length, buffer_offset: 0 }
    }

    #[test]
    fn a_command_names_first_block_and_block_count_less_one() {
        let mut range = Range::default();
        let offset = (1_u64 << 32 | 5) * 4096;
        let read = SPACE.command(&io(Operation::Read, offset, 8192), 0x1000, 0, &mut range).unwrap();
        let bytes = read.bytes();
        assert_eq!((bytes[0], bytes[4], bytes[24..32].to_vec()), (2, 3, 0x1000_u64.to_le_bytes().to_vec()));
        assert_eq!(bytes[36..40], 8192_u32.to_le_bytes());
        assert_eq!([5_u32, 1, 1].map(u32::to_le_bytes).concat(), bytes[40..52]);
        let write = SPACE.command(&io(Operation::Write, 0, 4096), 0x1000, FUA, &mut range).unwrap().bytes();
        assert_eq!((write[0], &write[48..52]), (1, &FUA.to_le_bytes()[..]));
    }

    #[test]
    fn a_trim_points_to_its_range_and_a_flush_to_nothing() {
        let mut range = Range::default();
        let trim = SPACE.command(&io(Operation::Trim, 8192, 65536), 0x1000, 0, &mut range).unwrap();
        assert_eq!((trim.operation, trim.length, trim.words[1]), (9, 16, 4));
        assert_eq!((range.start, range.blocks), (2, 16));
        assert_eq!(trim.address, std::ptr::from_ref(&range).addr() as u64);
        let flush = SPACE.command(&io(Operation::Sync, 0, 0), 0x1000, 0, &mut range).unwrap();
        assert_eq!(flush, Command { namespace: 3, ..Command::default() });
    }

    #[test]
    fn what_is_not_whole_blocks_is_not_a_command() {
        let mut range = Range::default();
        for (offset, length) in [(512, 4096), (0, 512), (0, 0)] {
            assert_eq!(SPACE.command(&io(Operation::Read, offset, length), 0, 0, &mut range), None);
        }
    }

    #[test]
    fn a_namespace_states_its_block_and_metadata_is_refused() {
        let mut page = vec![0; 4096];
        page[26] = 1;
        page[128 + 4..128 + 8].copy_from_slice(&[0, 0, 12, 0]);
        assert_eq!(block_of(&page), Ok(4096));
        page[128 + 4] = 8;
        assert!(block_of(&page).unwrap_err().contains("metadata"));
        page[26] = 0;
        assert!(block_of(&page).is_err(), "no block of one byte");
    }
}

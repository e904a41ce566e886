//! Submission queue entry (SQE) of a read or write, in the kernel's layout.
//!
//! The builders of the io-uring crate write the entry field by field to memory and then copy it into the ring with wide
//! loads, which stall until the narrow stores have left the store buffer: about 10 ns per I/O. An entry that is built
//! in one expression goes from registers to the ring.

use ::io_uring::squeue::Entry;

/// `struct io_uring_sqe` of linux/io_uring.h; of its unions, the members for reads and writes.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Transfer {
    pub(super) start: Start,
    /// File descriptor, or index of a registered file.
    pub(super) file: i32,
    pub(super) offset: u64,
    /// Address of the data, or of the iovecs.
    pub(super) address: u64,
    /// Length in bytes, or count of iovecs.
    pub(super) length: u32,
    /// RWF_* flags.
    pub(super) transfer_flags: u32,
    pub(super) user_data: u64,
    /// Index of the registered buffer; then what a transfer has no use for, together so that one store writes all.
    pub(super) buffer: [u16; 4],
    pub(super) reserved: [u64; 2],
}

/// Start of an entry, which is the same for many and is copied as one.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Start {
    /// Opcode, IORING_OP_*.
    pub(super) operation: u8,
    /// IOSQE_* flags.
    pub(super) flags: u8,
    /// I/O priority; 0 for the priority of the task.
    pub(super) priority: u16,
}

impl From<Transfer> for Entry {
    #[inline(always)]
    fn from(transfer: Transfer) -> Entry {
        // SAFETY: both are the kernel's io_uring_sqe, plain integers without padding in 64 bytes; the compiler checks
        // the size and a test checks the fields.
        unsafe { std::mem::transmute::<Transfer, Entry>(transfer) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::io_uring::opcode;
    use ::io_uring::squeue::Flags;
    use ::io_uring::types::Fd;

    /// The 64 bytes of an entry.
    fn bytes(entry: Entry) -> [u8; 64] {
        // SAFETY: an entry is 64 bytes of integers without padding.
        unsafe { std::mem::transmute::<Entry, [u8; 64]>(entry) }
    }

    #[test]
    fn a_transfer_is_the_entry_that_the_crate_builds() {
        let memory = std::ptr::without_provenance_mut(0x1122_3344_5566_7788);
        let built =
            opcode::WriteFixed::new(Fd(7), memory, 4096, 31).offset(0x99aa_bbcc_ddee).rw_flags(8).ioprio(7).build();
        let transfer = Transfer {
            start: Start { operation: opcode::WriteFixed::CODE, flags: Flags::FIXED_FILE.bits(), priority: 7 },
            file: 7,
            offset: 0x99aa_bbcc_ddee,
            address: 0x1122_3344_5566_7788,
            length: 4096,
            transfer_flags: 8,
            user_data: 12,
            buffer: [31, 0, 0, 0],
            ..Transfer::default()
        };
        assert_eq!(bytes(transfer.into()), bytes(built.flags(Flags::FIXED_FILE).user_data(12)));
    }

    #[test]
    fn a_transfer_by_vectors_is_the_entry_that_the_crate_builds() {
        let vector = std::ptr::without_provenance(0x10_0000);
        let built = opcode::Readv::new(Fd(3), vector, 1).offset(512).build();
        let transfer = Transfer {
            start: Start { operation: opcode::Readv::CODE, ..Start::default() },
            file: 3,
            offset: 512,
            address: 0x10_0000,
            length: 1,
            ..Transfer::default()
        };
        assert_eq!(bytes(transfer.into()), bytes(built));
    }
}

//! Where the memory of an I/O is, and which descriptor it goes to: the part of a [`Setup`] that every engine keeps.

use crate::contract::{Io, Setup, Target};
use std::os::fd::RawFd;

/// The worker's buffers. Only addresses: nothing here is read or written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    base: *mut u8,
    stride: usize,
}

impl Slots {
    pub(crate) fn new<C>(setup: &Setup<'_, C>) -> Self {
        Slots { base: setup.buffers, stride: setup.buffer_stride }
    }

    /// First byte of the memory of `io`.
    #[inline]
    pub(crate) fn address(&self, io: &Io) -> *mut u8 {
        debug_assert!(io.buffer_offset as usize + io.length as usize <= self.stride || io.length == 0);
        self.base.wrapping_add(io.slot as usize * self.stride + io.buffer_offset as usize)
    }

    /// The memory of `io` as a vector.
    #[inline]
    pub(crate) fn vector(&self, io: &Io) -> libc::iovec {
        libc::iovec { iov_base: self.address(io).cast(), iov_len: io.length as usize }
    }

    /// First byte of a slot.
    pub(crate) fn start(&self, slot: u32) -> *mut u8 {
        self.base.wrapping_add(slot as usize * self.stride)
    }

    /// Bytes of a slot.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }
}

/// The descriptors of all targets, by their index.
pub(crate) fn descriptors(targets: &[Target]) -> Box<[RawFd]> {
    targets.iter().map(|target| target.descriptor).collect()
}

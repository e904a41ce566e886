//! Addresses of the I/O buffers and the descriptors of the targets: the part of a [`Setup`] that every engine keeps.

use crate::contract::{Io, Setup, Target};
use std::os::fd::RawFd;

/// Addresses of the worker's buffers. This type does not access them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    base: *mut u8,
    stride: usize,
}

impl Slots {
    pub(crate) fn new<C>(setup: &Setup<'_, C>) -> Self {
        Slots { base: setup.buffers, stride: setup.buffer_stride }
    }

    /// Address of the first byte of `io`.
    #[inline]
    pub(crate) fn address(&self, io: &Io) -> *mut u8 {
        debug_assert!(io.buffer_offset as usize + io.length as usize <= self.stride || io.length == 0);
        self.base.wrapping_add(io.slot as usize * self.stride + io.buffer_offset as usize)
    }

    /// Memory of `io` as an iovec.
    #[inline]
    pub(crate) fn vector(&self, io: &Io) -> libc::iovec {
        libc::iovec { iov_base: self.address(io).cast(), iov_len: io.length as usize }
    }

    /// Address of the first byte of a slot.
    pub(crate) fn start(&self, slot: u32) -> *mut u8 {
        self.base.wrapping_add(slot as usize * self.stride)
    }

    /// Size of a slot in bytes.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }
}

/// Descriptors of all targets, by index.
pub(crate) fn descriptors(targets: &[Target]) -> Box<[RawFd]> {
    targets.iter().map(Target::raw).collect()
}

//! A worker's I/O buffers, one per slot.

use crate::files::refusal;
use job::plan::JobPlan;
use model::JobError;

/// The buffers of all slots in one piece.
pub(crate) struct Memory {
    bytes: Vec<u8>,
    first: usize,
    stride: usize,
}

impl Memory {
    /// Gets memory as the job wants it.
    ///
    /// # Errors
    /// When there is not enough of that kind.
    pub(crate) fn new(job: &JobPlan) -> Result<Self, JobError> {
        let stride = usize::try_from(crate::files::largest_block(job)).unwrap_or(usize::MAX).next_multiple_of(4096);
        let length = stride * job.depth.depth as usize;
        let bytes = vec![0; length + 4096];
        let first = bytes.as_ptr().align_offset(4096);
        let _ = refusal;
        Ok(Memory { bytes, first, stride })
    }

    /// The first byte of slot 0.
    pub(crate) fn start(&mut self) -> *mut u8 {
        self.bytes[self.first..].as_mut_ptr()
    }

    /// Bytes from one slot to the next.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// The first `length` bytes of a slot's buffer.
    #[inline]
    pub(crate) fn slot(&mut self, slot: u32, length: u32) -> &mut [u8] {
        let start = self.first + slot as usize * self.stride;
        &mut self.bytes[start..start + length as usize]
    }

    /// The whole buffer of a slot.
    pub(crate) fn whole_slot(&mut self, slot: u32) -> &mut [u8] {
        let length = u32::try_from(self.stride).unwrap_or(u32::MAX);
        self.slot(slot, length)
    }
}

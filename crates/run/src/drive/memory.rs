//! A worker's I/O buffers, one per slot.

use crate::error::job_refusal;
use crate::files::largest_block;
use model::JobError;
use plan::{self, JobPlan};
use sys::machine::buffers::{Arena, Source};

/// The buffers of all slots in one block of memory.
pub(crate) struct Memory {
    arena: Arena,
}

impl Memory {
    /// Allocates memory of the kind the job asks for (`iomem`), for `depth` I/Os.
    ///
    /// # Errors
    /// If there is not enough memory of that kind.
    pub(crate) fn new(job: &JobPlan, depth: u32) -> Result<Self, JobError> {
        let size = usize::try_from(largest_block(job)).unwrap_or(usize::MAX);
        let buffers = &job.buffers;
        Arena::new(&source(buffers), depth as usize, size, buffers.align as usize)
            .map(|arena| Memory { arena })
            .map_err(|error| {
                let what = format_args!("no memory for its buffers: {error}");
                job_refusal(job, error.errno().unwrap_or(libc::ENOMEM), "buffers", what)
            })
    }

    /// The first byte of slot 0.
    pub(crate) fn start(&self) -> *mut u8 {
        self.arena.pointer()
    }

    /// Bytes from one slot to the next.
    pub(crate) fn stride(&self) -> usize {
        self.arena.stride()
    }

    /// Number of slots.
    pub(crate) fn slots(&self) -> u32 {
        u32::try_from(self.arena.slots()).unwrap_or(u32::MAX)
    }

    /// The first `length` bytes of a slot's buffer.
    #[inline]
    pub(crate) fn slot(&mut self, slot: u32, length: u32) -> &mut [u8] {
        &mut self.whole_slot(slot)[..length as usize]
    }

    /// The whole buffer of a slot.
    #[inline]
    pub(crate) fn whole_slot(&mut self, slot: u32) -> &mut [u8] {
        self.arena.slot_mut(slot as usize).expect("the loop's slots are below the depth, as many as buffers")
    }
}

fn source(buffers: &plan::BufferPlan) -> Source {
    let page = buffers.huge_page;
    match &buffers.memory {
        plan::Memory::Malloc | plan::Memory::Mmap(false, None) => Source::Private,
        plan::Memory::Shm(false) => Source::Segment,
        plan::Memory::Shm(true) => Source::SegmentHuge(page),
        plan::Memory::Mmap(false, Some(path)) => Source::PrivateFile(path.clone()),
        plan::Memory::Mmap(true, None) => Source::PrivateHuge(page),
        plan::Memory::Mmap(true, Some(path)) => Source::HugeFile(path.clone(), page),
        plan::Memory::MmapShared(None) => Source::Shared,
        plan::Memory::MmapShared(Some(path)) => Source::SharedFile(path.clone()),
    }
}

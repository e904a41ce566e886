//! The I/O buffers of a worker, one per slot, and the contents of its writes.

use super::verify::Verification;
use crate::error::job_refusal;
use crate::files::largest_block;
use load::Request;
use load::content::Content;
use measure::Nanos;
use model::JobError;
use plan::{self, Isolation, JobPlan};
use std::sync::{Mutex, PoisonError};
use sys::machine::buffers::{Arena, Source};

/// The buffers, one per slot, and the generator of the data that writes put into them.
pub(super) struct Buffers<'w> {
    pub(super) memory: &'w mut Memory,
    pub(super) content: Content,
    /// True if the content never changes: buffers are filled once, at the start.
    content_is_idle: bool,
}

impl<'w> Buffers<'w> {
    pub(super) fn new(memory: &'w mut Memory, content: Content) -> Self {
        Buffers { memory, content_is_idle: content.is_idle(), content }
    }

    /// Fills the buffer of `slot` for a write: with a block that carries a verify header if the job verifies, otherwise
    /// as the job's buffer options say.
    #[inline]
    pub(super) fn fill(&mut self, slot: u32, request: &Request, verify: Option<&mut Verification>, now: Nanos) {
        if let Some(checker) = verify {
            checker.seal(self.memory.slot(slot, request.length), request, now);
        } else if !self.content_is_idle {
            self.content.before_write(self.memory.slot(slot, request.length), request, now);
        }
    }
}

/// The buffers of all slots in one block of memory.
pub(crate) struct Memory {
    arena: Arena,
}

impl Memory {
    /// Allocates memory of the kind the job asks for (`iomem`), for `depth` I/Os, or takes what an earlier worker left.
    /// Fails if there is not enough memory of that kind.
    pub(crate) fn new(job: &JobPlan, depth: u32, spare: &SpareBuffers) -> Result<Self, JobError> {
        let size = usize::try_from(largest_block(job)).unwrap_or(usize::MAX);
        let (slots, align) = (depth as usize, job.buffers.align as usize);
        let arena = match spare.take().filter(|_| is_reusable(job)) {
            Some(arena) => arena.again(slots, size, align),
            None if is_reusable(job) => Arena::new(&Source::Private, 1, size.max(RESERVED), align)
                .and_then(|arena| arena.again(slots, size, align)),
            None => Arena::new(&source(&job.buffers), slots, size, align),
        };
        arena.map(|arena| Memory { arena }).map_err(|error| {
            let what = format_args!("no memory for its buffers: {error}");
            job_refusal(job, error.errno().unwrap_or(libc::ENOMEM), "buffers", what)
        })
    }

    /// Leaves the memory to the next worker, if that can use it.
    pub(crate) fn leave(self, job: &JobPlan, spare: &SpareBuffers) {
        if is_reusable(job) {
            spare.put(self.arena);
        }
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

/// Address space that the first of the passes takes for all of them: as much as the largest record of a short pass. Its
/// pages are allocated when they are used; an arena that grew with the records would be freed each time, and the TLB
/// emptied.
const RESERVED: usize = 16 << 20;

/// True for the passes of iozone that are threads. Other jobs may ask for memory of another kind or node.
fn is_reusable(job: &JobPlan) -> bool {
    job.pass.is_some() && job.isolation == Isolation::Thread && source(&job.buffers) == Source::Private
}

/// The buffers of a worker that has ended, for the next run of the same [`crate::Runner`]: allocating pages takes as
/// long as a short run.
#[derive(Debug, Default)]
pub(crate) struct SpareBuffers(Mutex<Option<Arena>>);

impl SpareBuffers {
    fn take(&self) -> Option<Arena> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, arena: Arena) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(arena);
    }
}

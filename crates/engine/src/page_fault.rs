//! `page_fault`: accesses anonymous memory that has no pages yet; an I/O is the page faults of its block.

use crate::contract::{Completion, Engine, EngineError, Io, Operation, Setup, Slots, Submitted};
use measure::SystemClock;
use plan::{Capabilities, EngineSpec, KeepsFiles, Submission, Work};
use std::ptr::NonNull;

const NAME: &str = "page_fault";

/// The engine, with one anonymous mapping per target.
#[derive(Debug)]
pub(crate) struct PageFault {
    slots: Slots,
    regions: Box<[Region]>,
}

/// Private anonymous memory of the size of the file.
#[derive(Debug)]
struct Region {
    start: NonNull<u8>,
    length: usize,
}

impl Engine for PageFault {
    type Clock = SystemClock;

    const SPEC: EngineSpec = EngineSpec {
        name: NAME,
        help: "Copies from and to anonymous memory whose pages are not there yet: each I/O is its page faults",
        capabilities: Capabilities {
            trim: true,
            keeps_files: KeepsFiles::Always,
            ..Capabilities::new(Submission::Synchronous, Work::Null)
        },
        options: &[],
    };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        let regions = setup.targets.iter().map(|target| Region::new(target.size)).collect::<Result<_, _>>()?;
        Ok(PageFault { slots: Slots::new(&setup), regions })
    }

    #[inline]
    fn submit(&mut self, io: Io) -> Submitted {
        let region = &self.regions[io.target as usize];
        let result = match (io.operation, region.part(&io)) {
            (Operation::Sync | Operation::DataSync, _) => 0,
            (_, None) => -i64::from(libc::EINVAL),
            (operation, Some(memory)) => {
                let (buffer, length) = (self.slots.address(&io), io.length as usize);
                match operation {
                    // SAFETY: `part` returned memory of the mapping that is at least `length` long, and the slot's
                    // buffer is ours for this I/O; they never overlap, because the mapping is this engine's own.
                    Operation::Read => unsafe { std::ptr::copy_nonoverlapping(memory, buffer, length) },
                    // SAFETY: as for the read.
                    Operation::Write => unsafe { std::ptr::copy_nonoverlapping(buffer, memory, length) },
                    _ => {}
                }
                region.give_back(memory, length);
                i64::from(io.length)
            }
        };
        Submitted::Done(Completion { slot: io.slot, result })
    }
}

impl Region {
    fn new(size: u64) -> Result<Region, EngineError> {
        let failed = |error: rustix::io::Errno| EngineError {
            engine: NAME,
            operation: "mmap",
            message: format!("{size} bytes of memory: {}", std::io::Error::from(error)),
            errno: error.raw_os_error(),
        };
        let length = usize::try_from(size).map_err(|_| failed(rustix::io::Errno::NOMEM))?;
        let (access, kind) =
            (rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE, rustix::mm::MapFlags::PRIVATE);
        let kind = kind | rustix::mm::MapFlags::NORESERVE;
        // SAFETY: a new mapping at an address that the kernel chooses; it changes no memory that is in use.
        let start = unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), length, access, kind) };
        let start = start.map_err(failed)?;
        Ok(Region { start: NonNull::new(start.cast()).ok_or_else(|| failed(rustix::io::Errno::NOMEM))?, length })
    }

    /// Address of an I/O in the region; `None` if it extends past the end.
    #[inline]
    fn part(&self, io: &Io) -> Option<*mut u8> {
        let offset = usize::try_from(io.offset).ok()?;
        let end = offset.checked_add(io.length as usize)?;
        (end <= self.length).then(|| self.start.as_ptr().wrapping_add(offset))
    }

    /// Frees the pages (MADV_DONTNEED), so that the next access faults again. This includes pages shared with adjacent
    /// blocks.
    #[inline]
    fn give_back(&self, memory: *mut u8, length: usize) {
        let page = rustix::param::page_size();
        let within = memory.addr() % page;
        let start = memory.wrapping_sub(within).cast();
        // SAFETY: the mapping is private to this engine and nothing points to it; its pages read as zeros afterwards.
        let _ = unsafe { rustix::mm::madvise(start, length + within, rustix::mm::Advice::LinuxDontNeed) };
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is this region's own, made with this length.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

//! `mmap`: maps the files and copies between the mappings and the buffers; a sync is msync(2).
//!
//! A file is mapped whole if the address space has room, otherwise in a window that moves. Memory past the end of the
//! file is never accessed, so I/Os end there as with read(2) and write(2). An I/O error of the device, or a file that
//! was truncated, raises SIGBUS: the I/O then fails with EIO, and the window is mapped again.

use crate::call;
use crate::contract::{AccessPattern, Completion, Engine, EngineError, Io, Operation, Setup, Slots, Submitted, Target};
use crate::psync::SYNCHRONOUS;
use measure::SystemClock;
use plan::option::OptionSpec;
use plan::{Capabilities, EngineSpec, KeepsFiles, MapAdvice, options};
use std::os::fd::RawFd;
use sys::processes::bus_error;

const NAME: &str = "mmap";

/// Size of a window in bytes, for files that cannot be mapped whole. A power of two, thus a multiple of the page size.
const WINDOW: u64 = 1 << 30;

/// The engine that copies to and from mapped files.
#[derive(Debug)]
pub(crate) struct Mmap {
    slots: Slots,
    files: Box<[Mapped]>,
}

/// A file and the part of it that is mapped.
#[derive(Debug)]
struct Mapped {
    descriptor: RawFd,
    writable: bool,
    pages: Pages,
    /// Advice for madvise(2).
    advice: i32,
    /// Size of the file in bytes; memory past it is never accessed.
    size: u64,
    /// Maximum size of the mapping, in bytes.
    window: u64,
    /// The mapping: address, offset in the file and length. Null and 0 before the first mapping.
    address: *mut u8,
    start: u64,
    length: u64,
}

/// Page size that is requested for a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pages {
    /// The kernel's default.
    Ordinary,
    /// Transparent huge pages.
    Huge,
}

impl Engine for Mmap {
    type Clock = SystemClock;

    const OWN_LOOP: bool = true;

    const SPEC: EngineSpec = EngineSpec {
        name: NAME,
        help: "Maps the files and copies memory; msync(2) to sync",
        capabilities: Capabilities {
            keeps_files: KeepsFiles::Always,
            unrecorded: Some("copies from and to mapped files, without calls"),
            ..SYNCHRONOUS
        },
        options: OPTIONS,
    };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        bus_error::watch().map_err(|error| EngineError {
            engine: NAME,
            operation: "sigaction",
            errno: error.errno().unwrap_or(libc::EINVAL),
            message: error.to_string(),
        })?;
        let pages = if setup.options.is_on("thp") { Pages::Huge } else { Pages::Ordinary };
        let advice = advice(setup.job.map_advice, setup.job.order);
        let open = |target| Mapped::open(target, pages, advice);
        let files = setup.targets.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Mmap { slots: Slots::new(&setup), files })
    }

    #[inline]
    fn submit(&mut self, io: Io) -> Submitted {
        let file = &mut self.files[io.target as usize];
        let outcome = match io.operation {
            Operation::Read => file.read(&io, self.slots.address(&io)),
            Operation::Write => file.write(&io, self.slots.address(&io)),
            Operation::Trim => Ok(call::without_data(file.descriptor, &io)),
            Operation::Sync | Operation::DataSync => Ok(file.synchronise(&io)),
        };
        let result = outcome.unwrap_or_else(|errno| -i64::from(errno));
        Submitted::Done(Completion { slot: io.slot, result })
    }
}

impl Mapped {
    fn open(target: &Target, pages: Pages, advice: i32) -> Result<Self, EngineError> {
        let size = mappable(target)?;
        let mut file = Mapped {
            descriptor: target.raw(),
            writable: target.writable,
            pages,
            advice,
            size,
            window: size.next_multiple_of(WINDOW),
            address: std::ptr::null_mut(),
            start: 0,
            length: 0,
        };
        let mut result = if size > 0 { file.map_around(0) } else { Ok(()) };
        // The address space has no room for the whole file (such as with ulimit -v): uses a window.
        if result == Err(libc::ENOMEM) {
            file.window = WINDOW;
            result = file.map_around(0);
        }
        result.map_err(|errno| failed(target, "mmap", errno))?;
        Ok(file)
    }

    #[inline]
    fn read(&mut self, io: &Io, memory: *mut u8) -> Result<i64, i32> {
        let (mapped, length) = self.reach(io)?;
        self.copy(mapped, memory, mapped, length)
    }

    #[inline]
    fn write(&mut self, io: &Io, memory: *mut u8) -> Result<i64, i32> {
        if !self.writable {
            return Err(libc::EBADF);
        }
        let (mapped, length) = self.reach(io)?;
        if length == 0 && io.length > 0 {
            return Err(libc::ENOSPC);
        }
        self.copy(memory, mapped, mapped, length)
    }

    /// Copies from or to the address `mapped`; EIO if the file was truncated or its device fails.
    #[inline]
    fn copy(&mut self, from: *const u8, to: *mut u8, mapped: *const u8, length: usize) -> Result<i64, i32> {
        // SAFETY: both ranges have `length` bytes: the mapping according to `reach`, which is writable if the file is;
        // the buffer according to the contract of Io. They do not overlap, because no buffer is part of the mapping.
        if bus_error::survives(mapped, length, || unsafe { std::ptr::copy_nonoverlapping(from, to, length) }) {
            return Ok(length.cast_signed() as i64);
        }
        self.unmap();
        Err(libc::EIO)
    }

    /// Address of the I/O in memory, and the number of its bytes there: up to the end of the file or of the window.
    #[inline]
    fn reach(&mut self, io: &Io) -> Result<(*mut u8, usize), i32> {
        if call::signed(io.offset) < 0 {
            return Err(libc::EINVAL);
        }
        if io.offset >= self.size {
            return Ok((self.address, 0));
        }
        let end = (io.offset + u64::from(io.length)).min(self.size);
        if io.offset < self.start || end > self.start + self.length {
            self.map_around(io.offset)?;
        }
        let within = io.offset - self.start;
        let length = (end - io.offset).min(self.length - within);
        #[expect(clippy::cast_possible_truncation, reason = "what is mapped fits the address space")]
        Ok((self.address.wrapping_add(within as usize), length as usize))
    }

    /// Replaces the mapping by the window that has `offset` in its first half.
    #[cold]
    fn map_around(&mut self, offset: u64) -> Result<(), i32> {
        self.unmap();
        let start = if self.size <= self.window { 0 } else { offset - offset % (self.window / 2) };
        let length = self.window.min(self.size - start);
        let bytes = usize::try_from(length).map_err(|_| libc::ENOMEM)?;
        let protection = if self.writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        let offset = call::signed(start);
        // SAFETY: a new mapping at an address that the kernel chooses; it changes no existing memory.
        let address =
            unsafe { libc::mmap64(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, self.descriptor, offset) };
        if address == libc::MAP_FAILED {
            return Err(call::errno());
        }
        (self.address, self.start, self.length) = (address.cast(), start, length);
        // Page faults ignore posix_fadvise(2), which applies to the descriptor. A failure of madvise(2) does no harm.
        // SAFETY: the range was mapped above and stays mapped for the call.
        unsafe { libc::madvise(address, bytes, self.advice) };
        if self.pages == Pages::Huge {
            // SAFETY: as above.
            let advised = unsafe { libc::madvise(address, bytes, libc::MADV_HUGEPAGE) };
            if advised != 0 {
                return Err(call::errno());
            }
        }
        Ok(())
    }

    /// Writes dirty pages back: with msync if the whole file is mapped, else with fsync, since former windows are
    /// unmapped.
    fn synchronise(&self, io: &Io) -> i64 {
        if self.length == 0 || self.length < self.size {
            return call::without_data(self.descriptor, io);
        }
        #[expect(clippy::cast_possible_truncation, reason = "what is mapped fits the address space")]
        let bytes = self.length as usize;
        // SAFETY: the range is our own mapping, which stays in place for the call.
        call::finish(|| unsafe { libc::msync(self.address.cast(), bytes, libc::MS_SYNC) as isize })
    }

    fn unmap(&mut self) {
        if self.length > 0 {
            #[expect(clippy::cast_possible_truncation, reason = "what is mapped fits the address space")]
            let bytes = self.length as usize;
            // SAFETY: the range is our own mapping, and no pointer into it is kept.
            unsafe { libc::munmap(self.address.cast(), bytes) };
            self.length = 0;
        }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        self.unmap();
    }
}

/// Advice for madvise(2): the one asked for, or else the one of the job's access pattern.
const fn advice(asked: Option<MapAdvice>, order: Option<AccessPattern>) -> i32 {
    match (asked, order) {
        (Some(MapAdvice::Normal), _) | (None, None) => libc::MADV_NORMAL,
        (Some(MapAdvice::Random), _) | (None, Some(AccessPattern::Random)) => libc::MADV_RANDOM,
        (Some(MapAdvice::Sequential), _) | (None, Some(AccessPattern::Sequential)) => libc::MADV_SEQUENTIAL,
        (Some(MapAdvice::DontNeed), _) => libc::MADV_DONTNEED,
        (Some(MapAdvice::WillNeed), _) => libc::MADV_WILLNEED,
    }
}

/// Number of bytes of the target that can be mapped. A writable file is first extended to its region, because a mapping
/// cannot write past the end of a file.
fn mappable(target: &Target) -> Result<u64, EngineError> {
    if target.block_device {
        return Ok(target.size);
    }
    // SAFETY: stat64 is a C structure of integers, for which zeros are valid.
    let mut status: libc::stat64 = unsafe { std::mem::zeroed() };
    // SAFETY: fstat(2) writes one stat64 to `status`, which outlives the call.
    if unsafe { libc::fstat64(target.raw(), &raw mut status) } != 0 {
        return Err(failed(target, "fstat", call::errno()));
    }
    let present = u64::try_from(status.st_size).unwrap_or(0);
    if present >= target.size || !target.writable {
        return Ok(present.min(target.size));
    }
    // SAFETY: ftruncate(2) takes no memory; it only extends the file (checked above).
    if unsafe { libc::ftruncate64(target.raw(), call::signed(target.size)) } != 0 {
        return Err(failed(target, "ftruncate", call::errno()));
    }
    Ok(target.size)
}

fn failed(target: &Target, operation: &'static str, errno: i32) -> EngineError {
    let error = std::io::Error::from_raw_os_error(errno);
    let advice = match errno {
        libc::EACCES => "; a file that is mapped for writing must be open for reading too",
        libc::ENODEV => "; this kind of file cannot be mapped, try ioengine=psync",
        libc::ENOMEM => "; raise ulimit -v or use fewer files",
        _ => "",
    };
    EngineError { engine: NAME, operation, message: format!("{}: {error}{advice}", target.path.display()), errno }
}

const OPTIONS: &[OptionSpec] = options! {
    "thp": BOOL, "0"; "Ask for transparent huge pages (MADV_HUGEPAGE)";
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;

    #[test]
    fn a_window_moves_along_and_cuts_what_does_not_fit() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(64 << 10).unwrap();
        file.write_all_at(b"here", 40 << 10).unwrap();
        let target = Target {
            path: "x".into(),
            descriptor: Some(file.as_raw_fd()),
            size: 64 << 10,
            block_device: false,
            writable: true,
            zone_size: None,
        };
        let mut mapped = Mapped::open(&target, Pages::Ordinary, libc::MADV_NORMAL).unwrap();
        mapped.window = 16 << 10;
        mapped.map_around(0).unwrap();
        let io =
            |offset, length| Io { slot: 0, operation: Operation::Read, target: 0, offset, length, buffer_offset: 0 };
        let mut memory = vec![0; 64 << 10];
        assert_eq!(mapped.read(&io(40 << 10, 4), memory.as_mut_ptr()), Ok(4));
        assert_eq!(&memory[..4], b"here");
        assert_eq!((mapped.start, mapped.length), (40 << 10, 16 << 10));
        assert_eq!(mapped.read(&io(4 << 10, 32 << 10), memory.as_mut_ptr()), Ok(12 << 10));
        assert_eq!(mapped.write(&io(60 << 10, 8 << 10), b"x".repeat(8 << 10).as_mut_ptr()), Ok(4 << 10));
        assert_eq!(mapped.synchronise(&io(0, 0)), 0);
        file.read_exact_at(&mut memory[..4096], 60 << 10).unwrap();
        assert!(memory[..4096].iter().all(|&byte| byte == b'x'));
    }
}

//! Synchronous system calls, with their result in the form that a completion has: bytes moved, or -errno.
//!
//! The calls that the loop makes for each I/O are inlined into it, down to the `syscall` instruction (`inline(always)`,
//! here and in the engines). A system call may clear the return-stack buffer (a CPU mitigation), so the first `ret`
//! afterwards is mispredicted; inlined, there is no function to return from.

use crate::contract::{Io, JobFacts, Operation};
use measure::Nanos;
use rustix::io::ReadWriteFlags;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{BorrowedFd, RawFd};

/// errno of the last call that failed in this thread.
#[inline]
pub(crate) fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// Converts a time span to the kernel's `struct timespec`.
pub(crate) fn timespec(span: Nanos) -> libc::timespec {
    let second = Nanos::SECOND.get();
    libc::timespec {
        tv_sec: i64::try_from(span.get() / second).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(span.get() % second).unwrap_or(0),
    }
}

/// Turns the return value of a libc call into bytes or -errno; `None` for EINTR, where the call is to be repeated.
#[inline]
fn settled(returned: i64) -> Option<i64> {
    if returned >= 0 {
        return Some(returned);
    }
    let errno = errno();
    (errno != libc::EINTR).then_some(-i64::from(errno))
}

/// Repeats `call` while it fails with EINTR. Returns bytes or -errno.
#[inline]
pub(crate) fn finish(mut call: impl FnMut() -> isize) -> i64 {
    loop {
        if let Some(result) = settled(call() as i64) {
            return result;
        }
    }
}

/// Like [`finish`], for a call that returns its error instead of setting errno.
#[inline(always)]
fn finish_direct(mut call: impl FnMut() -> Result<usize, rustix::io::Errno>) -> i64 {
    loop {
        match call() {
            #[expect(clippy::cast_possible_wrap, reason = "a call moves at most 2^31 bytes")]
            Ok(moved) => return moved as i64,
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return -i64::from(errno.raw_os_error()),
        }
    }
}

/// The memory and the descriptor of a call: `length` bytes from `address`.
#[derive(Clone, Copy)]
pub(crate) struct Transfer {
    pub(crate) descriptor: RawFd,
    pub(crate) address: *mut u8,
    pub(crate) length: usize,
}

impl Transfer {
    /// # Safety
    /// The descriptor is open, and the memory is the caller's alone for the length of the call.
    #[inline(always)]
    unsafe fn descriptor(&self) -> BorrowedFd<'_> {
        // SAFETY: passed on to the caller.
        unsafe { BorrowedFd::borrow_raw(self.descriptor) }
    }

    /// pread(2) without glibc. glibc's pread is a cancellation point: in a process with threads, the two atomic
    /// operations around each call cost a quarter of all user time.
    ///
    /// # Safety
    /// The descriptor is open, and the memory is initialised and the caller's alone for the length of the call.
    #[inline(always)]
    pub(crate) unsafe fn read_at(self, offset: u64) -> i64 {
        // SAFETY: passed on to the caller.
        let (file, memory) = unsafe { (self.descriptor(), std::slice::from_raw_parts_mut(self.address, self.length)) };
        finish_direct(|| rustix::io::pread(file, &mut *memory, offset))
    }

    /// pwrite(2), as [`Transfer::read_at`].
    ///
    /// # Safety
    /// As for [`Transfer::read_at`].
    #[inline(always)]
    pub(crate) unsafe fn write_at(self, offset: u64) -> i64 {
        // SAFETY: passed on to the caller.
        let (file, memory) = unsafe { (self.descriptor(), std::slice::from_raw_parts(self.address, self.length)) };
        finish_direct(|| rustix::io::pwrite(file, memory, offset))
    }

    /// preadv(2) with one vector, as [`Transfer::read_at`].
    ///
    /// # Safety
    /// As for [`Transfer::read_at`].
    #[inline(always)]
    pub(crate) unsafe fn read_vector_at(self, offset: u64) -> i64 {
        // SAFETY: passed on to the caller.
        let (file, memory) = unsafe { (self.descriptor(), std::slice::from_raw_parts_mut(self.address, self.length)) };
        finish_direct(|| rustix::io::preadv(file, &mut [IoSliceMut::new(&mut *memory)], offset))
    }

    /// pwritev(2) with one vector, as [`Transfer::read_at`].
    ///
    /// # Safety
    /// As for [`Transfer::read_at`].
    #[inline(always)]
    pub(crate) unsafe fn write_vector_at(self, offset: u64) -> i64 {
        // SAFETY: passed on to the caller.
        let (file, memory) = unsafe { (self.descriptor(), std::slice::from_raw_parts(self.address, self.length)) };
        finish_direct(|| rustix::io::pwritev(file, &[IoSlice::new(memory)], offset))
    }

    /// preadv2(2) with one vector and RWF_ flags, as [`Transfer::read_at`].
    ///
    /// # Safety
    /// As for [`Transfer::read_at`].
    #[inline(always)]
    pub(crate) unsafe fn read_vector_as(self, offset: u64, flags: i32) -> i64 {
        let flags = ReadWriteFlags::from_bits_retain(flags.cast_unsigned());
        // SAFETY: passed on to the caller.
        let (file, memory) = unsafe { (self.descriptor(), std::slice::from_raw_parts_mut(self.address, self.length)) };
        finish_direct(|| rustix::io::preadv2(file, &mut [IoSliceMut::new(&mut *memory)], placed(offset), flags))
    }

    /// pwritev2(2) with one vector and RWF_ flags, as [`Transfer::read_at`].
    ///
    /// # Safety
    /// As for [`Transfer::read_at`].
    #[inline(always)]
    pub(crate) unsafe fn write_vector_as(self, offset: u64, flags: i32) -> i64 {
        let flags = ReadWriteFlags::from_bits_retain(flags.cast_unsigned());
        // SAFETY: passed on to the caller.
        let (file, memory) = unsafe { (self.descriptor(), std::slice::from_raw_parts(self.address, self.length)) };
        finish_direct(|| rustix::io::pwritev2(file, &[IoSlice::new(memory)], placed(offset), flags))
    }

    /// read(2), as [`Transfer::read_at`].
    ///
    /// # Safety
    /// As for [`Transfer::read_at`].
    #[inline(always)]
    pub(crate) unsafe fn read(self) -> i64 {
        // SAFETY: passed on to the caller.
        let (file, memory) = unsafe { (self.descriptor(), std::slice::from_raw_parts_mut(self.address, self.length)) };
        finish_direct(|| rustix::io::read(file, &mut *memory))
    }

    /// write(2), as [`Transfer::read_at`].
    ///
    /// # Safety
    /// As for [`Transfer::read_at`].
    #[inline(always)]
    pub(crate) unsafe fn write(self) -> i64 {
        // SAFETY: passed on to the caller.
        let (file, memory) = unsafe { (self.descriptor(), std::slice::from_raw_parts(self.address, self.length)) };
        finish_direct(|| rustix::io::write(file, memory))
    }
}

/// System call by number, inlined into the caller. Returns the result, or errno.
///
/// # Safety
/// The arguments meet the requirements of the system call.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) unsafe fn system_call(number: libc::c_long, arguments: [usize; 6]) -> Result<usize, i32> {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    let returned: isize;
    // SAFETY: the kernel preserves the stack and all registers except these; the caller answers for memory.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number => returned,
            in("rdi") first,
            in("rsi") second,
            in("rdx") third,
            in("r10") fourth,
            in("r8") fifth,
            in("r9") sixth,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    outcome(returned)
}

/// The same through libc, on other architectures.
///
/// # Safety
/// The arguments meet the requirements of the system call.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(crate) unsafe fn system_call(number: libc::c_long, arguments: [usize; 6]) -> Result<usize, i32> {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    // SAFETY: passed on to the caller.
    let returned = unsafe { libc::syscall(number, first, second, third, fourth, fifth, sixth) };
    usize::try_from(returned).map_err(|_| errno())
}

/// Decodes the value in the return register: -4095 to -1 are errors.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn outcome(returned: isize) -> Result<usize, i32> {
    match returned {
        -4095..0 => Err(i32::try_from(-returned).unwrap_or(libc::EIO)),
        _ => Ok(returned.cast_unsigned()),
    }
}

/// Carries out a trim or a sync.
pub(crate) fn without_data(descriptor: RawFd, io: &Io) -> i64 {
    match io.operation {
        Operation::Trim => discard(descriptor, io.offset, io.length),
        operation => synchronise(descriptor, operation),
    }
}

/// fsync or fdatasync of a file.
fn synchronise(descriptor: RawFd, operation: Operation) -> i64 {
    finish(|| match operation {
        // SAFETY: fdatasync(2) takes no memory; a descriptor that is not open is an EBADF.
        Operation::DataSync => unsafe { libc::fdatasync(descriptor) as isize },
        // SAFETY: as above, for fsync(2).
        _ => unsafe { libc::fsync(descriptor) as isize },
    })
}

/// Discards a range of a block device (BLKDISCARD). A regular file fails with ENOTTY.
fn discard(descriptor: RawFd, offset: u64, length: u32) -> i64 {
    /// `_IO(0x12, 119)` of linux/fs.h.
    const BLKDISCARD: libc::c_ulong = 0x1277;
    let range: [u64; 2] = [offset, u64::from(length)];
    // SAFETY: BLKDISCARD reads two u64 from the pointer, which `range` holds for the whole call.
    let result = finish(|| unsafe { libc::ioctl(descriptor, BLKDISCARD, range.as_ptr()) as isize });
    if result == 0 { i64::from(length) } else { result }
}

/// Offset as a signed `off_t`. Offsets of 2^63 and more become `i64::MIN`, which the kernel refuses with EINVAL; -1
/// would mean the file position to some calls (preadv2(2)).
#[inline]
pub(crate) fn signed(offset: u64) -> i64 {
    i64::try_from(offset).unwrap_or(i64::MIN)
}

/// The same for a call that takes an unsigned offset.
#[inline(always)]
fn placed(offset: u64) -> u64 {
    signed(offset).cast_unsigned()
}

/// RWF_ flags of a write: those of a read, and RWF_ATOMIC for jobs with `atomic` (linux/fs.h, Linux 6.11), with which a
/// write is complete or absent after a crash.
pub(crate) fn write_flags(job: &JobFacts<'_>, flags: i32) -> i32 {
    const RWF_ATOMIC: i32 = 0x40;
    if job.atomic { flags | RWF_ATOMIC } else { flags }
}

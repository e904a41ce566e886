//! SIGBUS in a copy from or to a mapped file, caused by a truncated file or a failing device, becomes the result of the
//! copy.
//!
//! The handler maps a zero page over the missing one, so that the copy finishes. The caller then maps the file again,
//! and the next access to that page raises SIGBUS again. A SIGBUS at any other address ends the process as usual.
//!
//! A signal handler runs on the thread that faulted, so the thread-local cells need no locks. Compiler fences keep the
//! copy between the stores that announce and withdraw its mapping.

use crate::SysError;
use std::cell::Cell;
use std::io;
use std::sync::atomic::{Ordering, compiler_fence};

thread_local! {
    /// Mapping of the current copy in this thread: address and length.
    static MAPPING: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    /// True if a page of it was missing.
    static STRUCK: Cell<bool> = const { Cell::new(false) };
}

/// Installs the SIGBUS handler, which [`survives`] requires, for all threads and until the process ends.
///
/// # Errors
/// Never, in practice.
pub fn watch() -> Result<(), SysError> {
    // SAFETY: sigaction is plain data, for which zeros are valid: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = struck as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler has the signature that SA_SIGINFO asks for, touches its thread's cells and makes system calls
    // only; the pointer is to a local that outlives the call.
    match unsafe { libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(SysError::call_but("sigaction", io::Error::last_os_error(), "SIGBUS")),
    }
}

/// Copies from or to the mapping of `length` bytes at `address`. Returns true if all accessed pages existed. If it
/// returns false, a page of the mapping no longer belongs to the file: the caller must map the file again.
#[inline]
pub fn survives(address: *const u8, length: usize, copy: impl FnOnce()) -> bool {
    MAPPING.set((address.addr(), length));
    compiler_fence(Ordering::SeqCst);
    copy();
    compiler_fence(Ordering::SeqCst);
    MAPPING.set((0, 0));
    !STRUCK.replace(false)
}

extern "C" fn struck(signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes signal information to an SA_SIGINFO handler; a SIGBUS has an address.
    let at = unsafe { (*info).si_addr() }.addr();
    let (start, length) = MAPPING.get();
    if at < start || at - start >= length || !replaces_page(at) {
        // After this handler returns, the access faults again, and the default action ends the process.
        // SAFETY: the default action takes no memory.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        return;
    }
    STRUCK.set(true);
}

/// Maps a zero page at `at`; `false` if that is impossible (huge pages of hugetlbfs).
fn replaces_page(at: usize) -> bool {
    // SAFETY: sysconf(3) takes no memory, and may be called in a handler.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let Ok(size) = usize::try_from(size) else { return false };
    let page = std::ptr::without_provenance_mut(at & !(size - 1));
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the page is inside the mapping that `survives` was given, whose owner maps it again before it uses it
    // again.
    unsafe { libc::mmap(page, size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) != libc::MAP_FAILED }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_past_the_end_of_its_file_ends_and_says_so() {
        watch().unwrap();
        let file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        // SAFETY: a new mapping at an address that the kernel chooses.
        let map = || unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                8192,
                rustix::mm::ProtFlags::READ,
                rustix::mm::MapFlags::SHARED,
                &file,
                0,
            )
        };
        let copied = |mapping: *const u8, offset: usize| {
            let mut byte = 7_u8;
            // SAFETY: both addresses are mapped, or become so in the handler.
            let whole = survives(mapping, 8192, || unsafe {
                std::ptr::copy_nonoverlapping(mapping.wrapping_add(offset), &raw mut byte, 1);
            });
            (whole, byte)
        };
        let mapping: *const u8 = map().unwrap().cast();
        assert_eq!((copied(mapping, 0), copied(mapping, 4096)), ((true, 0), (true, 0)));
        file.set_len(4096).unwrap();
        assert_eq!((copied(mapping, 5000), copied(mapping, 10)), ((false, 0), (true, 0)));
        let again: *const u8 = map().unwrap().cast();
        assert_eq!(copied(again, 4096), (false, 0));
    }
}

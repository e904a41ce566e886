//! Detects whether the program was started with standard output closed.
//!
//! Rust's runtime opens /dev/null for each of the three standard descriptors that is closed, so that no other file gets
//! its number. After that the program could not detect the difference, and results would be lost with exit status 0.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

// SAFETY: the loader calls the functions in this section once, before `main`, with the C ABI; `look` ignores the
// arguments that it may pass, and needs nothing that is initialised later.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: F_GETFD takes no pointer; any number is allowed, and fails with EBADF if it is not an open descriptor.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// True if the program was started with standard output closed (`>&-`).
pub fn output_was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

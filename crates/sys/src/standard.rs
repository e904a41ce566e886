//! Whether there was a standard output at all when the program began.
//!
//! Rust's start-up puts /dev/null where one of the three standard files is closed, so that no other file takes its number;
//! afterwards nobody could tell, and results would go nowhere with status 0.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

// SAFETY: the loader calls what stands in this section once, before `main`, with the C ABI; arguments that it may pass are
// ignored by it. `look` needs nothing that is set up later.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: F_GETFD takes no pointer; any number is allowed, and answered with EBADF where nothing is open.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// Whether the program was started with standard output closed (`>&-`).
pub fn output_was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

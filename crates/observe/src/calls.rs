//! System calls that are recorded, and which of their arguments say what.

/// The use that a call makes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    /// Reads, and returns the number of bytes.
    Read,
    /// Writes, and returns the number of bytes.
    Write,
    /// Waits until data is durable, or starts its writing.
    Sync,
    /// Hands over requests of libaio, which go on without it.
    Submit,
    /// Hands over requests of io_uring, and waits for completions.
    Ring,
    /// Waits for completions of libaio.
    Await,
    /// Moves data, and is counted only.
    Counted,
    /// Moves the position of a file.
    Seek,
    /// Ends the use of a descriptor.
    Close,
    /// Waits for a page of a mapped file. It is not a call.
    Fault,
}

/// A system call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// Name in tracefs and in manuals.
    pub(crate) name: &'static str,
    /// Its number in the kernel; −1 for what is not a call.
    pub(crate) number: i64,
    pub(crate) does: Does,
    /// Name of the argument with the descriptor; empty if it has none.
    pub(crate) descriptor: &'static str,
    /// Name of the argument with the offset; empty if the call is at the position of the file.
    pub(crate) offset: &'static str,
}

const fn call(number: i64, name: &'static str, does: Does, descriptor: &'static str, offset: &'static str) -> Call {
    Call { name, number, does, descriptor, offset }
}

/// Numbers of dup2(2), which newer kinds of processors have not, and of io_pgetevents(2).
#[cfg(target_arch = "x86_64")]
const DUP2: i64 = libc::SYS_dup2;
#[cfg(not(target_arch = "x86_64"))]
const DUP2: i64 = -1;
#[cfg(target_arch = "x86_64")]
const IO_PGETEVENTS: i64 = 333;
#[cfg(not(target_arch = "x86_64"))]
const IO_PGETEVENTS: i64 = 292;

/// All of them, under their names in tracefs.
pub(crate) static CALLS: [Call; 27] = [
    call(libc::SYS_read, "read", Does::Read, "fd", ""),
    call(libc::SYS_pread64, "pread64", Does::Read, "fd", "pos"),
    call(libc::SYS_readv, "readv", Does::Read, "fd", ""),
    call(libc::SYS_preadv, "preadv", Does::Read, "fd", "pos_l"),
    call(libc::SYS_preadv2, "preadv2", Does::Read, "fd", "pos_l"),
    call(libc::SYS_write, "write", Does::Write, "fd", ""),
    call(libc::SYS_pwrite64, "pwrite64", Does::Write, "fd", "pos"),
    call(libc::SYS_writev, "writev", Does::Write, "fd", ""),
    call(libc::SYS_pwritev, "pwritev", Does::Write, "fd", "pos_l"),
    call(libc::SYS_pwritev2, "pwritev2", Does::Write, "fd", "pos_l"),
    call(libc::SYS_fsync, "fsync", Does::Sync, "fd", ""),
    call(libc::SYS_fdatasync, "fdatasync", Does::Sync, "fd", ""),
    call(libc::SYS_sync_file_range, "sync_file_range", Does::Sync, "fd", ""),
    call(libc::SYS_syncfs, "syncfs", Does::Sync, "fd", ""),
    call(libc::SYS_sync, "sync", Does::Sync, "", ""),
    call(libc::SYS_msync, "msync", Does::Sync, "", ""),
    call(libc::SYS_io_uring_enter, "io_uring_enter", Does::Ring, "", ""),
    call(libc::SYS_io_submit, "io_submit", Does::Submit, "", ""),
    call(libc::SYS_io_getevents, "io_getevents", Does::Await, "", ""),
    call(IO_PGETEVENTS, "io_pgetevents", Does::Await, "", ""),
    call(libc::SYS_sendfile, "sendfile64", Does::Counted, "", ""),
    call(libc::SYS_copy_file_range, "copy_file_range", Does::Counted, "", ""),
    call(libc::SYS_splice, "splice", Does::Counted, "", ""),
    call(libc::SYS_lseek, "lseek", Does::Seek, "fd", ""),
    call(libc::SYS_close, "close", Does::Close, "fd", ""),
    call(DUP2, "dup2", Does::Close, "newfd", ""),
    call(libc::SYS_dup3, "dup3", Does::Close, "newfd", ""),
];

/// A page fault of a mapped file, among the calls.
pub(crate) static FAULT: Call = call(-1, "page fault", Does::Fault, "", "");

/// The name of a call that is recorded; `None` for another.
pub fn named(name: &str) -> Option<&'static str> {
    CALLS.iter().chain([&FAULT]).map(|call| call.name).find(|known| *known == name)
}

impl Call {
    /// True if its end matters.
    pub(crate) fn has_end(&self) -> bool {
        !matches!(self.does, Does::Counted | Does::Seek | Does::Close | Does::Fault)
    }

    /// True if a recording makes no sense without it.
    pub(crate) fn is_needed(&self) -> bool {
        matches!(self.does, Does::Read | Does::Write) || self.name == "fsync"
    }
}

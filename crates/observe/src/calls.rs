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
    pub(crate) does: Does,
    /// Name of the argument with the descriptor; empty if it has none.
    pub(crate) descriptor: &'static str,
    /// Name of the argument with the offset; empty if the call is at the position of the file.
    pub(crate) offset: &'static str,
}

const fn call(name: &'static str, does: Does, descriptor: &'static str, offset: &'static str) -> Call {
    Call { name, does, descriptor, offset }
}

/// All of them, under their names in tracefs.
pub(crate) static CALLS: [Call; 27] = [
    call("read", Does::Read, "fd", ""),
    call("pread64", Does::Read, "fd", "pos"),
    call("readv", Does::Read, "fd", ""),
    call("preadv", Does::Read, "fd", "pos_l"),
    call("preadv2", Does::Read, "fd", "pos_l"),
    call("write", Does::Write, "fd", ""),
    call("pwrite64", Does::Write, "fd", "pos"),
    call("writev", Does::Write, "fd", ""),
    call("pwritev", Does::Write, "fd", "pos_l"),
    call("pwritev2", Does::Write, "fd", "pos_l"),
    call("fsync", Does::Sync, "fd", ""),
    call("fdatasync", Does::Sync, "fd", ""),
    call("sync_file_range", Does::Sync, "fd", ""),
    call("syncfs", Does::Sync, "fd", ""),
    call("sync", Does::Sync, "", ""),
    call("msync", Does::Sync, "", ""),
    call("io_uring_enter", Does::Ring, "", ""),
    call("io_submit", Does::Submit, "", ""),
    call("io_getevents", Does::Await, "", ""),
    call("io_pgetevents", Does::Await, "", ""),
    call("sendfile64", Does::Counted, "", ""),
    call("copy_file_range", Does::Counted, "", ""),
    call("splice", Does::Counted, "", ""),
    call("lseek", Does::Seek, "fd", ""),
    call("close", Does::Close, "fd", ""),
    call("dup2", Does::Close, "newfd", ""),
    call("dup3", Does::Close, "newfd", ""),
];

/// A page fault of a mapped file, among the calls.
pub(crate) static FAULT: Call = call("page fault", Does::Fault, "", "");

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

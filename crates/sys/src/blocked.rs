//! The system call that a thread sits in, from /proc/PID/syscall: what it waits for, and where in which file.

use std::path::{Path, PathBuf};

/// A thread inside of a system call that does I/O.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedCall {
    /// The call, `pread64`.
    pub call: &'static str,
    /// The file, where the call is about one that still has a name.
    pub file: Option<PathBuf>,
    /// Where in it, where the call says so.
    pub offset: Option<u64>,
    /// Call, arguments, and the CPU time of the thread: as long as it is the same, the thread has not moved.
    pub fingerprint: String,
}

/// Which of a call's arguments tell where it is.
#[derive(Clone, Copy)]
enum About {
    /// The file of the first, at the offset of this one.
    Offset(usize),
    /// The file of the first.
    File,
    /// No file: it waits for what was submitted before.
    Submitted,
}

const CALLS: &[(libc::c_long, &str, About)] = &[
    (libc::SYS_pread64, "pread64", About::Offset(3)),
    (libc::SYS_pwrite64, "pwrite64", About::Offset(3)),
    (libc::SYS_preadv, "preadv", About::Offset(3)),
    (libc::SYS_pwritev, "pwritev", About::Offset(3)),
    (libc::SYS_preadv2, "preadv2", About::Offset(3)),
    (libc::SYS_pwritev2, "pwritev2", About::Offset(3)),
    (libc::SYS_read, "read", About::File),
    (libc::SYS_write, "write", About::File),
    (libc::SYS_readv, "readv", About::File),
    (libc::SYS_writev, "writev", About::File),
    (libc::SYS_fsync, "fsync", About::File),
    (libc::SYS_fdatasync, "fdatasync", About::File),
    (libc::SYS_sync_file_range, "sync_file_range", About::File),
    (libc::SYS_fallocate, "fallocate", About::File),
    (libc::SYS_io_getevents, "io_getevents", About::Submitted),
    (libc::SYS_io_uring_enter, "io_uring_enter", About::Submitted),
];

/// The I/O call that this thread sits in; `None` when it runs, waits for something else, or may not be looked at.
pub fn call_of(root: &Path, thread: u32) -> Option<BlockedCall> {
    let folder = root.join(format!("proc/{thread}"));
    let text = std::fs::read_to_string(folder.join("syscall")).ok()?;
    let (call, about, numbers) = parse(&text)?;
    let ran = std::fs::read_to_string(folder.join("schedstat")).unwrap_or_default();
    let file = || std::fs::read_link(folder.join(format!("fd/{}", numbers.first()?))).ok();
    let (file, offset) = match about {
        About::Offset(index) => (file(), numbers.get(index).copied()),
        About::File => (file(), None),
        About::Submitted => (None, None),
    };
    Some(BlockedCall { call, file, offset, fingerprint: format!("{text}{ran}") })
}

/// `17 0x3 0x7f... 0x1000 0x2000 0x0 0x0 0x7ffd... 0x7f...`, proc_pid_syscall(5): number, six arguments, stack, program.
fn parse(text: &str) -> Option<(&'static str, About, Vec<u64>)> {
    let mut words = text.split_whitespace();
    let number: libc::c_long = words.next()?.parse().ok()?;
    let &(_, call, about) = CALLS.iter().find(|(known, ..)| *known == number)?;
    let value = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    Some((call, about, words.map_while(value).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_call_is_read_with_its_offset_and_what_runs_is_none() {
        let line = format!("{} 0x3 0x7f00 0x1000 0x200000 0x0 0x0 0x7ffd 0x7f01\n", libc::SYS_pwrite64);
        let (call, _, numbers) = parse(&line).unwrap();
        assert_eq!((call, numbers[0], numbers[3]), ("pwrite64", 3, 0x20_0000));
        for text in ["running\n", "", "-1 0x7ffd 0x7f01\n", "999999 0x0\n"] {
            assert!(parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_thread_that_waits_for_a_pipe_is_found_there() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let waiter = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()).unwrap();
            reader.read_to_end(&mut Vec::new())
        });
        let thread = told.recv().unwrap();
        let found = (0..200).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            call_of(Path::new("/"), thread)
        });
        drop(writer);
        waiter.join().unwrap().unwrap();
        // Where the kernel hides it (hidepid, no CONFIG_HAVE_ARCH_TRACEHOOK) nothing can be found.
        if Path::new("/proc/self/syscall").exists() {
            let found = found.unwrap();
            assert_eq!((found.call, found.offset), ("read", None));
            assert!(found.file.unwrap().to_string_lossy().starts_with("pipe:"));
        }
    }
}

//! The system call in which a thread is blocked, from /proc/PID/syscall: the call, its file and its offset.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A thread that is blocked in a system call for I/O.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedCall {
    /// Name of the call, such as `pread64`.
    pub call: &'static str,
    /// File of the call: the path of its descriptor if that has one, or the path argument.
    pub file: Option<PathBuf>,
    /// Offset of the call, from its arguments or from the file position.
    pub offset: Option<u64>,
    /// True if the call has no file, but waits for I/Os that were submitted before.
    pub waits: bool,
    /// Call, arguments and CPU time of the thread: while it stays the same, the thread has made no progress.
    pub fingerprint: String,
}

/// Meaning of a call's arguments.
#[derive(Clone, Copy)]
enum About {
    /// The first is a descriptor, the one at this index the offset.
    Offset(usize),
    /// The first is a descriptor; the offset is its file position.
    Position,
    /// The first is a descriptor.
    File,
    /// The one at this index points to a path.
    Path(usize),
    /// None: the call waits for I/Os that were submitted before.
    Submitted,
}

const CALLS: &[(libc::c_long, &str, About)] = &[
    (libc::SYS_pread64, "pread64", About::Offset(3)),
    (libc::SYS_pwrite64, "pwrite64", About::Offset(3)),
    (libc::SYS_preadv, "preadv", About::Offset(3)),
    (libc::SYS_pwritev, "pwritev", About::Offset(3)),
    (libc::SYS_preadv2, "preadv2", About::Offset(3)),
    (libc::SYS_pwritev2, "pwritev2", About::Offset(3)),
    (libc::SYS_read, "read", About::Position),
    (libc::SYS_write, "write", About::Position),
    (libc::SYS_readv, "readv", About::Position),
    (libc::SYS_writev, "writev", About::Position),
    (libc::SYS_fsync, "fsync", About::File),
    (libc::SYS_fdatasync, "fdatasync", About::File),
    (libc::SYS_sync_file_range, "sync_file_range", About::File),
    (libc::SYS_syncfs, "syncfs", About::File),
    (libc::SYS_fallocate, "fallocate", About::File),
    (libc::SYS_ftruncate, "ftruncate", About::File),
    (libc::SYS_fadvise64, "fadvise64", About::File),
    (libc::SYS_openat, "openat", About::Path(1)),
    (libc::SYS_statx, "statx", About::Path(1)),
    (libc::SYS_unlinkat, "unlinkat", About::Path(1)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_unlink, "unlink", About::Path(0)),
    (libc::SYS_io_getevents, "io_getevents", About::Submitted),
    (libc::SYS_io_uring_enter, "io_uring_enter", About::Submitted),
];

/// Returns the I/O call in which this thread is blocked; `None` if it is running, waits for something else, or may not
/// be read.
pub fn call_of(root: &Path, thread: u32) -> Option<BlockedCall> {
    let folder = root.join(format!("proc/{thread}"));
    let text = std::fs::read_to_string(folder.join("syscall")).ok()?;
    let (call, about, numbers) = parse(&text)?;
    let ran = std::fs::read_to_string(folder.join("schedstat")).unwrap_or_default();
    let number = |index: usize| numbers.get(index).copied();
    let open = || number(0).and_then(|file| std::fs::read_link(folder.join(format!("fd/{file}"))).ok());
    let (file, offset) = match about {
        About::Offset(index) => (open(), number(index)),
        About::Position => {
            // The link of a pipe is not a path, and a pipe has no position.
            let file = open();
            let has_place = file.as_ref().is_some_and(|file| file.is_absolute());
            (file, number(0).filter(|_| has_place).and_then(|file| position(&folder, file)))
        }
        About::File => (open(), None),
        About::Path(index) => (number(index).and_then(|address| path_at(&folder, address)), None),
        About::Submitted => (None, None),
    };
    let waits = matches!(about, About::Submitted);
    Some(BlockedCall { call, file, offset, waits, fingerprint: format!("{text}{ran}") })
}

/// File position of an open file.
fn position(folder: &Path, file: u64) -> Option<u64> {
    let text = std::fs::read_to_string(folder.join(format!("fdinfo/{file}"))).ok()?;
    text.lines().find_map(|line| line.strip_prefix("pos:")?.trim().parse().ok())
}

/// Path at this address in the memory of the thread.
fn path_at(folder: &Path, address: u64) -> Option<PathBuf> {
    let mut bytes = vec![0; libc::PATH_MAX as usize];
    let read = File::open(folder.join("mem")).and_then(|memory| memory.read_at(&mut bytes, address)).ok()?;
    let end = bytes[..read].iter().position(|&byte| byte == 0)?;
    bytes.truncate(end);
    (end > 0).then(|| PathBuf::from(OsString::from_vec(bytes)))
}

/// Parses `17 0x3 0x7f... 0x1000 0x2000 0x0 0x0 0x7ffd... 0x7f...`, proc_pid_syscall(5): number, six arguments, stack
/// pointer, program counter.
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
        let (tell, message) = std::sync::mpsc::channel();
        let waiter = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()).unwrap();
            reader.read_to_end(&mut Vec::new())
        });
        let thread = message.recv().unwrap();
        let found = (0..200).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            call_of(Path::new("/"), thread)
        });
        drop(writer);
        waiter.join().unwrap().unwrap();
        // Nothing is found if the kernel hides it (hidepid, no CONFIG_HAVE_ARCH_TRACEHOOK).
        if Path::new("/proc/self/syscall").exists() {
            let found = found.unwrap();
            assert_eq!((found.call, found.offset, found.waits), ("read", None, false));
            assert!(found.file.unwrap().to_string_lossy().starts_with("pipe:"));
        }
    }

    #[test]
    fn a_thread_that_waits_to_open_is_found_with_the_name() {
        let directory = std::env::temp_dir().join(format!("plumb-blocked-{}", std::process::id()));
        std::fs::create_dir(&directory).unwrap();
        let fifo = directory.join("a fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        let (tell, message) = std::sync::mpsc::channel();
        let name = fifo.clone();
        let waiter = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()).unwrap();
            File::open(name)
        });
        let thread = message.recv().unwrap();
        let found = (0..200).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            call_of(Path::new("/"), thread)
        });
        let writer = File::options().write(true).open(&fifo).unwrap();
        waiter.join().unwrap().unwrap();
        drop(writer);
        std::fs::remove_dir_all(&directory).unwrap();
        if Path::new("/proc/self/syscall").exists() {
            let found = found.unwrap();
            assert_eq!((found.call, found.file, found.offset), ("openat", Some(fifo), None));
        }
    }

    #[test]
    fn the_position_of_an_open_file_is_read() {
        use std::io::Seek;
        use std::os::fd::AsRawFd;
        let mut file = File::open("/proc/self/exe").unwrap();
        file.seek(std::io::SeekFrom::Start(777)).unwrap();
        let number = u64::try_from(file.as_raw_fd()).unwrap();
        assert_eq!(position(Path::new("/proc/self"), number), Some(777));
        assert_eq!(position(Path::new("/proc/self"), 999_999), None);
    }
}

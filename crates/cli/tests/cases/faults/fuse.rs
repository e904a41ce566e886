//! A file system whose every answer is scripted: one file, `f`, served over /dev/fuse.
//!
//! The kernel asks in the protocol of linux/fuse.h (version 7.31); what it asks of a file of fixed size is little
//! enough to answer here. The file is opened with FOPEN_DIRECT_IO, so that each I/O of plumb is one request and short
//! answers stay short.

use super::{Bench, Row, Shown, run_tool};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

const BYTES: usize = 1 << 20;
/// The inode of the file; 1 is the root.
const FILE: u64 = 2;
const DIRECT_IO: u32 = 1;

/// Numbers of requests.
pub(super) mod ask {
    pub(crate) const LOOKUP: u32 = 1;
    pub(crate) const FORGET: u32 = 2;
    pub(crate) const GETATTR: u32 = 3;
    pub(crate) const SETATTR: u32 = 4;
    pub(crate) const OPEN: u32 = 14;
    pub(crate) const READ: u32 = 15;
    pub(crate) const WRITE: u32 = 16;
    pub(crate) const STATFS: u32 = 17;
    pub(crate) const RELEASE: u32 = 18;
    pub(crate) const FSYNC: u32 = 20;
    pub(crate) const FLUSH: u32 = 25;
    pub(crate) const INIT: u32 = 26;
    pub(crate) const OPENDIR: u32 = 27;
    pub(crate) const RELEASEDIR: u32 = 29;
    pub(crate) const INTERRUPT: u32 = 36;
    pub(crate) const BATCH_FORGET: u32 = 42;
}

/// What the device does with an I/O.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
    Error(i32),
    /// This number of bytes, and no more.
    Short(usize),
    Late(Duration),
    /// At every I/O of the kind whose number this divides.
    EachLate(u64, Duration),
}

/// At which I/O of a kind, counted from 1, what happens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Script {
    call: u32,
    at: u64,
    answer: Answer,
}

/// How the file is served: its bytes, and the requests that are answered at a time.
#[derive(Clone, Copy, Debug)]
struct Served {
    script: Script,
    bytes: usize,
    together: u32,
}

/// The file system, mounted while it lives.
pub(super) struct Fuse {
    point: PathBuf,
    servers: Vec<JoinHandle<()>>,
    data: Arc<Mutex<Vec<u8>>>,
}

impl Fuse {
    pub(super) fn mount(bench: &Bench, script: Script) -> Result<Fuse, String> {
        Fuse::mount_at(bench.file("fuse"), Served { script, bytes: BYTES, together: 1 })
    }

    fn mount_at(point: PathBuf, served: Served) -> Result<Fuse, String> {
        std::fs::create_dir_all(&point).map_err(|error| error.to_string())?;
        let device = File::options().read(true).write(true).open("/dev/fuse").map_err(|e| format!("/dev/fuse: {e}"))?;
        let number = std::os::fd::AsRawFd::as_raw_fd(&device);
        // mount(8) hands the descriptor to the kernel; until then it must not close at exec.
        rustix::io::fcntl_setfd(&device, rustix::io::FdFlags::empty()).map_err(|error| error.to_string())?;
        let options = format!("fd={number},rootmode=40000,user_id=0,group_id=0,allow_other");
        let point_text = point.display().to_string();
        let mounted = run_tool("mount", &["-i", "-t", "fuse", "-o", &options, "scripted", &point_text]);
        rustix::io::fcntl_setfd(&device, rustix::io::FdFlags::CLOEXEC).map_err(|error| error.to_string())?;
        mounted?;
        let data = Arc::new(Mutex::new(vec![7; served.bytes]));
        let server = || {
            let device = device.try_clone().map_err(|error| error.to_string())?;
            let data = Arc::clone(&data);
            Ok(std::thread::spawn(move || Server { device, data, served, seen: 0 }.serve()))
        };
        let servers = (0..served.together).map(|_| server()).collect::<Result<_, String>>()?;
        Ok(Fuse { point, servers, data })
    }

    pub(super) fn file(&self) -> String {
        self.point.join("f").display().to_string()
    }

    /// How many bytes are not what they were at the start.
    fn changed(&self) -> usize {
        self.data.lock().expect("the server does not panic").iter().filter(|&&byte| byte != 7).count()
    }
}

/// The same file system, whose reads take a time: each, or each of some.
pub(crate) struct SlowFuse(Fuse);

impl SlowFuse {
    pub(crate) fn mount(point: &Path, time: Duration) -> Result<SlowFuse, String> {
        SlowFuse::mount_each(point, 1, time)
    }

    pub(crate) fn mount_each(point: &Path, of: u64, time: Duration) -> Result<SlowFuse, String> {
        let script = at(ask::READ, 0, Answer::EachLate(of, time));
        Fuse::mount_at(point.to_path_buf(), Served { script, bytes: BYTES, together: 1 }).map(SlowFuse)
    }

    /// A larger one, of which each read takes a time, and that does some at a time.
    pub(crate) fn mount_wide(point: &Path, time: Duration, bytes: usize, together: u32) -> Result<SlowFuse, String> {
        let script = at(ask::READ, 0, Answer::EachLate(1, time));
        Fuse::mount_at(point.to_path_buf(), Served { script, bytes, together }).map(SlowFuse)
    }

    pub(crate) fn file(&self) -> String {
        self.0.file()
    }
}

impl Drop for Fuse {
    fn drop(&mut self) {
        // The server ends when the kernel hangs up.
        let _ = run_tool("umount", &["--lazy", &self.point.display().to_string()]);
        self.servers.drain(..).for_each(|server| drop(server.join()));
    }
}

struct Server {
    device: File,
    data: Arc<Mutex<Vec<u8>>>,
    served: Served,
    /// I/Os of the scripted kind so far.
    seen: u64,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | (u64::from(u32_at(bytes, at + 4)) << 32)
}

/// Words of 32 bits, one after the other.
fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// `struct fuse_attr`.
fn attributes(node: u64, bytes: usize) -> Vec<u8> {
    let (size, mode, links) = if node == FILE { (bytes as u64, 0o100_666, 1) } else { (0, 0o40_777, 2) };
    let mut text: Vec<u8> = [node, size, size / 512, 0, 0, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
    text.extend(words(&[0, 0, 0, mode, links, 0, 0, 0, 4096, 0]));
    text
}

impl Server {
    fn serve(mut self) {
        let mut request = vec![0; (1 << 20) + 4096];
        while let Ok(length @ 40..) = self.device.read(&mut request) {
            let (call, unique, node) = (u32_at(&request, 4), u64_at(&request, 8), u64_at(&request, 16));
            if matches!(call, ask::FORGET | ask::BATCH_FORGET | ask::INTERRUPT) {
                continue;
            }
            let (error, body) = match self.answer(call, node, &request[40..length]) {
                Ok(body) => (0_i32, body),
                Err(error) => (-error, Vec::new()),
            };
            let mut reply = u32::try_from(16 + body.len()).expect("a short reply").to_le_bytes().to_vec();
            reply.extend(error.to_le_bytes());
            reply.extend(unique.to_le_bytes());
            reply.extend(body);
            // One that was given up meanwhile takes no answer.
            let _ = self.device.write(&reply);
        }
    }

    fn answer(&mut self, call: u32, node: u64, body: &[u8]) -> Result<Vec<u8>, i32> {
        let mut most = usize::MAX;
        if call == self.served.script.call {
            self.seen += 1;
            match self.served.script.answer {
                Answer::EachLate(of, time) if self.seen.is_multiple_of(of) => std::thread::sleep(time),
                Answer::EachLate(..) => {}
                _ if self.seen != self.served.script.at => {}
                Answer::Error(errno) => return Err(errno),
                Answer::Short(bytes) => most = bytes,
                Answer::Late(time) => std::thread::sleep(time),
            }
        }
        let Served { bytes, together, .. } = self.served;
        let (offset, size) = (usize::try_from(u64_at(body, 8)).unwrap_or(bytes).min(bytes), u32_at(body, 16) as usize);
        match call {
            // Version 7.31, no read-ahead, direct requests without a thread that waits (if there are several), that many
            // in the background, 128 KiB at most.
            ask::INIT => {
                let direct = if together > 1 { 1 << 15 } else { 0 };
                Ok([words(&[7, 31, 0, direct, together | (together << 16), 131_072, 1]), vec![0; 36]].concat())
            }
            ask::LOOKUP if body.starts_with(b"f\0") => {
                let head: Vec<u8> = [FILE, 0, 0, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
                Ok([head, words(&[0, 0]), attributes(FILE, self.served.bytes)].concat())
            }
            ask::LOOKUP => Err(libc::ENOENT),
            ask::GETATTR | ask::SETATTR => Ok([vec![0; 16], attributes(node, self.served.bytes)].concat()),
            ask::OPEN | ask::OPENDIR => Ok([vec![0; 8], words(&[DIRECT_IO, 0])].concat()),
            ask::READ => {
                let data = self.data.lock().expect("no thread panics");
                let end = (offset + size.min(most)).min(bytes);
                Ok(data[offset..end].to_vec())
            }
            ask::WRITE => {
                let count = size.min(most).min(bytes - offset);
                self.data.lock().expect("no thread panics")[offset..offset + count]
                    .copy_from_slice(&body[40..40 + count]);
                Ok(words(&[u32::try_from(count).expect("a request's size"), 0]))
            }
            ask::STATFS => Ok(vec![0; 80]),
            ask::FSYNC | ask::FLUSH | ask::RELEASE | ask::RELEASEDIR => Ok(Vec::new()),
            _ => Err(libc::ENOSYS),
        }
    }
}

/// A row of the table: what the file system does, with which words, and what must come of it.
struct Case {
    fault: &'static str,
    injected: &'static str,
    script: Script,
    words: &'static str,
    status: i32,
    says: &'static [&'static str],
    /// Direction and I/Os that are counted.
    counted: (&'static str, u64, u64),
}

pub(super) const fn at(call: u32, at: u64, answer: Answer) -> Script {
    Script { call, at, answer }
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { fault: "FUSE: EIO at a read", injected: "the 5th READ", script: at(ask::READ, 5, Answer::Error(libc::EIO)),
        words: "--rw=read", status: 1, says: &["read of 4096 bytes at offset 16384", "/f"], counted: ("read", 5, 5) },
    Case { fault: "FUSE: ENOSPC at a write", injected: "the 5th WRITE", script: at(ask::WRITE, 5, Answer::Error(libc::ENOSPC)),
        words: "--rw=write", status: 1, says: &["at offset 16384", "No space left"], counted: ("write", 5, 5) },
    Case { fault: "FUSE: EDQUOT at a write", injected: "the 3rd WRITE, libaio", script: at(ask::WRITE, 3, Answer::Error(libc::EDQUOT)),
        words: "--rw=write --ioengine=libaio --iodepth=1", status: 1, says: &["quota exceeded", "/f"], counted: ("write", 3, 3) },
    Case { fault: "FUSE: ETIMEDOUT at a read", injected: "the 3rd READ, io_uring", script: at(ask::READ, 3, Answer::Error(libc::ETIMEDOUT)),
        words: "--rw=read --ioengine=io_uring", status: 1, says: &["timed out", "/f"], counted: ("read", 3, 3) },
    Case { fault: "FUSE: EIO forgiven", injected: "the 5th READ, continue_on_error", script: at(ask::READ, 5, Answer::Error(libc::EIO)),
        words: "--rw=read --continue_on_error=io", status: 0, says: &["/f"], counted: ("read", 15, 16) },
    Case { fault: "FUSE: EIO at fsync", injected: "the 1st FSYNC", script: at(ask::FSYNC, 1, Answer::Error(libc::EIO)),
        words: "--rw=write --end_fsync=1 --create_fsync=0", status: 1, says: &["/f"], counted: ("write", 16, 16) },
    Case { fault: "FUSE: short read", injected: "1000 bytes of the 3rd READ", script: at(ask::READ, 3, Answer::Short(1000)),
        words: "--rw=read", status: 0, says: &[], counted: ("read", 16, 17) },
    Case { fault: "FUSE: short write", injected: "1000 bytes of the 3rd WRITE", script: at(ask::WRITE, 3, Answer::Short(1000)),
        words: "--rw=write", status: 0, says: &[], counted: ("write", 16, 17) },
    Case { fault: "FUSE: late I/O", injected: "0.3 s before the 3rd READ", script: at(ask::READ, 3, Answer::Late(Duration::from_millis(300))),
        words: "--rw=read --max_latency=100ms", status: 1, says: &["a: "], counted: ("read", 2, 3) },
    Case { fault: "FUSE: stuck I/O is named", injected: "3 s before the 3rd WRITE", script: at(ask::WRITE, 3, Answer::Late(Duration::from_secs(3))),
        words: "--rw=write --stuck_after=1s", status: 0, says: &["job `a`: I/O is stuck: pwrite64 at offset 8192 of", "/f has not completed for"],
        counted: ("write", 16, 16) },
];

pub(crate) fn rows() -> Vec<Row> {
    let row = |case: &'static Case| Row::new(case.fault, case.injected, move |bench| run(bench, case));
    let unknown = Row::new("FUSE: storage not known", "nothing", names_what_it_cannot_see);
    CASES.iter().map(row).chain([unknown]).collect()
}

/// What stores the data of a FUSE is not visible: this is said on the screen, once for two jobs.
fn names_what_it_cannot_see(bench: &Bench) -> Result<Shown, String> {
    let fuse = Fuse::mount(bench, at(ask::INTERRUPT, u64::MAX, Answer::Short(0)))?;
    let file = fuse.file();
    let words = format!("--filename={file} --size=64k --bs=4k --rw=read --percentile_list=50 --name=a --name=b");
    let ran = bench.run(bench.fio(&words).env("PLUMB_REMARKS", "always"))?;
    let sentence =
        "(fuse): a program outside of the kernel answers, so it is not known what stores the data [NOT CHECKED]";
    let shown = ran.expect(0, &["plumb: check: backing: ", sentence])?;
    match ran.stderr.matches(sentence).count() {
        1 => Ok(shown),
        count => Err(format!("said {count} times: {}", ran.stderr)),
    }
}

fn run(bench: &Bench, case: &Case) -> Result<Shown, String> {
    let fuse = Fuse::mount(bench, case.script)?;
    let words = format!("--name=a --filename={} --size=64k --fallocate=none {}", fuse.file(), case.words);
    let ran = bench.run(bench.fio(&words))?;
    let shown = ran.expect(case.status, case.says)?;
    let (direction, least, most) = case.counted;
    ran.expect_ios(direction, least..=most)?;
    // What was written in full is there, and nothing else.
    let wrote = direction == "write" && case.status == 0;
    match fuse.changed() {
        0 if wrote => Err("nothing was written".into()),
        changed if changed > 64 << 10 => Err(format!("{changed} bytes were written")),
        _ => Ok(shown),
    }
}

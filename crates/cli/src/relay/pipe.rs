//! The streams to the processes of this rank, read and written without waiting, and the process of the leader.

use cluster::{Frame, FrameError, Frames};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Bytes that are read at a time.
const PIECE: usize = 1 << 16;
/// Time that the leader has to exit after it has closed its end.
const EXIT: Duration = Duration::from_secs(3);

/// Bytes that are to be written to a stream.
#[derive(Debug, Default)]
pub(super) struct WriteBuffer {
    bytes: Vec<u8>,
    written: usize,
}

impl WriteBuffer {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..std::mem::take(&mut self.written));
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.written == self.bytes.len()
    }

    /// Writes as much as the stream takes now.
    pub(super) fn write(&mut self, stream: &mut impl Write) -> io::Result<()> {
        while !self.is_empty() {
            match stream.write(&self.bytes[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The state of a stream after reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Open,
    Ended,
}

/// Reads what is there.
pub(super) fn read_all(stream: &mut impl Read, mut take: impl FnMut(&[u8])) -> Stream {
    let mut piece = vec![0; PIECE];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return Stream::Ended,
            Ok(count) => take(&piece[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Stream::Open,
            Err(_) => return Stream::Ended,
        }
    }
}

/// Makes reads and writes return at once.
pub(super) fn never_wait(stream: impl AsFd) -> io::Result<()> {
    let flags = fcntl_getfl(&stream)?;
    Ok(fcntl_setfl(&stream, flags | OFlags::NONBLOCK)?)
}

/// Ends a process and its workers, whatever state they are in.
pub(super) fn kill(child: &mut Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let (Ok(None), Some(pid)) = (child.try_wait(), pid) {
        // Fails if the group has ended meanwhile.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

/// The process of the leader, and the stream of frames to it.
#[derive(Debug)]
pub(super) struct LeaderPipe {
    child: Child,
    stream: UnixStream,
    frames: Frames,
    pending: WriteBuffer,
}

impl LeaderPipe {
    /// Starts a leader. It does nothing until it gets the list of members.
    pub(super) fn start(program: &OsStr, words: &[OsString]) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new(program);
        command.args(["cluster", "--relayed"]).args(words).process_group(0).stdin(Stdio::from(OwnedFd::from(theirs)));
        let child = command.spawn()?;
        ours.set_nonblocking(true)?;
        Ok(LeaderPipe { child, stream: ours, frames: Frames::default(), pending: WriteBuffer::default() })
    }

    pub(super) fn send(&mut self, frame: &Frame) {
        self.pending.push(&frame.to_bytes());
        self.write();
    }

    pub(super) fn write(&mut self) {
        // The end of the stream follows.
        let _ = self.pending.write(&mut self.stream);
    }

    pub(super) fn stream(&self) -> (BorrowedFd<'_>, bool) {
        (self.stream.as_fd(), !self.pending.is_empty())
    }

    /// The frames that have arrived.
    pub(super) fn read(&mut self) -> (Vec<Frame>, Result<Stream, FrameError>) {
        let state = read_all(&mut self.stream, |bytes| self.frames.push(bytes));
        let mut found = Vec::new();
        loop {
            match self.frames.next_frame() {
                Ok(Some(frame)) => found.push(frame),
                Ok(None) => return (found, Ok(state)),
                Err(error) => return (found, Err(error)),
            }
        }
    }

    pub(super) fn signal(&self, signal: i32) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let (Some(pid), Some(signal)) = (pid, Signal::from_named_raw(signal)) {
            // Fails if it has ended meanwhile.
            let _ = kill_process(pid, signal);
        }
    }

    pub(super) fn kill(&mut self) {
        kill(&mut self.child);
    }

    pub(super) fn ending(&mut self) -> Option<ExitStatus> {
        let until = Instant::now() + EXIT;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(2)),
                _ => {
                    self.kill();
                    return None;
                }
            }
        }
    }
}

/// The exit status that stands for an end of the leader, and a sentence if it is not an orderly one.
pub(super) fn status(ending: Option<ExitStatus>) -> (u8, Option<String>) {
    let code = ending.and_then(|status| status.code());
    match code.and_then(|code| u8::try_from(code).ok()) {
        Some(code) => (code, None),
        None => (1, Some(cluster::ending(ending.and_then(|status| status.signal()), code))),
    }
}

//! The member of this rank: its process and its lines.

use crate::pipe::{Stream, WriteBuffer, kill, never_wait, read_all};
use cluster::LONGEST_LINE;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Time that a process has to exit after the end of its output.
const EXIT: Duration = Duration::from_millis(500);

/// The process of a member.
#[derive(Debug)]
pub(super) struct Member {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    pending: WriteBuffer,
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// When the output ended.
    closed: Option<Instant>,
    /// The reason that the lines give, if it is not the end of the process.
    why: Option<String>,
    is_gone: bool,
}

impl Member {
    /// Starts the member in a process group for itself: what the launcher sends to the group of this process does not
    /// reach it, and it ends in order.
    pub(super) fn start(program: &OsStr) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args(["cluster", "member"]).process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        stdin.as_ref().map_or(Ok(()), never_wait)?;
        stdout.as_ref().map_or(Ok(()), never_wait)?;
        let (pending, line) = (WriteBuffer::default(), Vec::new());
        Ok(Member { child, stdin, stdout, pending, line, closed: None, why: None, is_gone: false })
    }

    /// True once its end was returned.
    pub(super) fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Sends a line. One that cannot be sent is not an error here: the end of the output follows.
    pub(super) fn send(&mut self, line: &[u8]) {
        self.pending.push(line);
        self.write();
    }

    pub(super) fn write(&mut self) {
        if let Some(stdin) = &mut self.stdin
            && self.pending.write(stdin).is_err()
        {
            self.stdin = None;
        }
    }

    /// Closes its input: it ends in order, and keeps its result.
    pub(super) fn close(&mut self) {
        self.stdin = None;
    }

    /// Ends it and its workers, whatever state they are in.
    pub(super) fn kill(&mut self) {
        self.stdin = None;
        kill(&mut self.child);
    }

    /// Its output, and its input if something is to be written.
    pub(super) fn streams(&self) -> (Option<BorrowedFd<'_>>, Option<BorrowedFd<'_>>) {
        let input = self.stdin.as_ref().filter(|_| !self.pending.is_empty());
        (self.stdout.as_ref().map(AsFd::as_fd), input.map(AsFd::as_fd))
    }

    /// The lines that have arrived.
    pub(super) fn read(&mut self) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        let Some(stdout) = &mut self.stdout else { return lines };
        let line = &mut self.line;
        let state = read_all(stdout, |mut bytes| {
            while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
                let (before, after) = bytes.split_at(end + 1);
                line.extend_from_slice(before);
                lines.push(std::mem::take(line));
                bytes = after;
            }
            line.extend_from_slice(bytes);
        });
        if self.line.len() >= LONGEST_LINE {
            self.why = Some("it sent a line that is longer than any result".to_owned());
            self.kill();
        }
        if state == Stream::Ended {
            self.stdout = None;
        }
        lines
    }

    /// How it ended, once: some time after the end of its output it counts as ended, whatever its process does.
    pub(super) fn ending(&mut self) -> Option<String> {
        if self.is_gone {
            return None;
        }
        let status = self.child.try_wait().ok().flatten();
        if self.stdout.is_none() || status.is_some() {
            self.closed.get_or_insert_with(Instant::now);
        }
        // A process that has exited may have left output that is not read yet.
        let is_read = self.stdout.is_none() && status.is_some();
        if !is_read && self.closed.is_none_or(|at| at.elapsed() < EXIT) {
            return None;
        }
        self.is_gone = true;
        let why = self.why.take();
        Some(why.unwrap_or_else(|| {
            cluster::ending(status.and_then(|status| status.signal()), status.and_then(|status| status.code()))
        }))
    }
}

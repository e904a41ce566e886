//! The lines of a stream on their way to its reader, who may be slow.
//!
//! A run never waits for the reader: while it goes on, a thread writes what the reader takes, and what finds no room in
//! the queue is lost and counted. The thread starts when all workers are forked and ends with the run, because a
//! process with threads cannot be forked safely. Before and after the run the caller's thread writes.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Most bytes that wait for the reader: half an hour of a run with one device.
const MOST_BYTES: usize = 4 << 20;
/// Bytes of one write. If poll(2) says that a pipe has room, it has room for a page (pipe(7): PIPE_BUF).
const CHUNK: usize = 4096;
/// Longest wait for the reader before it is asked again if the run has ended.
const LOOK: Duration = Duration::from_millis(50);
/// A write that takes longer than this does not end.
const STUCK: Duration = Duration::from_secs(5);

pub(super) struct Queue {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
}

struct Shared {
    file: File,
    is_socket: bool,
    state: Mutex<State>,
    changed: Condvar,
}

/// Lines that wait, and the number of those that are lost.
#[derive(Debug, Default)]
struct State {
    lines: VecDeque<Vec<u8>>,
    /// Bytes of `lines`.
    bytes: usize,
    /// Bytes of the first line that are written.
    written: usize,
    lost: u64,
    error: Option<io::Error>,
    /// The run has ended: the thread ends, too.
    is_over: bool,
}

/// Outcome of an attempt to write.
enum Wrote {
    Some,
    /// The reader has not taken what it got before.
    Waiting,
    /// Nothing waits, or nothing can be written any more.
    Nothing,
}

impl Queue {
    pub(super) fn new(file: File) -> Self {
        let is_socket = rustix::fs::fstat(&file)
            .is_ok_and(|found| rustix::fs::FileType::from_raw_mode(found.st_mode) == rustix::fs::FileType::Socket);
        let shared = Shared { file, is_socket, state: Mutex::default(), changed: Condvar::new() };
        Queue { shared: Arc::new(shared), writer: None }
    }

    /// Adds a line if there is room for it, else it is lost. Never waits for the reader.
    pub(super) fn push(&self, line: String) {
        let mut state = self.shared.state();
        if state.error.is_some() || state.bytes + line.len() > MOST_BYTES {
            state.lost += 1;
            return;
        }
        state.bytes += line.len();
        state.lines.push_back(line.into_bytes());
        drop(state);
        self.shared.changed.notify_one();
    }

    /// Lets a thread write from now on. If there can be none, lines wait until the run has ended.
    pub(super) fn start(&mut self) {
        if self.writer.is_some() {
            return;
        }
        self.shared.state().is_over = false;
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name("plumb-stream".to_owned());
        self.writer = thread.spawn(move || shared.write_until_over()).ok();
    }

    /// Ends the thread, within [`LOOK`] and the write that it is in. A write that does not end, to a file on a stuck
    /// device, ends the stream.
    pub(super) fn stop(&mut self) {
        let Some(writer) = self.writer.take() else { return };
        self.shared.state().is_over = true;
        self.shared.changed.notify_one();
        let until = Instant::now() + STUCK;
        while !writer.is_finished() {
            if Instant::now() > until {
                let mut state = self.shared.state();
                state.forget();
                state.error = Some(io::ErrorKind::TimedOut.into());
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // A panic of the thread was printed; what it has not written, this thread writes or counts as lost.
        let _ = writer.join();
    }

    /// Writes what the reader takes within this time, on the caller's thread. True if nothing waits any more.
    pub(super) fn drain(&mut self, patience: Duration) -> bool {
        self.stop();
        let until = Instant::now() + patience;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.shared.write_some(left.min(LOOK)) {
                Wrote::Nothing => return true,
                Wrote::Waiting if left.is_zero() => return false,
                Wrote::Some | Wrote::Waiting => {}
            }
        }
    }

    /// Number of lines that are lost so far.
    pub(super) fn lost(&self) -> u64 {
        self.shared.state().lost
    }

    /// The error that ended the stream, if one did. Nothing is written after it.
    pub(super) fn error(&self) -> Option<io::Error> {
        let state = self.shared.state();
        let error = state.error.as_ref()?;
        Some(error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error))
    }

    /// Gives up what still waits. Returns the number of all lines that were lost, one of them perhaps in part.
    pub(super) fn give_up(mut self) -> u64 {
        self.stop();
        let mut state = self.shared.state();
        state.forget();
        state.lost
    }
}

impl State {
    /// Counts what waits as lost.
    fn forget(&mut self) {
        self.lost += self.lines.len() as u64;
        self.lines.clear();
        (self.bytes, self.written) = (0, 0);
    }

    /// Notes that the reader got this many bytes more.
    fn took(&mut self, bytes: usize) {
        let Some(first) = self.lines.front() else { return };
        self.written += bytes;
        if self.written >= first.len() {
            (self.bytes, self.written) = (self.bytes - first.len(), 0);
            self.lines.pop_front();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_until_over(&self) {
        loop {
            let mut state = self.state();
            while state.lines.is_empty() && !state.is_over {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.is_over {
                return;
            }
            drop(state);
            let _ = self.write_some(LOOK);
        }
    }

    /// Writes the next bytes of the first line, if the reader takes some within this time.
    fn write_some(&self, patience: Duration) -> Wrote {
        let Some(chunk) = self.next_chunk() else { return Wrote::Nothing };
        let wrote = match self.has_room(patience) {
            Ok(false) => return Wrote::Waiting,
            Ok(true) => self.put(&chunk),
            Err(error) => Err(error),
        };
        match wrote {
            Ok(bytes) => {
                self.state().took(bytes);
                Wrote::Some
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Wrote::Waiting
            }
            Err(error) => {
                let mut state = self.state();
                state.forget();
                state.error = Some(error);
                Wrote::Nothing
            }
        }
    }

    fn next_chunk(&self) -> Option<Vec<u8>> {
        let state = self.state();
        let rest = state.lines.front()?.get(state.written..)?;
        Some(rest.iter().take(CHUNK).copied().collect())
    }

    /// True if a chunk can be written without waiting, or the write will say why not.
    fn has_room(&self, patience: Duration) -> io::Result<bool> {
        let timeout = Timespec::try_from(patience).map_err(io::Error::other)?;
        Ok(poll(&mut [PollFd::new(&self.file, PollFlags::OUT)], Some(&timeout))? > 0)
    }

    fn put(&self, chunk: &[u8]) -> io::Result<usize> {
        // A socket may have room for a part of the chunk.
        let flags = rustix::net::SendFlags::DONTWAIT | rustix::net::SendFlags::NOSIGNAL;
        if self.is_socket { Ok(rustix::net::send(&self.file, chunk, flags)?) } else { (&self.file).write(chunk) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn pipe() -> (Queue, File) {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        (Queue::new(File::from(writer)), File::from(reader))
    }

    fn line(number: usize) -> String {
        format!("{number:>999}\n")
    }

    #[test]
    fn lines_arrive_whole_and_in_order_during_and_after_the_run() {
        let (mut queue, mut reader) = pipe();
        let read = std::thread::spawn(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).unwrap();
            text
        });
        queue.push(line(0));
        queue.start();
        (1..1000).for_each(|number| queue.push(line(number)));
        queue.stop();
        queue.push(line(1000));
        assert!(queue.drain(Duration::from_secs(10)));
        assert_eq!((queue.lost(), queue.give_up()), (0, 0));
        let numbers: Vec<usize> = read.join().unwrap().lines().map(|line| line.trim().parse().unwrap()).collect();
        assert_eq!(numbers, (0..=1000).collect::<Vec<_>>());
    }

    #[test]
    fn an_unread_pipe_delays_nothing_and_lost_lines_are_counted() {
        let (mut queue, mut reader) = pipe();
        queue.start();
        let began = Instant::now();
        (0..10_000).for_each(|number| queue.push(line(number)));
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
        assert!(!queue.drain(Duration::ZERO));
        // 10 MB in lines of 1,000 bytes: some are in the pipe, 4 MiB of them wait.
        let lost = queue.lost();
        assert!((5_000..6_000).contains(&lost), "{lost}");
        let given_up = queue.give_up();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text.lines().filter(|line| line.len() == 999).count() as u64 + given_up, 10_000);
    }

    #[test]
    fn a_reader_that_wakes_up_gets_what_waited() {
        let (mut queue, mut reader) = pipe();
        (0..200).for_each(|number| queue.push(line(number)));
        assert!(!queue.drain(Duration::from_millis(60)), "a pipe has room for 65,536 bytes");
        let read = std::thread::spawn(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).unwrap();
            text.lines().count()
        });
        assert!(queue.drain(Duration::from_secs(10)));
        assert_eq!(queue.give_up(), 0);
        assert_eq!(read.join().unwrap(), 200);
    }

    #[test]
    fn a_reader_that_is_gone_is_an_error() {
        let (mut queue, reader) = pipe();
        drop(reader);
        queue.push(line(1));
        assert!(queue.drain(Duration::from_secs(1)), "nothing waits any more");
        assert_eq!(queue.error().map(|error| error.kind()), Some(io::ErrorKind::BrokenPipe));
        queue.push(line(2));
        assert_eq!(queue.lost(), 2);
    }

    #[test]
    fn a_socket_is_not_waited_for_either() {
        let (mine, mut other) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut queue = Queue::new(File::from(std::os::fd::OwnedFd::from(mine)));
        queue.start();
        (0..1000).for_each(|number| queue.push(line(number)));
        assert!(!queue.drain(Duration::ZERO));
        let read = std::thread::spawn(move || {
            let mut text = String::new();
            other.read_to_string(&mut text).unwrap();
            text.lines().count()
        });
        assert!(queue.drain(Duration::from_secs(10)));
        assert_eq!(queue.give_up(), 0);
        assert_eq!(read.join().unwrap(), 1000);
    }
}

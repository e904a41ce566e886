//! Keyboard input, and detection of a closed terminal.
//!
//! Keys are read on a separate thread, because crossterm does not return if the terminal was closed (it reads the end
//! of file again and again) or if a key's escape sequence is incomplete. The main loop polls the terminal and the
//! signals.

use ratatui::crossterm::event::{self, Event};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// Maximum number of events that wait to be processed.
const WAITING: usize = 64;

/// The outcome of waiting for a key.
#[derive(Debug)]
pub(super) enum Heard {
    Event(Event),
    /// No event in the given time.
    Nothing,
    Gone,
}

/// The keyboard.
#[derive(Debug)]
pub(super) struct Keys(Receiver<io::Result<Event>>);

impl Keys {
    /// Starts to read events. The thread ends with the process, because a read in crossterm cannot be cancelled.
    pub(super) fn listen() -> Keys {
        let (sender, keys) = sync_channel(WAITING);
        std::thread::spawn(move || {
            loop {
                let read = event::read();
                let is_last = read.is_err();
                if sender.send(read).is_err() || is_last {
                    break;
                }
            }
        });
        Keys(keys)
    }

    /// Waits up to `time` for the next event.
    pub(super) fn wait(&self, time: Duration) -> io::Result<Heard> {
        if is_gone() {
            return Ok(Heard::Gone);
        }
        match self.0.recv_timeout(time) {
            Ok(Ok(event)) => Ok(Heard::Event(event)),
            Err(RecvTimeoutError::Timeout) => Ok(Heard::Nothing),
            _ if is_gone() => Ok(Heard::Gone),
            Ok(Err(error)) => Err(error),
            Err(RecvTimeoutError::Disconnected) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

/// True if the other end of the terminal was closed: its window, tmux, or the network connection.
pub(super) fn is_gone() -> bool {
    let stdin = io::stdin();
    let mut asked = [PollFd::new(&stdin, PollFlags::empty())];
    // poll(2) always reports POLLHUP and POLLERR. After EINTR the next call checks again.
    let polled = poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    polled.is_ok() && asked[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}

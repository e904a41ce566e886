//! What is pressed, and whether the terminal is still there.
//!
//! Keys are read on a thread of their own: crossterm does not return from a terminal that was closed (it reads the end of
//! it again and again), and not from half of a key's sequence. The loop beside it asks the kernel and the signals.

use ratatui::crossterm::event::{self, Event};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// As many as may wait to be looked at.
const WAITING: usize = 64;

/// What came of waiting for a key.
#[derive(Debug)]
pub(super) enum Heard {
    /// This.
    Event(Event),
    /// Nothing in the given time.
    Nothing,
    /// The terminal was closed.
    Gone,
}

/// The keyboard of the screen.
#[derive(Debug)]
pub(super) struct Keys(Receiver<io::Result<Event>>);

impl Keys {
    /// Listens from now on. The thread ends with the process: nothing else ends crossterm's reading.
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

    /// Waits for the next event, for so long.
    ///
    /// # Errors
    /// When keys cannot be read, though the terminal is there.
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

/// Whether the other side of the terminal was closed: its window, tmux, the connection.
pub(super) fn is_gone() -> bool {
    let stdin = io::stdin();
    let mut asked = [PollFd::new(&stdin, PollFlags::empty())];
    // These two are always told. What a signal interrupts is asked again by the next look.
    let told = poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    told.is_ok() && asked[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}

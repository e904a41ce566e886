//! The orders of a leader, which come through standard input, and the answers to it, on standard output.

use crate::failure::Failure;
use crate::output::Output;
use cluster::{Answer, Order};
use measure::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Length of the longest order in bytes: a task with its job files.
const LONGEST_ORDER: usize = 128 << 20;

/// The orders in standard input, line by line.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    read: Vec<u8>,
    /// Length of the part of `read` that has no line end.
    searched: usize,
}

/// The content of the input.
pub(crate) enum Input {
    Order(Order),
    /// Nothing yet.
    Nothing,
    /// The leader has closed it.
    End,
}

impl Orders {
    /// Waits for an order.
    pub(crate) fn wait(&mut self) -> Result<Input, Failure> {
        self.next(None)
    }

    /// Waits for an order for this time.
    pub(crate) fn within(&mut self, time: Nanos) -> Result<Input, Failure> {
        let (seconds, rest) = (time.get() / Nanos::SECOND.get(), time.get() % Nanos::SECOND.get());
        let timeout = Timespec {
            tv_sec: i64::try_from(seconds).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(rest).unwrap_or_default(),
        };
        self.next(Some(&timeout))
    }

    /// Takes an order that has arrived.
    pub(crate) fn look(&mut self) -> Result<Input, Failure> {
        self.next(Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))
    }

    fn next(&mut self, timeout: Option<&Timespec>) -> Result<Input, Failure> {
        loop {
            if let Some(end) = self.read[self.searched..].iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=self.searched + end).collect();
                self.searched = 0;
                let text = String::from_utf8_lossy(&line);
                return cluster::order(text.trim()).map(Input::Order).map_err(|error| {
                    Failure::new(format!(
                        "cluster member: {error}; plumb starts members itself: plumb cluster --hosts LIST fio ..."
                    ))
                });
            }
            self.searched = self.read.len();
            if self.read.len() > LONGEST_ORDER {
                return Err(Failure::new("cluster member: a line without end"));
            }
            let stdin = std::io::stdin();
            let mut asked = [PollFd::new(&stdin, PollFlags::IN)];
            match poll(&mut asked, timeout) {
                Ok(0) => return Ok(Input::Nothing),
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let mut bytes = [0; 1 << 16];
            match rustix::io::read(&stdin, &mut bytes) {
                Ok(0) => return Ok(Input::End),
                Ok(count) => self.read.extend_from_slice(&bytes[..count]),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Sends an answer to the leader.
pub(crate) fn say(answer: &Answer) -> Result<(), Failure> {
    Output::stdout().write(&cluster::line(answer)?)
}

//! Connections to servers: who is at the other end is known before anything else is sent.

use super::socket::Socket;
use crate::cluster::PROGRAM;
use crate::cluster::carrier::{Arrival, Connection};
use crate::failure::Failure;
use cluster::{Address, Foreign, LONGEST_LINE, Opening, PROTOCOL};
use measure::Nanos;
use std::io::{self, BufRead, BufReader, Cursor, Read, Write};
use std::sync::mpsc::Sender;
use std::time::Duration;

/// Longest wait for the greeting of a server.
const GREETING: Nanos = Nanos::from_secs(10);

/// A server that has greeted.
pub(super) struct Greeted {
    /// Its greeting, which the leader reads first.
    first: Vec<u8>,
    reader: BufReader<Socket>,
}

impl Greeted {
    /// Connects to a server and learns what it is. The error is a sentence about it.
    pub(super) fn meet(address: &Address, silence: Nanos) -> Result<Self, Failure> {
        let patience = silence.min(GREETING).as_duration();
        let mut socket = Socket::connect(address).map_err(|error| Failure::new(format!("cannot connect: {error}")))?;
        let lost = |error: io::Error| Failure::new(sentence(&error, patience));
        socket.set_read_timeout(Some(patience)).map_err(lost)?;
        let opening = Opening { protocol: PROTOCOL, program: PROGRAM.to_owned() };
        socket.write_all(opening.line().as_bytes()).map_err(lost)?;
        let mut reader = BufReader::new(socket);
        let first = first_line(&mut reader).map_err(lost)?;
        if first.is_empty() {
            return Err(Failure::new("it closed the connection without a word; it is not plumb, or it was ended"));
        }
        if let Some(refusal) = cluster::refusal(&first) {
            return Err(Failure::new(format!("the server refuses: {}", refusal.why)));
        }
        if first.first() != Some(&b'{') {
            return Err(Failure::new(format!("it is {}", Foreign::of(&first))));
        }
        reader.get_ref().set_read_timeout(None).map_err(lost)?;
        Ok(Greeted { first, reader })
    }

    /// The connection for a leader.
    pub(super) fn connection(self, to: (usize, &Sender<Arrival>)) -> Result<Connection, Failure> {
        let socket = self.reader.get_ref();
        let (writer, hangup) = (socket.try_clone()?, Box::new(socket.try_clone()?));
        Connection::over((Cursor::new(self.first).chain(self.reader), writer), hangup, to)
    }
}

/// The first line, or the first bytes of a program that does not begin with a line of JSON.
fn first_line(reader: &mut BufReader<Socket>) -> io::Result<Vec<u8>> {
    let head = reader.fill_buf()?;
    if head.first() != Some(&b'{') {
        return Ok(head.to_vec());
    }
    let mut line = Vec::new();
    reader.take(LONGEST_LINE as u64).read_until(b'\n', &mut line)?;
    Ok(line)
}

fn sentence(error: &io::Error, patience: Duration) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("it accepted the connection and said nothing for {patience:?}: it is stopped, or it is not plumb")
        }
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            "it closed the connection without a word; it is not plumb, or it was ended".to_owned()
        }
        _ => error.to_string(),
    }
}

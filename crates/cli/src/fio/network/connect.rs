//! Connections to servers: who is at the other end is known before anything else is sent.

use crate::failure::Failure;
use crate::members::PROGRAM;
use crate::members::carrier::{Connection, Mailbox};
use crate::network::secret::{Handshake, Purpose, Secret};
use crate::network::socket::{Socket, connect};
use cluster::{Address, Foreign, LONGEST_LINE, Opening, PROTOCOL, Protection};
use measure::Nanos;
use std::io::{self, BufRead, BufReader, Cursor, Read, Write};
use std::time::Duration;

/// Longest wait for the greeting of a server.
const GREETING: Nanos = Nanos::from_secs(10);

/// A server that has greeted.
pub(super) struct ServerLink {
    /// Its greeting, which the leader reads first.
    first: Vec<u8>,
    reader: Box<dyn Read + Send>,
    writer: Box<dyn Write + Send>,
    socket: Socket,
}

impl ServerLink {
    /// Connects to a server and learns what it is. The error is a sentence about it.
    pub(super) fn meet(address: &Address, silence: Nanos, secret: Option<&Secret>) -> Result<Self, Failure> {
        let protection = if secret.is_some() { Protection::Secret } else { Protection::None };
        let patience = silence.min(GREETING).as_duration();
        let mut socket = connect(address).map_err(|error| Failure::new(format!("cannot connect: {error}")))?;
        let lost = |error: io::Error| Failure::new(sentence(&error, patience));
        socket.set_read_timeout(Some(patience)).map_err(lost)?;
        let opening = Opening { protocol: PROTOCOL, program: PROGRAM.to_owned(), protection };
        socket.write_all(opening.line().as_bytes()).map_err(lost)?;
        let half = secret.map(|secret| secret.begin(Purpose::Client, &mut socket)).transpose().map_err(lost)?;
        let mut reader = BufReader::new(socket.try_clone().map_err(lost)?);
        let begins_handshake = matches!(reader.fill_buf().map_err(lost)?, [0, ..]);
        let (mut reader, writer): Ends = match half {
            Some(half) if begins_handshake => protected(half, reader, &socket).map_err(lost)?,
            // It refuses in plain text, or is another program.
            _ => (Box::new(reader), Box::new(socket.try_clone().map_err(lost)?)),
        };
        let first = first_line(&mut *reader).map_err(lost)?;
        if first.is_empty() {
            return Err(Failure::new("it closed the connection without a word; it is not plumb, or it was ended"));
        }
        if let Some(refusal) = cluster::refusal(&first) {
            return Err(Failure::new(format!("the server refuses: {}", refusal.why)));
        }
        if first.first() != Some(&b'{') {
            return Err(Failure::new(format!("it is {}", Foreign::of(&first))));
        }
        if secret.is_some() && !begins_handshake {
            return Err(Failure::new("it answered without the secret; nothing was sent to it"));
        }
        socket.set_read_timeout(None).map_err(lost)?;
        Ok(ServerLink { first, reader: Box::new(reader), writer, socket })
    }

    pub(super) fn connection(self, mailbox: Mailbox) -> Result<Connection, Failure> {
        let reader = Cursor::new(self.first).chain(self.reader);
        Connection::over(reader, self.writer, self.socket, "the server closed the connection", mailbox)
    }
}

/// The two directions of a connection once the handshake is done.
type Ends = (Box<dyn BufRead + Send>, Box<dyn Write + Send>);

fn protected(half: Handshake, mut reader: BufReader<Socket>, socket: &Socket) -> io::Result<Ends> {
    let keys = half.finish(&mut reader)?;
    Ok((Box::new(BufReader::new(keys.opened(reader))), Box::new(keys.sealed(socket.try_clone()?))))
}

/// The first line, or the first bytes of a program that does not begin with a line of JSON.
fn first_line(reader: &mut dyn BufRead) -> io::Result<Vec<u8>> {
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
        io::ErrorKind::InvalidData => "its secret is another one".to_owned(),
        _ => error.to_string(),
    }
}

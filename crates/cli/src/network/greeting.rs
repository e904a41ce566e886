//! The first line on a connection that was accepted: who is at the other end is known before anything else is read, and
//! no one can keep others waiting for long.

use super::secret::{Protection, Purpose, Secret};
use super::socket::Socket;
use crate::pages::MADE_BY;
use cluster::{Joining, PROTOCOL, Refusal};
use std::fmt::Display;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Connections that may be greeting at a time, and the time that they have.
const GREETINGS: usize = 4;
pub(crate) const GREETING: Duration = Duration::from_secs(10);
/// Length of the longest first line in bytes.
const LONGEST: usize = 4096;
/// First bytes by which another program is known.
const FOREIGN_BYTES: usize = 16;

/// A connection that did not begin with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GreetingError {
    /// Too many others are greeting.
    Crowd,
    /// It said nothing, or too much.
    Mute,
    /// It has closed the connection: a look at the port.
    Gone,
}

impl Display for GreetingError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            GreetingError::Crowd => write!(f, "more than {GREETINGS} connections are greeting"),
            GreetingError::Mute => write!(f, "it did not send a greeting within {} s", GREETING.as_secs()),
            GreetingError::Gone => f.write_str("it has closed the connection"),
        }
    }
}

/// Number of connections that have not shown yet what they are.
#[derive(Debug, Default)]
pub(crate) struct Greetings(AtomicUsize);

impl Greetings {
    /// Counts a connection until the returned value is dropped; `None` if there are too many.
    fn enter(&self) -> Option<InGreeting<'_>> {
        let entered = InGreeting(self);
        (self.0.fetch_add(1, Ordering::SeqCst) < GREETINGS).then_some(entered)
    }

    /// True if another connection may greet.
    pub(crate) fn have_room(&self) -> bool {
        self.0.load(Ordering::SeqCst) < GREETINGS
    }
}

#[derive(Debug)]
pub(crate) struct InGreeting<'a>(&'a Greetings);

impl Drop for InGreeting<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Greetings {
    /// Learns who has connected, and lets `admit` take it, which drops the last value once it has greeted. One that is
    /// refused gets the reason, which is returned.
    pub(crate) fn meet<T, E: Display>(
        &self,
        socket: &mut Socket,
        read: impl FnOnce(&[u8]) -> Result<T, E>,
        admit: impl FnOnce(&mut Socket, T, Option<InGreeting<'_>>) -> Result<(), String>,
    ) -> Option<String> {
        let greeting = self.enter();
        let line = if greeting.is_some() { first_line(socket) } else { Err(GreetingError::Crowd) };
        let why = match line.map(|line| read(&line)) {
            Ok(Ok(found)) => admit(socket, found, greeting).err()?,
            Ok(Err(error)) => error.to_string(),
            Err(GreetingError::Gone) => return None,
            Err(unmet) => unmet.to_string(),
        };
        let refusal = Refusal { protocol: PROTOCOL, program: MADE_BY.to_owned(), why: why.clone() };
        // It may be gone.
        let _ = socket.write_all(refusal.line().as_bytes());
        Some(why)
    }
}

/// Answers a handshake, which has the time of a greeting. An error is another secret at the other end.
pub(crate) fn handshake(secret: &Secret, purpose: Purpose, socket: &mut Socket) -> io::Result<Protection> {
    let _ = socket.set_read_timeout(Some(GREETING));
    let keys = secret.answer(purpose, socket)?;
    let _ = socket.set_read_timeout(None);
    Ok(keys)
}

/// The keys of a connection whose other end has greeted, if there is a secret. The error is the reason why it is refused.
pub(crate) fn proven(
    joining: &Joining,
    secret: Option<&Secret>,
    purpose: Purpose,
    socket: &mut Socket,
) -> Result<Option<Protection>, String> {
    let (here, there) = match purpose {
        Purpose::Witness => ("witness", "writer"),
        Purpose::Client | Purpose::Join => ("leader", "member"),
    };
    match (joining.protection, secret) {
        (cluster::Protection::None, None) => Ok(None),
        (cluster::Protection::None, Some(_)) => {
            Err(format!("this {here} has a secret; give the {there} the same --secret-file"))
        }
        (cluster::Protection::Secret, None) => Err(format!("this {here} was started without --secret-file")),
        (cluster::Protection::Secret, Some(secret)) => handshake(secret, purpose, socket)
            .map(Some)
            .map_err(|_| format!("the secret of the {there} is not that of this {here}")),
    }
}

/// Reads the first line, and no byte more: those that follow are for another process, or are encrypted. Of another
/// program it reads the first bytes.
pub(crate) fn first_line(socket: &Socket) -> Result<Vec<u8>, GreetingError> {
    let until = Instant::now() + GREETING;
    let mut reader = socket.try_clone().map_err(|_| GreetingError::Gone)?;
    let mut line = Vec::new();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || line.len() > LONGEST {
            return Err(GreetingError::Mute);
        }
        let _ = socket.set_read_timeout(Some(left));
        let mut byte = [0];
        match reader.read(&mut byte) {
            Ok(0) if line.is_empty() => return Err(GreetingError::Gone),
            Ok(0) => break,
            Ok(_) => line.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Err(GreetingError::Mute),
        }
        let is_line = line.first() == Some(&b'{') && line.ends_with(b"\n");
        if is_line || line.first() != Some(&b'{') && line.len() >= FOREIGN_BYTES {
            break;
        }
    }
    let _ = socket.set_read_timeout(None);
    Ok(line)
}

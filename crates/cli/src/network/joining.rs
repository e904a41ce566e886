//! The end that connects, until the other end has taken it: a member that joins its leader, a writer and its witness.

use super::greeting::{GREETING, GreetingError, first_line};
use super::secret::{Protection as Keys, Purpose, Secret};
use super::served_process::EncryptedStream;
use super::socket::{Socket, connect};
use crate::failure::Failure;
use crate::members::PROGRAM;
use crate::output::print_error;
use cluster::{Address, Admission, Foreign, Joining, PROTOCOL, Protection, Role};
use measure::Nanos;
use std::io::{self, BufRead, BufReader, Cursor, Read, Write};
use std::time::{Duration, Instant};

/// Time between two attempts to connect.
const AGAIN: Duration = Duration::from_millis(500);

/// The end that connects.
pub(crate) struct Caller<'a> {
    pub(crate) purpose: Purpose,
    /// The number that a member is to have; `None` for any.
    pub(crate) rank: Option<u32>,
    pub(crate) secret: Option<&'a Secret>,
}

impl Caller<'_> {
    /// The other end, the option that names it, and the role in which this end greets.
    fn words(&self) -> (&'static str, &'static str, Role) {
        match self.purpose {
            Purpose::Witness => ("witness", "durable: --witness", Role::Writer),
            Purpose::Client | Purpose::Join => ("leader", "cluster: --join", Role::Member),
        }
    }
}

/// A connection to an end that has taken this one.
pub(crate) struct Membership {
    pub(crate) admission: Admission,
    pub(crate) socket: Socket,
    pub(crate) encrypted: Option<EncryptedStream<Box<dyn Read + Send>>>,
}

/// An attempt that failed.
enum Attempt {
    /// There is none yet.
    NotYet(String),
    /// It will not change.
    Final(String),
}

/// Connects until the other end takes this one. `None` if the user has ended it.
pub(crate) fn admitted(
    address: &Address,
    caller: &Caller<'_>,
    within: Nanos,
    is_ended: &dyn Fn() -> bool,
) -> Result<Option<Membership>, Failure> {
    let begun = Instant::now();
    let within = within.as_duration();
    let mut is_first = true;
    let (other, option, _) = caller.words();
    loop {
        let why = match attempt(address, caller) {
            Ok(joined) => return Ok(Some(joined)),
            Err(Attempt::Final(why)) => return Err(Failure::new(format!("{option} {}: {why}", address.name()))),
            Err(Attempt::NotYet(why)) => why,
        };
        if begun.elapsed() >= within {
            return Err(Failure::new(format!("{option} {}: no {other} within {within:?}: {why}", address.name())));
        }
        if std::mem::take(&mut is_first) {
            let command = option.split(':').next().unwrap_or_default();
            let name = address.name();
            print_error(&format!("plumb: {command}: no {other} at {name} yet ({why}); trying for {within:?}"));
        }
        let again = Instant::now() + AGAIN.min(within.saturating_sub(begun.elapsed()));
        while Instant::now() < again {
            if is_ended() {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn attempt(address: &Address, caller: &Caller<'_>) -> Result<Membership, Attempt> {
    let Caller { purpose, rank, secret } = *caller;
    let (other, _, role) = caller.words();
    let lost = |error: io::Error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            Attempt::NotYet(format!("it accepted the connection and said nothing for {} s", GREETING.as_secs()))
        }
        io::ErrorKind::InvalidData => Attempt::Final("its secret is another one".to_owned()),
        _ => Attempt::NotYet(error.to_string()),
    };
    let mut socket = connect(address).map_err(|error| Attempt::NotYet(error.to_string()))?;
    let protection = if secret.is_some() { Protection::Secret } else { Protection::None };
    let joining = Joining { protocol: PROTOCOL, program: PROGRAM.to_owned(), protection, rank, role };
    socket.write_all(joining.line().as_bytes()).map_err(lost)?;
    socket.set_read_timeout(Some(GREETING)).map_err(lost)?;
    let Some(secret) = secret else {
        let line = first_line(&socket).map_err(|unmet| match unmet {
            GreetingError::Gone => Attempt::NotYet("it closed the connection without a word".to_owned()),
            other => Attempt::NotYet(other.to_string()),
        })?;
        return Ok(Membership { admission: read(&line, other)?, socket, encrypted: None });
    };
    let half = secret.begin(purpose, &mut socket).map_err(lost)?;
    let mut first = [0];
    if socket.read(&mut first).map_err(lost)? == 0 {
        return Err(Attempt::NotYet("it closed the connection without a word".to_owned()));
    }
    if first != [0] {
        // It refuses in plain text, or is another program.
        let mut line = first.to_vec();
        let _ = BufReader::new(socket.try_clone().map_err(lost)?).take(4096).read_until(b'\n', &mut line);
        read(&line, other)?;
        return Err(Attempt::Final("it answered without the secret; nothing was sent to it".to_owned()));
    }
    let keys = half.finish(&mut Cursor::new(first).chain(socket.try_clone().map_err(lost)?)).map_err(lost)?;
    protected(socket, keys, other).map_err(lost)?
}

/// Reads the answer behind the handshake.
fn protected(socket: Socket, keys: Keys, other: &str) -> io::Result<Result<Membership, Attempt>> {
    let mut reader = BufReader::new(keys.opened(socket.try_clone()?));
    let mut line = Vec::new();
    (&mut reader).take(4096).read_until(b'\n', &mut line)?;
    socket.set_read_timeout(None)?;
    let reader: Box<dyn Read + Send> = Box::new(reader);
    Ok(read(&line, other).map(|admission| Membership {
        admission,
        socket,
        encrypted: Some(EncryptedStream { reader, keys }),
    }))
}

/// The answer of the other end.
fn read(line: &[u8], other: &str) -> Result<Admission, Attempt> {
    if let Some(admission) = cluster::admission(line) {
        return Ok(admission);
    }
    Err(match cluster::refusal(line) {
        Some(refusal) => Attempt::Final(format!("the {other} refuses: {}", refusal.why)),
        None if line.is_empty() => Attempt::NotYet("it closed the connection without a word".to_owned()),
        None => Attempt::Final(format!("it is {}", Foreign::of(line))),
    })
}

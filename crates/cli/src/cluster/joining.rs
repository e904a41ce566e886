//! `plumb cluster --join`: a member that connects to its leader, with patience, and what that leader may do here.

use super::tcp::{JOIN_WITHIN, TcpArgs};
use crate::failure::Failure;
use crate::members::{PROGRAM, lead};
use crate::network::allowed_paths;
use crate::network::greeting::{GREETING, GreetingError, first_line};
use crate::network::secret::{Protection as Keys, Purpose, Secret};
use crate::network::served_process::{EncryptedStream, ServedProcess};
use crate::network::socket::{Socket, connect};
use crate::output::{Verbosity, print_error};
use cluster::{Address, Admission, Foreign, Joining, PROTOCOL, Protection};
use measure::Nanos;
use rustix::process::Signal;
use std::io::{self, BufRead, BufReader, Cursor, Read, Write};
use std::time::{Duration, Instant};

/// Time between two attempts to connect.
const AGAIN: Duration = Duration::from_millis(500);

/// Joins a leader, and is its member until the end.
pub(super) fn join(args: &TcpArgs, directory: Option<&str>, verbosity: Verbosity) -> Result<u8, Failure> {
    let address = args.leader()?.ok_or_else(|| Failure::new("cluster: --join needs the address of a leader"))?;
    let secret = Secret::given(args.secret_file.as_deref())?;
    let words = args.member_words(secret.as_ref(), verbosity)?;
    if let Some(directory) = directory {
        std::env::set_current_dir(directory).map_err(|error| Failure::at(std::path::Path::new(directory), error))?;
    }
    let signals = lead::signals()?;
    let within = args.join_within.unwrap_or(JOIN_WITHIN);
    let Some(joined) = admitted(&address, args.rank, secret.as_ref(), within, &|| signals.caught().is_some())? else {
        return Ok(crate::failure::signal_status(signals.caught().unwrap_or_default()));
    };
    let Admission { rank, members } = joined.admission;
    verbosity.remark(&format!("plumb: cluster: member {rank} of {members}, led from {}", address.name()));
    let process = ServedProcess::start(&words, joined.socket, joined.encrypted)?;
    let mut seen = 0;
    let status = process.wait(|process| {
        if signals.count() > seen {
            process.signal(if seen == 0 { Signal::TERM } else { Signal::KILL });
            seen += 1;
        }
    });
    Ok(match status.and_then(|status| status.code()) {
        Some(0) => 0,
        _ => 1,
    })
}

impl TcpArgs {
    /// The words of the process that is the member, with the rights of its leader.
    fn member_words(&self, secret: Option<&Secret>, verbosity: Verbosity) -> Result<Vec<String>, Failure> {
        let mut words = vec!["--joined".to_owned()];
        if secret.is_none() && !self.trust_leader {
            let allowed = allowed_paths(self.allow.iter().cloned())?;
            let paths = if allowed.is_empty() { String::new() } else { format!(" and {}", allowed.join(", ")) };
            verbosity.remark(&format!(
                "plumb: cluster: without a secret the leader may do what --untrusted lets a job file do, with files in this directory{paths} (docs/safety.md)"
            ));
            words.push("--untrusted".to_owned());
            words.extend(allowed.iter().map(|path| format!("--allow={path}")));
        } else if !self.allow.is_empty() {
            return Err(Failure::new(
                "cluster: --allow has no effect: with a secret or --trust-leader all is allowed that its user may",
            ));
        }
        Ok(words)
    }
}

/// A connection to a leader that has taken this member.
struct Membership {
    admission: Admission,
    socket: Socket,
    encrypted: Option<EncryptedStream<Box<dyn Read + Send>>>,
}

/// An attempt that failed.
enum Attempt {
    /// There is no leader yet.
    NotYet(String),
    /// It will not change.
    Final(String),
}

/// Connects until a leader takes this member. `None` if the user has ended it.
fn admitted(
    address: &Address,
    rank: Option<u32>,
    secret: Option<&Secret>,
    within: Nanos,
    is_ended: &dyn Fn() -> bool,
) -> Result<Option<Membership>, Failure> {
    let begun = Instant::now();
    let within = within.as_duration();
    let mut is_first = true;
    loop {
        let why = match attempt(address, rank, secret) {
            Ok(joined) => return Ok(Some(joined)),
            Err(Attempt::Final(why)) => return Err(Failure::new(format!("cluster: --join {}: {why}", address.name()))),
            Err(Attempt::NotYet(why)) => why,
        };
        if begun.elapsed() >= within {
            return Err(Failure::new(format!(
                "cluster: --join {}: no leader within {within:?}: {why}",
                address.name()
            )));
        }
        if std::mem::take(&mut is_first) {
            print_error(&format!("plumb: cluster: no leader at {} yet ({why}); trying for {within:?}", address.name()));
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

fn attempt(address: &Address, rank: Option<u32>, secret: Option<&Secret>) -> Result<Membership, Attempt> {
    let lost = |error: io::Error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            Attempt::NotYet(format!("it accepted the connection and said nothing for {} s", GREETING.as_secs()))
        }
        io::ErrorKind::InvalidData => Attempt::Final("its secret is another one".to_owned()),
        _ => Attempt::NotYet(error.to_string()),
    };
    let mut socket = connect(address).map_err(|error| Attempt::NotYet(error.to_string()))?;
    let protection = if secret.is_some() { Protection::Secret } else { Protection::None };
    let joining = Joining { protocol: PROTOCOL, program: PROGRAM.to_owned(), protection, rank };
    socket.write_all(joining.line().as_bytes()).map_err(lost)?;
    socket.set_read_timeout(Some(GREETING)).map_err(lost)?;
    let Some(secret) = secret else {
        let line = first_line(&socket).map_err(|unmet| match unmet {
            GreetingError::Gone => Attempt::NotYet("it closed the connection without a word".to_owned()),
            other => Attempt::NotYet(other.to_string()),
        })?;
        return Ok(Membership { admission: read(&line)?, socket, encrypted: None });
    };
    let half = secret.begin(Purpose::Join, &mut socket).map_err(lost)?;
    let mut first = [0];
    if socket.read(&mut first).map_err(lost)? == 0 {
        return Err(Attempt::NotYet("it closed the connection without a word".to_owned()));
    }
    if first != [0] {
        // It refuses in plain text, or is another program.
        let mut line = first.to_vec();
        let _ = BufReader::new(socket.try_clone().map_err(lost)?).take(4096).read_until(b'\n', &mut line);
        read(&line)?;
        return Err(Attempt::Final("it answered without the secret; nothing was sent to it".to_owned()));
    }
    let keys = half.finish(&mut Cursor::new(first).chain(socket.try_clone().map_err(lost)?)).map_err(lost)?;
    protected(socket, keys).map_err(lost)?
}

/// Reads the leader's answer behind the handshake.
fn protected(socket: Socket, keys: Keys) -> io::Result<Result<Membership, Attempt>> {
    let mut reader = BufReader::new(keys.opened(socket.try_clone()?));
    let mut line = Vec::new();
    (&mut reader).take(4096).read_until(b'\n', &mut line)?;
    socket.set_read_timeout(None)?;
    let reader: Box<dyn Read + Send> = Box::new(reader);
    Ok(read(&line).map(|admission| Membership { admission, socket, encrypted: Some(EncryptedStream { reader, keys }) }))
}

/// The leader's answer.
fn read(line: &[u8]) -> Result<Admission, Attempt> {
    if let Some(admission) = cluster::admission(line) {
        return Ok(admission);
    }
    Err(match cluster::refusal(line) {
        Some(refusal) => Attempt::Final(format!("the leader refuses: {}", refusal.why)),
        None if line.is_empty() => Attempt::NotYet("it closed the connection without a word".to_owned()),
        None => Attempt::Final(format!("it is {}", Foreign::of(line))),
    })
}

//! The carriers: a member is a process here, or one that the remote shell starts on another host, and its lines go through standard input and output;
//! or a server has started it or it has joined, and its lines go through a socket; or MPI has, and relays carry its lines (`relayed`).

use super::clock::now;
use super::relayed::Relayed;
use crate::failure::Failure;
use crate::network::socket::Hangup;
use cluster::{Answer, LONGEST_LINE, Order};
use measure::Nanos;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

/// Command to start a program on another host, unless `RSH` names another one. It never prompts, and has timeouts.
const REMOTE_SHELL: &str = "ssh -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15";
/// Time that a process has to exit after the end of its output.
const EXIT: Duration = Duration::from_millis(500);

/// Where a member runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// On this machine.
    Local,
    /// On this host.
    Host(String),
}

impl Place {
    /// The name of the host; that of this machine for a local member.
    pub(crate) fn host(&self) -> String {
        match self {
            Place::Local => {
                sys::machine::host::name(std::path::Path::new("/")).unwrap_or_else(|| "localhost".to_owned())
            }
            // A user's name is not part of it.
            Place::Host(name) => name.rsplit('@').next().unwrap_or(name).to_owned(),
        }
    }

    /// The place as it was given.
    pub(crate) fn name(&self) -> String {
        match self {
            Place::Local => "local".to_owned(),
            Place::Host(name) => name.clone(),
        }
    }
}

/// A message of a member, or its end, with the time.
pub(crate) struct Arrival {
    pub(crate) rank: usize,
    pub(crate) at: Nanos,
    pub(crate) what: Arrived,
}

/// A message, or the end of a member's output.
pub(crate) enum Arrived {
    Answer(Box<Answer>),
    /// With the reason, if it is not the end of the process.
    End(Option<String>),
}

/// The process of a member, or of what carries its lines; or the socket to its server.
pub(crate) struct Connection {
    link: Link,
    /// Lines to the member. A thread writes them: a member that is stopped reads none.
    lines: Option<Sender<String>>,
}

/// The way to a member.
enum Link {
    Process {
        child: Child,
        shell: Option<String>,
    },
    /// With how it ended if it does.
    Socket(Box<dyn Hangup>, &'static str),
    Relay(Relayed),
}

impl Connection {
    /// Starts a member. Its messages go to `arrivals`.
    pub(crate) fn start(place: &Place, program: &str, at: (usize, &Sender<Arrival>)) -> Result<Self, Failure> {
        match place {
            Place::Local => Self::here(None, at),
            Place::Host(host) => Self::remote(host, &format!("{} cluster member", quoted(program)), at)
                .map_err(|failure| Failure::new(format!("cluster: {}", failure.message()))),
        }
    }

    /// Starts a member on this machine, in this directory if one is given.
    pub(super) fn here(directory: Option<&str>, at: (usize, &Sender<Arrival>)) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["cluster", "member"]);
        directory.map(|directory| command.current_dir(directory));
        Self::spawn(command, ("cluster: local", None), at)
    }

    /// Starts a member on another host by this line of its shell.
    pub(crate) fn remote(host: &str, line: &str, at: (usize, &Sender<Arrival>)) -> Result<Self, Failure> {
        let shell = remote_shell();
        let mut words = shell.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or("ssh"));
        command.args(words).arg(host).arg(line);
        Self::spawn(command, (host, Some(shell.clone())), at)
    }

    fn spawn(
        mut command: Command,
        (place, shell): (&str, Option<String>),
        (rank, arrivals): (usize, &Sender<Arrival>),
    ) -> Result<Self, Failure> {
        let name =
            || shell.as_ref().map_or_else(|| "plumb".to_owned(), |shell| format!("the remote shell `{shell}` ($RSH)"));
        let failed = |error: std::io::Error| Failure::new(format!("{place}: {}: {error}", name()));
        // A process group for each: Ctrl-C reaches the leader alone, which ends the members in order.
        let mut child =
            command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let (lines, to_write) = channel::<String>();
        if let Some(stdin) = child.stdin.take() {
            std::thread::Builder::new().spawn(move || write(stdin, &to_write)).map_err(failed)?;
        }
        if let Some(stdout) = child.stdout.take() {
            let arrivals = arrivals.clone();
            std::thread::Builder::new().spawn(move || listen(rank, stdout, &arrivals)).map_err(failed)?;
        }
        Ok(Connection { link: Link::Process { child, shell }, lines: Some(lines) })
    }

    /// The connection to a member at the other end of a socket, with how it ended if it does.
    pub(crate) fn over(
        (reader, writer): (impl Read + Send + 'static, impl Write + Send + 'static),
        (hangup, ending): (Box<dyn Hangup>, &'static str),
        (rank, arrivals): (usize, &Sender<Arrival>),
    ) -> Result<Self, Failure> {
        let (lines, to_write) = channel::<String>();
        std::thread::Builder::new().spawn(move || write(writer, &to_write))?;
        let arrivals = arrivals.clone();
        std::thread::Builder::new().spawn(move || listen(rank, reader, &arrivals))?;
        Ok(Connection { link: Link::Socket(hangup, ending), lines: Some(lines) })
    }

    /// The connection to a member that MPI has started.
    pub(super) fn relayed(member: Relayed) -> Self {
        Connection { link: Link::Relay(member), lines: None }
    }

    /// Sends a message. One that cannot be sent is not an error here: the end of the member's output follows.
    pub(crate) fn send(&self, order: &Order) {
        if let Link::Relay(member) = &self.link {
            return member.send(order);
        }
        if let (Some(lines), Ok(line)) = (&self.lines, cluster::line(order)) {
            let _ = lines.send(line);
        }
    }

    /// How the process ended.
    pub(crate) fn ending(&mut self) -> String {
        let (child, shell) = match &mut self.link {
            Link::Process { child, shell } => (child, shell),
            Link::Socket(_, ending) => return (*ending).to_owned(),
            Link::Relay(_) => return cluster::ending(None, None),
        };
        let until = Instant::now() + EXIT;
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(2)),
                _ => break None,
            }
        };
        let how = cluster::ending(status.and_then(|status| status.signal()), status.and_then(|status| status.code()));
        match shell {
            Some(shell) => format!("{how} (through the remote shell, `{shell}`)"),
            None => how,
        }
    }

    /// True if it is a process that was started on this machine.
    pub(super) fn is_here(&self) -> bool {
        matches!(self.link, Link::Process { shell: None, .. })
    }

    /// Ends the process and its workers, whatever state they are in. It closes their input first.
    pub(crate) fn kill(&mut self) {
        self.lines = None;
        let child = match &mut self.link {
            Link::Process { child, .. } => child,
            Link::Socket(socket, _) => return socket.hang_up(),
            Link::Relay(member) => return member.kill(),
        };
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        if let (Ok(None), Some(pid)) = (child.try_wait(), pid) {
            // Fails if the group has ended meanwhile.
            let _ = kill_process_group(pid, Signal::KILL);
        }
        // A process in an uninterruptible call stays; it is not waited for.
        let until = Instant::now() + EXIT;
        while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The command that starts a program on another host.
fn remote_shell() -> String {
    std::env::var("RSH").ok().filter(|shell| !shell.trim().is_empty()).unwrap_or_else(|| REMOTE_SHELL.to_owned())
}

/// A word as a shell reads it back.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Writes the lines until there are no more.
fn write(mut stdin: impl Write, lines: &std::sync::mpsc::Receiver<String>) {
    for line in lines {
        if stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

/// Forwards a member's messages until its output ends, with the time of their arrival.
fn listen(rank: usize, stdout: impl Read, arrivals: &Sender<Arrival>) {
    let mut reader = BufReader::new(stdout);
    let mut line = Vec::new();
    let end = loop {
        line.clear();
        match (&mut reader).take(LONGEST_LINE as u64).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break None,
            Ok(_) => {}
        }
        let at = now();
        if line.len() >= LONGEST_LINE {
            break Some("it sent a line that is longer than any result".to_owned());
        }
        match cluster::answer(&String::from_utf8_lossy(&line)) {
            // Lines that are not messages are skipped: a login shell may print a greeting.
            Ok(None) => {}
            Ok(Some(answer)) => {
                if arrivals.send(Arrival { rank, at, what: Arrived::Answer(Box::new(answer)) }).is_err() {
                    return;
                }
            }
            Err(error) => break Some(error.to_string()),
        }
    };
    // The receiver may have been dropped already.
    let _ = arrivals.send(Arrival { rank, at: now(), what: Arrived::End(end) });
}

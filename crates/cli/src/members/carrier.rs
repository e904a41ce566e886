//! The carriers of members' lines. A member is a process here, or one that the remote shell starts on another host: its
//! lines go through standard input and output. Or a server has started it, or it has joined: they go through a socket.
//! Or MPI has started it, and relays carry them (`relayed`).

use super::now;
use super::relayed::RelayedMember;
use crate::failure::Failure;
use crate::network::socket::{Socket, hang_up};
use cluster::{Answer, Instruction, LONGEST_LINE};
use measure::Nanos;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Command to start a program on another host, unless `RSH` names another one. It never prompts, and has timeouts.
const REMOTE_SHELL: &str = "ssh -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15";
/// Time that a process has to exit after the end of its output.
const EXIT: Duration = Duration::from_millis(500);
/// Status of a shell that does not find a command (POSIX).
const NOT_FOUND: i32 = 127;

/// Where a member runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Local,
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
    pub(crate) reply: Reply,
}

/// A message, or the end of a member's output.
pub(crate) enum Reply {
    Answer(Box<Answer>),
    /// With the reason, if it is not the end of the process.
    End(Option<String>),
}

/// The messages of all members, in the order of their arrival.
pub(crate) struct Arrivals {
    pub(crate) sender: Sender<Arrival>,
    pub(crate) receiver: Receiver<Arrival>,
}

impl Arrivals {
    pub(crate) fn new() -> Self {
        let (sender, receiver) = channel();
        Arrivals { sender, receiver }
    }

    /// The place for the messages of a member.
    pub(crate) fn mailbox(&self, rank: usize) -> Mailbox {
        Mailbox::new(rank, &self.sender)
    }
}

/// The place for the messages of a member.
pub(crate) struct Mailbox {
    rank: usize,
    sender: Sender<Arrival>,
}

impl Mailbox {
    pub(crate) fn new(rank: usize, sender: &Sender<Arrival>) -> Self {
        Mailbox { rank, sender: sender.clone() }
    }

    /// False if there is no reader of messages any more.
    fn put(&self, at: Nanos, reply: Reply) -> bool {
        self.sender.send(Arrival { rank: self.rank, at, reply }).is_ok()
    }
}

/// The way of messages to all members.
pub(crate) enum Carrier {
    /// Each member is a process that is started here or by the remote shell, as this program.
    Shell(String),
    /// MPI has started all of them.
    Mpi(RelayedMember),
    Joined(Vec<Connection>),
}

impl Carrier {
    /// The connections to all members, which are started where they are not yet.
    pub(crate) fn connections(self, places: &[Place], arrivals: &Arrivals) -> Result<Vec<Connection>, Failure> {
        let ranked = places.iter().enumerate();
        match self {
            Carrier::Shell(program) => {
                ranked.map(|(rank, place)| Connection::start(place, &program, arrivals.mailbox(rank))).collect()
            }
            Carrier::Joined(connections) => Ok(connections),
            Carrier::Mpi(members) => Ok(ranked.map(|(rank, _)| Connection::relayed(members.of(rank))).collect()),
        }
    }
}

/// The members of a run, and the way to them.
pub(crate) struct Route {
    pub(crate) places: Vec<Place>,
    pub(crate) carrier: Carrier,
    pub(crate) arrivals: Arrivals,
    pub(crate) origin: Origin,
}

/// The starter of the members.
#[derive(Clone)]
pub(crate) struct Origin {
    pub(crate) carrier: &'static str,
    /// Name and number of the MPI library.
    pub(crate) library: Option<String>,
}

/// The process of a member, or of what carries its lines; or the socket to its server.
pub(crate) struct Connection {
    link: Link,
    /// Lines to the member. A thread writes them: a member that is stopped reads none.
    lines: Option<Sender<String>>,
}

enum Link {
    Process {
        child: Child,
        shell: Option<String>,
    },
    /// With how it ended if it does.
    Socket(Socket, &'static str),
    Relay(RelayedMember),
}

impl Connection {
    fn start(place: &Place, program: &str, mailbox: Mailbox) -> Result<Self, Failure> {
        match place {
            Place::Local => Self::here(None, mailbox),
            Place::Host(host) => {
                Self::remote(host, &format!("{} cluster member", measure::text::shell_quoted(program)), mailbox)
                    .map_err(|failure| Failure::new(format!("cluster: {}", failure.message())))
            }
        }
    }

    /// Starts a member on this machine, in this directory if one is given.
    pub(crate) fn here(directory: Option<&str>, mailbox: Mailbox) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["cluster", "member"]);
        directory.map(|directory| command.current_dir(directory));
        Self::spawn(command, "cluster: local", None, mailbox)
    }

    /// Starts a member on another host by this line of its shell.
    pub(crate) fn remote(host: &str, line: &str, mailbox: Mailbox) -> Result<Self, Failure> {
        let shell = remote_shell();
        let mut words = shell.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or("ssh"));
        command.args(words).arg(host).arg(line);
        Self::spawn(command, host, Some(shell.clone()), mailbox)
    }

    fn spawn(mut command: Command, place: &str, shell: Option<String>, mailbox: Mailbox) -> Result<Self, Failure> {
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
            std::thread::Builder::new().spawn(move || listen(stdout, &mailbox)).map_err(failed)?;
        }
        Ok(Connection { link: Link::Process { child, shell }, lines: Some(lines) })
    }

    /// The connection to a member at the other end of a socket, with how it ended if it does.
    pub(crate) fn over(
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        socket: Socket,
        ending: &'static str,
        mailbox: Mailbox,
    ) -> Result<Self, Failure> {
        let (lines, to_write) = channel::<String>();
        std::thread::Builder::new().spawn(move || write(writer, &to_write))?;
        std::thread::Builder::new().spawn(move || listen(reader, &mailbox))?;
        Ok(Connection { link: Link::Socket(socket, ending), lines: Some(lines) })
    }

    /// The connection to a member that MPI has started.
    fn relayed(member: RelayedMember) -> Self {
        Connection { link: Link::Relay(member), lines: None }
    }

    /// Sends a message. One that cannot be sent is not an error here: the end of the member's output follows.
    pub(crate) fn send(&self, instruction: &Instruction) {
        if let Link::Relay(member) = &self.link {
            return member.send(instruction);
        }
        if let (Some(lines), Ok(line)) = (&self.lines, cluster::line(instruction)) {
            let _ = lines.send(line);
        }
    }

    /// Gives a sign of life to a member on another machine. Those of MPI get one from their relays.
    pub(crate) fn say_alive(&self, silence: Nanos) {
        if matches!(self.link, Link::Process { shell: Some(_), .. } | Link::Socket(..)) {
            self.send(&Instruction::Alive { silence });
        }
    }

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
        let code = status.and_then(|status| status.code());
        let how = cluster::ending(status.and_then(|status| status.signal()), code);
        match shell {
            Some(shell) if code == Some(NOT_FOUND) => {
                format!(
                    "{how} (`{shell}`): there is no plumb there; install it, or say where it is: --program /path/to/plumb"
                )
            }
            Some(shell) => format!("{how} (through the remote shell, `{shell}`)"),
            None => how,
        }
    }

    /// True if it is a process that was started on this machine.
    pub(crate) fn is_here(&self) -> bool {
        matches!(self.link, Link::Process { shell: None, .. })
    }

    /// Ends the process and its workers, whatever state they are in. It closes their input first.
    pub(crate) fn kill(&mut self) {
        self.lines = None;
        let child = match &mut self.link {
            Link::Process { child, .. } => child,
            Link::Socket(socket, _) => return hang_up(socket),
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

/// Writes the lines until there are no more.
fn write(mut stdin: impl Write, lines: &Receiver<String>) {
    for line in lines {
        if stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

/// Forwards a member's messages until its output ends, with the time of their arrival.
fn listen(stdout: impl Read, mailbox: &Mailbox) {
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
                if !mailbox.put(at, Reply::Answer(Box::new(answer))) {
                    return;
                }
            }
            Err(error) => break Some(error.to_string()),
        }
    };
    mailbox.put(now(), Reply::End(end));
}

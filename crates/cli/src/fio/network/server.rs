//! `plumb fio --server`: listens, learns who connects, and starts a member for each client, whose socket is the member's input and output.
//!
//! One client leads at a time. What clients may do is decided here; the member is held to it (`cluster/served.rs`).

use super::client;
use super::secret::{Protection as Keys, Secret};
use super::socket::{Listener, Socket};
use crate::cluster::carrier::Hangup;
use crate::cluster::{PROGRAM, lead};
use crate::failure::Failure;
use crate::fio::ENDED_BY_SIGNAL;
use crate::output::{Output, print_error};
use cluster::{Address, Opening, OpeningError, PROTOCOL, Protection, Refusal};
use fio::{ClientTrust, Invocation, ServerRequest};
use formats::printable;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Connections that may be greeting at a time, and the time that they have.
const GREETINGS: usize = 4;
const GREETING: Duration = Duration::from_secs(10);
/// Length of the longest first line of a client in bytes.
const LONGEST_OPENING: usize = 4096;
/// First bytes by which another program is known.
const FOREIGN_BYTES: usize = 16;
/// Time that a client waits for the end of the one before.
const TURN: Duration = Duration::from_secs(3);
/// Time after the end of a connection in which its member ends in order.
const MEMBER_ENDS: Duration = Duration::from_secs(30);
/// Interval at which signals and members are looked at.
const LOOK: Duration = Duration::from_millis(20);
/// Variable of the environment of a server in the background: its first line of output is for the process that started it.
const DETACHED: &str = "PLUMB_DETACHED";

/// Runs a server until a signal ends it.
pub(crate) fn serve(request: &ServerRequest, invocation: &Invocation) -> Result<u8, Failure> {
    if let Some(option) = super::of_one_run(invocation).or_else(|| super::of_an_output(invocation)) {
        return Err(Failure::new(format!(
            "--{option} has no meaning with --server: the client has the results, and options for them"
        )));
    }
    let wrong = |error: cluster::AddressError| Failure::new(format!("--server: {error}"));
    let address = cluster::server_address(request.address.as_deref()).map_err(wrong)?;
    if let Some(file) = &request.daemonize {
        return detach(request, file);
    }
    if std::env::var_os(DETACHED).is_some() {
        rustix::process::setsid()?;
    }
    let allowed = allowed(request)?;
    let secret = client::secret(request.secret.as_deref())?;
    let signals = lead::signals()?;
    let listener = Listener::bind(&address)?;
    let clients = if listener.is_for_its_user() { ClientTrust::Full } else { request.trust };
    say_what_clients_may(clients, &allowed);
    // A process that has started this one may be gone.
    let _ = Output::stdout().write(&format!("fio: server listening on {}\n", listening(&address)));
    let server = Arc::new(Server { clients, allowed, secret, greeting: AtomicUsize::new(0), leads: Mutex::new(None) });
    while signals.caught().is_none() {
        let timeout = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        let mut asked = [PollFd::new(&listener, PollFlags::IN)];
        if !matches!(poll(&mut asked, Some(&timeout)), Ok(count) if count > 0) {
            continue;
        }
        match listener.accept() {
            Ok((socket, client)) => {
                let server = Arc::clone(&server);
                std::thread::Builder::new().spawn(move || server.meet(socket, &client))?;
            }
            // The client is gone already, or descriptors are short for a moment.
            Err(error) => {
                print_error(&format!("fio: server: {error}"));
                std::thread::sleep(LOOK);
            }
        }
    }
    server.end();
    Ok(ENDED_BY_SIGNAL)
}

/// `127.0.0.1,8765`, as fio writes it.
fn listening(address: &Address) -> String {
    match address {
        Address::Host { host, port } => format!("{host},{port}"),
        Address::Socket(path) => path.clone(),
    }
}

/// The paths that untrusted clients may use, from the root on.
fn allowed(request: &ServerRequest) -> Result<Vec<String>, Failure> {
    let from_environment = std::env::var("PLUMB_ALLOW").unwrap_or_default();
    let from_environment = from_environment.split(':').filter(|path| !path.is_empty()).map(PathBuf::from);
    let here = std::env::current_dir()?;
    let absolute = |path: PathBuf| {
        let path = std::fs::canonicalize(here.join(&path))
            .map_err(|error| Failure::new(format!("--allow={}: {error}", path.display())))?;
        path.to_str().map(str::to_owned).ok_or_else(|| Failure::at(&path, "is not UTF-8, so no job can name it"))
    };
    from_environment.chain(request.allowed.iter().cloned()).map(absolute).collect()
}

fn say_what_clients_may(clients: ClientTrust, allowed: &[String]) {
    if clients == ClientTrust::Untrusted {
        let paths = match allowed {
            [] => "files in this directory".to_owned(),
            paths => format!("files in this directory and {}", paths.join(", ")),
        };
        print_error(&format!(
            "fio: server: clients without the secret may do what --untrusted lets a job file do, with {paths} (docs/safety.md)"
        ));
    }
}

/// Starts a server in the background, and returns once it listens and its process ID is in the file.
fn detach(request: &ServerRequest, file: &std::path::Path) -> Result<u8, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    let address = request.address.as_ref().map(|address| format!("--server={address}"));
    command.arg("fio").arg(address.unwrap_or_else(|| "--server".to_owned()));
    for path in &request.allowed {
        command.arg("--allow").arg(path);
    }
    if let Some(path) = &request.secret {
        command.arg("--secret-file").arg(path);
    }
    if request.trust == ClientTrust::Full {
        command.arg("--trust-clients");
    }
    command.env(DETACHED, "1").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    if line.is_empty() {
        let mut why = String::new();
        if let Some(mut stderr) = child.stderr.take() {
            stderr.read_to_string(&mut why)?;
        }
        return Err(Failure::new(why.trim().trim_start_matches("plumb: ").to_owned()));
    }
    Output::file(file)?.write(&format!("{}\n", child.id()))?;
    Ok(0)
}

/// All connections share it.
struct Server {
    clients: ClientTrust,
    allowed: Vec<String>,
    /// Clients that have it are trusted.
    secret: Option<Secret>,
    /// Connections that have not shown yet what they are.
    greeting: AtomicUsize,
    /// The client that leads, and the process group of its member once it runs.
    leads: Mutex<Option<Turn>>,
}

/// The client that leads.
struct Turn {
    client: String,
    since: Instant,
    member: Option<Pid>,
}

impl Server {
    /// Learns who has connected, and serves it.
    fn meet(&self, mut socket: Socket, client: &str) {
        let others = self.greeting.fetch_add(1, Ordering::SeqCst);
        let opening = if others < GREETINGS { read_opening(&socket) } else { Err(Unmet::Crowd) };
        self.greeting.fetch_sub(1, Ordering::SeqCst);
        let refused = match opening {
            Ok(Opening { protection, .. }) => self.admit(&mut socket, client, protection).err(),
            Err(Unmet::Gone) => None,
            Err(unmet) => Some(unmet.to_string()),
        };
        if let Some(why) = refused {
            print_error(&format!("fio: server: {client}: {}", printable::line(&why)));
            let refusal = Refusal { protocol: PROTOCOL, program: PROGRAM.to_owned(), why };
            // The client may be gone.
            let _ = socket.write_all(refusal.line().as_bytes());
        }
    }

    /// Serves a client that has greeted; the error is the reason why it is not served.
    fn admit(&self, socket: &mut Socket, client: &str, protection: Protection) -> Result<(), String> {
        let keys = match (protection, &self.secret) {
            (Protection::None, _) => None,
            (Protection::Secret, None) => return Err("this server was started without --secret-file".to_owned()),
            (Protection::Secret, Some(secret)) => {
                let _ = socket.set_read_timeout(Some(GREETING));
                let keys = secret.answer(socket).map_err(|_| "the secret of the client is not that of this server")?;
                let _ = socket.set_read_timeout(None);
                Some(keys)
            }
        };
        self.take_turn(client)?;
        let served = self.run_member(socket, client, keys.as_ref());
        *self.leading() = None;
        served.map_err(|failure| failure.message().to_owned())
    }

    fn leading(&self) -> std::sync::MutexGuard<'_, Option<Turn>> {
        self.leads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a client the one that leads; the reason if another one still does.
    fn take_turn(&self, client: &str) -> Result<(), String> {
        let begun = Instant::now();
        loop {
            let mut leads = self.leading();
            match leads.as_ref() {
                None => {
                    *leads = Some(Turn { client: client.to_owned(), since: Instant::now(), member: None });
                    return Ok(());
                }
                Some(turn) if begun.elapsed() >= TURN => {
                    let since = turn.since.elapsed().as_secs();
                    return Err(format!(
                        "the client {} has been running jobs for {since} s; one client is served at a time",
                        turn.client
                    ));
                }
                Some(_) => {}
            }
            drop(leads);
            std::thread::sleep(LOOK);
        }
    }

    /// Runs a member on this connection until it ends.
    fn run_member(&self, socket: &Socket, client: &str, keys: Option<&Keys>) -> Result<(), Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["cluster", "member", "--client", client]);
        if self.clients == ClientTrust::Untrusted && keys.is_none() {
            command.arg("--untrusted");
            for path in &self.allowed {
                command.arg(format!("--allow={path}"));
            }
        }
        command.env_remove(DETACHED).process_group(0);
        match keys {
            None => command.stdin(socket.try_clone()?.into_descriptor()).stdout(socket.try_clone()?.into_descriptor()),
            Some(_) => command.stdin(Stdio::piped()).stdout(Stdio::piped()),
        };
        let mut child = command.spawn()?;
        if let Some(keys) = keys {
            carry(&mut child, socket, keys)?;
        }
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        if let Some(turn) = self.leading().as_mut() {
            turn.member = group;
        }
        wait(&mut child, socket, group);
        Ok(())
    }

    /// Ends the member of the client that leads, in order.
    fn end(&self) {
        let member = self.leading().as_ref().and_then(|turn| turn.member);
        let Some(member) = member else { return };
        let begun = Instant::now();
        // Fails if it has ended.
        let _ = kill_process_group(member, Signal::TERM);
        while self.leading().is_some() && begun.elapsed() < TURN {
            std::thread::sleep(LOOK);
        }
    }
}

/// Carries the lines of a member whose connection is encrypted.
fn carry(child: &mut Child, socket: &Socket, keys: &Keys) -> io::Result<()> {
    if let Some(mut stdin) = child.stdin.take() {
        let mut from_client = keys.opened(socket.try_clone()?);
        // The end of the connection, or a message that cannot be decrypted, is the end of the member's input.
        std::thread::Builder::new().spawn(move || drop(io::copy(&mut from_client, &mut stdin)))?;
    }
    if let Some(mut stdout) = child.stdout.take() {
        let (mut to_client, hangup) = (keys.sealed(socket.try_clone()?), socket.try_clone()?);
        std::thread::Builder::new().spawn(move || {
            let _ = io::copy(&mut stdout, &mut to_client);
            hangup.hang_up();
        })?;
    }
    Ok(())
}

/// Waits for a member. One that has not ended for a time after its client has gone is killed.
fn wait(child: &mut Child, socket: &Socket, group: Option<Pid>) {
    let mut gone: Option<Instant> = None;
    while matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(LOOK);
        let mut asked = [PollFd::new(socket, PollFlags::RDHUP)];
        let _ = poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        if gone.is_none() && asked[0].revents().intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR) {
            gone = Some(Instant::now());
        }
        if let (Some(group), true) = (group, gone.is_some_and(|gone| gone.elapsed() > MEMBER_ENDS)) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// A connection that did not begin as a client does.
#[derive(Debug)]
enum Unmet {
    /// Too many others are greeting.
    Crowd,
    /// It said nothing, or too much.
    Mute,
    /// It has closed the connection: a look at the port.
    Gone,
    Other(OpeningError),
}

impl std::fmt::Display for Unmet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unmet::Crowd => write!(f, "more than {GREETINGS} connections are greeting"),
            Unmet::Mute => write!(f, "it did not send a greeting within {} s", GREETING.as_secs()),
            Unmet::Gone => f.write_str("it has closed the connection"),
            Unmet::Other(error) => error.fmt(f),
        }
    }
}

/// Reads the first line of a client, and no byte more: those that follow are for the member.
fn read_opening(socket: &Socket) -> Result<Opening, Unmet> {
    let until = Instant::now() + GREETING;
    let mut reader = socket.try_clone().map_err(|_| Unmet::Gone)?;
    let mut line = Vec::new();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || line.len() > LONGEST_OPENING {
            return Err(Unmet::Mute);
        }
        let _ = socket.set_read_timeout(Some(left));
        let mut byte = [0];
        match reader.read(&mut byte) {
            Ok(0) if line.is_empty() => return Err(Unmet::Gone),
            Ok(0) => break,
            Ok(_) => line.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Err(Unmet::Mute),
        }
        // Another program's first bytes are enough.
        let is_line = line.first() == Some(&b'{') && line.ends_with(b"\n");
        if is_line || line.first() != Some(&b'{') && line.len() >= FOREIGN_BYTES {
            break;
        }
    }
    let _ = socket.set_read_timeout(None);
    cluster::opening(&line).map_err(Unmet::Other)
}

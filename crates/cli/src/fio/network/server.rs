//! `plumb fio --server`: listens, learns who connects, and starts a member for each client, whose socket is the
//! member's input and output.
//!
//! One client leads at a time. What clients may do is decided here; the member is held to it (`fio/members/served.rs`).

use crate::failure::Failure;
use crate::fio::results::ENDED_BY_SIGNAL;
use crate::members::lead;
use crate::network::allowed_paths;
use crate::network::greeting::{Greetings, InGreeting, handshake};
use crate::network::log_folders::remove_abandoned;
use crate::network::secret::{Protection as Keys, Purpose, Secret};
use crate::network::served_process::{DETACHED, EncryptedStream, ServedProcess};
use crate::network::socket::{Listener, Socket};
use crate::output::{Output, print_error};
use cluster::{Address, Opening, Protection};
use fio::{ClientTrust, Invocation, ServerRequest};
use formats::printable;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time that a client waits for the end of the one before.
const TURN: Duration = Duration::from_secs(3);
/// Interval at which signals and members are looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Runs a server until a signal ends it.
pub(crate) fn serve(request: &ServerRequest, invocation: &Invocation) -> Result<u8, Failure> {
    if let Some(option) = super::of_one_run(invocation).or_else(|| super::of_a_client(invocation)) {
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
    let secret = Secret::given(request.secret.as_deref())?;
    let signals = lead::signals()?;
    let listener =
        Listener::bind(&address).map_err(|failure| Failure::new(format!("--server: {}", failure.message())))?;
    let clients = if listener.is_for_its_user() { ClientTrust::Full } else { request.trust };
    say_what_clients_may(clients, &allowed);
    remove_abandoned();
    // A process that has started this one may be gone.
    let _ = Output::stdout().write(&format!("fio: server listening on {}\n", listening(&address)));
    let server =
        Arc::new(Server { clients, allowed, secret, greetings: Greetings::default(), leads: Mutex::new(None) });
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
    allowed_paths(from_environment.chain(request.allowed.iter().cloned()))
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
    greetings: Greetings,
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
        let admit = |socket: &mut Socket, opening: Opening, greeting: Option<InGreeting<'_>>| {
            drop(greeting);
            self.admit(socket, client, opening.protection)
        };
        if let Some(why) = self.greetings.meet(&mut socket, cluster::opening, admit) {
            print_error(&format!("fio: server: {client}: {}", printable::line(&why)));
        }
    }

    /// Serves a client that has greeted; the error is the reason why it is not served.
    fn admit(&self, socket: &mut Socket, client: &str, protection: Protection) -> Result<(), String> {
        let keys = match (protection, &self.secret) {
            (Protection::None, _) => None,
            (Protection::Secret, None) => return Err("this server was started without --secret-file".to_owned()),
            (Protection::Secret, Some(secret)) => Some(
                handshake(secret, Purpose::Client, socket)
                    .map_err(|_| "the secret of the client is not that of this server")?,
            ),
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
        let mut words = vec!["--client".to_owned(), client.to_owned()];
        if self.clients == ClientTrust::Untrusted && keys.is_none() {
            words.push("--untrusted".to_owned());
            words.extend(self.allowed.iter().map(|path| format!("--allow={path}")));
        }
        let encrypted = |keys: &Keys| {
            let reader = keys.opened(socket.try_clone()?);
            Ok::<_, std::io::Error>(EncryptedStream { reader, keys: keys.clone() })
        };
        let process = ServedProcess::start(&words, socket.try_clone()?, keys.map(encrypted).transpose()?)?;
        if let Some(turn) = self.leading().as_mut() {
            turn.member = process.group;
        }
        process.wait(|_| {});
        remove_abandoned();
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

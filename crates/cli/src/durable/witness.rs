//! The way of the acknowledgements: from the writer to its witness by a socket, or by a serial line or pipe; and the
//! witness, which keeps them in a file and cuts the power if it has a command for that.

use super::DurableArgs;
use crate::failure::{Failure, signal_status};
use crate::network::greeting::{Greetings, InGreeting, proven};
use crate::network::joining::{Caller, admitted};
use crate::network::secret::{Purpose, Secret};
use crate::network::socket::{Listener, Socket};
use crate::output::{Verbosity, print_error};
use crate::safe_files;
use analysis::durability::{Line, line};
use cluster::{Admission, Joining};
use formats::printable;
use measure::{Nanos, SplitMix};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use session::machine::seed_from_clock;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use sys::files::operations::{OpenFlags, open};
use sys::files::output_file;
use sys::processes::signals::Watch;

/// How long a writer waits for its witness.
const WITHIN: Nanos = Nanos::from_secs(300);
/// Time from the first acknowledgement to the cut.
const CUT_AFTER: Nanos = Nanos::from_secs(10);
/// Interval at which signals are looked for.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// Length of the longest line.
const LONGEST: u64 = 1 << 16;

/// A path where an address could be: it has a slash.
fn path(text: &str) -> Option<&Path> {
    text.contains('/').then(|| Path::new(text))
}

/// The way to the witness; `None` if the user has ended it before.
pub(super) fn connect(
    text: &str,
    secret_file: Option<&Path>,
    signals: &Watch,
) -> Result<Option<Box<dyn Write + Send>>, Failure> {
    if let Some(path) = path(text) {
        refuse_secret(secret_file, "--witness")?;
        return Ok(Some(Box::new(line_to(path, OpenFlags::WRONLY)?)));
    }
    let wrong = |error: cluster::AddressError| Failure::new(format!("durable: --witness: {error}"));
    let address = cluster::leader_address(text, None).map_err(wrong)?;
    let secret = Secret::given(secret_file)?;
    let caller = Caller { purpose: Purpose::Witness, rank: None, secret: secret.as_ref() };
    let Some(joined) = admitted(&address, &caller, WITHIN, &|| signals.caught().is_some())? else { return Ok(None) };
    Ok(Some(match joined.encrypted {
        Some(encrypted) => Box::new(encrypted.keys.sealed(joined.socket)),
        None => Box::new(joined.socket),
    }))
}

fn refuse_secret(secret_file: Option<&Path>, option: &str) -> Result<(), Failure> {
    match secret_file {
        Some(_) => Err(Failure::new(format!("durable: {option} is a path, which --secret-file does not protect"))),
        None => Ok(()),
    }
}

/// Opens a serial line, a pipe or another character device. A file would be lost with the machine.
fn line_to(path: &Path, direction: OpenFlags) -> Result<File, Failure> {
    let found = std::fs::metadata(path).map_err(|error| Failure::at(path, error))?.file_type();
    if !found.is_char_device() && !found.is_fifo() {
        return Err(Failure::at(
            path,
            "is neither a serial line nor a pipe; a file of this machine is lost with it: name another machine",
        ));
    }
    let file = open(path, direction | OpenFlags::NOCTTY, 0)?;
    // Bytes as they are, on a terminal line.
    if let Ok(mut settings) = tcgetattr(&file) {
        settings.make_raw();
        tcsetattr(&file, OptionalActions::Now, &settings).map_err(|error| Failure::at(path, error))?;
    }
    Ok(file)
}

/// State that all connections share.
struct Witness {
    kept: PathBuf,
    file: Mutex<File>,
    secret: Option<Secret>,
    greetings: Greetings,
    cut: Option<(String, Nanos)>,
    count: AtomicU64,
    verbosity: Verbosity,
}

/// Keeps the acknowledgements of writers, until a signal or the end of the line.
pub(super) fn serve(args: &DurableArgs, kept: &Path) -> Result<u8, Failure> {
    let verbosity = args.written.streams.verbosity();
    let signals = Watch::begin()?;
    let listen = args.listen.as_deref().unwrap_or_default();
    let witness = Arc::new(Witness {
        kept: kept.to_owned(),
        file: Mutex::new(file(kept)?),
        secret: if path(listen).is_none() { Secret::given(args.secret_file.as_deref())? } else { None },
        greetings: Greetings::default(),
        cut: args.cut.clone().map(|command| (command, args.cut_after.unwrap_or(CUT_AFTER))),
        count: AtomicU64::new(0),
        verbosity,
    });
    let to = kept.display();
    if let Some(path) = path(listen) {
        refuse_secret(args.secret_file.as_deref(), "--listen")?;
        let from = line_to(path, OpenFlags::RDONLY)?;
        verbosity.remark(&format!("plumb: durable: reading {}; acknowledgements go to {to}", path.display()));
        let copying = Arc::clone(&witness);
        let name = listen.to_owned();
        let reader = std::thread::Builder::new().spawn(move || copying.keep(from, &name))?;
        while !reader.is_finished() && signals.caught().is_none() {
            std::thread::sleep(Duration::from_millis(100));
        }
    } else {
        let (listener, name) = Listener::anywhere(listen, "durable: --listen")?;
        verbosity.remark(&format!("plumb: durable: waiting for writers on {name}; acknowledgements go to {to}"));
        witness.accept(&listener, &signals)?;
    }
    let count = witness.count.load(Ordering::SeqCst);
    verbosity.remark(&format!("plumb: durable: {} in {to}", measure::text::counted(count, "acknowledgement")));
    Ok(signals.caught().map_or(0, signal_status))
}

/// A new file, or one that plumb made, to which more is added: the last run in it counts.
fn file(path: &Path) -> Result<File, Failure> {
    let is_empty = std::fs::metadata(path).map_or(true, |found| found.len() == 0);
    if is_empty {
        return safe_files::stream(path);
    }
    safe_files::check(path)?;
    output_file::append(path).map_err(|error| Failure::at(path, error))
}

impl Witness {
    fn accept(self: &Arc<Self>, listener: &Listener, signals: &Watch) -> Result<(), Failure> {
        while signals.caught().is_none() {
            let mut asked = [PollFd::new(listener, PollFlags::IN)];
            let is_ready = poll(&mut asked, Some(&LOOK)).is_ok_and(|count| count > 0);
            if !is_ready || !self.greetings.have_room() {
                continue;
            }
            // It may be gone already.
            let Ok((socket, address)) = listener.accept() else { continue };
            let witness = Arc::clone(self);
            std::thread::Builder::new().spawn(move || witness.meet(socket, &address))?;
        }
        Ok(())
    }

    /// Learns who has connected, and keeps what it sends. The machine of a writer goes down without a word: its thread
    /// waits on, and the next writer has another one.
    fn meet(&self, mut socket: Socket, address: &str) {
        let admit = |socket: &mut Socket, joining: Joining, greeting: Option<InGreeting<'_>>| {
            let keys = proven(&joining, self.secret.as_ref(), Purpose::Witness, socket)?;
            let failed = |error: io::Error| error.to_string();
            let answer = Admission { rank: 0, members: 1 }.line();
            let stream = socket.try_clone().map_err(failed)?;
            let reader: Box<dyn Read> = match keys {
                None => {
                    socket.write_all(answer.as_bytes()).map_err(failed)?;
                    Box::new(stream)
                }
                Some(keys) => {
                    keys.sealed(&mut *socket).write_all(answer.as_bytes()).map_err(failed)?;
                    Box::new(keys.opened(stream))
                }
            };
            drop(greeting);
            self.verbosity.remark(&format!("plumb: durable: a writer on {address}"));
            self.keep(reader, address);
            Ok(())
        };
        if let Some(why) = self.greetings.meet(&mut socket, cluster::writing, admit) {
            print_error(&format!("plumb: durable: {address} is refused: {}", printable::line(&why)));
        }
    }

    /// Keeps each line at once: the file is whole whenever it is read.
    fn keep(&self, from: impl Read, name: &str) {
        let mut from = BufReader::new(from);
        let mut is_cut_planned = false;
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            match (&mut from).take(LONGEST).read_until(b'\n', &mut bytes) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => {
                    print_error(&format!("plumb: durable: {name}: {error}"));
                    break;
                }
            }
            if !self.write(&bytes) {
                break;
            }
            if bytes.starts_with(b"{") {
                is_cut_planned = false;
                continue;
            }
            self.count.fetch_add(1, Ordering::SeqCst);
            if !std::mem::replace(&mut is_cut_planned, true) {
                self.plan_cut();
            }
        }
    }

    fn write(&self, bytes: &[u8]) -> bool {
        let written = self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(bytes);
        if let Err(error) = &written {
            Failure::writing(&self.kept.display().to_string(), error).print();
        }
        written.is_ok()
    }

    /// Starts the command that cuts the power, after its time.
    fn plan_cut(&self) {
        let Some((command, after)) = self.cut.clone() else { return };
        let half = after.0 / 2;
        let more = if half == 0 { 0 } else { SplitMix::new(seed_from_clock()).next_word() % half };
        let Ok(file) = self.file.lock().unwrap_or_else(PoisonError::into_inner).try_clone() else { return };
        std::thread::spawn(move || {
            std::thread::sleep(after.saturating_add(Nanos(more)).as_duration());
            let said = line(&Line::Cut(command.clone())).unwrap_or_default();
            let _ = (&file).write_all(said.as_bytes());
            match Command::new("sh").arg("-c").arg(&command).status() {
                Ok(status) if status.success() => {}
                Ok(status) => print_error(&format!("plumb: durable: --cut: {command}: {status}")),
                Err(error) => print_error(&format!("plumb: durable: --cut: {command}: {error}")),
            }
        });
    }
}

//! A member whose input and output is a connection: the process, and what carries its lines if they are encrypted.

use super::secret::Protection as Keys;
use super::socket::{Socket, hang_up};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Time after the end of a connection in which its member ends in order.
const MEMBER_ENDS: Duration = Duration::from_secs(30);
/// Interval at which it is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Variable of the environment of a server in the background: its first line of output is for the process that started
/// it. No member has it.
pub(crate) const DETACHED: &str = "PLUMB_DETACHED";

/// A member behind a connection.
pub(crate) struct ServedProcess {
    child: Child,
    socket: Socket,
    pub(crate) group: Option<Pid>,
    gone: Option<Instant>,
}

/// The lines of a connection that are encrypted.
pub(crate) struct EncryptedStream<R> {
    /// Decrypts what arrives.
    pub(crate) reader: R,
    pub(crate) keys: Keys,
}

impl ServedProcess {
    /// Starts `plumb cluster member` with these words.
    pub(crate) fn start<R: Read + Send + 'static>(
        words: &[impl AsRef<OsStr>],
        socket: Socket,
        encrypted: Option<EncryptedStream<R>>,
    ) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["cluster", "member", "--parent", &std::process::id().to_string()])
            .args(words)
            .env_remove(DETACHED)
            .process_group(0);
        match encrypted {
            None => command.stdin(OwnedFd::from(socket.try_clone()?)).stdout(OwnedFd::from(socket.try_clone()?)),
            Some(_) => command.stdin(Stdio::piped()).stdout(Stdio::piped()),
        };
        let mut child = command.spawn()?;
        if let Some(encrypted) = encrypted {
            carry(&mut child, &socket, encrypted)?;
        }
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        Ok(ServedProcess { child, socket, group, gone: None })
    }

    /// Waits for its end, and calls `look` again and again until then. If it has not ended for a time after the end of
    /// its connection, it is killed.
    pub(crate) fn wait(mut self, mut look: impl FnMut(&Self)) -> Option<ExitStatus> {
        loop {
            match self.child.try_wait() {
                Ok(None) => {}
                Ok(status) => return status,
                Err(_) => return None,
            }
            std::thread::sleep(LOOK);
            look(&self);
            self.end_with_connection();
        }
    }

    fn end_with_connection(&mut self) {
        let mut asked = [PollFd::new(&self.socket, PollFlags::RDHUP)];
        let _ = poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        let is_gone = asked[0].revents().intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR);
        if self.gone.is_none() && is_gone {
            self.gone = Some(Instant::now());
        }
        if self.gone.is_some_and(|gone| gone.elapsed() > MEMBER_ENDS) {
            self.signal(Signal::KILL);
        }
    }

    /// Sends a signal to it and its workers.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // Fails if it has ended.
            let _ = kill_process_group(group, signal);
        }
    }
}

/// Carries the lines of a member whose connection is encrypted.
fn carry<R: Read + Send + 'static>(
    child: &mut Child,
    socket: &Socket,
    encrypted: EncryptedStream<R>,
) -> io::Result<()> {
    let EncryptedStream { mut reader, keys } = encrypted;
    if let Some(mut stdin) = child.stdin.take() {
        // The end of the connection, or a message that cannot be decrypted, is the end of the member's input.
        std::thread::Builder::new().spawn(move || drop(io::copy(&mut reader, &mut stdin)))?;
    }
    if let Some(mut stdout) = child.stdout.take() {
        let (mut to_leader, hangup) = (keys.sealed(socket.try_clone()?), socket.try_clone()?);
        std::thread::Builder::new().spawn(move || {
            let _ = io::copy(&mut stdout, &mut to_leader);
            hang_up(&hangup);
        })?;
    }
    Ok(())
}

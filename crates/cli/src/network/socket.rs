//! Sockets between the two ends: TCP, or a socket in the file system.

use crate::failure::Failure;
use cluster::Address;
use rustix::net::sockopt;
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// Silence of the network after which the other end is asked for a sign of life, and after which it is gone.
const KEEP_ALIVE: (Duration, Duration, u32) = (Duration::from_secs(20), Duration::from_secs(10), 4);
/// Milliseconds after which the other end is gone if it does not acknowledge what was sent: the kernel asks for no sign
/// of life while it repeats that.
const UNACKNOWLEDGED: u32 = 60_000;

/// A connection. One over TCP is a stream like any other, too: the same system calls read it, write it and end it.
pub(crate) type Socket = UnixStream;

pub(crate) fn connect(address: &Address) -> io::Result<Socket> {
    match address {
        Address::Socket(path) => UnixStream::connect(path),
        Address::Host { host, port } => {
            let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
            for address in (host.as_str(), *port).to_socket_addrs()? {
                match TcpStream::connect_timeout(&address, CONNECT) {
                    Ok(stream) => return watched(stream),
                    Err(error) => last = error,
                }
            }
            Err(last)
        }
    }
}

/// Ends a connection at once. Fails if the other end has closed it, which changes nothing.
pub(crate) fn hang_up(socket: &Socket) {
    let _ = socket.shutdown(Shutdown::Both);
}

/// Messages are sent at once, and a machine that is gone is noticed.
fn watched(stream: TcpStream) -> io::Result<Socket> {
    stream.set_nodelay(true)?;
    let (idle, interval, count) = KEEP_ALIVE;
    sockopt::set_socket_keepalive(&stream, true)?;
    sockopt::set_tcp_keepidle(&stream, idle)?;
    sockopt::set_tcp_keepintvl(&stream, interval)?;
    sockopt::set_tcp_keepcnt(&stream, count)?;
    sockopt::set_tcp_user_timeout(&stream, UNACKNOWLEDGED)?;
    Ok(OwnedFd::from(stream).into())
}

pub(crate) enum Listener {
    Tcp(TcpListener),
    /// It is removed with its path.
    Unix(UnixListener, PathBuf),
}

impl Listener {
    /// Listens on an address. A socket in the file system is for its user alone.
    pub(crate) fn bind(address: &Address) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::new(format!("{}: {error}", address.name()));
        match address {
            Address::Host { host, port } => {
                TcpListener::bind((host.as_str(), *port)).map(Listener::Tcp).map_err(failed)
            }
            Address::Socket(path) => {
                let path = Path::new(path);
                // A socket that no process listens on was not removed by a server that was killed.
                let is_stale = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
                    && UnixStream::connect(path).is_err();
                if is_stale {
                    std::fs::remove_file(path).map_err(failed)?;
                }
                let listener = bound_for_user(path).map_err(failed)?;
                Ok(Listener::Unix(listener, path.to_owned()))
            }
        }
    }

    /// Listens on the address of this text, without a host on all addresses of both kinds that this machine has. Returns
    /// the name of the address, too.
    pub(crate) fn anywhere(text: &str, option: &str) -> Result<(Self, String), Failure> {
        let mut failed = Failure::new("");
        for any in ["::", "0.0.0.0"] {
            let wrong = |error: cluster::AddressError| Failure::new(format!("{option}: {error}"));
            let address = cluster::leader_address(text, Some(any)).map_err(wrong)?;
            match Listener::bind(&address) {
                Ok(listener) => return Ok((listener, address.name())),
                Err(failure) => failed = Failure::new(format!("{option}: {}", failure.message())),
            }
        }
        Err(failed)
    }

    /// Takes a connection, with the name of the client.
    pub(crate) fn accept(&self) -> io::Result<(Socket, String)> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, peer) = listener.accept()?;
                Ok((watched(stream)?, peer.ip().to_canonical().to_string()))
            }
            Listener::Unix(listener, _) => Ok((listener.accept()?.0, "local".to_owned())),
        }
    }

    /// True if its clients are the user of the server.
    pub(crate) fn is_for_its_user(&self) -> bool {
        matches!(self, Listener::Unix(..))
    }
}

/// Listens on a socket that only its user may open from the first moment on: it gets its name once its mode is set.
fn bound_for_user(path: &Path) -> io::Result<UnixListener> {
    if std::fs::symlink_metadata(path).is_ok() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it exists, and a server may listen there"));
    }
    let mut first = path.as_os_str().to_owned();
    first.push(format!(".{}", std::process::id()));
    let listener = UnixListener::bind(&first)?;
    let named = std::fs::set_permissions(&first, std::fs::Permissions::from_mode(0o600))
        .and_then(|()| std::fs::rename(&first, path));
    if named.is_err() {
        let _ = std::fs::remove_file(&first);
    }
    named.map(|()| listener)
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Tcp(listener) => listener.as_fd(),
            Listener::Unix(listener, _) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
            // It may have been removed already.
            let _ = std::fs::remove_file(path);
        }
    }
}

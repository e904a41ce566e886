//! One end of a connection: its socket and socket options, and how it connects to the other end.

use crate::contract::{EngineError, Setup};
use plan::EngineOptions;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::Timeout;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType, sockopt,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

/// Socket timeout: a call that transfers no byte for this long returns, so that the worker can check for the end of the
/// job.
const PATIENCE: Duration = Duration::from_millis(100);
/// The closing message is sent this many times, because the other end drops datagrams when its buffer is full.
const FAREWELLS: u32 = 3;

/// Direction of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Receive.
    In,
    /// Send.
    Out,
}

impl Way {
    pub(super) fn opposite(self) -> Way {
        match self {
            Way::In => Way::Out,
            Way::Out => Way::In,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Tcp,
    Udp,
    Unix,
}

/// One end of a connection.
#[derive(Debug)]
pub(super) struct End {
    engine: &'static str,
    way: Way,
    protocol: Protocol,
    /// The socket: it listens or will be connected or, for UDP, both.
    opened: OwnedFd,
    /// The connected socket, once the connection exists.
    connected: Option<OwnedFd>,
    /// Address to connect to; `None` for the end that waits.
    peer: Option<SocketAddrAny>,
    /// Multicast group that this end sends to or receives from.
    group: Option<Ipv4Addr>,
    /// Path of the Unix socket that this end created.
    made: Option<PathBuf>,
}

impl End {
    pub(super) fn open<C>(setup: &Setup<'_, C>, engine: &'static str) -> Result<End, EngineError> {
        let plan = Meeting::from_options(setup, engine)?;
        let failed = |operation, error: Errno| failure(engine, operation, error, &plan.spelled);
        let kind = if plan.protocol == Protocol::Udp { SocketType::DGRAM } else { SocketType::STREAM };
        let socket = rustix::net::socket_with(plan.family, kind, SocketFlags::CLOEXEC, None);
        let socket = socket.map_err(|error| failed("socket", error))?;
        apply(&socket, setup.options, &plan).map_err(|error| failed("setsockopt", error))?;
        let (mut peer, mut made) = (None, None);
        if plan.waits {
            if let (Protocol::Unix, Some(path)) = (plan.protocol, &plan.path) {
                made = Some(path.clone());
                // Removes a socket of an earlier run. Any other kind of file stays, and bind reports the error.
                if std::fs::metadata(path)
                    .is_ok_and(|found| std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()))
                {
                    let _ = std::fs::remove_file(path);
                }
            }
            rustix::net::bind(&socket, &plan.here).map_err(|error| failed("bind", error))?;
            if plan.protocol != Protocol::Udp {
                rustix::net::listen(&socket, 10).map_err(|error| failed("listen", error))?;
            }
        } else {
            peer = Some(plan.there.clone().unwrap_or(plan.here));
        }
        Ok(End {
            engine,
            way: plan.way,
            protocol: plan.protocol,
            opened: socket,
            connected: None,
            peer,
            group: plan.group,
            made,
        })
    }

    pub(super) fn way(&self) -> Way {
        self.way
    }

    pub(super) fn is_of_messages(&self) -> bool {
        self.protocol == Protocol::Udp
    }

    /// The connected socket.
    #[inline]
    pub(super) fn socket(&self) -> Option<&OwnedFd> {
        self.connected.as_ref()
    }

    /// Connects to the other end; `false` if the job was stopped before.
    pub(super) fn meet(&mut self, go_on: &dyn Fn() -> bool) -> Result<bool, EngineError> {
        let failed = |operation, error| failure(self.engine, operation, error, "");
        let met = match (self.protocol, &self.peer) {
            (_, Some(peer)) => {
                rustix::net::connect(&self.opened, peer).map_err(|error| failed("connect", error))?;
                let socket = self.opened.try_clone().map_err(|_| failed("dup", Errno::MFILE))?;
                if self.protocol == Protocol::Udp {
                    let sent = rustix::net::send(&socket, &Word::Open.bytes(), SendFlags::NOSIGNAL);
                    sent.map_err(|error| failed("send", error))?;
                }
                Some(socket)
            }
            (Protocol::Udp, None) => self.wait_for_word(go_on)?,
            (_, None) => self.accept(go_on)?,
        };
        let Some(socket) = met else { return Ok(false) };
        for direction in [Timeout::Recv, Timeout::Send] {
            sockopt::set_socket_timeout(&socket, direction, Some(PATIENCE))
                .map_err(|error| failed("setsockopt", error))?;
        }
        self.connected = Some(socket);
        Ok(true)
    }

    fn accept(&self, go_on: &dyn Fn() -> bool) -> Result<Option<OwnedFd>, EngineError> {
        if !readable(&self.opened, go_on) {
            return Ok(None);
        }
        let accepted = rustix::net::accept_with(&self.opened, SocketFlags::CLOEXEC);
        accepted.map(Some).map_err(|error| failure(self.engine, "accept", error, ""))
    }

    /// Waits for the first datagram and connects the socket to its sender, unless it receives from a group.
    fn wait_for_word(&self, go_on: &dyn Fn() -> bool) -> Result<Option<OwnedFd>, EngineError> {
        let failed = |operation, error| failure(self.engine, operation, error, "");
        loop {
            if !readable(&self.opened, go_on) {
                return Ok(None);
            }
            let mut word = [0u8; 16];
            let heard = rustix::net::recvfrom(&self.opened, &mut word, RecvFlags::PEEK);
            let (_, length, from) = heard.map_err(|error| failed("recv", error))?;
            let is_word = Word::of(&word[..length.min(word.len())]);
            if is_word.is_some() {
                let _ = rustix::net::recv(&self.opened, &mut word, RecvFlags::empty());
            }
            if is_word == Some(Word::Close) {
                continue;
            }
            // A connected socket drops the datagrams of other senders. That of a group must not be connected:
            // connect(2) also sets its local address, which then no longer matches datagrams to the group.
            if let Some(from) = from.filter(|_| self.group.is_none()) {
                let _ = rustix::net::connect(&self.opened, &from);
            }
            return self.opened.try_clone().map(Some).map_err(|_| failed("dup", Errno::MFILE));
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        if let (Protocol::Udp, Some(socket)) = (self.protocol, &self.connected) {
            for _ in 0..FAREWELLS {
                // Fails if the other end has already closed.
                let _ = rustix::net::send(socket, &Word::Close.bytes(), SendFlags::NOSIGNAL);
            }
        }
        if let Some(path) = &self.made {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Waits until a socket is readable; `false` if the job was stopped.
fn readable(socket: &OwnedFd, go_on: &dyn Fn() -> bool) -> bool {
    let patience = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    while go_on() {
        if matches!(poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&patience)), Ok(1..)) {
            return true;
        }
    }
    false
}

/// Addresses and roles of the two ends, from the options.
struct Meeting {
    way: Way,
    protocol: Protocol,
    family: AddressFamily,
    waits: bool,
    /// Address that the waiting end listens on.
    here: SocketAddrAny,
    /// Address that the other end connects to.
    there: Option<SocketAddrAny>,
    path: Option<PathBuf>,
    group: Option<Ipv4Addr>,
    spelled: String,
}

impl Meeting {
    fn from_options<C>(setup: &Setup<'_, C>, engine: &'static str) -> Result<Meeting, EngineError> {
        let options = setup.options;
        let wrong = |message: String| EngineError { engine, operation: "options", message, errno: libc::EINVAL };
        let word = options.text("protocol").unwrap_or("tcp");
        let way = if setup.targets.iter().any(|target| target.writable) { Way::Out } else { Way::In };
        let host = options.text("hostname").filter(|host| !host.is_empty());
        let listens = options.is_on("listen");
        let protocol = match word {
            "vsock" => {
                return Err(wrong(
                    "protocol=vsock, between a virtual machine and its host, is not available yet; use tcp, udp or unix"
                        .to_owned(),
                ));
            }
            "udp" | "udpv6" if engine != "net" => {
                return Err(wrong(format!("{engine} cannot splice datagrams; take ioengine=net for protocol={word}")));
            }
            "udp" | "udpv6" => Protocol::Udp,
            "unix" => Protocol::Unix,
            _ => Protocol::Tcp,
        };
        if protocol == Protocol::Unix {
            return Meeting::at_a_path(setup, way, host).map_err(wrong);
        }
        let waits = if protocol == Protocol::Udp { way == Way::In } else { listens };
        if protocol == Protocol::Udp && listens {
            return Err(wrong("listen is for TCP and Unix sockets; with UDP the job that reads waits".to_owned()));
        }
        let Some(port) = options.integer("port").and_then(|port| u16::try_from(port).ok()) else {
            return Err(wrong("the port is missing: give port=".to_owned()));
        };
        let family = if word.ends_with("v6") { AddressFamily::INET6 } else { AddressFamily::INET };
        let address = host.map(|host| resolve(host, port, family).map_err(&wrong)).transpose()?;
        let group = address.map(|address| address.ip()).filter(IpAddr::is_multicast);
        if group.is_some() && options.is_on("pingpong") {
            return Err(wrong("pingpong is for two ends, and a multicast has many; leave pingpong out".to_owned()));
        }
        match (waits, address) {
            (true, Some(_)) if group.is_none() => {
                return Err(wrong(
                    "the end that waits for a connection connects to no host: leave out hostname= or listen".to_owned(),
                ));
            }
            (false, None) => {
                return Err(wrong("there is no host to connect to: give hostname=, or listen".to_owned()));
            }
            _ => {}
        }
        let any: IpAddr =
            if family == AddressFamily::INET6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        let spelled = address.map_or_else(|| format!("port {port}"), |address| address.to_string());
        Ok(Meeting {
            way,
            protocol,
            family,
            waits,
            here: SocketAddr::new(any, port).into(),
            there: address.map(SocketAddrAny::from),
            path: None,
            group: group.and_then(|group| if let IpAddr::V4(group) = group { Some(group) } else { None }),
            spelled,
        })
    }

    /// A Unix socket at the path `hostname`, or at the job's file name.
    fn at_a_path<C>(setup: &Setup<'_, C>, way: Way, host: Option<&str>) -> Result<Meeting, String> {
        let path = host.map(PathBuf::from).or_else(|| setup.targets.first().map(|target| target.path.clone()));
        let path = path.ok_or("where is the socket? give filename=")?;
        let here = SocketAddrUnix::new(&path).map_err(|_| format!("{} is too long for a socket", path.display()))?;
        Ok(Meeting {
            way,
            protocol: Protocol::Unix,
            family: AddressFamily::UNIX,
            waits: setup.options.is_on("listen"),
            here: here.into(),
            there: None,
            spelled: path.display().to_string(),
            path: Some(path),
            group: None,
        })
    }
}

fn resolve(host: &str, port: u16, family: AddressFamily) -> Result<SocketAddr, String> {
    let v6 = family == AddressFamily::INET6;
    let found = (host, port).to_socket_addrs().map_err(|error| format!("hostname={host}: {error}"))?;
    let mut right = found.filter(|address| address.is_ipv6() == v6);
    right.next().ok_or_else(|| format!("hostname={host} has no IPv{} address", if v6 { 6 } else { 4 }))
}

/// Sets the socket options that must be set before the connection is made.
fn apply(socket: &OwnedFd, options: &EngineOptions, plan: &Meeting) -> Result<(), Errno> {
    let size = |name: &str| options.integer(name).and_then(|size| usize::try_from(size).ok()).filter(|&size| size > 0);
    if plan.protocol != Protocol::Unix {
        sockopt::set_socket_reuseaddr(socket, true)?;
    }
    if let Some(size) = size("window_size") {
        sockopt::set_socket_recv_buffer_size(socket, size)?;
        sockopt::set_socket_send_buffer_size(socket, size)?;
    }
    if plan.protocol == Protocol::Tcp {
        if options.is_on("nodelay") {
            sockopt::set_tcp_nodelay(socket, true)?;
        }
        if let Some(segment) = size("mss").and_then(|segment| i32::try_from(segment).ok()) {
            set_largest_segment(socket, segment)?;
        }
    }
    if let Some(group) = &plan.group {
        let interface = options.text("interface").map(str::parse).transpose().map_err(|_| Errno::INVAL)?;
        let interface = interface.unwrap_or(Ipv4Addr::UNSPECIFIED);
        if plan.waits {
            sockopt::set_ip_add_membership(socket, group, &interface)?;
        } else {
            let ttl = options.integer("ttl").and_then(|ttl| u32::try_from(ttl).ok()).unwrap_or(1);
            sockopt::set_ip_multicast_ttl(socket, ttl)?;
            sockopt::set_ip_multicast_if(socket, &interface)?;
        }
    }
    Ok(())
}

/// TCP_MAXSEG, which rustix lacks.
fn set_largest_segment(socket: &OwnedFd, segment: i32) -> Result<(), Errno> {
    let (level, length) = (libc::IPPROTO_TCP, libc::socklen_t::try_from(size_of::<i32>()).unwrap_or(4));
    // SAFETY: the call reads one i32, which outlives it.
    let answer =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, libc::TCP_MAXSEG, (&raw const segment).cast(), length) };
    if answer == 0 { Ok(()) } else { Err(Errno::from_raw_os_error(crate::call::errno())) }
}

fn failure(engine: &'static str, operation: &'static str, error: Errno, address: &str) -> EngineError {
    let advice = match (operation, error) {
        ("connect", Errno::CONNREFUSED | Errno::NOENT) => {
            "; no job listens there: is the other job running, with listen?"
        }
        ("bind", Errno::ADDRINUSE) => "; another process uses it",
        _ => "",
    };
    let between = if address.is_empty() { "" } else { ": " };
    let message = format!("{address}{between}{}{advice}", std::io::Error::from(error));
    EngineError { engine, operation, message, errno: error.raw_os_error() }
}

/// A message about the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// The sender is ready.
    Open,
    /// The sender sends no more data.
    Close,
}

const OPEN: [u8; 8] = *b"link\0\0\0\x98";
const CLOSE: [u8; 8] = *b"knil\x89\0\0\0";

impl Word {
    /// Decodes a datagram; `None` for data.
    #[inline]
    pub(super) fn of(message: &[u8]) -> Option<Word> {
        match message.first_chunk::<8>() {
            Some(bytes) if message.len() == 8 && *bytes == OPEN => Some(Word::Open),
            Some(bytes) if message.len() == 8 && *bytes == CLOSE => Some(Word::Close),
            _ => None,
        }
    }

    /// Encodes the message.
    pub(super) fn bytes(self) -> [u8; 8] {
        match self {
            Word::Open => OPEN,
            Word::Close => CLOSE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_eight_bytes_alone_and_data_is_not_a_word() {
        for word in [Word::Open, Word::Close] {
            assert_eq!(Word::of(&word.bytes()), Some(word));
            assert_eq!(Word::of(&[&word.bytes()[..], b"x"].concat()), None);
        }
        assert_eq!(Word::of(b"link"), None);
        assert_eq!(Word::of(&[0; 4096]), None);
    }
}

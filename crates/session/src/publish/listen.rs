//! `--metrics-listen`: a process that answers `GET /metrics` while a command measures, and for a while after.
//!
//! It reads the latest text from [`Latest`], so that no scrape, however slow, holds the run up.

use super::forked::{Helper, HelperEnd};
use super::latest::{Latest, Reader};
use crate::failure::Failure;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Most connections at a time; others wait until one has ended.
const MOST: usize = 8;
/// Most bytes of a request.
const MOST_BYTES: usize = 8 << 10;
/// Longest time that a connection stays open.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest sleep.
const LOOK: Duration = Duration::from_secs(1);
/// The type of the text, as Prometheus calls it.
const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(super) struct Listener {
    address: SocketAddr,
    latest: Latest,
    forked: Helper,
    linger: Duration,
}

impl Listener {
    /// Binds the address that was given and starts the process; this one must have no threads.
    pub(super) fn open(given: &str, linger: Duration) -> Result<Self, Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::new(format!("--metrics-listen {given}: {error}"));
        let address = address(given).map_err(|error| failed(&error))?;
        let listener = TcpListener::bind(address)
            .map_err(|error| failed(&format!("{error}; name another port, or 0 for one that is free")))?;
        let address = listener.local_addr().map_err(|error| failed(&error))?;
        listener.set_nonblocking(true).map_err(|error| failed(&error))?;
        let latest = Latest::new().map_err(|error| failed(&error))?;
        let reader = latest.reader().map_err(|error| failed(&error))?;
        let forked = Helper::start(move |gone| serve(&listener, &reader, gone, linger))?;
        Ok(Listener { address, latest, forked, linger })
    }

    pub(super) fn url(&self) -> String {
        url(self.address)
    }

    pub(super) fn write(&mut self, text: &str) -> io::Result<()> {
        self.latest.write(text.as_bytes())
    }

    /// The command has nothing more to say.
    pub(super) fn finish(self) -> HelperEnd {
        self.forked.hang_up();
        let seconds = self.linger.as_secs_f64();
        let says = format!("plumb: {} answers for {seconds} s more; Ctrl-C ends it", self.url());
        let says = Some(says).filter(|_| !self.linger.is_zero());
        HelperEnd { forked: self.forked, longest: self.linger, says, complains: None }
    }

    /// The command was interrupted: its user does not wait.
    pub(super) fn end(self) {
        self.forked.end();
    }
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}/metrics")
}

/// `PORT` on this machine alone, or `ADDRESS:PORT`.
fn address(given: &str) -> io::Result<SocketAddr> {
    if let Ok(port) = given.parse() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    let found = given.to_socket_addrs().ok().and_then(|mut found| found.next());
    found.ok_or_else(|| io::Error::other("write it as PORT (this machine alone) or as ADDRESS:PORT"))
}

/// Answers until the command has ended and the linger is over. Returns the exit status.
fn serve(listener: &TcpListener, reader: &Reader, gone: UnixStream, linger: Duration) -> u8 {
    let (mut connections, mut gone, mut ends) = (Vec::<Connection>::new(), Some(gone), None::<Instant>);
    loop {
        let now = Instant::now();
        if ends.is_some_and(|ends| now >= ends) {
            return 0;
        }
        let left = ends.map_or(LOOK, |ends| ends.saturating_duration_since(now).min(LOOK));
        let mut sources: Vec<PollFd<'_>> = connections.iter().map(Connection::awaited).collect();
        let at_listener = (sources.len() < MOST).then_some(sources.len());
        sources.extend(at_listener.map(|_| PollFd::new(listener, PollFlags::IN)));
        let at_gone = gone.as_ref().map(|_| sources.len());
        sources.extend(gone.as_ref().map(|gone| PollFd::new(gone, PollFlags::IN)));
        let timeout = Timespec::try_from(left).ok();
        if poll(&mut sources, timeout.as_ref()).is_err() {
            continue;
        }
        let is_ready = |at: Option<usize>| at.is_some_and(|at| !sources[at].revents().is_empty());
        let (has_new, has_gone) = (is_ready(at_listener), is_ready(at_gone));
        drop(sources);
        if has_gone {
            (gone, ends) = (None, Some(Instant::now() + linger));
        }
        connections.retain_mut(|connection| connection.goes_on(reader));
        if has_new && let Ok((stream, _)) = listener.accept() {
            connections.extend(Connection::new(stream));
        }
    }
}

/// One request and its answer.
struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    /// Bytes of the answer that are left to send, once the request is whole.
    answer: Option<Vec<u8>>,
    until: Instant,
}

impl Connection {
    fn new(stream: TcpStream) -> Option<Self> {
        stream.set_nonblocking(true).ok()?;
        Some(Connection { stream, request: Vec::new(), answer: None, until: Instant::now() + PATIENCE })
    }

    fn awaited(&self) -> PollFd<'_> {
        let flags = if self.answer.is_some() { PollFlags::OUT } else { PollFlags::IN };
        PollFd::from_borrowed_fd(self.stream.as_fd(), flags)
    }

    /// Reads and writes what it can without waiting; false if the connection is over.
    fn goes_on(&mut self, reader: &Reader) -> bool {
        let moved = if self.answer.is_some() { Ok(()) } else { self.take(reader) };
        let moved = moved.and_then(|()| self.give());
        match moved {
            Ok(()) => Instant::now() < self.until && self.answer.as_ref().is_none_or(|left| !left.is_empty()),
            Err(error) => error.kind() == io::ErrorKind::WouldBlock && Instant::now() < self.until,
        }
    }

    fn take(&mut self, reader: &Reader) -> io::Result<()> {
        let mut bytes = [0; 1024];
        while self.answer.is_none() {
            let count = self.stream.read(&mut bytes)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.request.extend_from_slice(&bytes[..count]);
            self.answer = answer(&self.request, || reader.read());
        }
        Ok(())
    }

    fn give(&mut self) -> io::Result<()> {
        let Some(left) = &mut self.answer else { return Ok(()) };
        while !left.is_empty() {
            let count = self.stream.write(left)?;
            left.drain(..count);
        }
        Ok(())
    }
}

/// The answer to a request; `None` if more of it has to come.
fn answer(request: &[u8], text: impl FnOnce() -> io::Result<Vec<u8>>) -> Option<Vec<u8>> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut parsed = httparse::Request::new(&mut headers);
    let plain = "text/plain; charset=utf-8";
    let (status, kind, body) = match parsed.parse(request) {
        Ok(httparse::Status::Partial) if request.len() < MOST_BYTES => return None,
        Ok(httparse::Status::Partial) => ("431 Request Header Fields Too Large", plain, b"too long\n".to_vec()),
        Err(_) => ("400 Bad Request", plain, b"no HTTP request\n".to_vec()),
        Ok(httparse::Status::Complete(_)) => {
            let path = parsed.path.unwrap_or_default().split('?').next();
            match (parsed.method, path) {
                (Some("GET" | "HEAD"), Some("/metrics")) => match text() {
                    Ok(text) => ("200 OK", TYPE, text),
                    Err(_) => ("503 Service Unavailable", plain, b"plumb ended while it wrote its metrics\n".to_vec()),
                },
                (Some("GET" | "HEAD"), _) => ("404 Not Found", plain, b"plumb: only /metrics is here\n".to_vec()),
                _ => ("405 Method Not Allowed", plain, b"plumb: only GET and HEAD\n".to_vec()),
            }
        }
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nAllow: GET, HEAD\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let body = if parsed.method == Some("HEAD") { Vec::new() } else { body };
    Some([head.into_bytes(), body].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(request: &str) -> Option<String> {
        answer(request.as_bytes(), || Ok(b"plumb_ios_total 1\n".to_vec()))
            .map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn only_the_metrics_are_answered() {
        for (request, status, body) in [
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "200 OK", "plumb_ios_total 1\n"),
            ("GET /metrics?x=1 HTTP/1.0\r\n\r\n", "200 OK", "plumb_ios_total 1\n"),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", "200 OK", ""),
            ("GET / HTTP/1.1\r\n\r\n", "404 Not Found", "plumb: only /metrics is here\n"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed", "plumb: only GET and HEAD\n"),
            ("\u{0}\u{1}\r\n\r\n", "400 Bad Request", "no HTTP request\n"),
        ] {
            let found = answered(request).unwrap();
            let (head, sent) = found.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request:?}: {head}");
            assert_eq!(sent, body, "{request:?}");
        }
        assert_eq!(answered("GET /metrics HTTP/1.1\r\nHost"), None, "the rest may come");
        let long = format!("GET /metrics HTTP/1.1\r\nA: {}", "b".repeat(MOST_BYTES));
        assert!(answered(&long).unwrap().starts_with("HTTP/1.1 431 "));
        let broken = answer(b"GET /metrics HTTP/1.1\r\n\r\n", || Err(io::ErrorKind::TimedOut.into())).unwrap();
        assert!(broken.starts_with(b"HTTP/1.1 503 "));
    }

    #[test]
    fn a_port_alone_is_of_this_machine() {
        assert_eq!(address("9796").unwrap().to_string(), "127.0.0.1:9796");
        assert_eq!(address("0.0.0.0:0").unwrap().to_string(), "0.0.0.0:0");
        assert_eq!(address("[::1]:9796").unwrap().to_string(), "[::1]:9796");
        for wrong in ["", "70000", "127.0.0.1", "a b:1"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}

//! `net` and `netsplice`: one end of a network connection that a job sends to or receives from.
//!
//! A job has one direction: a job that writes sends, a job that reads receives. `listen` and `hostname` select which
//! end waits for the other. The connection is made after all workers are set up and before the first I/O, so no I/O
//! waits for it. When the other end closes it, the job ends normally with the data that was transferred.

mod socket;

use crate::contract::{Completion, Engine, EngineError, Io, Operation, Setup, Slots, Submitted};
use crate::splice::Pipe;
use measure::SystemClock;
use plan::option::{Kind, OptionSpec};
use plan::{Capabilities, EngineSpec, Submission, Work, options};
use socket::End;
pub(crate) use socket::Way;
use std::os::fd::{AsRawFd, OwnedFd};

/// Capabilities of an engine on a connection.
const ON_A_STREAM: Capabilities =
    Capabilities { untrusted: Some("reaches other hosts"), ..Capabilities::new(Submission::Synchronous, Work::Stream) };

/// Moves data between memory and a socket.
pub(crate) trait Carrier: Sized + 'static {
    /// Name, help, capabilities and options of its engine.
    const SPEC: EngineSpec;
    /// Creates what it needs, such as pipes.
    fn new() -> Result<Self, EngineError>;
    /// Moves up to `length` bytes. Returns the bytes moved, 0 if the other end has closed the connection, or -errno.
    ///
    /// # Safety
    /// `memory` is `length` bytes that nothing else uses during the call, and that stay valid as long as the engine.
    unsafe fn carry(&mut self, socket: &OwnedFd, way: Way, memory: *mut u8, length: usize) -> i64;
}

/// send(2) and recv(2).
#[derive(Debug)]
pub(crate) struct Calls;

impl Carrier for Calls {
    const SPEC: EngineSpec = EngineSpec {
        name: "net",
        help: "Sends to or receives from another job or host: TCP, UDP or a Unix socket",
        // Network rates are usually given in bits; fio does so for net, but not for netsplice.
        capabilities: Capabilities { rates_in_bits: true, ..ON_A_STREAM },
        options: OPTIONS,
    };

    fn new() -> Result<Self, EngineError> {
        Ok(Calls)
    }

    #[inline]
    unsafe fn carry(&mut self, socket: &OwnedFd, way: Way, memory: *mut u8, length: usize) -> i64 {
        let (socket, flags) = (socket.as_raw_fd(), libc::MSG_NOSIGNAL);
        let moved = match way {
            // SAFETY: the caller promises the memory.
            Way::In => unsafe { libc::recv(socket, memory.cast(), length, 0) },
            // SAFETY: the caller promises the memory.
            Way::Out => unsafe { libc::send(socket, memory.cast(), length, flags) },
        };
        if moved < 0 { -i64::from(crate::call::errno()) } else { moved as i64 }
    }
}

/// splice(2) through a pipe.
#[derive(Debug)]
pub(crate) struct Spliced(Pipe);

impl Carrier for Spliced {
    const SPEC: EngineSpec = EngineSpec {
        name: "netsplice",
        help: "As net, with splice(2) and vmsplice(2) in place of send and recv; no UDP",
        // vmsplice(2) gives the pages of the buffer to the socket, which may send them after the call has returned.
        capabilities: Capabilities { lends_buffers: true, ..ON_A_STREAM },
        options: OPTIONS,
    };

    fn new() -> Result<Self, EngineError> {
        Pipe::new(Self::SPEC.name).map(Spliced)
    }

    unsafe fn carry(&mut self, socket: &OwnedFd, way: Way, memory: *mut u8, length: usize) -> i64 {
        match way {
            Way::In => self.0.read(socket.as_raw_fd(), None, memory, length),
            Way::Out => self.0.write(socket.as_raw_fd(), None, memory, length),
        }
    }
}

/// The engine `net`.
pub(crate) type Net = Connection<Calls>;
/// The engine `netsplice`.
pub(crate) type NetSplice = Connection<Spliced>;

/// One end of a connection, and the I/O in progress.
#[derive(Debug)]
pub(crate) struct Connection<C> {
    carrier: C,
    slots: Slots,
    end: End,
    /// `pingpong`: each I/O is answered by one of the same size.
    ping_pong: bool,
    /// Bytes of the I/O in progress that were transferred, including its answer.
    moved: usize,
    over: bool,
}

impl<C: Carrier> Engine for Connection<C> {
    type Clock = SystemClock;

    const SPEC: EngineSpec = C::SPEC;

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        let end = End::open(&setup, C::SPEC.name)?;
        Ok(Connection {
            carrier: C::new()?,
            slots: Slots::new(&setup),
            end,
            ping_pong: setup.options.is_on("pingpong"),
            moved: 0,
            over: false,
        })
    }

    fn start(&mut self, go_on: &dyn Fn() -> bool) -> Result<(), EngineError> {
        self.over = !self.end.meet(go_on)?;
        Ok(())
    }

    /// Returns 0 for an I/O that is still in progress: the call waited so long that the worker should check for the end
    /// of the job.
    #[inline]
    fn submit(&mut self, io: Io) -> Submitted {
        let done = |result| Submitted::Done(Completion { slot: io.slot, result });
        let way = match io.operation {
            Operation::Read => Way::In,
            Operation::Write => Way::Out,
            // Data that was sent cannot be synced.
            Operation::Sync | Operation::DataSync => return done(0),
            Operation::Trim => return done(-i64::from(libc::EINVAL)),
        };
        if way != self.end.way() {
            return done(-i64::from(libc::EINVAL));
        }
        let length = io.length as usize;
        let whole = if self.ping_pong { 2 * length } else { length };
        while self.moved < whole {
            let (way, within) =
                if self.moved < length { (way, self.moved) } else { (way.opposite(), self.moved - length) };
            match self.step(way, self.slots.address(&io).wrapping_add(within), length - within) {
                bytes @ 1.. => self.moved += usize::try_from(bytes).unwrap_or(0),
                other => return done(other),
            }
        }
        self.moved = 0;
        done(i64::from(io.length))
    }

    fn is_over(&self) -> bool {
        self.over
    }
}

impl<C: Carrier> Connection<C> {
    /// One call. Returns bytes, or -errno; 0 after a timeout, or with `over` set if the other end closed the
    /// connection.
    #[inline]
    fn step(&mut self, way: Way, memory: *mut u8, length: usize) -> i64 {
        let Some(socket) = self.end.socket().filter(|_| !self.over) else { return 0 };
        // SAFETY: the memory is part of the slot's buffer, which is the worker's until the engine is dropped and which
        // nothing else uses while this I/O is in flight.
        let result = unsafe { self.carrier.carry(socket, way, memory, length) };
        if result > 0 && way == Way::In && self.end.is_of_messages() {
            // SAFETY: the call has just filled `result` bytes of that memory.
            let message = unsafe { std::slice::from_raw_parts(memory, usize::try_from(result).unwrap_or(0)) };
            return self.judge_message(message);
        }
        if result > 0 { result } else { self.nothing_moved(result) }
    }

    /// Returns the bytes of a data message, or 0 for a message about the connection.
    fn judge_message(&mut self, message: &[u8]) -> i64 {
        match socket::Word::of(message) {
            None => i64::try_from(message.len()).unwrap_or(i64::MAX),
            Some(socket::Word::Open) => 0,
            Some(socket::Word::Close) => {
                self.over = true;
                0
            }
        }
    }

    #[cold]
    fn nothing_moved(&mut self, result: i64) -> i64 {
        match i32::try_from(-result).unwrap_or(libc::EIO) {
            0 | libc::EPIPE | libc::ECONNRESET | libc::ECONNREFUSED => {
                self.over = true;
                0
            }
            libc::EAGAIN | libc::EINTR => 0,
            _ => result,
        }
    }
}

const PROTOCOLS: Kind = Kind::Word(&[
    ("tcp", "TCP over IPv4"),
    ("tcpv6", "TCP over IPv6"),
    ("udp", "UDP over IPv4"),
    ("udpv6", "UDP over IPv6"),
    ("unix", "a Unix stream socket"),
    ("vsock", "between a virtual machine and its host; refused when it comes to it"),
]);

const OPTIONS: &[OptionSpec] = options! {
    "hostname": TEXT; "The other end: a name or an address; with protocol=unix a path";
    "port": between(1, 65_535); "The port of the end that listens";
    "protocol" | "proto": PROTOCOLS, "tcp"; "How the ends speak";
    "nodelay": BOOL, "0"; "TCP_NODELAY: send at once, however little";
    "listen": FLAG, "0"; "Wait for the other end instead of calling it";
    "pingpong": FLAG, "0"; "Each I/O is answered with one of the same size";
    "interface": TEXT; "Address of the interface for multicast, IPv4";
    "ttl": between(0, 255), "1"; "How many routers a multicast may cross";
    "window_size": BYTES; "Size of the socket's buffers (SO_RCVBUF, SO_SNDBUF)";
    "mss": between(0, 65_535); "Largest segment of TCP (TCP_MAXSEG)";
};

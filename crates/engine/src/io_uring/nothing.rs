//! I/Os that do nothing, through a ring, for the calibration: an IORING_OP_NOP takes the path of a read or write up to
//! the kernel's table of operations and back, and an IORING_OP_TIMEOUT ends when it is due. No file is touched.

use super::ring::Ring;
use crate::contract::{Completion, Engine, EngineClock, EngineError, Io, Setup, Submitted};
use crate::nothing::{AFTER_NS, NOTHING, OPTIONS, SPIN_NS, nanoseconds, spin};
use ::io_uring::{opcode, types::Timespec};
use measure::{Clock, Nanos, SystemClock};
use plan::{Capabilities, EngineSpec, Submission};

/// NOPs. Entries are built and completions are read by the code of the engine `io_uring`.
#[derive(Debug)]
pub(crate) struct Nops {
    ring: Ring,
    /// Length of the last I/O by slot: what its completion returns.
    lengths: Box<[u32]>,
    clock: SystemClock,
    spin: Nanos,
}

impl Engine for Nops {
    type Clock = SystemClock;

    const OWN_LOOP: bool = true;

    const SPEC: EngineSpec = EngineSpec {
        name: "io_uring NOP",
        help: "IORING_OP_NOP: what the tool and the ring cost",
        capabilities: NOTHING,
        options: OPTIONS,
    };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        let mut ring = Ring::open(&setup)?;
        ring.do_nothing();
        let lengths = vec![0; setup.depth as usize].into_boxed_slice();
        Ok(Nops { ring, lengths, clock: setup.clock, spin: nanoseconds(setup.options, SPIN_NS) })
    }

    #[inline(always)]
    fn submit(&mut self, io: Io) -> Submitted {
        spin(&self.clock, self.spin);
        self.lengths[io.slot as usize] = io.length;
        self.ring.submit(io)
    }

    #[inline(always)]
    fn flush(&mut self) -> Result<u32, EngineError> {
        self.ring.flush()
    }

    #[inline(always)]
    fn reap(&mut self, min: u32, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        let before = done.len();
        let count = self.ring.reap(min, max, done)?;
        // A NOP returns 0; any other result is an error, and stays one.
        for completion in done[before..].iter_mut().filter(|completion| completion.result == 0) {
            completion.result = i64::from(self.lengths[completion.slot as usize]);
        }
        Ok(count)
    }
}

/// Timeouts. Completion latency is the time by which the worker woke up late: it begins when the timeout is due.
#[derive(Debug)]
pub(crate) struct Timeouts {
    ring: Ring,
    clock: SystemClock,
    after: Nanos,
    length: u32,
    due: Nanos,
    woken: Nanos,
    /// The kernel copies it when it takes the entry.
    span: Box<Timespec>,
}

impl Engine for Timeouts {
    type Clock = SystemClock;

    const STAMPS: bool = true;

    const SPEC: EngineSpec = EngineSpec {
        name: "io_uring TIMEOUT",
        help: "IORING_OP_TIMEOUT: how late a worker wakes up that waits on a ring",
        capabilities: Capabilities { submission: Submission::Asynchronous, ..NOTHING },
        options: OPTIONS,
    };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        let after = nanoseconds(setup.options, AFTER_NS);
        let second = Nanos::SECOND.get();
        let rest = u32::try_from(after.get() % second).unwrap_or(0);
        Ok(Timeouts {
            ring: Ring::open(&setup)?,
            clock: SystemClock::for_worker(&setup.clock),
            after,
            length: 0,
            due: Nanos::ZERO,
            woken: Nanos::ZERO,
            span: Box::new(Timespec::new().sec(after.get() / second).nsec(rest)),
        })
    }

    fn submit(&mut self, io: Io) -> Submitted {
        self.length = io.length;
        self.due = self.clock.now().saturating_add(self.after);
        let span: *const Timespec = &raw const *self.span;
        self.ring.push(opcode::Timeout::new(span).build().user_data(u64::from(io.slot)))
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        self.ring.flush()
    }

    fn reap(&mut self, min: u32, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        let before = done.len();
        let count = self.ring.reap(min, max, done)?;
        self.woken = self.clock.now();
        for completion in done[before..].iter_mut().filter(|completion| completion.result == -i64::from(libc::ETIME)) {
            completion.result = i64::from(self.length);
        }
        Ok(count)
    }

    fn stamps(&self, _slot: u32) -> Option<(Nanos, Nanos)> {
        Some((self.due, self.woken))
    }
}

//! I/Os that do nothing, for the calibration: what the worker's loop and the way to the kernel cost, and how late a
//! worker wakes up. They are no engines of jobs: no job can name them, and none touches a target.

use crate::call::Transfer;
use crate::contract::{Completion, Engine, EngineClock, EngineError, Io, Setup, Submitted};
use measure::{Clock, Nanos, SystemClock, VirtualClock};
use plan::option::{OptionSpec, kind};
use plan::{Capabilities, EngineOptions, EngineSpec, Submission, Work};
use rustix::fs::{MemfdFlags, memfd_create};
use std::os::fd::{AsRawFd, OwnedFd};

/// Option of the engines that wait: the time until an I/O is due.
pub const AFTER_NS: &str = "after_ns";
/// Option of the engines that do nothing: CPU time that each submission wastes, for tests of the calibration itself.
pub const SPIN_NS: &str = "spin_ns";

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(AFTER_NS, &[], kind::between(0, i64::MAX), "Nanoseconds until an I/O is due").default("0"),
    OptionSpec::new(SPIN_NS, &[], kind::between(0, i64::MAX), "Nanoseconds of CPU time wasted per I/O").default("0"),
];

/// Capabilities of the engines that do nothing.
pub(crate) const NOTHING: Capabilities = Capabilities::new(Submission::Asynchronous, Work::Null);

/// The value of an option in nanoseconds.
pub(crate) fn nanoseconds(options: &EngineOptions, name: &str) -> Nanos {
    Nanos(options.integer(name).and_then(|value| u64::try_from(value).ok()).unwrap_or(0))
}

/// Wastes CPU time.
#[inline(always)]
pub(crate) fn spin(clock: &impl Clock, time: Nanos) {
    if !time.is_zero() {
        let until = clock.now().saturating_add(time);
        while clock.now() < until {
            std::hint::spin_loop();
        }
    }
}

/// A pread(2) of 0 bytes of a file in memory: a system call that has nothing to do.
#[derive(Debug)]
pub(crate) struct EmptyReads {
    file: OwnedFd,
    clock: SystemClock,
    spin: Nanos,
}

impl Engine for EmptyReads {
    type Clock = SystemClock;

    const OWN_LOOP: bool = true;

    const SPEC: EngineSpec = EngineSpec {
        name: "pread of 0 bytes",
        help: "pread(2) of 0 bytes: what the tool and a system call cost",
        capabilities: Capabilities { submission: Submission::Synchronous, ..NOTHING },
        options: OPTIONS,
    };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        let file = memfd_create("calibration", MemfdFlags::CLOEXEC).map_err(|errno| EngineError {
            engine: Self::SPEC.name,
            operation: "memfd_create",
            message: errno.to_string(),
            errno: errno.raw_os_error(),
        })?;
        Ok(EmptyReads { file, clock: setup.clock, spin: nanoseconds(setup.options, SPIN_NS) })
    }

    #[inline(always)]
    fn submit(&mut self, io: Io) -> Submitted {
        spin(&self.clock, self.spin);
        let nowhere = std::ptr::NonNull::<u8>::dangling().as_ptr();
        let transfer = Transfer { descriptor: self.file.as_raw_fd(), address: nowhere, length: 0 };
        // SAFETY: the descriptor is open as long as `self`; no byte of memory is touched, for which any aligned address
        // that is not null will do.
        let result = unsafe { transfer.read_at(io.offset) };
        let result = if result == 0 { i64::from(io.length) } else { result };
        Submitted::Done(Completion { slot: io.slot, result })
    }
}

/// Sleeps of the worker (clock_nanosleep(2) until a moment). Completion latency is the time by which it woke up late:
/// it begins when the sleep is due to end.
#[derive(Debug)]
pub(crate) struct Sleeps<T: SleepTime> {
    clock: T,
    after: Nanos,
    queued: Option<Completion>,
    in_flight: Option<Completion>,
    due: Nanos,
    woken: Nanos,
}

/// Real or virtual time.
pub(crate) trait SleepTime: EngineClock + std::fmt::Debug + 'static {
    /// Name of its sleeps.
    const NAME: &'static str;
    /// True for virtual time.
    const VIRTUAL: bool;
}

impl SleepTime for SystemClock {
    const NAME: &'static str = "clock_nanosleep";
    const VIRTUAL: bool = false;
}

impl SleepTime for VirtualClock {
    const NAME: &'static str = "sleep in virtual time";
    const VIRTUAL: bool = true;
}

impl<T: SleepTime> Engine for Sleeps<T> {
    type Clock = T;

    const STAMPS: bool = true;

    const SPEC: EngineSpec = EngineSpec {
        name: T::NAME,
        help: "Sleeps until a moment: how late a worker wakes up",
        capabilities: Capabilities { virtual_time: T::VIRTUAL, ..NOTHING },
        options: OPTIONS,
    };

    fn open(setup: Setup<'_, T>) -> Result<Self, EngineError> {
        let after = nanoseconds(setup.options, AFTER_NS);
        let (due, woken) = (Nanos::ZERO, Nanos::ZERO);
        Ok(Sleeps { clock: setup.clock, after, queued: None, in_flight: None, due, woken })
    }

    fn submit(&mut self, io: Io) -> Submitted {
        if self.queued.is_some() || self.in_flight.is_some() {
            return Submitted::Full;
        }
        self.due = self.clock.now().saturating_add(self.after);
        self.queued = Some(Completion { slot: io.slot, result: i64::from(io.length) });
        Submitted::Queued
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        self.in_flight = self.queued.take().or(self.in_flight.take());
        Ok(u32::from(self.in_flight.is_some()))
    }

    fn reap(&mut self, min: u32, _max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        if self.in_flight.is_none() || (min == 0 && self.clock.now() < self.due) {
            return Ok(0);
        }
        // A signal ends a sleep early.
        while self.clock.now() < self.due {
            self.clock.sleep_until(self.due);
        }
        self.woken = self.clock.now();
        done.extend(self.in_flight.take());
        Ok(1)
    }

    fn stamps(&self, _slot: u32) -> Option<(Nanos, Nanos)> {
        Some((self.due, self.woken))
    }
}

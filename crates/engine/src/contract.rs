//! The interface between the worker loop and an engine.

use measure::{Clock, Nanos, SystemClock, VirtualClock};
use plan::{EngineOptions, EngineSpec, MapAdvice, PlacementPlan};
use std::os::fd::RawFd;
use std::path::PathBuf;

pub use plan::Operation;

/// One I/O. Its data is in the buffer of its slot, from `buffer_offset` on: after a short transfer the rest is issued
/// again from the middle of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// Slot of the worker, below the depth. A slot has at most one I/O in flight.
    pub slot: u32,
    /// Read, write, trim or sync.
    pub operation: Operation,
    /// Index into the targets.
    pub target: u32,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Length in bytes; 0 for syncs.
    pub length: u32,
    /// Offset in the buffer of the slot, in bytes.
    pub buffer_offset: u32,
}

impl Io {
    /// A copy for a call that is not inlined. Such a call takes its argument from memory; without the copy the I/O
    /// would be there on every path, not only on the one with the call. `black_box` hides from the compiler that both
    /// are equal.
    #[inline(always)]
    #[must_use]
    pub fn rebuilt(&self) -> Self {
        Io { slot: std::hint::black_box(self.slot), ..*self }
    }
}

/// Result of an I/O that completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The slot it used.
    pub slot: u32,
    /// Bytes moved, or a negated errno.
    pub result: i64,
}

/// State of an I/O after [`Engine::submit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// Completed (synchronous engines).
    Done(Completion),
    /// Queued until [`Engine::flush`].
    Queued,
    /// The engine takes no more I/Os before a flush or a reap; the caller keeps this one.
    Full,
}

/// An open file or device.
#[derive(Clone, Debug)]
pub struct Target {
    /// Path, for messages.
    pub path: PathBuf,
    /// File descriptor, open as long as the engine lives; `None` for engines that need no files.
    pub descriptor: Option<RawFd>,
    /// Size in bytes, at least up to the end of the region that the job uses.
    pub size: u64,
    /// True for a block device, the only kind of target that takes trims.
    pub block_device: bool,
    /// True if it is open for writing.
    pub writable: bool,
    /// Size of its zones, if it is a zoned device and the job writes it by zones.
    pub zone_size: Option<u64>,
}

impl Target {
    /// Returns the descriptor for a system call, which fails with EBADF if there is none.
    pub(crate) fn raw(&self) -> RawFd {
        self.descriptor.unwrap_or(-1)
    }
}

/// Properties of the job that engines may need, in addition to the engine's options.
#[derive(Clone, Copy, Debug, Default)]
pub struct JobFacts<'a> {
    /// The job's name.
    pub name: &'a str,
    /// Runtime, if the job has one.
    pub runtime: Option<Nanos>,
    /// I/O priority of the job, encoded as in ioprio_set(2).
    pub priority: u16,
    /// Writes must be atomic: complete or absent after a crash (`atomic`).
    pub atomic: bool,
    /// No trim may be in flight next to other I/Os: those that follow may depend on it.
    pub trims_alone: bool,
    /// Name of the engine to which threads pass the I/Os (`io_submit_mode=offload`).
    pub offloads_to: Option<&'a str>,
    /// Access pattern, if the kernel may be given it as a hint.
    pub order: Option<AccessPattern>,
    /// madvise(2) hint for mapped files, if it differs from the access pattern.
    pub map_advice: Option<MapAdvice>,
    /// The file position of the targets, if the job knows it; an engine that uses it need not set it first.
    pub position: Option<u64>,
    /// Placement of writes by the device.
    pub placement: Option<&'a PlacementPlan>,
}

/// Access pattern of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessPattern {
    /// Sequential: readahead helps.
    Sequential,
    /// Random: readahead is wasted.
    Random,
}

/// Arguments of [`Engine::open`].
pub struct Setup<'a, C> {
    /// Values of the engine's options.
    pub options: &'a EngineOptions,
    /// Properties of the job.
    pub job: JobFacts<'a>,
    /// The open files.
    pub targets: &'a [Target],
    /// Maximum number of I/Os in flight.
    pub depth: u32,
    /// Start of the buffers: slot `s` owns `buffer_stride` bytes from `buffers + s * buffer_stride`. They outlive the
    /// engine and do not move.
    pub buffers: *mut u8,
    /// Bytes per slot.
    pub buffer_stride: usize,
    /// The worker's clock.
    pub clock: C,
}

/// Error of an engine that could not be opened or driven. Errors of single I/Os are completions instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("engine {engine}: {operation}: {message}")]
pub struct EngineError {
    /// The engine's name.
    pub engine: &'static str,
    /// The call or step that failed, such as `io_setup` or `options`.
    pub operation: &'static str,
    /// Description of the error, and a value or setting that would work.
    pub message: String,
    /// errno.
    pub errno: i32,
}

/// Clock that an engine runs on. Each worker creates one from the system clock of the run.
pub trait EngineClock: Clock {
    /// True if other jobs of the thread run while this one sleeps. Such a job never spins instead.
    const TAKES_TURNS: bool = false;

    /// Returns the clock of one worker: the system clock itself, or virtual time that starts at zero.
    fn for_worker(system: &SystemClock) -> Self;
}

impl EngineClock for SystemClock {
    fn for_worker(system: &SystemClock) -> Self {
        *system
    }
}

impl EngineClock for VirtualClock {
    fn for_worker(_system: &SystemClock) -> Self {
        VirtualClock::default()
    }
}

/// Interface of synchronous and asynchronous engines.
pub trait Engine: Sized + 'static {
    /// The clock this engine runs on: the system's, or virtual time.
    type Clock: EngineClock;
    /// Name, help, capabilities and options.
    const SPEC: EngineSpec;
    /// True if the engine records itself when an I/O was submitted and when it completed: [`Engine::stamps`].
    const STAMPS: bool = false;
    /// True if the worker loop is compiled for this engine alone, because calls through a pointer (28 instructions
    /// per I/O) would be noticed in what it measures. All other engines share one loop.
    const OWN_LOOP: bool = false;

    /// Prepares the engine for `setup.depth` I/Os in flight.
    ///
    /// # Errors
    /// If the kernel refuses the setup, or if options contradict each other.
    fn open(setup: Setup<'_, Self::Clock>) -> Result<Self, EngineError>;

    /// Takes one I/O. An asynchronous engine may return [`Submitted::Done`] as well, for operations that the kernel has
    /// only as synchronous calls (trims, some syncs), and [`Submitted::Full`] before `depth` is reached, if a sync must
    /// wait for a flush.
    fn submit(&mut self, io: Io) -> Submitted;

    /// Submits the queued I/Os to the kernel with as few calls as possible. Returns how many the kernel took, which may
    /// be fewer than were queued: the caller then reaps and flushes again. I/Os that the kernel rejects one by one are
    /// returned by [`Engine::reap`] as completions with an errno. The default is for engines without a queue.
    ///
    /// # Errors
    /// If the queue itself fails (io_uring_enter(2), io_submit(2)).
    #[inline]
    fn flush(&mut self) -> Result<u32, EngineError> {
        Ok(0)
    }

    /// Appends at least `min` and at most `max` completions to `done` and returns their number. Waits for `min`;
    /// returns fewer only if fewer are in flight or a signal arrived.
    ///
    /// # Errors
    /// If the queue itself fails.
    #[inline]
    fn reap(&mut self, min: u32, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        let _ = (min, max, done);
        Ok(0)
    }

    /// Like [`Engine::reap`] for one completion, but waits at most `longest`, for a loop that has other work at that
    /// time. The default never waits: engines that use it complete their I/Os within [`Engine::submit`] or
    /// [`Engine::flush`].
    ///
    /// # Errors
    /// If the queue itself fails.
    fn reap_within(&mut self, longest: Nanos, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        let _ = longest;
        self.reap(1, max, done)
    }

    /// [`Engine::flush`], then [`Engine::reap`], in one system call where the kernel has one (io_uring_enter(2)).
    /// Returns how many I/Os the kernel took and how many completions were appended. For a loop that is about to wait:
    /// the end of the submission cannot be timed separately.
    ///
    /// # Errors
    /// If the queue itself fails.
    fn flush_and_reap(&mut self, min: u32, max: u32, done: &mut Vec<Completion>) -> Result<(u32, u32), EngineError> {
        let taken = self.flush()?;
        let reaped = self.reap(min, max, done)?;
        Ok((taken, reaped))
    }

    /// Runs when all workers are ready and none has started I/O: waits for a network peer, starts a program. Waits end
    /// early when `go_on` returns false.
    ///
    /// # Errors
    /// If the peer or program cannot be reached or started.
    fn start(&mut self, go_on: &dyn Fn() -> bool) -> Result<(), EngineError> {
        let _ = go_on;
        Ok(())
    }

    /// True if the engine has nothing left to do, whatever the load asks for: its peer closed the connection, its
    /// program ended. Called after an I/O that moved no bytes and, for background engines, after every I/O.
    fn is_over(&self) -> bool {
        false
    }

    /// Time that the worker must sleep after the last I/O; called for background engines only.
    fn rest_after(&self) -> Nanos {
        Nanos::ZERO
    }

    /// True if the last I/O made a system call. Called for metadata engines, which make one call per file and pass.
    fn made_call(&self) -> bool {
        true
    }

    /// I/O priorities that I/Os may have, starting with the job's own; empty if all I/Os have that one.
    fn priorities(&self) -> &[u16] {
        &[]
    }

    /// Index into [`Engine::priorities`] of the last I/O of a slot.
    fn priority_of(&self, slot: u32) -> usize {
        let _ = slot;
        0
    }

    /// CPU time of a kernel thread that works for this engine alone (SQPOLL), since the engine was opened.
    fn kernel_cpu(&self) -> Option<Nanos> {
        None
    }

    /// Submission and completion time of the last I/O of a slot, if the engine records them ([`Engine::STAMPS`]).
    fn stamps(&self, slot: u32) -> Option<(Nanos, Nanos)> {
        let _ = slot;
        None
    }

    /// Resource usage of the engine's helper threads; `None` if it has none.
    fn helpers_usage(&self) -> Option<sys::processes::usage::Usage> {
        None
    }

    /// True if the time at which the kernel accepts an I/O can be measured. It cannot where a kernel thread polls the
    /// submission queue: such jobs report only a total latency.
    fn sees_submission(&self) -> bool {
        true
    }

    /// An option that has no effect on this kernel or these devices, as a sentence for people before the run.
    fn remark(&self) -> Option<String> {
        None
    }

    /// Setup that the engine chose for this kernel, as text for people: `io_uring: SINGLE_ISSUER|DEFER_TASKRUN, ...`.
    fn note(&self) -> Option<String> {
        None
    }
}

/// Addresses of the worker's buffers. This type does not access them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    base: *mut u8,
    stride: usize,
}

impl Slots {
    pub(crate) fn new<C>(setup: &Setup<'_, C>) -> Self {
        Slots { base: setup.buffers, stride: setup.buffer_stride }
    }

    /// Address of the first byte of `io`.
    #[inline]
    pub(crate) fn address(&self, io: &Io) -> *mut u8 {
        debug_assert!(io.buffer_offset as usize + io.length as usize <= self.stride || io.length == 0);
        self.base.wrapping_add(io.slot as usize * self.stride + io.buffer_offset as usize)
    }

    /// Memory of `io` as an iovec.
    #[inline]
    pub(crate) fn vector(&self, io: &Io) -> libc::iovec {
        libc::iovec { iov_base: self.address(io).cast(), iov_len: io.length as usize }
    }

    /// All memory of a slot as an iovec.
    pub(crate) fn whole(&self, slot: u32) -> libc::iovec {
        libc::iovec { iov_base: self.start(slot).cast(), iov_len: self.stride }
    }

    /// Address of the first byte of a slot.
    pub(crate) fn start(&self, slot: u32) -> *mut u8 {
        self.base.wrapping_add(slot as usize * self.stride)
    }
}

/// Descriptors of all targets, by index.
pub(crate) fn descriptors(targets: &[Target]) -> Box<[RawFd]> {
    targets.iter().map(Target::raw).collect()
}

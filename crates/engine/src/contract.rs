//! The contract between a worker's loop and an engine.

use job::plan::MapAdvice;
use job::{EngineOptions, EngineSpec};
use measure::{Clock, Nanos, SystemClock, VirtualClock};
use std::os::fd::RawFd;
use std::path::PathBuf;

/// What an I/O does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Operation {
    /// Device to memory.
    Read,
    /// Memory to device.
    Write,
    /// Discard the range.
    Trim,
    /// fsync the file.
    Sync,
    /// fdatasync the file.
    DataSync,
}

/// One I/O. Its memory is the slot's buffer, from `buffer_offset` on (after a short transfer the rest is issued
/// again from the middle of the buffer).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// Which of the worker's slots, below the depth; in flight at most once.
    pub slot: u32,
    /// What it does.
    pub operation: Operation,
    /// Index into the targets.
    pub target: u32,
    /// Where in the file, in bytes.
    pub offset: u64,
    /// How many bytes; 0 for syncs.
    pub length: u32,
    /// Where in the slot's buffer, in bytes.
    pub buffer_offset: u32,
}

/// An I/O that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The slot it used.
    pub slot: u32,
    /// Bytes moved, or a negated errno.
    pub result: i64,
}

/// What became of an I/O given to [`Engine::submit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// It is done already (synchronous engines).
    Done(Completion),
    /// It waits for [`Engine::flush`].
    Queued,
    /// The engine can take no more before a flush or a reap; the caller keeps the I/O.
    Full,
}

/// A file or device that is open.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its path, for messages.
    pub path: PathBuf,
    /// Its descriptor, open as long as the engine lives; -1 for engines that need no files.
    pub descriptor: RawFd,
    /// Its size in bytes (of the region's end at least).
    pub size: u64,
    /// Whether it is a block device: trims go there, and only there.
    pub block_device: bool,
    /// Whether it is open for writing.
    pub writable: bool,
}

/// What an engine may have to know of its job, beside its own options.
#[derive(Clone, Copy, Debug, Default)]
pub struct JobFacts<'a> {
    /// The job's name.
    pub name: &'a str,
    /// How long it is to run.
    pub runtime: Option<Nanos>,
    /// The I/O priority that the job runs at, as the kernel packs it (ioprio_set(2)).
    pub priority: u16,
    /// Its writes shall be whole or not there at all after a crash.
    pub atomic: bool,
    /// The engine that threads carry its I/Os out with, where they do (`io_submit_mode=offload`).
    pub offloads_to: &'a str,
    /// In which order it goes through its files, where the kernel may be told.
    pub order: Option<Order>,
    /// What is to be said of mapped files, where that is not their order.
    pub map_advice: Option<MapAdvice>,
}

/// In which order a job goes through its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Block after block: reading ahead helps.
    Sequential,
    /// As chance has it: what is read ahead is wasted.
    Random,
}

/// What an engine is opened with.
pub struct Setup<'a, C> {
    /// Values of the engine's own options.
    pub options: &'a EngineOptions,
    /// What it may have to know of its job.
    pub job: JobFacts<'a>,
    /// The open files.
    pub targets: &'a [Target],
    /// In flight at most.
    pub depth: u32,
    /// Start of the buffers: slot `s` owns `buffer_stride` bytes from `buffers + s * buffer_stride`.
    /// They live longer than the engine and do not move.
    pub buffers: *mut u8,
    /// Bytes per slot.
    pub buffer_stride: usize,
    /// The worker's clock.
    pub clock: C,
}

/// Why an engine could not be opened or driven. Device errors of single I/Os are completions, not this.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("engine {engine}: {operation}: {message}")]
pub struct EngineError {
    /// The engine's name.
    pub engine: &'static str,
    /// What failed, `io_setup` or `options`.
    pub operation: &'static str,
    /// What happened and what would work.
    pub message: String,
    /// errno, or 0.
    pub errno: i32,
}

/// A clock that an engine can run on. The worker makes it; the run's system clock is the seed.
pub trait EngineClock: Clock {
    /// The clock of one worker: the run's own, or virtual time that starts at zero.
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

/// One shape for synchronous and asynchronous engines. The worker's loop is compiled once per implementation.
pub trait Engine: Sized {
    /// The clock this engine runs on: the system's, or virtual time.
    type Clock: EngineClock;
    /// Name, help, abilities, options.
    const SPEC: EngineSpec;
    /// Whether the engine itself sees when an I/O reached the kernel and when it was done: [`Engine::stamps`].
    const STAMPS: bool = false;

    /// Makes the engine ready for `setup.depth` I/Os in flight.
    ///
    /// # Errors
    /// When the kernel refuses or the options contradict each other.
    fn open(setup: Setup<'_, Self::Clock>) -> Result<Self, EngineError>;

    /// Takes one I/O. Asynchronous engines too may answer [`Submitted::Done`] (trims, syncs that the kernel only
    /// has as plain calls), and [`Submitted::Full`] before `depth` is reached (a sync must wait for a flush).
    fn submit(&mut self, io: Io) -> Submitted;

    /// Hands what is queued to the kernel with as few calls as possible; returns how many it took.
    /// May take fewer than queued; the caller reaps and flushes again. I/Os that the kernel refuses one by one
    /// come back from [`Engine::reap`] as completions with an errno. Engines that queue nothing have nothing to do.
    ///
    /// # Errors
    /// When the queue itself is broken.
    #[inline]
    fn flush(&mut self) -> Result<u32, EngineError> {
        Ok(0)
    }

    /// Appends at least `min` (waiting if need be; fewer only when fewer are in flight or a signal came) and at
    /// most `max` completions to `done`, and returns how many.
    ///
    /// # Errors
    /// When the queue itself is broken.
    #[inline]
    fn reap(&mut self, min: u32, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        let _ = (min, max, done);
        Ok(0)
    }

    /// Like [`Engine::reap`] for one completion, but waits no longer than `longest`. For a loop that has something else
    /// to do then; engines whose I/Os end within [`Engine::submit`] or [`Engine::flush`] never have to wait.
    ///
    /// # Errors
    /// When the queue itself is broken.
    fn reap_within(&mut self, longest: Nanos, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        let _ = longest;
        self.reap(1, max, done)
    }

    /// [`Engine::flush`] and then [`Engine::reap`], in one system call where the kernel has one (io_uring).
    /// Returns how many the kernel took and how many completions were appended. For a loop that is about to wait:
    /// between the two there is no moment at which the submission could be seen to end.
    ///
    /// # Errors
    /// When the queue itself is broken.
    fn flush_and_reap(&mut self, min: u32, max: u32, done: &mut Vec<Completion>) -> Result<(u32, u32), EngineError> {
        let taken = self.flush()?;
        let reaped = self.reap(min, max, done)?;
        Ok((taken, reaped))
    }

    /// Does what has to be done when all workers are ready and none has begun: waits for a peer, starts a program.
    /// Asks `go_on` whether the job still wants it.
    ///
    /// # Errors
    /// When it cannot be done.
    fn start(&mut self, go_on: &dyn Fn() -> bool) -> Result<(), EngineError> {
        let _ = go_on;
        Ok(())
    }

    /// Whether the engine has nothing left to do, whatever the load wants: its peer closed, its program ended. Asked
    /// after an I/O that moved nothing, and after every one of an engine for company.
    fn is_over(&self) -> bool {
        false
    }

    /// How long the worker shall rest after the I/O just done; asked of engines for company only.
    fn rest_after(&self) -> Nanos {
        Nanos::ZERO
    }

    /// Whether the I/O just done made its call; asked of engines that work on names, which call once per file and pass.
    fn made_call(&self) -> bool {
        true
    }

    /// Which priorities I/Os may have, the job's own first; empty where all have that one.
    fn priorities(&self) -> &[u16] {
        &[]
    }

    /// Which of [`Engine::priorities`] the last I/O of a slot had, by its index.
    fn priority_of(&self, slot: u32) -> usize {
        let _ = slot;
        0
    }

    /// CPU time that a thread of the kernel spent on this engine's I/Os alone so far (SQPOLL).
    fn kernel_cpu(&self) -> Option<Nanos> {
        None
    }

    /// When the last I/O of a slot was begun and when it was done, where somebody else than the loop does both.
    fn stamps(&self, slot: u32) -> Option<(Nanos, Nanos)> {
        let _ = slot;
        None
    }

    /// What threads of this engine's own have used; `None` where it has none.
    fn helpers_usage(&self) -> Option<sys::usage::Usage> {
        None
    }

    /// Whether the moment at which the kernel accepts an I/O can be seen. Where a kernel thread polls the queue it
    /// cannot: there is only a total latency then.
    fn sees_submission(&self) -> bool {
        true
    }

    /// What the engine found out about the kernel and chose, for a person: `io_uring: SINGLE_ISSUER|DEFER_TASKRUN, ...`.
    fn note(&self) -> Option<String> {
        None
    }
}

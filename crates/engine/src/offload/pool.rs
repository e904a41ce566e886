//! One thread of the pool: waits for an I/O, does it, and reports its result.
//!
//! The worker and a thread share two locks. A [`Desk`] per thread holds at most one errand: a slot has at most one I/O
//! in flight, so an errand is never overwritten, except by the end. One list of [`Results`] for all threads holds what
//! completed; only the worker takes from it, so `notify_one` is enough.

use super::refused;
use crate::contract::{Completion, Engine, EngineClock, EngineError, Io, JobFacts, Setup, Submitted, Target};
use crate::registry::{Visitor, dispatch};
use measure::{Clock, Nanos, SystemClock};
use plan::EngineOptions;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use sys::processes::usage::Usage;

/// Stack size of a thread; the call chains of engines are short.
const STACK_BYTES: usize = 256 << 10;

/// Engines that read and write at the file position, which two threads must not share.
const BY_POSITION: [&str; 2] = ["sync", "vsync"];

/// A [`Setup`] that threads can share.
#[derive(Debug)]
pub(super) struct Facts {
    engine: String,
    name: String,
    options: EngineOptions,
    /// Facts about the job, without its name.
    job: JobFacts<'static>,
    targets: Vec<Target>,
    buffers: Start,
    stride: usize,
    clock: SystemClock,
}

/// Address of the worker's buffers.
#[derive(Clone, Copy, Debug)]
struct Start(*mut u8);

// SAFETY: the address is only passed on to engines. The engine of each thread accesses only the bytes of its slot,
// while an I/O of that slot is in flight; the buffers outlive the threads, which `Helper::drop` joins.
unsafe impl Send for Start {}
// SAFETY: as above; nothing is read or written through a shared `Start`.
unsafe impl Sync for Start {}

impl Facts {
    pub(super) fn of(setup: &Setup<'_, SystemClock>, engine: &str) -> Self {
        Facts {
            engine: engine.to_owned(),
            name: setup.job.name.to_owned(),
            options: setup.options.clone(),
            job: JobFacts { name: "", offloads_to: None, placement: None, ..setup.job },
            targets: setup.targets.to_vec(),
            buffers: Start(setup.buffers),
            stride: setup.buffer_stride,
            clock: setup.clock,
        }
    }
}

/// A completed I/O, with the times that its thread measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimedCompletion {
    pub(super) completion: Completion,
    /// When it was submitted to the engine.
    pub(super) begun: Nanos,
    /// When it completed.
    pub(super) ended: Nanos,
}

/// Completed I/Os of all threads.
#[derive(Debug)]
pub(super) struct Results {
    list: Mutex<CompletedList>,
    more: Condvar,
}

#[derive(Debug)]
struct CompletedList {
    done: Vec<TimedCompletion>,
    broken: Option<EngineError>,
}

impl Results {
    pub(super) fn new(depth: usize) -> Self {
        Results {
            list: Mutex::new(CompletedList { done: Vec::with_capacity(depth), broken: None }),
            more: Condvar::new(),
        }
    }

    fn put(&self, result: Result<TimedCompletion, EngineError>) {
        let mut list = held(&self.list);
        match result {
            Ok(done) => list.done.push(done),
            Err(error) => list.broken = Some(error),
        }
        drop(list);
        self.more.notify_one();
    }

    /// Waits until `least` I/Os have completed, at most `longest`, and passes up to `most` of them to `each`.
    pub(super) fn take(
        &self,
        least: u32,
        most: u32,
        longest: Option<Nanos>,
        each: impl FnMut(TimedCompletion),
    ) -> Result<u32, EngineError> {
        let too_few = |list: &mut CompletedList| list.broken.is_none() && list.done.len() < least as usize;
        let list = held(&self.list);
        let mut list = match longest {
            None => self.more.wait_while(list, too_few).unwrap_or_else(PoisonError::into_inner),
            Some(longest) => {
                let waited = self.more.wait_timeout_while(list, Duration::from_nanos(longest.get()), too_few);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        if let Some(error) = list.broken.take() {
            return Err(error);
        }
        let count = list.done.len().min(most as usize);
        list.done.drain(..count).for_each(each);
        #[expect(clippy::cast_possible_truncation, reason = "at most `most`, a u32")]
        Ok(count as u32)
    }
}

/// Locks a mutex, ignoring poison: threads only move plain values under a lock, so a panic leaves nothing half done.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Instruction to a thread.
#[derive(Clone, Copy, Debug)]
enum Errand {
    Nothing,
    CarryOut(Io),
    End,
}

/// The instruction to one thread, and the CPU time that the thread has reported.
#[derive(Debug)]
struct Desk {
    errand: Mutex<(Errand, Usage)>,
    changed: Condvar,
}

/// A thread of the pool, as seen by the worker.
#[derive(Debug)]
pub(super) struct Helper {
    desk: Arc<Desk>,
    opened: Receiver<Result<Option<String>, EngineError>>,
    thread: Option<JoinHandle<()>>,
}

impl Helper {
    /// Starts the thread of a slot. It inherits the CPU affinity, priority and user ID of the worker's thread.
    pub(super) fn start(slot: u32, facts: &Arc<Facts>, results: &Arc<Results>) -> Result<Self, EngineError> {
        let desk = Arc::new(Desk { errand: Mutex::new((Errand::Nothing, Usage::default())), changed: Condvar::new() });
        let (tell, opened) = sync_channel(1);
        let mind = Mind { slot, facts: Arc::clone(facts), desk: Arc::clone(&desk), results: Arc::clone(results), tell };
        let thread = std::thread::Builder::new().name(format!("offload{slot}")).stack_size(STACK_BYTES);
        let thread = thread.spawn(move || mind.live()).map_err(|error| {
            let errno = error.raw_os_error().unwrap_or(libc::EAGAIN);
            refused(
                "thread",
                format!("no thread for I/O {} of iodepth: {error}; a lower iodepth would do", slot + 1),
                errno,
            )
        })?;
        Ok(Helper { desk, opened, thread: Some(thread) })
    }

    /// Waits until the thread has opened its engine. Returns the engine's note.
    pub(super) fn opened(&self) -> Result<Option<String>, EngineError> {
        let gone = || Err(refused("thread", "a thread ended before it had its engine".to_owned(), libc::EIO));
        self.opened.recv().unwrap_or_else(|_| gone())
    }

    /// Passes an I/O to the thread, which must be idle.
    pub(super) fn order(&self, io: Io) {
        self.tell(Errand::CarryOut(io));
    }

    /// CPU time of the thread up to its last wait.
    pub(super) fn usage(&self) -> Usage {
        held(&self.desk.errand).1
    }

    fn tell(&self, errand: Errand) {
        held(&self.desk.errand).0 = errand;
        self.desk.changed.notify_one();
    }
}

impl Drop for Helper {
    /// Waits for the I/O in flight, because the engine may be writing to the worker's buffers.
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // This replaces an I/O that the thread has not started: the worker is giving up.
            self.tell(Errand::End);
            let _ = thread.join();
        }
    }
}

/// State of a thread.
struct Mind {
    slot: u32,
    facts: Arc<Facts>,
    desk: Arc<Desk>,
    results: Arc<Results>,
    tell: SyncSender<Result<Option<String>, EngineError>>,
}

impl Mind {
    fn live(self) {
        let facts = Arc::clone(&self.facts);
        let tell = self.tell.clone();
        if dispatch(&facts.engine, self).is_none() {
            let _ = tell.send(Err(refused("open", format!("there is no engine `{}`", facts.engine), libc::ENOENT)));
        }
    }

    /// Waits for the next I/O; `None` at the end. Stores the CPU time before the wait: when the worker reads it, the
    /// thread is idle.
    fn next(&self) -> Option<Io> {
        let used = sys::processes::usage::of_thread();
        let mut errand = held(&self.desk.errand);
        errand.1 = used;
        let waiting = |errand: &mut (Errand, Usage)| matches!(errand.0, Errand::Nothing);
        let mut errand = self.desk.changed.wait_while(errand, waiting).unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut errand.0, Errand::Nothing) {
            Errand::CarryOut(io) => Some(io),
            Errand::Nothing | Errand::End => None,
        }
    }

    /// The worker's files or, for engines that use the file position, the same files opened again.
    fn targets(&self) -> Result<(Vec<Target>, Vec<OwnedFd>), EngineError> {
        let mut targets = self.facts.targets.clone();
        let mut own = Vec::new();
        if BY_POSITION.contains(&self.facts.engine.as_str()) {
            for target in &mut targets {
                let again = reopened(target).map_err(|errno| {
                    let path = target.path.display();
                    refused("open", format!("{path}: once more for another thread: {errno}"), errno.raw_os_error())
                })?;
                target.descriptor = Some(again.as_raw_fd());
                own.push(again);
            }
        }
        Ok((targets, own))
    }
}

/// Opens the same file again with the same flags, for a separate file position.
fn reopened(target: &Target) -> Result<OwnedFd, rustix::io::Errno> {
    // SAFETY: the worker keeps its descriptors open as long as its engine lives.
    let descriptor = unsafe { BorrowedFd::borrow_raw(target.raw()) };
    let flags = rustix::fs::fcntl_getfl(descriptor)?;
    let path = format!("/proc/self/fd/{}", target.raw());
    rustix::fs::open(path, flags | rustix::fs::OFlags::CLOEXEC, rustix::fs::Mode::empty())
}

impl Visitor for Mind {
    type Out = ();

    fn visit<E: Engine>(self) {
        let (targets, _own) = match self.targets() {
            Ok(targets) => targets,
            Err(error) => {
                let _ = self.tell.send(Err(error));
                return;
            }
        };
        let facts = &self.facts;
        let opened = E::open(Setup {
            options: &facts.options,
            job: JobFacts { name: &facts.name, ..facts.job },
            targets: &targets,
            depth: 1,
            buffers: facts.buffers.0.wrapping_add(self.slot as usize * facts.stride),
            buffer_stride: facts.stride,
            clock: E::Clock::for_worker(&facts.clock),
        });
        let mut engine = match opened {
            Ok(engine) => engine,
            Err(error) => {
                let _ = self.tell.send(Err(error));
                return;
            }
        };
        let _ = self.tell.send(Ok(engine.note()));
        let mut scratch = Vec::with_capacity(1);
        while let Some(io) = self.next() {
            let begun = facts.clock.now();
            let result = carry_out(&mut engine, Io { slot: 0, ..io }, &mut scratch);
            let ended = facts.clock.now();
            let completion = result.map(|result| Completion { slot: io.slot, result });
            self.results.put(completion.map(|completion| TimedCompletion { completion, begun, ended }));
        }
    }
}

/// Does one I/O from submission to completion; the engine has no other.
fn carry_out<E: Engine>(engine: &mut E, io: Io, scratch: &mut Vec<Completion>) -> Result<i64, EngineError> {
    loop {
        match engine.submit(io) {
            Submitted::Done(completion) => return Ok(completion.result),
            Submitted::Queued => break,
            Submitted::Full => {
                engine.flush()?;
            }
        }
    }
    scratch.clear();
    while engine.flush()? == 0 {}
    while scratch.is_empty() {
        engine.reap(1, 1, scratch)?;
    }
    Ok(scratch.first().map_or(-i64::from(libc::EIO), |completion| completion.result))
}

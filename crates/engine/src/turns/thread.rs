//! The thread whose jobs take turns: which job runs now, which can run, and what the others wait for.

use super::{Kernel, Tag, Wait};
use crate::contract::{Completion, EngineError, Setup};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use measure::{Clock, Nanos, SystemClock};
use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::rc::Rc;

/// Stack of a job, as large as that of a thread: a copy of its record alone is 400 KB. Only the pages that it uses take
/// memory.
const STACK: usize = 2 << 20;
/// Time between two looks at the gates of jobs that have not begun, while no job of the thread does anything else.
const LOOK_AT_GATES: Nanos = Nanos::from_millis(1);
/// The same while others work, which each look disturbs.
const LOOK_AT_GATES_AT_WORK: Nanos = Nanos::from_millis(10);

thread_local! {
    /// The jobs of this thread; `None` in a thread that has one job, or none.
    static CURRENT: RefCell<Option<Rc<Thread>>> = const { RefCell::new(None) };
}

/// The end of a turn: what the job waits for before its next one.
#[derive(Clone, Copy, Debug)]
pub(super) enum TurnEnd {
    /// One call that enters the kernel.
    Turn,
    /// This many completions, at most until the moment.
    Completions { least: u32, until: Nanos },
    /// A moment.
    Moment(Nanos),
    /// The parent, which opens gates.
    Gate,
}

/// The jobs of a thread.
pub(super) struct Thread {
    pub(super) clock: SystemClock,
    jobs: Box<[Job]>,
    /// The job that runs.
    current: Cell<u32>,
    turns: RefCell<Turns>,
    /// The shared queue; `None` before the first job opens it.
    queue: RefCell<Option<Queue>>,
    /// The error that ended the shared queue.
    broken: RefCell<Option<EngineError>>,
    /// I/Os that the kernel has not taken yet, in their order.
    queued: RefCell<VecDeque<Tag>>,
}

/// The shared queue, as the thread uses it and with its type.
#[derive(Clone)]
struct Queue {
    kernel: Rc<RefCell<dyn Kernel>>,
    typed: Rc<dyn Any>,
}

/// The beginning of the call that submitted an I/O, and the end of the one that returned its completion.
type Stamp = Cell<(Nanos, Nanos)>;

/// A job of a thread.
#[derive(Debug, Default)]
struct Job {
    /// The other side of its coroutine, while it runs.
    yielder: Cell<Option<NonNull<Yielder<(), TurnEnd>>>>,
    /// Completions that it has not taken yet.
    arrived: RefCell<Vec<Completion>>,
    /// Number of completions that it waits for; 0 if it waits for none.
    waits_for: Cell<u32>,
    /// Those of the last I/O of each slot.
    stamps: OnceCell<Box<[Stamp]>>,
}

/// Which jobs run next.
#[derive(Debug)]
struct Turns {
    ready: VecDeque<u32>,
    deadlines: Deadlines,
    at_gates: Vec<u32>,
    /// The next look at the gates.
    next_look: Nanos,
}

/// Drives `jobs` in turns on the calling thread until all have ended. A job that panics ends alone.
///
/// # Errors
/// If there is no memory for their stacks; then no job has begun.
pub fn take_turns<'j>(clock: &SystemClock, jobs: Vec<Box<dyn FnOnce() + 'j>>) -> std::io::Result<()> {
    let thread = Rc::new(Thread::new(*clock, jobs.len()));
    let numbered = (0_u32..).zip(jobs);
    let mut coroutines =
        numbered.map(|(number, job)| begin(&thread, number, job)).collect::<std::io::Result<Vec<_>>>()?;
    let _entered = Entered::by(&thread);
    let mut left = coroutines.len();
    while left > 0 {
        let ready = thread.turns.borrow().ready.len();
        for _ in 0..ready {
            let Some(number) = thread.turns.borrow_mut().ready.pop_front() else { break };
            thread.current.set(number);
            let Some(coroutine) = coroutines[number as usize].as_mut() else { continue };
            // A job that panics has said so, and its record is not finished.
            match catch_unwind(AssertUnwindSafe(|| coroutine.resume(()))) {
                Ok(CoroutineResult::Yield(awaits)) => thread.note(number, awaits),
                Ok(CoroutineResult::Return(())) | Err(_) => {
                    coroutines[number as usize] = None;
                    left -= 1;
                }
            }
        }
        if left > 0 {
            thread.enter(thread.wait());
            thread.wake_due();
        }
    }
    Ok(())
}

/// Ends the turn of the calling job until the thread looks at the gates again; `false` at once if the caller is not one
/// of several jobs of a thread.
pub fn pause_at_gate() -> bool {
    let Some((thread, job)) = current() else { return false };
    thread.pause(job, TurnEnd::Gate);
    true
}

/// The thread of the calling job, and the number of the job there.
pub(super) fn current() -> Option<(Rc<Thread>, u32)> {
    let thread = CURRENT.with_borrow(Clone::clone)?;
    let job = thread.current.get();
    Some((thread, job))
}

/// The mark that the calling thread has jobs that take turns.
struct Entered;

impl Entered {
    fn by(thread: &Rc<Thread>) -> Entered {
        CURRENT.set(Some(Rc::clone(thread)));
        Entered
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

type JobCoroutine = Coroutine<(), TurnEnd, ()>;

fn begin<'j>(thread: &Rc<Thread>, number: u32, job: Box<dyn FnOnce() + 'j>) -> std::io::Result<Option<JobCoroutine>> {
    let own = Rc::clone(thread);
    let body = move |yielder: &Yielder<(), TurnEnd>, ()| {
        let at = &own.jobs[number as usize];
        at.yielder.set(Some(NonNull::from(yielder)));
        job();
        at.yielder.set(None);
    };
    // SAFETY: what the job borrows lives for 'j, which does not end before `take_turns` returns; by then each coroutine
    // has ended or is dropped, which unwinds it. None is forgotten.
    Ok(Some(unsafe { Coroutine::with_stack_unchecked(DefaultStack::new(STACK)?, body) }))
}

impl std::fmt::Debug for Thread {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Thread").field("jobs", &self.jobs).field("turns", &self.turns).finish_non_exhaustive()
    }
}

impl Thread {
    fn new(clock: SystemClock, jobs: usize) -> Thread {
        Thread {
            clock,
            jobs: (0..jobs).map(|_| Job::default()).collect(),
            current: Cell::new(0),
            turns: RefCell::new(Turns {
                ready: (0_u32..).take(jobs).collect(),
                deadlines: Deadlines::new(jobs),
                at_gates: Vec::with_capacity(jobs),
                next_look: Nanos::ZERO,
            }),
            queue: RefCell::new(None),
            broken: RefCell::new(None),
            queued: RefCell::new(VecDeque::new()),
        }
    }

    /// Number of jobs.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.jobs.len()).unwrap_or(u32::MAX)
    }

    /// The queue that the jobs share; the first of them opens it. Makes room for the I/Os of `job`.
    pub(super) fn join<C, Q: super::SharedQueue>(
        &self,
        job: u32,
        setup: &Setup<'_, C>,
    ) -> Result<Rc<RefCell<Q>>, EngineError> {
        let room = setup.depth as usize;
        self.jobs[job as usize].arrived.borrow_mut().reserve(room);
        let stamps = || (0..room).map(|_| Cell::new((Nanos::ZERO, Nanos::ZERO))).collect();
        self.jobs[job as usize].stamps.get_or_init(stamps);
        self.queued.borrow_mut().reserve(room.saturating_mul(self.jobs.len()));
        if let Some(queue) = self.queue.borrow().as_ref() {
            let typed = Rc::clone(&queue.typed).downcast::<RefCell<Q>>();
            return typed.map_err(|_| mistake::<Q>("jobs of different engines on one thread"));
        }
        let typed = Rc::new(RefCell::new(Q::open(setup, self.count())?));
        *self.queue.borrow_mut() = Some(Queue { kernel: typed.clone(), typed: typed.clone() });
        Ok(typed)
    }

    /// Ends the turn of `job`, which must be the one that runs.
    pub(super) fn pause(&self, job: u32, awaits: TurnEnd) {
        let yielder = self.jobs[job as usize].yielder.get().filter(|_| self.current.get() == job);
        let yielder = yielder.expect("a job ends its own turn, and has one until its coroutine ends");
        // SAFETY: the coroutine of this job set the pointer to what it borrows until it returns, and unset it before;
        // it is the current one, so this call is within it.
        unsafe { yielder.as_ref() }.suspend(awaits);
    }

    /// Notes what a job waits for.
    fn note(&self, job: u32, awaits: TurnEnd) {
        let turns = &mut *self.turns.borrow_mut();
        match awaits {
            TurnEnd::Turn => turns.ready.push_back(job),
            TurnEnd::Completions { least, until } => {
                self.jobs[job as usize].waits_for.set(least);
                if until != Nanos::MAX {
                    turns.deadlines.set(job, until);
                }
            }
            TurnEnd::Moment(moment) => turns.deadlines.set(job, moment),
            TurnEnd::Gate => {
                if turns.at_gates.is_empty() {
                    let is_at_work = turns.deadlines.next().is_some() || self.is_busy();
                    let pause = if is_at_work { LOOK_AT_GATES_AT_WORK } else { LOOK_AT_GATES };
                    turns.next_look = self.clock.now().saturating_add(pause);
                }
                turns.at_gates.push(job);
            }
        }
    }

    /// True if I/Os are queued or in flight.
    fn is_busy(&self) -> bool {
        self.queue.borrow().as_ref().is_some_and(|queue| queue.kernel.borrow().is_busy())
    }

    /// How long the next call may wait.
    fn wait(&self) -> Wait {
        let turns = self.turns.borrow();
        if !turns.ready.is_empty() {
            return Wait::No;
        }
        let look = (!turns.at_gates.is_empty()).then_some(turns.next_look);
        match turns.deadlines.next().into_iter().chain(look).min() {
            None => Wait::ForOne,
            Some(moment) => match moment.saturating_sub(self.clock.now()) {
                Nanos::ZERO => Wait::No,
                span => Wait::Within(span),
            },
        }
    }

    /// Gives all queued I/Os to the kernel, waits, and gives the completions to their jobs.
    fn enter(&self, wait: Wait) {
        let queue = self.queue.borrow().as_ref().map(|queue| Rc::clone(&queue.kernel));
        let Some(queue) = queue.filter(|queue| queue.borrow().is_busy()) else {
            return match wait {
                Wait::No => {}
                Wait::Within(span) => self.clock.sleep_until(self.clock.now().saturating_add(span)),
                Wait::ForOne => self.fail(stalled()),
            };
        };
        let begun = self.clock.now();
        let taken = queue.borrow_mut().enter(wait);
        let ended = self.clock.now();
        match taken {
            Ok(taken) => {
                for tag in self.queued.borrow_mut().drain(..taken as usize) {
                    self.stamp(tag, |(_, ended)| (begun, ended));
                }
            }
            Err(error) => return self.fail(error),
        }
        queue.borrow_mut().take(&mut |tag, result| {
            self.stamp(tag, |(begun, _)| (begun, ended));
            self.deliver(tag, result);
        });
    }

    fn stamp(&self, tag: Tag, change: impl FnOnce((Nanos, Nanos)) -> (Nanos, Nanos)) {
        if let Some(stamp) = self.jobs[tag.job as usize].stamps.get().and_then(|stamps| stamps.get(tag.slot as usize)) {
            stamp.set(change(stamp.get()));
        }
    }

    /// When the call began that submitted the last I/O of a slot, and when the one ended that returned its completion.
    pub(super) fn stamps(&self, tag: Tag) -> Option<(Nanos, Nanos)> {
        Some(self.jobs[tag.job as usize].stamps.get()?.get(tag.slot as usize)?.get())
    }

    fn deliver(&self, tag: Tag, result: i64) {
        let job = &self.jobs[tag.job as usize];
        let mut arrived = job.arrived.borrow_mut();
        arrived.push(Completion { slot: tag.slot, result });
        let waits_for = job.waits_for.get() as usize;
        if waits_for > 0 && arrived.len() >= waits_for {
            self.wake(tag.job);
        }
    }

    /// Lets a job run that waited for completions.
    fn wake(&self, job: u32) {
        self.jobs[job as usize].waits_for.set(0);
        let turns = &mut *self.turns.borrow_mut();
        turns.deadlines.forget(job);
        turns.ready.push_back(job);
    }

    /// Lets the jobs run whose moment has come.
    fn wake_due(&self) {
        let turns = &mut *self.turns.borrow_mut();
        if turns.deadlines.next().is_none() && turns.at_gates.is_empty() {
            return;
        }
        let now = self.clock.now();
        while let Some(job) = turns.deadlines.take_due(now) {
            self.jobs[job as usize].waits_for.set(0);
            turns.ready.push_back(job);
        }
        if now >= turns.next_look {
            turns.ready.extend(turns.at_gates.drain(..));
        }
    }

    /// Ends the shared queue: the jobs that wait for it find the error.
    fn fail(&self, error: EngineError) {
        self.broken.borrow_mut().get_or_insert(error);
        for job in 0..self.count() {
            if self.jobs[job as usize].waits_for.get() > 0 {
                self.wake(job);
            }
        }
    }

    /// Fails if the shared queue has ended.
    pub(super) fn check(&self) -> Result<(), EngineError> {
        self.broken.borrow().clone().map_or(Ok(()), Err)
    }

    /// Notes that an I/O was queued.
    pub(super) fn note_queued(&self, tag: Tag) {
        self.queued.borrow_mut().push_back(tag);
    }

    /// Moves up to `max` completions of a job to `done`, in the order in which they arrived.
    pub(super) fn take(&self, job: u32, max: u32, done: &mut Vec<Completion>) -> u32 {
        let mut arrived = self.jobs[job as usize].arrived.borrow_mut();
        let count = arrived.len().min(max as usize);
        done.extend(arrived.drain(..count));
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Waits, in the turn of a job, until one of the thread's I/Os has completed: for a job that ends with I/Os in
    /// flight, which the kernel may still write to its buffers.
    pub(super) fn wait_in_turn(&self) {
        self.enter(Wait::ForOne);
    }
}

fn stalled() -> EngineError {
    EngineError {
        engine: "io",
        operation: "wait",
        message: "jobs of a thread wait for I/Os, and none is in flight: this is a bug in plumb".to_owned(),
        errno: libc::EIO,
    }
}

fn mistake<Q: super::SharedQueue>(what: &str) -> EngineError {
    let message = format!("{what}: this is a bug in plumb");
    EngineError { engine: Q::SPEC.name, operation: "open", message, errno: libc::EINVAL }
}

/// No place in the heap.
const NOWHERE: usize = usize::MAX;

/// The next moment of each job that waits for one.
#[derive(Debug)]
pub(super) struct Deadlines {
    /// Moments and jobs; each is due no earlier than the one at half its index.
    heap: Vec<(Nanos, u32)>,
    /// Index in `heap` by job.
    places: Box<[usize]>,
}

impl Deadlines {
    pub(super) fn new(jobs: usize) -> Deadlines {
        Deadlines { heap: Vec::with_capacity(jobs), places: vec![NOWHERE; jobs].into() }
    }

    /// The earliest moment; `None` if no job waits for one.
    pub(super) fn next(&self) -> Option<Nanos> {
        self.heap.first().map(|&(moment, _)| moment)
    }

    /// Sets the moment of a job that waits for none yet.
    pub(super) fn set(&mut self, job: u32, moment: Nanos) {
        self.forget(job);
        self.heap.push((moment, job));
        self.rise(self.heap.len() - 1);
    }

    /// Forgets the moment of a job, if it waits for one.
    pub(super) fn forget(&mut self, job: u32) {
        let at = std::mem::replace(&mut self.places[job as usize], NOWHERE);
        if at == NOWHERE {
            return;
        }
        self.heap.swap_remove(at);
        if at < self.heap.len() {
            self.sink(at);
            self.rise(at);
        }
    }

    /// Takes a job whose moment has come by `now`, the earliest first.
    pub(super) fn take_due(&mut self, now: Nanos) -> Option<u32> {
        let &(moment, job) = self.heap.first()?;
        (moment <= now).then(|| {
            self.forget(job);
            job
        })
    }

    fn rise(&mut self, mut at: usize) {
        while at > 0 && self.heap[at] < self.heap[(at - 1) / 2] {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
        self.places[self.heap[at].1 as usize] = at;
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let children = 2 * at + 1..(2 * at + 3).min(self.heap.len());
            let Some(least) = children.min_by_key(|&child| self.heap[child]) else { break };
            if self.heap[at] <= self.heap[least] {
                break;
            }
            self.swap(at, least);
            at = least;
        }
        self.places[self.heap[at].1 as usize] = at;
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        self.places[self.heap[one].1 as usize] = one;
        self.places[self.heap[other].1 as usize] = other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::SplitMix;

    #[test]
    fn moments_come_in_order_whatever_was_changed_or_forgotten() {
        let mut deadlines = Deadlines::new(50);
        let mut known = [None; 50];
        let mut random = SplitMix::new(3);
        let mut below = |most: u64| random.next_word() % most;
        let mut taken = 0;
        for _ in 0..20_000 {
            let job = u32::try_from(below(50)).unwrap();
            let moment = Nanos(below(1000));
            match below(3) {
                0 => {
                    deadlines.forget(job);
                    known[job as usize] = None;
                }
                1 => {
                    deadlines.set(job, moment);
                    known[job as usize] = Some(moment);
                }
                _ => {
                    let earliest = known.iter().flatten().min().copied().filter(|&earliest| earliest <= moment);
                    let due = deadlines.take_due(moment);
                    assert_eq!(due.and_then(|job| known[job as usize].take()), earliest);
                    taken += u32::from(due.is_some());
                }
            }
            assert_eq!(deadlines.next(), known.iter().flatten().min().copied());
        }
        assert!(taken > 3000, "{taken}");
    }
}

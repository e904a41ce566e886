//! One job's part of a shared queue, as an engine; and a clock on which a wait ends the job's turn.

use super::thread::{Thread, TurnEnd, current};
use super::{SharedQueue, Tag};
use crate::contract::{Completion, Engine, EngineClock, EngineError, Io, Setup, Submitted};
use measure::{Clock, Nanos, SystemClock};
use plan::EngineSpec;
use std::cell::RefCell;
use std::rc::Rc;

/// The system clock, for a job that shares its thread: while it sleeps, others run.
#[derive(Clone, Debug)]
pub(crate) struct TurnClock {
    clock: SystemClock,
    /// The thread of the job, and its number there; `None` if it has the thread to itself.
    turn: Option<(Rc<Thread>, u32)>,
}

impl Clock for TurnClock {
    #[inline]
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn sleep_until(&self, moment: Nanos) {
        match &self.turn {
            Some((thread, job)) if moment > self.now() => thread.pause(*job, TurnEnd::Moment(moment)),
            Some(_) => {}
            None => self.clock.sleep_until(moment),
        }
    }
}

impl EngineClock for TurnClock {
    const TAKES_TURNS: bool = true;

    fn for_worker(system: &SystemClock) -> Self {
        TurnClock { clock: *system, turn: current() }
    }
}

/// A job's part of a shared queue.
#[derive(Debug)]
pub(crate) struct Lane<Q: SharedQueue> {
    thread: Rc<Thread>,
    job: u32,
    queue: Rc<RefCell<Q>>,
    requests: Q::Requests,
    note: Option<String>,
    /// I/Os since the last flush.
    queued: u32,
    /// I/Os that have not been reaped.
    outstanding: u32,
}

impl<Q: SharedQueue> Engine for Lane<Q> {
    type Clock = TurnClock;

    const SPEC: EngineSpec = Q::SPEC;

    fn open(setup: Setup<'_, TurnClock>) -> Result<Self, EngineError> {
        let Some((thread, job)) = current() else { return Err(alone(&Q::SPEC)) };
        let queue = thread.join::<_, Q>(job, &setup)?;
        let requests = queue.borrow_mut().add(&setup, job)?;
        let features = queue.borrow().note(&requests);
        let note = match thread.count() {
            1 => features,
            count => Some(format!(
                "{}{count} jobs take turns on a thread; the CPU time of each is an equal share of the thread's",
                features.map_or_else(|| format!("{}: ", Q::SPEC.name), |features| features + "; "),
            )),
        };
        Ok(Lane { thread, job, queue, requests, note, queued: 0, outstanding: 0 })
    }

    fn submit(&mut self, io: Io) -> Submitted {
        loop {
            let submitted = self.queue.borrow_mut().submit(&mut self.requests, self.job, io);
            match submitted {
                Submitted::Queued => {
                    self.thread.note_queued(Tag { job: self.job, slot: io.slot });
                    self.queued += 1;
                    self.outstanding += 1;
                    return Submitted::Queued;
                }
                Submitted::Done(_) => return submitted,
                // The next call takes what is queued. A queue that has ended takes nothing: the loop finds that when it
                // reaps.
                Submitted::Full if self.thread.check().is_err() => return Submitted::Full,
                Submitted::Full => self.thread.pause(self.job, TurnEnd::Turn),
            }
        }
    }

    /// The kernel takes the I/Os at the end of the turn; [`Engine::stamps`] says when.
    fn flush(&mut self) -> Result<u32, EngineError> {
        self.thread.check()?;
        Ok(std::mem::take(&mut self.queued))
    }

    fn reap(&mut self, min: u32, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        let needed = min.min(max).min(self.outstanding);
        let mut count = self.take(max, done);
        if needed == 0 && count == 0 && self.outstanding > 0 {
            self.thread.pause(self.job, TurnEnd::Turn);
            count = self.take(max, done);
        }
        while count < needed {
            self.thread.check()?;
            self.thread.pause(self.job, TurnEnd::Completions { least: needed - count, until: Nanos::MAX });
            count += self.take(max - count, done);
        }
        Ok(count)
    }

    fn reap_within(&mut self, longest: Nanos, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        let count = self.take(max, done);
        if count > 0 || self.outstanding == 0 {
            return Ok(count);
        }
        self.thread.check()?;
        let until = self.thread.clock.now().saturating_add(longest);
        self.thread.pause(self.job, TurnEnd::Completions { least: 1, until });
        Ok(self.take(max, done))
    }

    fn stamps(&self, slot: u32) -> Option<(Nanos, Nanos)> {
        self.thread.stamps(Tag { job: self.job, slot })
    }

    fn priorities(&self) -> &[u16] {
        Q::priorities(&self.requests)
    }

    fn priority_of(&self, slot: u32) -> usize {
        Q::priority_of(&self.requests, slot)
    }

    fn note(&self) -> Option<String> {
        self.note.clone()
    }
}

impl<Q: SharedQueue> Lane<Q> {
    fn take(&mut self, max: u32, done: &mut Vec<Completion>) -> u32 {
        let count = self.thread.take(self.job, max, done);
        self.outstanding -= count;
        count
    }
}

impl<Q: SharedQueue> Drop for Lane<Q> {
    /// Waits for the I/Os in flight, because the kernel writes to their buffers until then and the worker frees the
    /// buffers next.
    fn drop(&mut self) {
        let mut done = Vec::new();
        loop {
            self.take(u32::MAX, &mut done);
            if self.outstanding == 0 || self.thread.check().is_err() {
                break;
            }
            self.thread.wait_in_turn();
        }
    }
}

fn alone(spec: &EngineSpec) -> EngineError {
    EngineError {
        engine: spec.name,
        operation: "open",
        message: "a shared queue without a thread of several jobs: this is a bug in plumb".to_owned(),
        errno: libc::EINVAL,
    }
}

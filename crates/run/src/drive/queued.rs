//! The loop for engines with a queue: fill, submit in batches, reap, drain to the low mark, fill again.
//!
//! In the words of fio's documentation: I/Os are passed to the kernel `batch` at a time (iodepth_batch) while there is
//! room. Once `depth` are in flight, the rest of the queue is submitted and completions are reaped, `reap_min` to
//! `reap_max` per call (iodepth_batch_complete_min and _max), until at most `low` (iodepth_low) are left. With
//! `reap_min` 0 every I/O is followed by a reap call that does not wait.

use super::calls::Calls;
use super::faults::Outcome;
use super::job_loop::{Drive, first_io};
use super::slots::IoTimes;
use super::statistics::EqualIos;
use engine::{Completion, EngineError, Io, Submitted};
use load::Next;
use measure::{Clock, Direction, Nanos};

/// The facts of a completed I/O that are counted. Timestamps are taken per call, so the I/Os that one call submitted
/// and one call reaped are often equal.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Completed {
    /// `None` for a sync.
    direction: Option<Direction>,
    /// Bytes that it was to move.
    bytes: u32,
    times: IoTimes,
    /// It moved all of them at the first attempt.
    whole: bool,
}

impl<E: Calls, const LATENCY: bool> Drive<'_, E, LATENCY> {
    pub(super) fn run_queued(&mut self) -> Result<(), EngineError> {
        let mut now = self.clock.now();
        loop {
            now = match self.fill(&mut now)? {
                None => self.make_room(now)?,
                Some(Next::Wait(until)) if self.slots.busy() > 0 => self.reap_until(until, now)?,
                Some(Next::Stop) => break,
                Some(Next::SyncRange { request, length }) => {
                    now = self.submit(now)?;
                    self.sync_range(&request, length);
                    self.arrivals.ready = self.clock.now();
                    self.now(now)
                }
                // What is in flight goes on while a zone is reset.
                Some(zone @ Next::Zone { .. }) => {
                    self.submit(now)?;
                    self.rest(zone)?
                }
                Some(other) => {
                    self.drain(now)?;
                    self.rest(other)?
                }
            };
        }
        self.drain(now)?;
        Ok(())
    }

    /// Issues I/Os until the queue is full (`None`) or the load asks for something else.
    // System calls are compiled into the loop (see `call.rs` of the engines), so this function and those it calls must
    // be inlined.
    #[inline(always)]
    fn fill(&mut self, now: &mut Nanos) -> Result<Option<Next>, EngineError> {
        let depth = self.job.depth;
        while !self.slots.is_full() {
            // Two branches, because passing an optional verify expectation along would cost every I/O.
            let slot;
            let request = match self.planned(*now) {
                Some(request) => {
                    slot = self.slots.take(request, *now);
                    request
                }
                None => {
                    let (next, present) = self.next(*now)?;
                    *now = present;
                    let (request, reviewed) = match next {
                        Next::Issue(request) => (request.rebuilt(), None),
                        Next::Review { request, expects } => (request.rebuilt(), Some(expects)),
                        other => return Ok(Some(other)),
                    };
                    self.note_issued(&request, self.arrivals.ready, *now);
                    slot = self.slots.take(request, *now);
                    if let Some(expects) = reviewed {
                        self.expect(slot, &request.rebuilt(), expects);
                    }
                    request
                }
            };
            self.prepare(slot, &request, *now);
            *now = self.hand_over(first_io(slot, &request), *now)?;
            if self.slots.queued() >= depth.batch && !(self.joins_calls && self.slots.is_full()) || depth.reap_min == 0
            {
                *now = self.submit_here(*now)?;
            }
            if depth.reap_min == 0 {
                *now = self.reap_here(0, *now)?;
            }
        }
        Ok(None)
    }

    /// Gives an I/O to the engine; frees room if the engine has none.
    #[inline(always)]
    fn hand_over(&mut self, io: Io, now: Nanos) -> Result<Nanos, EngineError> {
        match self.engine.submit(io) {
            Submitted::Queued => {
                self.slots.queue(io.slot);
                Ok(now)
            }
            other => self.hand_over_otherwise(io.rebuilt(), other, now),
        }
    }

    /// Handles every answer of the engine to a submission other than `Queued`.
    #[cold]
    #[inline(never)]
    fn hand_over_otherwise(&mut self, io: Io, mut got: Submitted, mut now: Nanos) -> Result<Nanos, EngineError> {
        loop {
            match got {
                Submitted::Queued => {
                    self.slots.queue(io.slot);
                    return Ok(now);
                }
                Submitted::Done(completion) => return self.done_at_once(completion, now),
                Submitted::Full => {
                    now = self.submit(now)?;
                    if self.slots.busy() > self.slots.queued() + 1 {
                        now = self.reap(1, now)?;
                    }
                }
            }
            got = self.submit_apart(io);
        }
    }

    /// Counts an I/O that an asynchronous engine performed itself, because the kernel has only a synchronous call for
    /// it. It has no submission latency.
    #[cold]
    fn done_at_once(&mut self, completion: Completion, before: Nanos) -> Result<Nanos, EngineError> {
        let now = self.clock.now();
        self.watch_time(now);
        self.slots.accept_alone(completion.slot, before);
        self.statistics.record.submitted(1, self.slots.busy());
        self.statistics.record.reaped(1);
        let Completed { direction: Some(direction), bytes, times, whole: true } = self.completed(completion, now)
        else {
            self.finish_equal(&[completion], now)?;
            return Ok(self.after_checks(now));
        };
        let request = self.slots.get(completion.slot).request;
        self.statistics.synchronous::<LATENCY>(direction, u64::from(bytes), times);
        let ready = self.observe_completed(completion.slot, &request, times);
        self.slots.release(completion.slot);
        self.load.completed(&request);
        Ok(ready)
    }

    /// [`Drive::submit_here`] as a call, for rare callers outside the loop.
    #[inline(never)]
    fn submit(&mut self, now: Nanos) -> Result<Nanos, EngineError> {
        self.submit_here(now)
    }

    /// Submits all queued I/Os to the kernel. One timestamp per call: the call took the whole batch.
    #[inline(always)]
    fn submit_here(&mut self, mut now: Nanos) -> Result<Nanos, EngineError> {
        while self.slots.queued() > 0 {
            let taken = self.engine.flush()?;
            now = self.now(now);
            let in_flight = self.slots.busy() - (self.slots.queued() - taken);
            self.statistics.record.submitted(taken, in_flight);
            self.slots.accept(taken, now);
            if self.slots.queued() > 0 && in_flight > 0 {
                now = self.reap(1, now)?;
            }
        }
        Ok(now)
    }

    /// Makes room in a full queue: reaps at least once, then down to the low mark.
    #[inline(always)]
    fn make_room(&mut self, mut now: Nanos) -> Result<Nanos, EngineError> {
        let least = self.job.depth.reap_min.max(1);
        if self.joins_calls && self.slots.queued() > 0 {
            now = self.submit_and_reap(least, now)?;
            if self.slots.busy() <= self.job.depth.low {
                return Ok(now);
            }
        }
        if self.slots.queued() > 0 {
            now = self.submit(now)?;
        }
        loop {
            now = self.reap_here(least, now)?;
            if self.slots.busy() <= self.job.depth.low {
                return Ok(now);
            }
        }
    }

    /// Submits and reaps in one call, if the kernel has one.
    #[inline(always)]
    fn submit_and_reap(&mut self, least: u32, now: Nanos) -> Result<Nanos, EngineError> {
        let most = self.job.depth.reap_max.max(least);
        let mut done = self.slots.take_done();
        let (taken, reaped) = self.engine.flush_and_reap(least, most, &mut done)?;
        let now = self.now(now);
        let in_flight = self.slots.busy() - (self.slots.queued() - taken);
        self.statistics.record.submitted(taken, in_flight);
        self.slots.accept(taken, now);
        self.count_completions(done, reaped, now)
    }

    /// Waits for one completion.
    pub(super) fn reap_one(&mut self, now: Nanos) -> Result<Nanos, EngineError> {
        let now = self.submit(now)?;
        self.reap(1, now)
    }

    /// Waits for one completion while the load has no I/O due, but only until the next one is: a slow device must not
    /// delay an I/O that is due (rate limits would drift).
    #[cold]
    fn reap_until(&mut self, until: Nanos, now: Nanos) -> Result<Nanos, EngineError> {
        self.submit(now)?;
        let now = self.clock.now();
        let moment = until.min(self.timing.next_event).min(now.saturating_add(super::pause::SLICE));
        let mut done = self.slots.take_done();
        let most = self.job.depth.reap_max.max(1);
        let reaped = self.engine.reap_within(moment.saturating_sub(now), most, &mut done)?;
        let now = self.clock.now();
        self.timing.stride.restart();
        self.watch_time(now);
        if now >= self.timing.next_event {
            self.event(self.timing.next_event, now);
        }
        if reaped == 0 {
            self.slots.give_back(done);
            return Ok(now);
        }
        self.count_completions(done, reaped, now)
    }

    /// Waits until nothing is in flight.
    pub(super) fn drain(&mut self, mut now: Nanos) -> Result<Nanos, EngineError> {
        now = self.submit(now)?;
        while self.slots.busy() > 0 {
            // One at a time, so that a completion is timestamped when it arrives and not when the last one does.
            now = self.reap(1, now)?;
            now = self.submit(now)?;
        }
        Ok(now)
    }

    /// [`Drive::reap_here`] as a call, for rare callers outside the loop.
    #[inline(never)]
    fn reap(&mut self, least: u32, now: Nanos) -> Result<Nanos, EngineError> {
        self.reap_here(least, now)
    }

    /// One reap call for at least `least` completions. One timestamp per call: the call returned the whole batch.
    #[inline(always)]
    fn reap_here(&mut self, least: u32, now: Nanos) -> Result<Nanos, EngineError> {
        let in_flight = self.slots.busy() - self.slots.queued();
        let least = least.min(in_flight);
        let mut done = self.slots.take_done();
        let reaped = self.engine.reap(least, self.job.depth.reap_max.max(least).max(1), &mut done)?;
        let now = self.now(now);
        self.count_completions(done, reaped, now)
    }

    /// Counts the completions that a reap call returned at `now`. Returns the time at which the next I/O can begin.
    #[inline(never)]
    fn count_completions(&mut self, done: Vec<Completion>, reaped: u32, now: Nanos) -> Result<Nanos, EngineError> {
        self.watch_time(now);
        self.statistics.record.reaped(reaped);
        let mut rest = &done[..];
        while !rest.is_empty() {
            rest = &rest[self.finish_equal(rest, now)?..];
        }
        self.slots.give_back(done);
        Ok(self.after_checks(now))
    }

    /// Finishes the first of these I/Os and those after it that equal it in everything that is counted: they are
    /// counted together. Returns how many.
    #[inline(always)]
    fn finish_equal(&mut self, done: &[Completion], now: Nanos) -> Result<usize, EngineError> {
        let first = self.completed(done[0], now);
        let Completed { direction: Some(direction), bytes, times, whole: true } = first else {
            self.finish_otherwise(done[0], first.times)?;
            return Ok(1);
        };
        let others = done[1..].iter().take_while(|&&completion| self.completed(completion, now) == first);
        let count = 1 + others.count();
        if self.checks.each_io {
            for &completion in &done[..count] {
                self.inspect_slot(completion.slot, times);
            }
        }
        self.slots.release_all(&done[..count]);
        self.load.completed_transfers(count as u64);
        self.statistics.queued::<LATENCY>(EqualIos { direction, bytes, times, count: count as u64 });
        Ok(count)
    }

    /// The facts of a completed I/O that are counted.
    #[inline(always)]
    fn completed(&self, completion: Completion, now: Nanos) -> Completed {
        // Not its whole request, which only rare I/Os need.
        let slot = self.slots.get(completion.slot);
        let (direction, bytes) = (slot.request.direction(), slot.request.length);
        let mut times = IoTimes { issued: slot.issued, accepted: slot.accepted, reaped: now };
        if let Some((begun, ended)) = self.engine.stamps(completion.slot) {
            (times.accepted, times.reaped) = (begun, ended);
        }
        let whole = slot.moved == 0 && completion.result == i64::from(bytes);
        Completed { direction, bytes, times, whole }
    }

    /// Passes the I/O of a slot to everything that inspects each I/O.
    #[cold]
    fn inspect_slot(&mut self, slot: u32, times: IoTimes) {
        let request = self.slots.get(slot).request;
        self.observe_completed(slot, &request, times);
    }

    /// Handles syncs, short transfers and errors: everything other than a full transfer at the first attempt.
    #[cold]
    fn finish_otherwise(&mut self, completion: Completion, times: IoTimes) -> Result<(), EngineError> {
        let request = self.slots.get(completion.slot).request;
        self.note_room(times.reaped);
        if let Some(direction) = request.direction() {
            let mut moved = self.slots.get(completion.slot).moved;
            let outcome = self.classify(completion.slot, &request, &mut moved, completion.result);
            self.slots.set_moved(completion.slot, moved);
            match outcome {
                Outcome::Whole => {
                    self.statistics.queued::<LATENCY>(EqualIos { direction, bytes: moved, times, count: 1 });
                    self.observe_completed(completion.slot, &request, times);
                }
                Outcome::Failed => self.statistics.without_latency(direction, moved.into(), times),
                Outcome::Rest(rest) => {
                    self.hand_over(rest, times.reaped)?;
                    return Ok(());
                }
            }
        } else if completion.result < 0 {
            self.fault(&request, completion.result);
            self.slots.release(completion.slot);
            return Ok(());
        } else {
            self.statistics.synchronised(times);
        }
        self.slots.release(completion.slot);
        self.load.completed(&request);
        Ok(())
    }
}

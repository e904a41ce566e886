//! The loop for engines that complete an I/O in `submit`: one in flight, two clock reads per I/O. A timed pass whose
//! I/Os nothing else inspects has its own variant, `PASS`, with one read per I/O: a record lasts from the end of the
//! one before. A job with a rate has its own, `PACED`, so that due times cost others nothing.

use super::calls::Calls;
use super::faults::Outcome;
use super::job_loop::{Drive, first_io};
use super::slots::IoTimes;
use super::timing::Stride;
use engine::{Completion, EngineError, Io, Submitted};
use load::{Next, Request};
use measure::{Clock, Direction, Nanos};
use plan::Work;

impl<E: Calls, const LATENCY: bool> Drive<'_, E, LATENCY> {
    pub(super) fn run_synchronous<const PASS: bool, const PACED: bool>(&mut self) -> Result<(), EngineError> {
        // The end of one I/O is the moment at which the next is decided on: total latency includes the time to prepare
        // it. The time of a pass has just begun.
        let begun = if PASS { self.statistics.control.measured_from() } else { None };
        let mut now = begun.unwrap_or_else(|| self.clock.now());
        if PASS {
            self.timing.stride = Stride::of_pass();
        }
        // The end of a pass, before it is decided that it is over.
        let mut ended = now;
        loop {
            let planned = if PACED { self.planned_at_rate(now) } else { self.planned(now) };
            let request = match planned {
                Some(request) => {
                    if PACED {
                        self.note_arrival(&request, now, now);
                    }
                    request
                }
                None => {
                    if PASS {
                        ended = self.clock.now();
                        now = if LATENCY { now } else { ended };
                    }
                    match self.next_alone(now)? {
                        Some((request, present)) => {
                            now = present;
                            request
                        }
                        None => break,
                    }
                }
            };
            now = self.carry_out::<PASS, PACED>(&request, now)?;
        }
        if PASS {
            self.timing.last_record_ended = Some(ended);
        }
        self.count_calls();
        Ok(())
    }

    /// The next I/O for a loop with one in flight, and the current time; waits until there is one. `None` when the job
    /// is over.
    // The time is passed by value and the function inlined: through memory it would cost a store and a load per I/O.
    #[inline(always)]
    pub(super) fn next_alone(&mut self, mut now: Nanos) -> Result<Option<(Request, Nanos)>, EngineError> {
        let mut ready = now;
        loop {
            let (next, present) = self.next(now)?;
            now = match next {
                Next::Issue(request) => {
                    self.note_issued(&request, ready, present);
                    return Ok(Some((request, present)));
                }
                Next::Review { request, expects } => {
                    self.expect(0, &request, expects);
                    return Ok(Some((request, present)));
                }
                Next::Stop => return Ok(None),
                Next::Wait(_) => self.rest(next)?,
                other => {
                    ready = self.rest(other)?;
                    ready
                }
            };
        }
    }

    #[inline(always)]
    fn carry_out<const PASS: bool, const PACED: bool>(
        &mut self,
        request: &Request,
        decided: Nanos,
    ) -> Result<Nanos, EngineError> {
        self.prepare(0, request, decided);
        let accepted = if LATENCY && !PASS { self.clock.now() } else { decided };
        let Submitted::Done(Completion { result, .. }) = self.engine.submit(first_io(0, request)) else {
            return Err(broken_promise(self.engine.spec().name));
        };
        let reaped = self.now(decided);
        self.watch_time(reaped);
        let times = IoTimes { issued: decided, accepted, reaped };
        match request.direction() {
            Some(direction) if result == i64::from(request.length) => {
                // `work` is a constant of the engine, so the compiler resolves this match.
                match self.engine.spec().capabilities.work {
                    Work::Background => return Ok(self.finish_background_io(request, direction, times)),
                    Work::Metadata => {
                        self.statistics.without_latency(direction, u64::from(request.length), times);
                        if LATENCY && self.engine.made_call() {
                            self.statistics.call_latency(direction, times);
                        }
                    }
                    _ => self.statistics.synchronous::<LATENCY>(direction, u64::from(request.length), times),
                }
                let ready = if PASS {
                    self.check_marks_inline(request);
                    reaped
                } else if PACED && !self.checks.shows_each {
                    self.note_response(request, times);
                    reaped
                } else {
                    self.observe_completed(0, request, times)
                };
                self.load.completed(request);
                Ok(ready)
            }
            _ if self.engine.spec().capabilities.work == Work::Stream && result == 0 => {
                self.wait_for_peer(request, times)
            }
            Some(direction) if self.engine.spec().capabilities.work == Work::Background && result == 0 => {
                self.poll_background_io(request, direction, times)
            }
            _ => self.carry_on(request, times, result),
        }
    }

    /// Submits outside the hot loop; not inlined, so that the engine's code is not duplicated.
    #[inline(never)]
    pub(super) fn submit_apart(&mut self, io: Io) -> Submitted {
        self.engine.submit(io)
    }

    /// Handles syncs, short transfers and errors: everything other than a full transfer at the first attempt.
    #[cold]
    fn carry_on(&mut self, request: &Request, times: IoTimes, result: i64) -> Result<Nanos, EngineError> {
        let times = IoTimes { reaped: self.clock.now(), ..times };
        self.finish_alone(0, request, times, result)
    }

    /// Counts an I/O that was performed with nothing else in flight, with this result of its first attempt; continues a
    /// short transfer. Returns the time at which the next can begin.
    pub(super) fn finish_alone(
        &mut self,
        slot: u32,
        request: &Request,
        mut times: IoTimes,
        mut result: i64,
    ) -> Result<Nanos, EngineError> {
        let mut moved = 0;
        match request.direction() {
            None if result < 0 => {
                self.fault(request, result);
                return Ok(times.reaped);
            }
            None => self.statistics.synchronised(times),
            Some(direction) => loop {
                match self.classify(slot, request, &mut moved, result) {
                    Outcome::Whole => {
                        self.statistics.synchronous::<LATENCY>(direction, u64::from(moved), times);
                        times.reaped = self.observe_completed(slot, request, times);
                        break;
                    }
                    Outcome::Failed => {
                        self.statistics.without_latency(direction, u64::from(moved), times);
                        break;
                    }
                    Outcome::Rest(rest) => {
                        result = self.alone_io(rest)?;
                        times.reaped = self.clock.now();
                    }
                }
            },
        }
        self.load.completed(request);
        Ok(times.reaped)
    }

    /// Counts a step of background work (CPU or memory load), which moves no bytes. Then sleeps as long as the engine
    /// asks for, and stops when the engine has nothing left to do.
    #[cold]
    fn finish_background_io(&mut self, request: &Request, direction: Direction, times: IoTimes) -> Nanos {
        self.statistics.synchronous::<LATENCY>(direction, 0, times);
        self.load.completed(request);
        let rest = self.engine.rest_after();
        if self.engine.is_over() {
            self.load.stop();
        } else if !rest.is_zero() {
            self.sleep_until(times.reaped.saturating_add(rest).min(self.runtime_ends()));
        }
        self.clock.now()
    }

    /// Repeats a step of background work that is not finished; it counts once it is, or when the job ends.
    #[cold]
    fn poll_background_io(
        &mut self,
        request: &Request,
        direction: Direction,
        mut times: IoTimes,
    ) -> Result<Nanos, EngineError> {
        while !self.statistics.control.stop_requested() && times.reaped < self.runtime_ends() {
            let result = self.alone(request)?;
            times.reaped = self.clock.now();
            self.watch_time(times.reaped);
            if result != 0 {
                break;
            }
        }
        Ok(self.finish_background_io(request, direction, times))
    }

    /// Waits for the peer of a connection. When the peer has closed it, the job is complete; that is not an error.
    #[cold]
    fn wait_for_peer(&mut self, request: &Request, times: IoTimes) -> Result<Nanos, EngineError> {
        let Some(direction) = request.direction() else { return self.carry_on(request, times, 0) };
        loop {
            let reaped = self.clock.now();
            self.watch_time(reaped);
            let is_over = self.engine.is_over();
            if is_over || self.statistics.control.stop_requested() || reaped >= self.runtime_ends() {
                if is_over {
                    self.load.stop();
                }
                self.load.completed(request);
                return Ok(reaped);
            }
            match self.alone(request)? {
                0 => {}
                result if result == i64::from(request.length) => {
                    let times = IoTimes { reaped: self.clock.now(), ..times };
                    self.statistics.synchronous::<LATENCY>(direction, u64::from(request.length), times);
                    let ready = self.observe_completed(0, request, times);
                    self.load.completed(request);
                    return Ok(ready);
                }
                result => return self.carry_on(request, times, result),
            }
        }
    }

    /// Time at which the job's runtime ends; `Nanos::MAX` without a runtime, or during a ramp.
    fn runtime_ends(&self) -> Nanos {
        let runtime = self.job.limits.runtime.filter(|_| self.timing.ramp_ends.is_none());
        let from = self.statistics.control.measured_from().unwrap_or_default();
        runtime.map_or(Nanos::MAX, |runtime| from.saturating_add(runtime))
    }

    /// Derives the call counts of a synchronous engine: one submit call and one reap call per I/O. The null engine
    /// makes no calls, and fio counts none for it at depth 1.
    pub(super) fn count_calls(&mut self) {
        let record = &mut *self.statistics.record;
        let ios = |direction| self.statistics.control.measured(direction).1;
        let total = Direction::ALL.into_iter().map(ios).sum::<u64>() + record.sync.count();
        record.level[0] = total;
        if self.engine.spec().capabilities.work != Work::Null {
            (record.submit[1], record.complete[1]) = (total, total);
        }
    }
}

#[cold]
fn broken_promise(engine: &'static str) -> EngineError {
    EngineError {
        engine,
        operation: "submit",
        message: "a synchronous engine did not complete an I/O at once: this is a bug in plumb".to_owned(),
        errno: libc::EIO,
    }
}

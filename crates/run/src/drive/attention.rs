//! The slow path of the worker's loop, taken when there is more to do than the next I/O: a request to stop, a report
//! that was requested, or constraints ([`Constraints`]) to check.

use super::calls::Calls;
use super::constraints::{Constraints, Steady};
use super::job_loop::{Drive, is_synchronous};
use super::search::{Search, Step};
use crate::WorkerState;
use crate::shared::capabilities::usable_depth;
use crate::shared::control::{GIVE_WAY, MARK, REPORT};
use crate::shared::record::SteadyRecord;
use crate::shared::usage::used_since;
use engine::EngineError;
use load::{Next, Request};
use measure::{Clock, Nanos};
use plan::{Isolation, Subject};
use std::sync::PoisonError;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// How often a worker gives way at an agreed start. Those that are woken meanwhile need some turns of the scheduler;
/// each takes 0.4 µs if no one waits.
const TURNS: u32 = 16;

impl<E: Calls, const LATENCY: bool> Drive<'_, E, LATENCY> {
    /// Starts the constraints when the measured part begins at `now`.
    pub(super) fn begin_constraints(&mut self, now: Nanos) {
        let most = usable_depth(self.job);
        let Some(constraints) = &mut self.constraints else { return };
        constraints.begin(self.job, most, now);
        if constraints.search.is_some() {
            self.statistics.limits.iter_mut().for_each(|limits| limits.forget());
            if self.slots.busy() == 0 {
                self.slots.use_only(1);
            }
        }
    }

    /// Decides what to do next for a worker whose attention flag is set: the parent asked for something, or the job has
    /// constraints.
    #[cold]
    #[inline(never)]
    pub(super) fn attend(&mut self, mut now: Nanos) -> Result<(Next, Nanos), EngineError> {
        if self.statistics.control.stop_requested() {
            self.load.stop();
            return Ok((self.load.next(now), now));
        }
        if self.statistics.control.stop.load(Relaxed) & MARK != 0 {
            self.mark();
        }
        self.give_way(&mut now);
        self.answer_report_request();
        let Some(mut constraints) = self.constraints.take() else { return Ok((self.load.next(now), now)) };
        let next = self.next_constrained(&mut constraints, &mut now);
        self.constraints = Some(constraints);
        self.reschedule();
        next.map(|next| (next, now))
    }

    /// Lets workers of other runs that begin at the same moment have the processor, once the first I/O is done: one
    /// that never pauses keeps it for a time slice of the scheduler, and the last of eight on two processors would
    /// begin after three of these.
    fn give_way(&self, now: &mut Nanos) {
        let control = self.statistics.control;
        if control.stop.load(Relaxed) & GIVE_WAY != 0 && control.ios.iter().any(|ios| ios.load(Relaxed) > 0) {
            control.stop.fetch_and(!GIVE_WAY, Relaxed);
            (0..TURNS).for_each(|_| std::thread::yield_now());
            *now = self.clock.now();
        }
    }

    // The next step under constraints: they can end the ramp, change the depth, or delay the load's answer.
    fn next_constrained(&mut self, constraints: &mut Constraints<'_>, now: &mut Nanos) -> Result<Next, EngineError> {
        if constraints.ramp_bytes.is_some_and(|bytes| constraints.group.ramped_bytes(constraints.controls) >= bytes) {
            *now = self.clock.now();
            self.end_ramp(*now);
            constraints.begin(self.job, usable_depth(self.job), *now);
            self.statistics.limits.iter_mut().for_each(|limits| limits.forget());
        }
        self.check_latency();
        if let Some(search) = &mut constraints.search {
            self.search_on(search, now)?;
        }
        if let Some(pause) = constraints.flow_pause
            && constraints.group.is_ahead_of_flow(constraints.controls)
        {
            return Ok(Next::Wait(now.saturating_add(pause)));
        }
        let next = self.load.next(*now);
        if let (true, Next::Issue(request) | Next::Review { request, .. }) = (constraints.serialises, next) {
            self.wait_for_overlaps(&request, now)?;
        }
        Ok(next)
    }

    /// Ends the job if an I/O took longer than max_latency.
    pub(super) fn check_latency(&mut self) {
        if let Some((direction, latency, most)) = self.statistics.limits.as_ref().and_then(|limits| limits.too_long()) {
            let message = format!(
                "a {} took {} ns, longer than max_latency allows ({} ns)",
                direction.word(),
                latency.get(),
                most.get()
            );
            self.fail(libc::ETIMEDOUT, "max_latency", &message);
        }
    }

    /// Ends the job with an error that did not come from a device.
    fn fail(&mut self, errno: i32, operation: &str, message: &str) {
        self.statistics.record.fault.keep_first(errno, operation, message);
        self.ended_by_fault = true;
        self.load.stop();
    }

    // The depth changes only with nothing in flight, so that every I/O of a window was issued at the depth it counts
    // for.
    fn search_on(&mut self, search: &mut Search, now: &mut Nanos) -> Result<(), EngineError> {
        let (seen, missed) = self.statistics.limits.as_ref().map_or((0, 0), |limits| limits.counted());
        let step = search.check(*now, seen, missed);
        match step {
            Step::Wait => {
                if *now >= search.due() {
                    search.begin_window(*now);
                    self.statistics.limits.iter_mut().for_each(|limits| limits.forget());
                }
                return Ok(());
            }
            Step::Done => self.load.stop(),
            Step::Fail => {
                let (target, share) = (self.job.latency.target.unwrap_or_default(), self.job.latency.percentile);
                let message = format!(
                    "latency_target of {} us is not kept by {share} percent of the I/Os even at depth 1",
                    target.get() / 1000
                );
                self.fail(libc::ETIMEDOUT, "latency_target", &message);
            }
            Step::Try(depth) | Step::Settle(depth) => {
                if self.slots.busy() > 0 {
                    *now = self.drain(*now)?;
                    self.arrivals.ready = *now;
                }
                self.slots.use_only(depth);
                self.statistics.limits.iter_mut().for_each(|limits| limits.forget());
                if matches!(step, Step::Settle(_)) {
                    self.begin_measuring(*now);
                    self.timing.schedule_sample(&self.statistics);
                }
                search.begin_window(*now);
            }
        }
        self.statistics.record.search_at(search.depth());
        Ok(())
    }

    /// Waits until no I/O in flight overlaps `request`.
    fn wait_for_overlaps(&mut self, request: &Request, now: &mut Nanos) -> Result<(), EngineError> {
        while self.slots.overlaps(request) {
            *now = self.reap_one(*now)?;
            self.arrivals.ready = *now;
        }
        Ok(())
    }

    /// Checks the constraints that are due at `moment`.
    pub(super) fn check_constraints(&mut self, moment: Nanos) {
        let Some(constraints) = &mut self.constraints else { return };
        if let Some(floor) = constraints.floor.as_mut().filter(|floor| moment >= floor.due())
            && let Some(message) = floor.check(moment, self.statistics.control.amounts())
        {
            self.fail(libc::EIO, "rate_min", &message);
            return;
        }
        let Some(steady) = constraints.steady.as_mut().filter(|steady| moment >= steady.due()) else { return };
        let totals = self.statistics.totals();
        match steady {
            Steady::Own(steadiness) => {
                let is_steady = steadiness.sample(moment, totals);
                if self.job.record.debug.has(Subject::SteadyState) {
                    self.load.note(&steadiness.describe());
                }
                if is_steady {
                    self.load.stop();
                }
            }
            Steady::Group { interval, due } => {
                *due = moment.saturating_add(*interval);
                self.statistics.control.latency_ns.store(totals.latency_ns, Relaxed);
            }
        }
    }

    /// Stores what the constraints found in the record, and removes them.
    pub(super) fn drop_constraints(&mut self) {
        self.check_latency();
        self.keep_steadiness();
        self.constraints = None;
    }

    /// Stores in the record how steady the job is so far.
    pub(super) fn keep_steadiness(&mut self) {
        if let Some(Steady::Own(steadiness)) =
            self.constraints.as_ref().and_then(|constraints| constraints.steady.as_ref())
        {
            SteadyRecord::keep(&mut self.statistics.record.steady, steadiness);
        }
    }

    /// Ends the ramp at `moment`: from here on I/O counts.
    pub(super) fn end_ramp(&mut self, moment: Nanos) {
        self.timing.ramp_ends = None;
        self.begin_measuring(moment);
        self.load.ramp_over(moment);
        self.timing.schedule_sample(&self.statistics);
        self.show(WorkerState::Running);
    }

    /// Updates the record if the parent has asked for it.
    #[inline]
    pub(super) fn answer_report_request(&mut self) {
        if self.statistics.control.report_wanted() {
            self.publish();
        }
    }

    /// Brings the record up to date. A worker that is a thread leaves a copy in its mailbox, because the parent must
    /// not read the record while the thread writes it.
    #[cold]
    fn publish(&mut self) {
        let now = self.clock.now();
        self.watch_time(now);
        if is_synchronous(self.engine.spec(), self.job) {
            self.count_calls();
        }
        self.keep_steadiness();
        let used = self.usage();
        let record = &mut *self.statistics.record;
        record.publish(self.statistics.control, now);
        // While the worker runs, `usage` holds the CPU usage before the measured part.
        record.usage_so_far = used_since(used, record.usage);
        if self.job.isolation == Isolation::Thread {
            *self.statistics.mailbox.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(record.clone()));
        }
        // Release: the parent reads the record only after it has seen this bit cleared.
        self.statistics.control.stop.fetch_and(!REPORT, Release);
    }
}

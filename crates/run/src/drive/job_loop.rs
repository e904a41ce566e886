//! The worker's main loop: asks the load for I/Os, gives them to the engine, counts completions. Compiled once for each
//! engine with its own loop and once for all others, and a second time for jobs that measure no latencies.
//!
//! Owns batching, timestamps, short transfers, errors, pauses and the end of a ramp. Which I/O comes next is decided by
//! the load, and how it reaches the kernel by the engine.

use super::arrivals::Arrivals;
use super::buffers::{Buffers, Memory};
use super::calls::Calls;
use super::checks::Checks;
use super::constraints::Constraints;
use super::slots::{IoTimes, Slots};
use super::statistics::Statistics;
use super::timing::Timing;
use crate::WorkerState;
use crate::files::{FileLocks, OpenFiles};
use crate::shared::capabilities::usable_depth;
use crate::shared::control::{ATTENTION, Control};
use crate::shared::group_state::GroupState;
use crate::shared::usage::{TurnPlace, cpu_usage, usage_now, used_since};
use engine::{Engine, EngineError, Io};
use load::content::Content;
use load::{Load, Next, Request};
use measure::{Clock, Nanos};
use model::CpuUsage;
use plan::{EngineSpec, Isolation, JobPlan, Operation, Submission, Work};
use std::sync::atomic::Ordering::Relaxed;

/// The inputs of a worker's loop.
pub(crate) struct DriveSetup<'w, C> {
    pub(crate) job: &'w JobPlan,
    /// The clock of the engine: real or virtual time.
    pub(crate) clock: C,
    pub(crate) load: Load,
    /// Generates the data for write buffers.
    pub(crate) content: Content,
    /// The worker's number over the whole run, from 1, and the seed of its verify patterns.
    pub(crate) identity: (u32, u64),
    /// The buffers, one per slot.
    pub(crate) memory: &'w mut Memory,
    pub(crate) statistics: Statistics<'w>,
    pub(crate) files: &'w mut OpenFiles,
    /// Their locks, if each I/O takes one.
    pub(crate) locks: Option<FileLocks>,
    /// Its place on a thread that it shares; `None` if it has one to itself.
    pub(crate) turn: Option<TurnPlace<'w>>,
    /// The worker's place in its group, and the control blocks of all workers.
    pub(crate) group: (&'w GroupState, &'w sys::machine::shared_memory::SharedBlocks<Control>),
}

/// A worker's loop and its parts.
///
/// The parts are fields by value: a method of a part costs what a field of the loop would, and the borrow checker still
/// sees that two of them are disjoint.
pub(super) struct Drive<'w, E: Calls, const LATENCY: bool> {
    pub(super) job: &'w JobPlan,
    pub(super) engine: E,
    pub(super) clock: E::Clock,
    pub(super) load: Load,
    pub(super) slots: Slots,
    pub(super) buffers: Buffers<'w>,
    pub(super) files: JobFiles<'w>,
    pub(super) statistics: Statistics<'w>,
    pub(super) timing: Timing,
    pub(super) checks: Checks<'w>,
    pub(super) arrivals: Arrivals,
    /// True if the moment at which the last I/Os before a wait are submitted is not recorded: one call submits them and
    /// waits.
    pub(super) joins_calls: bool,
    /// Constraints that slow the worker down or end it early; `None` for most jobs.
    pub(super) constraints: Option<Box<Constraints<'w>>>,
    pub(super) ended_by_fault: bool,
    /// Its place on a thread that it shares.
    turn: Option<TurnPlace<'w>>,
}

/// The open files, and the work that is pending at the end of a pass over the data.
pub(super) struct JobFiles<'w> {
    pub(super) open: &'w mut OpenFiles,
    /// Their locks, if each I/O takes one.
    pub(super) locks: Option<FileLocks>,
    /// True if data were written since the last flush at the end of a pass.
    pub(super) unflushed: bool,
    /// Number of passes that have ended.
    pub(super) passes: u64,
}

/// Runs a job's I/O to its end. Errors are stored in the record.
pub(crate) fn drive<E: Engine>(engine: E, setup: DriveSetup<'_, E::Clock>) {
    if E::OWN_LOOP {
        drive_by(engine, setup);
    } else {
        drive_by::<Box<dyn Calls<Clock = E::Clock>>>(Box::new(engine), setup);
    }
}

fn drive_by<E: Calls>(engine: E, setup: DriveSetup<'_, E::Clock>) {
    let record = &setup.job.record;
    let logs = record.logs.wants_any();
    let wanted = record.total_latency || record.completion_latency || record.submission_latency || logs;
    if wanted || setup.job.latency.judges() || setup.job.steady.is_some() {
        Drive::<E, true>::new(engine, setup).run();
    } else {
        Drive::<E, false>::new(engine, setup).run();
    }
}

impl<'w, E: Calls, const LATENCY: bool> Drive<'w, E, LATENCY> {
    fn new(engine: E, setup: DriveSetup<'w, E::Clock>) -> Self {
        let DriveSetup { job, clock, load, content, identity, memory, mut statistics, files, locks, turn, group } =
            setup;
        statistics.priorities = statistics.priorities.take().filter(|_| engine.priorities().len() > 1);
        let constraints = Constraints::of(job, &load, group.0, group.1);
        let mut checks = Checks::new(job, identity.0, identity.1, &statistics, group.0.own, group.1);
        if load.follows_zones() {
            checks.show_each();
        }
        Drive {
            checks,
            arrivals: Arrivals::default(),
            joins_calls: !LATENCY || statistics.record.blind_to_submission != 0,
            job,
            engine,
            clock,
            load,
            slots: Slots::new(usable_depth(job)),
            buffers: Buffers::new(memory, content),
            files: JobFiles { open: files, locks, unflushed: false, passes: 0 },
            statistics,
            timing: Timing::new(),
            constraints,
            ended_by_fault: false,
            turn,
        }
    }

    fn run(mut self) {
        // First what takes time: a pass over a small file lasts 3 us, as long as a system call and the faults of pages
        // that are written for the first time.
        if let Some(turn) = self.turn {
            turn.begin();
        }
        let primed = self.prime();
        self.clear_counts();
        let now = self.clock.now();
        self.timing.begin_ramp(&self.job.limits, now);
        self.count_from(now);
        if self.timing.ramp_ends.is_some() {
            self.statistics.mute_logs();
        }
        self.load.begin(now);
        self.begin_checks();
        if self.constraints.is_some() {
            self.statistics.control.stop.fetch_or(ATTENTION, Relaxed);
        }
        self.timing.schedule_sample(&self.statistics);
        if self.timing.ramp_ends.is_none() {
            self.begin_constraints(now);
        }
        self.reschedule();
        self.show(if self.timing.ramp_ends.is_none() { WorkerState::Running } else { WorkerState::Ramping });
        let locks = self.files.locks.take();
        if let Err(error) = primed {
            self.fail_to_begin(&error);
        } else if self.checks.pass_only {
            self.load.plan_first();
            // The time of a pass begins with its first record: a pass over a small file lasts little longer than all of
            // the above.
            self.count_from(self.clock.now());
        }
        let ended = self.run_loop(locks.as_ref()).and_then(|()| self.wear_out(locks.as_ref()));
        drop(locks);
        self.end_timed_part();
        let ended = ended.and_then(|()| self.end_pass());
        if let Err(error) = ended {
            let errno = error.errno;
            self.statistics.record.fault.keep_first(errno, error.operation, &error.to_string());
        }
        self.end_review();
        self.close_inside();
        self.save_state();
        let now = self.end_of_measuring();
        self.watch_time(now);
        if now == self.timing.next_event {
            self.event(now, now);
        }
        self.statistics.record.measured_until = now.get();
        self.account_for_the_cpu();
        self.account_for_the_kernel();
        self.account_for_the_load();
        if let Err(error) = self.after_timed_part() {
            self.statistics.record.fault.keep_first(error.errno, error.operation, &error.to_string());
        }
        if let Err(failure) = self.load.conclude(now) {
            self.statistics.record.fault.keep_first(failure.errno, failure.operation, &failure.message);
        }
        self.drop_constraints();
        if let Err(error) = self.statistics.finish_logs(now) {
            self.statistics.record.fault.keep_first(error.errno, &error.operation, &error.message);
        }
        self.show(WorkerState::Finishing);
    }

    /// The end of the measured part: of a pass the end of its last record, unless more belongs to it.
    fn end_of_measuring(&self) -> Nanos {
        let load = &self.job.load;
        let flushes = load.end_fsync || load.fsync_on_close || load.end_syncfs;
        let closes = self.checks.pass.as_ref().is_some_and(|pass| pass.plan.close_inside);
        let pauses = !self.job.pace.think.is_zero();
        match self.timing.last_record_ended.filter(|_| !flushes && !closes && !pauses) {
            Some(ended) => ended,
            None => self.clock.now().saturating_sub(self.timing.waited),
        }
    }

    /// Issues I/Os until the load ends.
    pub(super) fn run_loop(&mut self, locks: Option<&FileLocks>) -> Result<(), EngineError> {
        if let Some(locks) = locks {
            return self.run_locked(locks);
        }
        if self.extras().is_some() {
            return self.run_with_extras();
        }
        if !is_synchronous(self.engine.spec(), self.job) {
            return self.run_queued();
        }
        match (self.checks.pass_only, self.checks.paced) {
            (true, _) => self.run_synchronous::<true, false>(),
            (false, true) => self.run_synchronous::<false, true>(),
            (false, false) => self.run_synchronous::<false, false>(),
        }
    }

    /// Resets all counts: only I/O from `now` on is reported.
    pub(super) fn begin_measuring(&mut self, now: Nanos) {
        self.clear_counts();
        self.count_from(now);
    }

    fn clear_counts(&mut self) {
        self.statistics.clear(self.usage());
        self.statistics.record.zone_resets = self.load.zone_resets();
        self.statistics.kernel_cpu_before = self.engine.kernel_cpu().unwrap_or(Nanos::ZERO);
        if let Some(priorities) = &mut self.statistics.priorities {
            priorities.begin(self.engine.priorities());
        }
    }

    fn count_from(&mut self, now: Nanos) {
        self.statistics.begin(now);
    }

    /// CPU usage of the worker so far, including the threads of its engine; its share of a thread that it does not have
    /// to itself.
    pub(super) fn usage(&self) -> CpuUsage {
        match self.turn {
            Some(turn) => turn.usage(),
            None => usage_now(self.job.isolation) + self.helpers_usage(),
        }
    }

    /// CPU usage of the engine's threads, if getrusage(2) of the worker does not already include it: for a process it
    /// does.
    fn helpers_usage(&self) -> CpuUsage {
        match self.job.isolation {
            Isolation::Process => CpuUsage::default(),
            Isolation::Thread => self.engine.helpers_usage().map(cpu_usage).unwrap_or_default(),
        }
    }

    /// Records the CPU usage of the measured part: what follows it (logs, closing, ending the engine) is not in its
    /// runtime either.
    fn account_for_the_cpu(&mut self) {
        let used = self.usage();
        if let Some(turn) = self.turn {
            turn.end();
        }
        let record = &mut *self.statistics.record;
        record.usage_so_far = used_since(used, record.usage);
    }

    /// Records, at the end, what only the load knows.
    fn account_for_the_load(&mut self) {
        let (resets, walked) = (self.load.zone_resets(), self.load.walked());
        let record = &mut *self.statistics.record;
        record.walked = walked.map_or([0; 3], |(ios, bytes)| [1, ios, bytes]);
        record.zone_resets = resets.saturating_sub(record.zone_resets);
        record.verified = self.checks.verify.as_ref().map_or([0; 2], |verify| [1, verify.checked_bytes]);
    }

    /// Records separately the CPU time that a kernel thread (io_uring's SQPOLL thread) spent for this worker.
    fn account_for_the_kernel(&mut self) {
        let Some(used) = self.engine.kernel_cpu() else { return };
        let used = used.saturating_sub(self.statistics.kernel_cpu_before);
        self.statistics.record.kernel_cpu = used.get();
        let milliseconds = used.get() / 1_000_000;
        let note = self.engine.note().unwrap_or_default();
        self.statistics.record.note.set(&format!("{note}, {milliseconds} ms of CPU in the kernel's polling thread"));
    }

    /// The next I/O if it is already decided and nothing else needs attention; otherwise `None`, and [`Drive::next`]
    /// decides.
    #[inline(always)]
    pub(super) fn planned(&mut self, now: Nanos) -> Option<Request> {
        if self.statistics.control.wants_attention() { None } else { self.load.planned(now) }
    }

    /// The same for a job with a rate.
    #[inline(always)]
    pub(super) fn planned_at_rate(&mut self, now: Nanos) -> Option<Request> {
        if self.statistics.control.wants_attention() { None } else { self.load.planned_at_rate(now) }
    }

    /// Decides what to do next, and returns the current time: the load's answer, unless the worker is to stop or has
    /// constraints.
    #[inline]
    pub(super) fn next(&mut self, now: Nanos) -> Result<(Next, Nanos), EngineError> {
        if self.statistics.control.wants_attention() { self.attend(now) } else { Ok((self.load.next(now), now)) }
    }

    /// The time after a call. If no latency is measured, the clock is read only every few I/Os, except with virtual
    /// time, where a read is free and every time must be exact.
    #[inline]
    pub(super) fn now(&mut self, before: Nanos) -> Nanos {
        if LATENCY || self.engine.spec().capabilities.virtual_time {
            self.clock.now()
        } else {
            self.timing.stride.now(&self.clock, before)
        }
    }

    pub(super) fn show(&self, state: WorkerState) {
        self.statistics.control.state.store(state as u32, Relaxed);
    }

    /// Sets the next event.
    pub(super) fn reschedule(&mut self) {
        let constraints_due = self.constraints.as_ref().map_or(Nanos::MAX, |constraints| constraints.due());
        self.timing.schedule_event(constraints_due);
    }

    /// Handles events that are due before the completions reaped at `now` are counted. The end of the ramp and the ends
    /// of samples fall exactly where they are due, however late the loop notices them.
    #[inline]
    pub(super) fn watch_time(&mut self, now: Nanos) {
        if now > self.timing.next_event {
            self.events_before(now);
        }
    }

    #[cold]
    fn events_before(&mut self, now: Nanos) {
        while self.timing.next_event < now {
            self.event(self.timing.next_event, now);
        }
    }

    /// Performs what is due at `moment`: ends the ramp, takes samples, checks constraints. No I/O completes before
    /// `until`.
    pub(super) fn event(&mut self, moment: Nanos, until: Nanos) {
        if self.timing.ramp_ends.is_some_and(|end| moment >= end) {
            self.end_ramp(moment);
            self.begin_constraints(moment);
        } else if moment >= self.timing.next_sample {
            if self.timing.ramp_ends.is_none() {
                self.statistics.sample(moment, until);
            }
            self.timing.schedule_sample(&self.statistics);
        }
        if self.constraints.is_some() {
            self.check_constraints(moment);
        }
        self.reschedule();
    }

    /// Passes an I/O that completed in full to everything that inspects each I/O.
    #[inline]
    pub(super) fn observe_completed(&mut self, slot: u32, request: &Request, times: IoTimes) -> Nanos {
        if self.checks.each_io { self.inspect(slot, request, times) } else { times.reaped }
    }

    #[cold]
    fn inspect(&mut self, slot: u32, request: &Request, times: IoTimes) -> Nanos {
        if self.checks.paced {
            self.note_response(request, times);
        }
        if self.checks.shows_each { self.show_each(slot, request, times) } else { times.reaped }
    }

    fn show_each(&mut self, slot: u32, request: &Request, times: IoTimes) -> Nanos {
        if self.engine.spec().capabilities.work != Work::Metadata || self.engine.made_call() {
            self.statistics.log(request, times);
        }
        if let (Some(priorities), Some(direction)) = (&mut self.statistics.priorities, request.direction()) {
            let from = if self.job.record.total_percentiles { times.issued } else { times.accepted };
            priorities.record(self.engine.priority_of(slot), direction, times.reaped.saturating_sub(from));
        }
        self.check_block(slot, request);
        self.check_marks(slot, request);
        self.check_positions(slot, request);
        self.load.note_completed(request);
        self.after_checks(times.reaped)
    }

    /// The time at which the next I/O can begin, after those that were reaped at `reaped` were inspected.
    pub(super) fn after_checks(&self, reaped: Nanos) -> Nanos {
        if self.checks.takes_time { self.clock.now() } else { reaped }
    }

    /// Prepares the buffer of `slot` for `request`.
    #[inline(always)]
    pub(super) fn prepare(&mut self, slot: u32, request: &Request, now: Nanos) {
        if request.operation == Operation::Write {
            self.prepare_write(slot, request.rebuilt(), now);
        }
    }

    // By value: a request that a call can see is not in registers, and goes to its slot by loads that wait for stores.
    #[inline(never)]
    fn prepare_write(&mut self, slot: u32, request: Request, now: Nanos) {
        self.files.unflushed = true;
        self.buffers.fill(slot, &request, self.checks.verify.as_mut(), now);
    }

    /// Ends a pass over the data: flushes what was written, if the plan says so, with nothing in flight. The time is
    /// part of the run time; its latency is not among those of fsync (fio counts it the same way).
    fn end_pass(&mut self) -> Result<(), EngineError> {
        let load = &self.job.load;
        let wanted = load.end_fsync || load.fsync_on_close || load.end_syncfs;
        if !wanted || !std::mem::take(&mut self.files.unflushed) || self.ended_by_fault {
            return Ok(());
        }
        self.show(WorkerState::Flushing);
        if load.end_syncfs {
            self.sync_file_systems();
        }
        let files = if load.end_fsync || load.fsync_on_close { self.files.open.paths.len() } else { 0 };
        for target in 0..u32::try_from(files).unwrap_or(u32::MAX) {
            let request = Request::on_target(Operation::Sync, self.files.open.file_of(target), target);
            self.load.note_issued(self.clock.now(), &request);
            let result = self.alone(&request)?;
            if result < 0 {
                self.fault(&request, result);
            } else {
                self.load.note_synced(request.file);
            }
        }
        self.show(WorkerState::Running);
        Ok(())
    }

    /// Continues after a drain that the load asked for: ends a pass if one is complete.
    fn drained(&mut self) -> Result<(), EngineError> {
        if self.load.passes() > self.files.passes {
            self.files.passes = self.load.passes();
            self.end_pass()?;
            if self.job.files.handling.unlink_each_pass {
                self.recreate_files()?;
            }
        }
        Ok(())
    }

    /// Performs a rare step of the load, with nothing in flight; returns the new time.
    pub(super) fn rest(&mut self, next: Next) -> Result<Nanos, EngineError> {
        let waits = matches!(next, Next::Wait(_));
        match next {
            Next::Wait(until) => self.wait_until_due(until),
            Next::Think { until, spin_from } => self.think(until, spin_from),
            Next::Drain => self.drained()?,
            Next::DropCache(target) => self.files.open.drop_cache(target),
            Next::Open { target, file } => self.replace_file(target, file)?,
            Next::SyncRange { request, length } => self.sync_range(&request, length),
            Next::Zone { request, length, action } => self.act_on_zone(&request, length, action)?,
            Next::BeginReview => self.begin_review()?,
            Next::EndReview => self.end_review(),
            Next::Issue(_) | Next::Review { .. } | Next::Stop => {}
        }
        let now = self.clock.now();
        self.timing.stride.restart();
        if !waits {
            self.arrivals.ready = now;
        }
        Ok(now)
    }
}

/// True if this engine completes I/Os in `submit` for this job.
pub(crate) fn is_synchronous(engine: &EngineSpec, job: &JobPlan) -> bool {
    match engine.capabilities.submission {
        Submission::Synchronous => true,
        Submission::Asynchronous => false,
        Submission::ByDepth => job.depth.depth == 1 && !job.shares_threads(),
    }
}

/// The I/O that performs a request from its first byte.
#[inline]
pub(super) fn first_io(slot: u32, request: &Request) -> Io {
    Io {
        slot,
        operation: request.operation,
        target: request.target,
        offset: request.offset,
        length: request.length,
        buffer_offset: 0,
    }
}

//! The worker's loop: asks the load, feeds the engine, counts what comes back. Compiled once per engine, and once
//! more for jobs that measure no latencies.
//!
//! Owns batching, stamps, short transfers, errors, pauses and the end of a ramp.
//! Leaves to others which I/O comes next (the load) and how it reaches the kernel (the engine).

mod checker;
mod checkers;
mod faults;
mod floor;
mod habits;
mod handling;
mod judge;
mod log;
mod pass;
mod pause;
mod queued;
mod rein;
mod search;
mod slots;
mod synchronous;
mod tally;
mod wishes;

pub(crate) use judge::Judge;
pub(crate) use log::{Logs, Queued};
use tally::Alike;
pub(crate) use tally::{Life, Tally};

use crate::WorkerState;
use crate::files::{FileLocks, OpenFiles};
use crate::worker::PriorityRecord;
use crate::worker::memory::Memory;
use crate::worker::record::Mailbox;
use crate::worker::record::{ATTENTION, Control};
use crate::worker::ties::Ties;
use crate::worker::{cpu_usage, usable_depth, usage_now};
use checker::Checker;
use engine::{Engine, EngineError, Io, Operation};
use job::plan::{Isolation, JobPlan};
use job::{Submission, Work};
use load::content::Content;
use load::{Load, Next, Request};
use measure::{Clock, Nanos};
use model::CpuUsage;
use pass::Pass;
use rein::Rein;
use slots::Slots;
use std::sync::atomic::Ordering::Relaxed;

/// What a drive works with.
pub(crate) struct DriveSetup<'w, E: Engine> {
    /// The job.
    pub(crate) job: &'w JobPlan,
    /// The open engine.
    pub(crate) engine: E,
    /// The clock it runs on.
    pub(crate) clock: E::Clock,
    /// What comes next.
    pub(crate) load: Load,
    /// What write buffers hold.
    pub(crate) content: Content,
    /// The worker's number over the whole run, and the seed of its blocks where it verifies.
    pub(crate) identity: (u32, u64),
    /// The buffers, one per slot.
    pub(crate) memory: &'w mut Memory,
    /// Where things are counted.
    pub(crate) tally: Tally<'w>,
    /// Where a thread leaves its record when it is asked for it.
    pub(crate) mailbox: &'w Mailbox,
    /// The open files.
    pub(crate) files: &'w mut OpenFiles,
    /// Their locks, where each I/O takes one.
    pub(crate) locks: Option<FileLocks>,
    /// Where latencies are counted by priority.
    pub(crate) priorities: Option<&'w mut PriorityRecord>,
    /// Whom the worker has to look at, and where.
    pub(crate) ties: (&'w Ties, &'w sys::SharedBlocks<Control>),
}

/// A worker at work.
pub(crate) struct Drive<'w, E: Engine, const LATENCY: bool> {
    job: &'w JobPlan,
    engine: E,
    clock: E::Clock,
    load: Load,
    content: Content,
    content_is_idle: bool,
    checker: Option<Checker>,
    /// Latencies by priority, where the engine gives I/Os more than one.
    priorities: Option<&'w mut PriorityRecord>,
    /// What the kernel's own thread had used when the measured part began.
    kernel_cpu_before: Nanos,
    /// Somebody looks at each I/O that came back whole: the checker, logs, or who counts by priority.
    attends: bool,
    memory: &'w mut Memory,
    tally: Tally<'w>,
    mailbox: &'w Mailbox,
    files: &'w mut OpenFiles,
    locks: Option<FileLocks>,
    slots: Slots,
    /// The next moment at which something else than I/O is due: a sample, the end of the ramp.
    next_event: Nanos,
    ramp_ends: Option<Nanos>,
    next_sample: Nanos,
    /// Written since the last flush at the end of a pass.
    unflushed: bool,
    passes: u64,
    ended_by_fault: bool,
    stride: Stride,
    /// What holds the worker back or ends it early; most have none.
    rein: Option<Box<Rein<'w>>>,
    /// The job is one timed pass.
    pass: Option<Pass<'w>>,
    /// The pass is all that looks at its records.
    is_lean: bool,
}

/// Runs a job's I/O to its end. What went wrong is in the record.
pub(crate) fn drive<E: Engine>(setup: DriveSetup<'_, E>) {
    let record = &setup.job.record;
    let logs = record.logs.wants_any();
    let wanted = record.total_latency || record.completion_latency || record.submission_latency || logs;
    if wanted || setup.job.latency.judges() || setup.job.steady.is_some() {
        Drive::<E, true>::new(setup).run();
    } else {
        Drive::<E, false>::new(setup).run();
    }
}

impl<'w, E: Engine, const LATENCY: bool> Drive<'w, E, LATENCY> {
    fn new(setup: DriveSetup<'w, E>) -> Self {
        let DriveSetup {
            job, engine, clock, load, content, identity, memory, tally, mailbox, files, locks, ties, ..
        } = setup;
        let (number, seed) = identity;
        let priorities = setup.priorities.filter(|_| engine.priorities().len() > 1);
        let checker = Checker::new(job, number, seed);
        let pass = Pass::of(job, ties.0.own, ties.1);
        let placed = job.buffers.placed.is_some();
        let watched = checker.is_some() || tally.has_logs() || priorities.is_some() || job.record.tells.follows_ios();
        Drive {
            job,
            engine,
            clock,
            load,
            content_is_idle: content.is_idle(),
            content,
            attends: watched || placed || pass.as_ref().is_some_and(Pass::judges_reads),
            is_lean: !watched && !placed && pass.is_some(),
            checker,
            priorities,
            kernel_cpu_before: Nanos::ZERO,
            memory,
            tally,
            mailbox,
            files,
            locks,
            slots: Slots::new(usable_depth(job)),
            next_event: Nanos::MAX,
            ramp_ends: None,
            next_sample: Nanos::MAX,
            unflushed: false,
            passes: 0,
            ended_by_fault: false,
            stride: Stride::default(),
            rein: Rein::of(job, ties.0, ties.1),
            pass,
        }
    }

    fn run(mut self) {
        let now = self.clock.now();
        let ramp = self.job.limits.ramp;
        self.ramp_ends = match self.job.limits.ramp_bytes {
            0 => (!ramp.is_zero()).then(|| now.saturating_add(ramp)),
            _ => Some(Nanos::MAX),
        };
        self.begin_measuring(now);
        if self.ramp_ends.is_some() {
            self.tally.mute_logs();
        }
        self.load.begin(now);
        self.begin_checks();
        if self.rein.is_some() {
            self.tally.control.stop.fetch_or(ATTENTION, Relaxed);
        }
        self.next_sample = self.next_look();
        if self.ramp_ends.is_none() {
            self.begin_reins(now);
        }
        self.reschedule();
        self.show(if self.ramp_ends.is_none() { WorkerState::Running } else { WorkerState::Ramping });
        let ended = match self.locks.take() {
            Some(locks) => self.run_locked(&locks),
            None if self.habits().is_some() => self.run_with_habits(),
            None if is_synchronous::<E>(self.job) && self.is_lean => self.run_synchronous::<true>(),
            None if is_synchronous::<E>(self.job) => self.run_synchronous::<false>(),
            None => self.run_queued(),
        };
        self.end_timed_part();
        let ended = ended.and_then(|()| self.end_pass());
        if let Err(error) = ended {
            let errno = error.errno;
            self.tally.record.fault.keep_first(errno, error.operation, &error.to_string());
        }
        self.end_review();
        self.close_inside();
        self.save_state();
        let now = self.clock.now();
        self.watch_time(now);
        if now == self.next_event {
            self.event(now, now);
        }
        self.tally.record.measured_until = now.get();
        self.account_for_the_kernel();
        self.account_for_helpers();
        if let Err(error) = self.after_timed_part() {
            self.tally.record.fault.keep_first(error.errno, error.operation, &error.to_string());
        }
        if let Err(failure) = self.load.conclude(now) {
            self.tally.record.fault.keep_first(failure.errno, failure.operation, &failure.message);
        }
        self.drop_reins();
        if let Err(error) = self.tally.finish_logs(now) {
            self.tally.record.fault.keep_first(error.errno, &error.operation, &error.message);
        }
        self.show(WorkerState::Finishing);
    }

    /// From here on everything counts, and nothing before.
    fn begin_measuring(&mut self, now: Nanos) {
        self.tally.begin(self.usage(), now);
        self.tally.record.zone_resets = self.load.zone_resets();
        self.kernel_cpu_before = self.engine.kernel_cpu().unwrap_or(Nanos::ZERO);
        if let Some(priorities) = &mut self.priorities {
            priorities.name(self.engine.priorities());
            priorities.begin();
        }
    }

    /// What the worker used so far, with the threads of its engine.
    fn usage(&self) -> CpuUsage {
        usage_now(self.job.isolation) + self.helpers_usage()
    }

    /// What threads of the engine used, as far as the worker's own account does not hold it: a process's does.
    fn helpers_usage(&self) -> CpuUsage {
        match self.job.isolation {
            Isolation::Process => CpuUsage::default(),
            Isolation::Thread => self.engine.helpers_usage().map(cpu_usage).unwrap_or_default(),
        }
    }

    /// Notes, at the end, what only the load and threads of the engine know.
    fn account_for_helpers(&mut self) {
        let (used, resets) = (self.helpers_usage(), self.load.zone_resets());
        let record = &mut *self.tally.record;
        record.helpers_usage = used;
        record.zone_resets = resets.saturating_sub(record.zone_resets);
    }

    /// Notes what a thread of the kernel did for this worker, which otherwise nobody would see.
    fn account_for_the_kernel(&mut self) {
        let Some(used) = self.engine.kernel_cpu() else { return };
        let used = used.saturating_sub(self.kernel_cpu_before);
        self.tally.record.kernel_cpu = used.get();
        let milliseconds = used.get() / 1_000_000;
        let note = self.engine.note().unwrap_or_default();
        self.tally.record.note.set(&format!("{note}, {milliseconds} ms of CPU in the kernel's polling thread"));
    }

    /// The next I/O, where it is decided already and nothing else is to be looked at; else [`Drive::next`] knows.
    #[inline(always)]
    fn planned(&mut self, now: Nanos) -> Option<Request> {
        if self.tally.control.wants_attention() { None } else { self.load.planned(now) }
    }

    /// What to do next, and the present: the load's answer, unless the worker shall stop or has reins.
    #[inline]
    fn next(&mut self, now: Nanos) -> Result<(Next, Nanos), EngineError> {
        if self.tally.control.wants_attention() { self.attend(now) } else { Ok((self.load.next(now), now)) }
    }

    /// The present after a call. Where no latency is measured the clock is not read each time, unless its reading is
    /// free and everything has to be exact: virtual time.
    #[inline]
    fn now(&mut self, before: Nanos) -> Nanos {
        if LATENCY || E::SPEC.capabilities.virtual_time {
            self.clock.now()
        } else {
            self.stride.now(&self.clock, before)
        }
    }

    fn show(&self, state: WorkerState) {
        self.tally.control.state.store(state as u32, Relaxed);
    }

    /// Sets the next event.
    fn reschedule(&mut self) {
        let reins = self.rein.as_ref().map_or(Nanos::MAX, |rein| rein.due());
        self.next_event = self.ramp_ends.unwrap_or(Nanos::MAX).min(self.next_sample).min(reins);
    }

    /// Looks at the time before what came back at `now` is counted: the end of the ramp and the ends of samples cut
    /// between completions exactly where they are due, however late the loop gets to see it.
    #[inline]
    fn watch_time(&mut self, now: Nanos) {
        if now > self.next_event {
            self.events_before(now);
        }
    }

    #[cold]
    fn events_before(&mut self, now: Nanos) {
        while self.next_event < now {
            self.event(self.next_event, now);
        }
    }

    /// Does what is due at `moment`: ends the ramp, takes samples, judges. Nothing comes back before `until`.
    fn event(&mut self, moment: Nanos, until: Nanos) {
        if self.ramp_ends.is_some_and(|end| moment >= end) {
            self.end_ramp(moment);
            self.begin_reins(moment);
        } else if moment >= self.next_sample {
            if self.ramp_ends.is_none() {
                self.tally.sample(moment, until);
                self.tally.close_log_windows(moment, until);
            }
            self.next_sample = self.next_look();
        }
        if self.rein.is_some() {
            self.rein_event(moment);
        }
        self.reschedule();
    }

    /// When a sample is due or a window of a log ends; not in a ramp, in which nothing counts.
    fn next_look(&self) -> Nanos {
        match self.ramp_ends {
            Some(_) => Nanos::MAX,
            None => self.tally.next_sample().min(self.tally.next_log_end()),
        }
    }

    /// Shows an I/O that came back whole to those who look at each.
    #[inline]
    fn came_back(&mut self, slot: u32, request: &Request, life: Life) {
        if self.attends {
            self.show_each(slot, request, life);
        }
    }

    #[cold]
    fn show_each(&mut self, slot: u32, request: &Request, life: Life) {
        if E::SPEC.capabilities.work != Work::Names || self.engine.made_call() {
            self.tally.log(request, life);
        }
        if let (Some(priorities), Some(direction)) = (&mut self.priorities, request.direction()) {
            let from = if self.job.record.total_percentiles { life.issued } else { life.accepted };
            priorities.record(self.engine.priority_of(slot), direction, life.reaped.saturating_sub(from));
        }
        self.judge_block(slot, request);
        self.judge_marks(slot, request);
        self.judge_places(slot, request);
        self.load.note_completed(request);
    }

    /// Makes the buffer of `slot` ready for `request`.
    #[inline(always)]
    fn prepare(&mut self, slot: u32, request: &Request, now: Nanos) {
        if request.operation == Operation::Write {
            self.prepare_write(slot, request, now);
        }
    }

    #[inline(never)]
    fn prepare_write(&mut self, slot: u32, request: &Request, now: Nanos) {
        self.unflushed = true;
        if let Some(checker) = &mut self.checker {
            checker.seal(self.memory.slot(slot, request.length), request, now);
        } else if !self.content_is_idle {
            self.content.before_write(self.memory.slot(slot, request.length), request, now);
        }
    }

    /// The end of a pass over the data: flush what was written, where the plan wants it, with nothing in flight.
    /// Its time belongs to the job's; its latency is not among those of fsync (as fio counts).
    fn end_pass(&mut self) -> Result<(), EngineError> {
        let load = &self.job.load;
        let wanted = load.end_fsync || load.fsync_on_close || load.end_syncfs;
        if !wanted || !std::mem::take(&mut self.unflushed) || self.ended_by_fault {
            return Ok(());
        }
        self.show(WorkerState::Flushing);
        if load.end_syncfs {
            self.sync_file_systems();
        }
        let files = if load.end_fsync || load.fsync_on_close { self.files.paths.len() } else { 0 };
        for target in 0..u32::try_from(files).unwrap_or(u32::MAX) {
            let request = Request { operation: Operation::Sync, target, offset: 0, length: 0 };
            self.load.note_issued(self.clock.now(), &request);
            let result = self.alone(&request)?;
            if result < 0 {
                self.fault(&request, result);
            }
        }
        self.show(WorkerState::Running);
        Ok(())
    }

    /// After a drain that the load asked for: has a pass ended?
    fn drained(&mut self) -> Result<(), EngineError> {
        if self.load.passes() > self.passes {
            self.passes = self.load.passes();
            self.end_pass()?;
            if self.job.files.handling.unlink_each_pass {
                self.start_files_afresh()?;
            }
        }
        Ok(())
    }

    /// Carries out a rare answer of the load, with nothing in flight; returns the new present.
    fn rest(&mut self, next: Next) -> Result<Nanos, EngineError> {
        match next {
            Next::Wait(until) => self.sleep_until(until),
            Next::Think { until, spin_from } => {
                self.burn_cycles();
                self.sleep_until(spin_from.min(until));
                self.spin_until(until);
            }
            Next::Drain => self.drained()?,
            Next::DropCache(target) => self.files.drop_cache(target),
            Next::Open { target, file } => self.exchange(target, file)?,
            Next::SyncRange { target, offset, length } => self.sync_range(target, offset, length),
            Next::BeginReview => self.begin_review()?,
            Next::EndReview => self.end_review(),
            Next::Issue(_) | Next::Review { .. } | Next::Stop => {}
        }
        let now = self.clock.now();
        self.stride.restart();
        Ok(now)
    }
}

/// Whether this engine completes I/Os in `submit` for this job.
pub(crate) fn is_synchronous<E: Engine>(job: &JobPlan) -> bool {
    match E::SPEC.capabilities.submission {
        Submission::Synchronous => true,
        Submission::Asynchronous => false,
        Submission::ByDepth => job.depth.depth == 1,
    }
}

/// The I/O that carries out a request from its start.
#[inline]
fn first_io(slot: u32, request: &Request) -> Io {
    Io {
        slot,
        operation: request.operation,
        target: request.target,
        offset: request.offset,
        length: request.length,
        buffer_offset: 0,
    }
}

/// How many I/Os pass between two looks at the clock when no latency is measured: as many as fit into some 50 µs,
/// so that limits and samples still hold, and one where an I/O takes longer.
#[derive(Clone, Copy, Debug)]
struct Stride {
    length: u32,
    left: u32,
}

impl Default for Stride {
    fn default() -> Self {
        Stride { length: 1, left: 1 }
    }
}

impl Stride {
    const LONGEST: u32 = 64;
    const SPAN: Nanos = Nanos::from_micros(50);

    /// The present after an I/O, as well as it need be known.
    #[inline]
    fn now<C: Clock>(&mut self, clock: &C, before: Nanos) -> Nanos {
        self.left -= 1;
        if self.left > 0 {
            return before;
        }
        let now = clock.now();
        let span = now.saturating_sub(before);
        self.length = if span < Self::SPAN { (self.length * 2).min(Self::LONGEST) } else { 1 };
        self.left = self.length;
        now
    }

    /// The clock was read outside.
    fn restart(&mut self) {
        *self = Stride::default();
    }
}

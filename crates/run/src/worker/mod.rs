//! The life of one worker: it passes its gate, opens its files, allocates buffers, waits for the other workers, does
//! its I/O, and leaves its record.

mod block_lifetimes;
mod debug_lines;
mod hook;
mod place;

use crate::WorkerState;
use crate::drive::{
    DriveSetup, LatencyLimits, Logs, Memory, SpareBuffers, Statistics, drive, is_synchronous, load_verify_state,
};
use crate::error::{job_refusal, refusal};
use crate::files::{FileLocks, OpenFiles, PlannedFile, lay_out, order, total_bytes};
use crate::replay::{Player, Recorder, ReplayLog};
use crate::shared::capabilities::{needs_files, usable_depth};
use crate::shared::control::{Control, Gate};
use crate::shared::gate::{is_open, pass};
use crate::shared::group_state::GroupState;
use crate::shared::priorities::PriorityRecord;
use crate::shared::record::{Mailbox, Record};
use crate::shared::virtual_intervals::IntervalRecord;
use crate::shared::wakeup;
use block_lifetimes::{BlockTracker, Blocks};
use engine::{Engine, EngineClock, EngineError, JobFacts, Setup, Visitor};
use load::content::Content;
use load::{Load, LoadSetup, RecordFailure, Region, Request, SharedZones, Witness};
use measure::{Clock, Nanos, SystemClock};
use model::JobError;
use plan::{Isolation, JobPlan, Mix, WorkerPlan};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use sys::machine::shared_memory::SharedBlocks;

pub(crate) use debug_lines::DebugLog;
pub(crate) use place::{Together, Turn, start_ms};

/// Everything that a worker is given.
#[derive(Clone, Copy)]
pub(crate) struct WorkerSetup<'run> {
    pub(crate) plan: WorkerPlan<'run>,
    pub(crate) files: &'run [PlannedFile],
    /// The zones of each file, shared by all workers.
    pub(crate) zones: &'run [Option<SharedZones>],
    /// The I/O log that it replays, if any.
    pub(crate) replay: Option<&'run ReplayLog>,
    /// The control block that it shares with the parent.
    pub(crate) control: &'run Control,
    /// The mailbox for a copy of its record, if it is a thread.
    pub(crate) mailbox: &'run Mailbox,
    /// The control blocks of all workers.
    pub(crate) controls: &'run SharedBlocks<Control>,
    /// Its relations to other workers.
    pub(crate) group: &'run GroupState,
    /// Directory that holds `proc` and `sys`.
    pub(crate) root: &'run Path,
    pub(crate) clock: SystemClock,
    /// Seed to use if the plan has none.
    pub(crate) system_seed: u64,
    /// The file for debug messages, if any.
    pub(crate) debug_log_to: Option<&'run Arc<File>>,
    /// The buffers that the last worker left.
    pub(crate) spare: &'run SpareBuffers,
}

/// Where a worker keeps what it measures.
pub(crate) struct WorkerRecords<'a> {
    pub(crate) record: &'a mut Record,
    pub(crate) priorities: Option<&'a mut PriorityRecord>,
    pub(crate) intervals: Option<&'a mut IntervalRecord>,
}

/// Runs a worker from its gate to its end. Its results and errors are in its records.
pub(crate) fn work(setup: &WorkerSetup<'_>, turn: Option<Turn<'_>>, records: WorkerRecords<'_>) {
    let WorkerRecords { record, priorities, intervals } = records;
    let control = setup.control;
    record.pid = sys::processes::placement::thread_id();
    control.set_thread(record.pid);
    // A worker that is asked to end before its gate opens has nothing to do, and is finished.
    if pass(control, Gate::SetUp) {
        run_worker(setup, turn, WorkerRecords { record: &mut *record, priorities, intervals });
    }
    end(setup, record);
}

/// Ends a worker: its record is complete.
pub(crate) fn end(setup: &WorkerSetup<'_>, record: &mut Record) {
    let control = setup.control;
    record.finished = 1;
    control.open_files.store(0, Relaxed);
    control.state.store(WorkerState::Finishing as u32, Release);
    control.ready.store(1, Release);
}

fn run_worker(setup: &WorkerSetup<'_>, turn: Option<Turn<'_>>, records: WorkerRecords<'_>) {
    let WorkerRecords { record, priorities, intervals } = records;
    setup.control.state.store(WorkerState::SettingUp as u32, Relaxed);
    if let Some(debug_log) = DebugLog::of(setup) {
        debug_log.begin(setup);
    }
    if let Err(error) = set_up_and_run(setup, turn, WorkerRecords { record: &mut *record, priorities, intervals }) {
        record.fault.keep_first(error.errno, &error.operation, &error.message);
    }
    if setup.plan.job.pass.is_some() {
        record.closed_at = setup.clock.now().get();
    }
}

fn set_up_and_run(setup: &WorkerSetup<'_>, turn: Option<Turn<'_>>, records: WorkerRecords<'_>) -> Result<(), JobError> {
    let WorkerRecords { record, priorities, intervals } = records;
    let (job, control) = (setup.plan.job, setup.control);
    let take_place = || place::take(job, setup.plan.clone, setup.root);
    let _pinned = match turn {
        Some(turn) => turn.in_place(take_place).map(|()| None)?,
        None => take_place()?,
    };
    let handling = &job.files.handling;
    if !handling.laid_out_first && needs_files(job) {
        // The parent reported this layout before the workers started; they lay out their files in parallel.
        lay_out(job, &[setup.files.to_vec()], &mut |_| {}, &mut || !control.stop_requested())?;
    }
    let mut open = OpenFiles::open(job, setup.files, control)?;
    let locks = FileLocks::open(handling.lock, setup.files, &open.paths)?;
    if job.files.pre_read {
        control.state.store(WorkerState::PreReading as u32, Relaxed);
        open.pre_read(setup.files, &|| !control.stop_requested())?;
        control.state.store(WorkerState::SettingUp as u32, Relaxed);
    }
    let depth = usable_depth(job);
    let slots = places(job).max(depth);
    let mut memory = Memory::new(job, slots, setup.spare)?;
    let seed = job.load.seed.unwrap_or(setup.system_seed);
    let mut content = Content::new(&job.buffers, seed, setup.plan.number).with_working_set(
        &job.buffers,
        seed,
        total_bytes(setup.files) / u64::from(job.load.largest()),
    );
    for slot in 0..slots {
        content.prepare_start(memory.whole_slot(slot));
    }
    if let Some(bytes) = job.pass.as_ref().map(|pass| pass.touch_bytes).filter(|&bytes| bytes > 0) {
        open.touch(memory.slot(0, bytes.min(job.load.largest())))?;
    }
    hook::run(job, hook::Hook::Before)?;
    let blocks = Blocks::of(setup)?;
    let mut load = make_load(setup, &open, blocks.as_ref())?;
    if let Some(state) = load_verify_state(job, setup.plan.number)? {
        load.resume(state);
    }
    let ready = Ready {
        setup,
        turn,
        record: &mut *record,
        priorities,
        intervals,
        open: &mut open,
        locks,
        memory: &mut memory,
        content,
        load,
    };
    let ended = match turn {
        Some(_) => engine::dispatch_shared(job.engine, ready),
        None if job.depth.offload => Some(ready.visit::<engine::Offload>()),
        None => engine::dispatch(job.engine, ready),
    };
    memory.leave(job, setup.spare);
    if let Some(blocks) = blocks {
        record.blocks.keep(&blocks.found());
    }
    match ended {
        Some(result) => result.and_then(|()| hook::run(job, hook::Hook::After)),
        None => Err(refusal(libc::ENOENT, "engine", format!("there is no engine `{}`", job.engine))),
    }
}

/// The worker's load: generated, or replayed from an I/O log; with witnesses if the job asks for records of it.
fn make_load(setup: &WorkerSetup<'_>, open: &OpenFiles, blocks: Option<&Arc<Blocks>>) -> Result<Load, JobError> {
    let job = setup.plan.job;
    let regions: Vec<Region> = setup.files.iter().map(|file| file.region).collect();
    let given = LoadSetup {
        job,
        number: setup.plan.number,
        regions: &regions,
        zones: setup.zones,
        system_seed: setup.system_seed,
    };
    let load = match (&job.replay, setup.replay) {
        (Some(plan), Some(replayed)) => {
            let player = Player::new(plan, replayed).map_err(record_error)?;
            Load::replaying(&given, Box::new(player))
        }
        _ => Load::new(&given),
    };
    if let Some(debug_log) = DebugLog::of(setup) {
        debug_log.seeds(&Load::seeds(&given));
    }
    let load = load.map_err(|error| refusal(libc::EINVAL, "load", error.to_string()))?;
    if let Some(bytes) = job.pass.as_ref().and_then(|pass| pass.purge_bytes) {
        return Ok(load.witnessed(Box::new(Purge::new(bytes))));
    }
    let recorder = Recorder::open(job, setup.files)?;
    let mut witnesses: Vec<Box<dyn Witness>> = Vec::new();
    if let Some(blocks) = blocks {
        witnesses.push(Box::new(BlockTracker(Arc::clone(blocks))));
    }
    if let Some(debug_log) = DebugLog::of(setup) {
        witnesses.push(Box::new(debug_log.witness(setup.files, open.targets.len(), &job.load)));
    }
    if let Some(recorder) = recorder {
        witnesses.push(recorder);
    }
    let witness = witnesses.into_iter().reduce(|first, second| Box::new(Both(first, second)));
    Ok(match witness {
        Some(witness) => load.witnessed(witness),
        None => load,
    })
}

/// Number of buffers that the records of a pass use in turn; usually 1.
fn places(job: &JobPlan) -> u32 {
    let area = job.pass.as_ref().and_then(|pass| pass.extras.as_ref()).map_or(0, |extras| extras.area_bytes);
    u32::try_from(area / job.load.largest().max(1) as usize).unwrap_or(u32::MAX).max(1)
}

/// A worker that has everything except for its engine.
struct Ready<'a, 'run> {
    setup: &'a WorkerSetup<'run>,
    /// Its place on a thread that it shares.
    turn: Option<Turn<'a>>,
    record: &'a mut Record,
    priorities: Option<&'a mut PriorityRecord>,
    intervals: Option<&'a mut IntervalRecord>,
    open: &'a mut OpenFiles,
    locks: Option<FileLocks>,
    memory: &'a mut Memory,
    content: Content,
    load: Load,
}

impl Visitor for Ready<'_, '_> {
    type Out = Result<(), JobError>;

    fn visit<E: Engine>(self) -> Self::Out {
        let (job, control) = (self.setup.plan.job, self.setup.control);
        let clock = E::Clock::for_worker(&place::clock(job, self.setup.clock)?);
        let mut engine = E::open(Setup {
            options: &job.engine_options,
            job: facts(job),
            targets: &self.open.targets,
            depth: usable_depth(job),
            buffers: self.memory.start(),
            buffer_stride: self.memory.stride(),
            clock: clock.clone(),
        })
        .map_err(|error| engine_error(job, &error))?;
        if let Some(note) = engine.note() {
            self.record.note.set(&note);
        }
        // Once for all clones.
        if let Some(remark) = engine.remark().filter(|_| self.setup.plan.clone == 0) {
            control.notices.send(&format!("fio: {}: {remark}", job.name));
        }
        self.record.blind_to_submission = u32::from(!engine.sees_submission());
        control.ready.store(1, Release);
        if !is_open(control, Gate::Go) {
            wakeup::notify(self.setup.controls);
        }
        if !pass(control, Gate::Go) {
            return Ok(());
        }
        if let Some(gap) = job.pass.as_ref().map(|pass| pass.start_gap).filter(|gap| !gap.is_zero()) {
            clock.sleep_until(clock.now().saturating_add(gap));
        }
        engine.start(&|| !control.stop_requested()).map_err(|error| engine_error(job, &error))?;
        let is_queued = !is_synchronous(&E::SPEC, job) && !E::STAMPS;
        let logs = Logs::open(job, self.setup.plan.number, is_queued)?;
        self.record.started_unix_ms = place::start_ms(job)?;
        #[cfg(test)]
        let engine = crate::stream_tests::Recorded::new(engine);
        let mut statistics = Statistics::new(&mut *self.record, control, self.setup.mailbox, &job.record);
        (statistics.logs, statistics.priorities, statistics.limits) =
            (logs, self.priorities, LatencyLimits::of(&job.latency));
        statistics.intervals = self.intervals.filter(|_| E::SPEC.capabilities.virtual_time);
        let setup = DriveSetup {
            job,
            clock,
            load: self.load,
            content: self.content,
            identity: (self.setup.plan.number, job.load.seed.unwrap_or(self.setup.system_seed)),
            memory: self.memory,
            statistics,
            files: self.open,
            locks: self.locks,
            turn: self.turn.map(Turn::place),
            group: (self.setup.group, self.setup.controls),
        };
        drive(engine, setup);
        self.record.usage = self.record.usage_so_far;
        if job.isolation == Isolation::Thread {
            // getrusage(2) of a thread does not include the kernel's polling thread; that of a process does.
            self.record.usage.system += Nanos(self.record.kernel_cpu);
        }
        Ok(())
    }
}

/// The properties of a job that an engine may need.
fn facts(job: &JobPlan) -> JobFacts<'_> {
    JobFacts {
        name: &job.name,
        runtime: job.limits.runtime,
        priority: job.place.io_priority.map_or(0, |(class, level)| u16::from(class) << 13 | u16::from(level)),
        atomic: job.files.atomic,
        // A block that was trimmed is written next, or read back.
        trims_alone: job.load.mix == Mix::TrimWrite || job.verify.as_ref().is_some_and(|plan| plan.trim.is_some()),
        offloads_to: job.depth.offload.then_some(job.engine),
        order: order(job),
        map_advice: job.pass.as_ref().and_then(|pass| pass.map_advice),
        // A pass opens its file for itself, and what it does with it before its time begins leaves the position alone.
        position: job.pass.as_ref().map(|_| 0),
        placement: job.placement.as_ref(),
    }
}

fn engine_error(job: &JobPlan, error: &EngineError) -> JobError {
    job_refusal(job, error.errno, error.operation, error)
}

/// A failure to read or write an I/O log, as the job's error.
fn record_error(failure: RecordFailure) -> JobError {
    refusal(failure.errno, failure.operation, failure.message)
}

/// Passes every call on to both.
#[derive(Debug)]
struct Both(Box<dyn Witness>, Box<dyn Witness>);

impl Both {
    fn each(&mut self, call: impl Fn(&mut dyn Witness)) {
        call(self.0.as_mut());
        call(self.1.as_mut());
    }
}

impl Witness for Both {
    fn begin(&mut self, now: Nanos) {
        self.each(|witness| witness.begin(now));
    }

    fn issued(&mut self, now: Nanos, request: &Request) {
        self.each(|witness| witness.issued(now, request));
    }

    fn reviewed(&mut self, now: Nanos, request: &Request) {
        self.each(|witness| witness.reviewed(now, request));
    }

    fn completed(&mut self, request: &Request) {
        self.each(|witness| witness.completed(request));
    }

    fn failed(&mut self, request: &Request) {
        self.each(|witness| witness.failed(request));
    }

    fn closed(&mut self, now: Nanos, file: u32) {
        self.each(|witness| witness.closed(now, file));
    }

    fn waits(&mut self, now: Nanos, until: Nanos) {
        self.each(|witness| witness.waits(now, until));
    }

    fn note(&mut self, text: &str) {
        self.each(|witness| witness.note(text));
    }

    fn finish(&mut self, now: Nanos) -> Result<(), RecordFailure> {
        let first = self.0.finish(now);
        self.1.finish(now).and(first)
    }
}

/// Memory that is written before each I/O.
#[derive(Debug)]
pub(crate) struct Purge {
    memory: Box<[u8]>,
    turn: u8,
}

impl Purge {
    pub(crate) fn new(bytes: usize) -> Purge {
        Purge { memory: vec![0; bytes].into_boxed_slice(), turn: 0 }
    }
}

impl Witness for Purge {
    fn begin(&mut self, _now: Nanos) {}

    fn issued(&mut self, _now: Nanos, _request: &Request) {
        self.turn = self.turn.wrapping_add(1);
        self.memory.fill(std::hint::black_box(self.turn));
        std::hint::black_box(&mut self.memory);
    }

    fn finish(&mut self, _now: Nanos) -> Result<(), RecordFailure> {
        Ok(())
    }
}

//! One worker's life: its turn comes, it opens its files and gets its memory, waits for the others, does its I/O,
//! and leaves its record.

pub(crate) mod bell;
pub(crate) mod gate;
mod hook;
mod lives;
pub(crate) mod memory;
pub(crate) mod notices;
mod place;
mod priorities;
mod purge;
pub(crate) mod record;
pub(crate) mod state;
pub(crate) mod ties;

use crate::WorkerState;
use crate::drive::{DriveSetup, Judge, Logs, Queued, Tally, drive, is_synchronous};
use crate::files::{Alone, FileLocks, OpenFiles, PlannedFile, lay_out, order, refusal};
use crate::replay::{Player, Recorder, Replayed};
use crate::supervise::needs_files;
use crate::tell::Teller;
use engine::{Engine, EngineClock, EngineError, JobFacts, Setup, Visitor};
use gate::pass;
use job::Submission;
use job::plan::{Isolation, JobPlan, WorkerPlan};
use lives::{Blocks, Watching};
use load::content::Content;
use load::{Load, LoadSetup, RecordFailure, Region, Witness};
use measure::{Clock, Nanos, SystemClock};
use memory::Memory;
use model::{CpuUsage, JobError};
pub(crate) use priorities::PriorityRecord;
use record::{Control, Gate, Mailbox, Record};
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use ties::Ties;

/// All a worker is given.
#[derive(Clone, Copy)]
pub(crate) struct WorkerSetup<'run> {
    /// What it is to do.
    pub(crate) plan: WorkerPlan<'run>,
    /// Its files.
    pub(crate) files: &'run [PlannedFile],
    /// What it replays, where it replays anything.
    pub(crate) replay: Option<&'run Replayed>,
    /// Where it and the parent talk.
    pub(crate) control: &'run Control,
    /// Where a thread leaves its record when it is asked for it.
    pub(crate) mailbox: &'run Mailbox,
    /// Where all workers and the parent talk.
    pub(crate) controls: &'run sys::SharedBlocks<Control>,
    /// Whom it has to look at.
    pub(crate) ties: &'run Ties,
    /// Where /proc and /sys are read from.
    pub(crate) root: &'run std::path::Path,
    /// The run's clock.
    pub(crate) clock: SystemClock,
    /// Takes the seed's place when the plan has none.
    pub(crate) system_seed: u64,
    /// Where it tells of itself, if it is to.
    pub(crate) tell_to: Option<&'run Arc<File>>,
}

/// A worker from its turn to its end. Everything it has to say is in `record`.
pub(crate) fn work(setup: &WorkerSetup<'_>, record: &mut Record, priorities: Option<&mut PriorityRecord>) {
    let control = setup.control;
    record.pid = sys::placement::thread_id();
    control.thread.store(record.pid, Relaxed);
    // One that is told to end before its turn has nothing to do, and has done it.
    if pass(control, Gate::SetUp) {
        do_its_part(setup, record, priorities);
    }
    record.finished = 1;
    control.open_files.store(0, Relaxed);
    control.state.store(WorkerState::Finishing as u32, Release);
    control.ready.store(1, Release);
    control.left.store(1, Release);
    bell::ring(setup.controls);
}

fn do_its_part(setup: &WorkerSetup<'_>, record: &mut Record, priorities: Option<&mut PriorityRecord>) {
    setup.control.state.store(WorkerState::SettingUp as u32, Relaxed);
    if let Some(teller) = Teller::of(setup) {
        teller.begin(setup);
    }
    if let Err(error) = set_up_and_run(setup, record, priorities) {
        record.fault.keep_first(error.errno, &error.operation, &error.message);
    }
    if setup.plan.job.pass.is_some() {
        record.closed_at = setup.clock.now().get();
    }
}

fn set_up_and_run(
    setup: &WorkerSetup<'_>,
    record: &mut Record,
    priorities: Option<&mut PriorityRecord>,
) -> Result<(), JobError> {
    let (job, control) = (setup.plan.job, setup.control);
    let _pinned = place::take(job, setup.plan.clone, setup.root)?;
    let handling = &job.files.handling;
    if !handling.laid_out_first && needs_files(job) {
        lay_out(job, &[setup.files.to_vec()], &mut Alone, &mut || !control.stop_requested())?;
    }
    let mut open = OpenFiles::open(job, setup.files, control)?;
    let locks = FileLocks::open(handling.lock, setup.files)?;
    if job.files.pre_read {
        control.state.store(WorkerState::PreReading as u32, Relaxed);
        open.pre_read(setup.files, &|| !control.stop_requested())?;
        control.state.store(WorkerState::SettingUp as u32, Relaxed);
    }
    let depth = usable_depth(job);
    let slots = places(job).max(depth);
    let mut memory = Memory::new(job, slots)?;
    if job.pass.as_ref().is_some_and(|pass| pass.prime) {
        open.prime(memory.slot(0, job.load.smallest()))?;
    }
    let seed = job.load.seed.unwrap_or(setup.system_seed);
    let bytes: u64 = setup.files.iter().map(|file| file.region.bytes()).fold(0, u64::saturating_add);
    let mut content = Content::new(&job.buffers, seed, setup.plan.number).with_working_set(
        &job.buffers,
        seed,
        bytes / u64::from(job.load.largest()),
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
    if let Some(state) = state::load(job, setup.plan.number)? {
        load.resume(state);
    }
    let (open, memory) = (&mut open, &mut memory);
    let ready = Ready { setup, record: &mut *record, priorities, open, locks, memory, content, load };
    let ended = match job.depth.offload {
        true => Some(ready.visit::<engine::Offload>()),
        false => engine::dispatch(job.engine, ready),
    };
    if let Some(blocks) = blocks {
        record.blocks.keep(&blocks.found());
    }
    match ended {
        Some(result) => result.and_then(|()| hook::run(job, hook::Hook::After)),
        None => Err(refusal(libc::ENOENT, "engine", format!("there is no engine `{}`", job.engine))),
    }
}

/// The worker's load: drawn, or played from a record; and written down where the job wants it.
fn make_load(setup: &WorkerSetup<'_>, open: &OpenFiles, blocks: Option<&Arc<Blocks>>) -> Result<Load, JobError> {
    let job = setup.plan.job;
    let regions: Vec<Region> = setup.files.iter().map(|file| file.region).collect();
    let given = LoadSetup { job, number: setup.plan.number, regions: &regions, system_seed: setup.system_seed };
    let load = match (&job.replay, setup.replay) {
        (Some(plan), Some(replayed)) => {
            let player = Player::new(plan, replayed).map_err(record_error)?;
            Load::replaying(&given, Box::new(player))
        }
        _ => Load::new(&given),
    };
    if let Some(teller) = Teller::of(setup) {
        teller.seeds(&Load::seeds(&given));
    }
    let load = load.map_err(|error| refusal(libc::EINVAL, "load", error.to_string()))?;
    if let Some(bytes) = job.pass.as_ref().map(|pass| pass.purge_bytes).filter(|&bytes| bytes > 0) {
        return Ok(load.witnessed(Box::new(purge::Purge::new(bytes))));
    }
    let recorder = Recorder::open(job, &open.targets)?;
    let witness: Option<Box<dyn Witness>> = match (Teller::of(setup), recorder) {
        (Some(teller), recorder) => {
            Some(Box::new(teller.beside(recorder, (setup.files, open.targets.len()), &job.load)))
        }
        (None, Some(recorder)) => Some(recorder),
        (None, None) => None,
    };
    let witness = match blocks {
        Some(blocks) => Some(Box::new(Watching::new(blocks, witness)) as Box<dyn Witness>),
        None => witness,
    };
    Ok(match witness {
        Some(witness) => load.witnessed(witness),
        None => load,
    })
}

/// What a record could not give or keep, as the job's error.
pub(crate) fn record_error(failure: RecordFailure) -> JobError {
    refusal(failure.errno, failure.operation, failure.message)
}

/// The depth that the job's engine can use: 1 for those that complete each I/O before the next.
pub(crate) fn usable_depth(job: &JobPlan) -> u32 {
    if job.depth.offload {
        return job.depth.depth;
    }
    let engine = engine::ENGINES.iter().find(|engine| engine.name == job.engine);
    match engine.map(|engine| engine.capabilities.submission) {
        Some(Submission::Synchronous) => 1,
        _ => job.depth.depth,
    }
}

/// Places in memory that the records of a pass go through in turn; 1 as a rule.
fn places(job: &JobPlan) -> u32 {
    let area = job.pass.as_ref().and_then(|pass| pass.habits.as_ref()).map_or(0, |habits| habits.area_bytes);
    u32::try_from(area / job.load.largest().max(1) as usize).unwrap_or(u32::MAX).max(1)
}

/// A worker that needs only its engine.
struct Ready<'a, 'run> {
    setup: &'a WorkerSetup<'run>,
    record: &'a mut Record,
    priorities: Option<&'a mut PriorityRecord>,
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
        self.record.blind_to_submission = u32::from(!engine.sees_submission());
        control.ready.store(1, Release);
        bell::ring(self.setup.controls);
        if !pass(control, Gate::Go) {
            return Ok(());
        }
        if let Some(gap) = job.pass.as_ref().map(|pass| pass.start_gap).filter(|gap| !gap.is_zero()) {
            clock.sleep_until(clock.now().saturating_add(gap));
        }
        engine.start(&|| !control.stop_requested()).map_err(|error| engine_error(job, &error))?;
        let queued = if is_synchronous::<E>(job) || E::STAMPS { Queued::No } else { Queued::Yes };
        let logs = Logs::open(job, self.setup.plan.number, queued)?;
        self.record.started_unix_ms = place::start_ms(job)?;
        #[cfg(test)]
        let engine = crate::stream::Recorded::new(engine);
        drive(DriveSetup {
            job,
            engine,
            clock,
            load: self.load,
            content: self.content,
            identity: (self.setup.plan.number, job.load.seed.unwrap_or(self.setup.system_seed)),
            memory: self.memory,
            tally: Tally::new(&mut *self.record, control, &job.record, logs, Judge::of(&job.latency)),
            mailbox: self.setup.mailbox,
            files: self.open,
            priorities: self.priorities,
            locks: self.locks,
            ties: (self.setup.ties, self.setup.controls),
        });
        let used = usage_now(job.isolation) + self.record.helpers_usage;
        self.record.usage = used_since(used, self.record.usage);
        if job.isolation == Isolation::Thread {
            // A thread's own account does not have what the kernel's thread did for it; a process's has.
            self.record.usage.system += Nanos(self.record.kernel_cpu);
        }
        Ok(())
    }
}

/// What an engine may have to know of its job.
fn facts(job: &JobPlan) -> JobFacts<'_> {
    JobFacts {
        name: &job.name,
        runtime: job.limits.runtime,
        priority: job.place.io_priority.map_or(0, |(class, level)| u16::from(class) << 13 | u16::from(level)),
        atomic: job.files.atomic,
        offloads_to: if job.depth.offload { job.engine } else { "" },
        order: order(job),
        map_advice: job.pass.as_ref().and_then(|pass| pass.map_advice),
    }
}

fn engine_error(job: &JobPlan, error: &EngineError) -> JobError {
    JobError {
        errno: if error.errno == 0 { libc::EINVAL } else { error.errno },
        operation: error.operation.to_owned(),
        message: format!("job `{}` ({}): {error}", job.name, job.origin),
        signal: None,
    }
}

/// Milliseconds since 1970 UTC.
pub(crate) fn unix_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// What a worker used so far: its process, or its thread where it shares the process.
pub(crate) fn usage_now(isolation: Isolation) -> CpuUsage {
    cpu_usage(match isolation {
        Isolation::Process => sys::usage::of_process(),
        Isolation::Thread => sys::usage::of_thread(),
    })
}

/// The kernel's account in the model's shape.
pub(crate) fn cpu_usage(usage: sys::usage::Usage) -> CpuUsage {
    CpuUsage {
        user: Nanos(usage.user_ns),
        system: Nanos(usage.system_ns),
        switches: usage.voluntary_switches + usage.involuntary_switches,
        major_faults: usage.major_faults,
        minor_faults: usage.minor_faults,
    }
}

/// What was used after `before`.
pub(crate) fn used_since(now: CpuUsage, before: CpuUsage) -> CpuUsage {
    CpuUsage {
        user: now.user.saturating_sub(before.user),
        system: now.system.saturating_sub(before.system),
        switches: now.switches.saturating_sub(before.switches),
        major_faults: now.major_faults.saturating_sub(before.major_faults),
        minor_faults: now.minor_faults.saturating_sub(before.minor_faults),
    }
}

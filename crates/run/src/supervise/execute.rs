//! A run from its plan to its result: prepares files, forks workers, monitors them, and collects their records.

use super::by_caller;
use super::event_loop::{EventLoop, RunState};
use super::layout_thread::LayoutContext;
use super::prepare::{self, WorkerInput};
use super::workers::{RunInputs, SharedMemory, WorkerPool, sharers, thread_name};
use crate::calibration::{self, PlanCalibration, Share};
use crate::drive::SpareBuffers;
use crate::environment::clock_note;
use crate::files::FileKind;
use crate::shared::group_state::GroupState;
use crate::signals::Signals;
use crate::{Event, Monitoring, Observer, RunError, RunOptions};
use measure::SystemClock;
use model::RunResult;
use plan::{Isolation, JobPlan, PlacePlan, Plan, WorkerPlan};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use sys::processes::stand_in::StandIn;
use sys::processes::standing_thread::StandingThread;

/// Runs a plan: lays out its files, runs its jobs, and returns their results.
///
/// An error within a job is part of that job's result. Returns early, in order, on SIGINT or SIGTERM.
///
/// # Errors
/// If the plan as a whole cannot be run: it writes although that is forbidden, or the kernel cannot provide memory,
/// processes or threads for its workers.
pub fn execute(plan: &Plan, options: &RunOptions, observer: &mut dyn Observer) -> Result<RunResult, RunError> {
    Runner::new(&options.system_root).run(plan, options, observer)
}

/// Runs plans one after another. It keeps what short runs can share: the calibrated clock, and for passes whose only
/// worker is a thread that thread or the one that stands in for the caller, the buffers, and the memory of worker and
/// supervisor.
#[derive(Debug)]
pub struct Runner {
    pub(super) clock: SystemClock,
    pub(super) spare: SpareBuffers,
    pub(super) shared: Vec<SharedMemory>,
    thread: Option<StandingThread>,
    pub(super) stand_in: Option<StandIn>,
}

impl Runner {
    /// Calibrates the clock; the kernel's clock source is looked up in sysfs under `root`.
    pub fn new(root: &Path) -> Self {
        let clock = crate::environment::start_clock(root);
        Runner { clock, spare: SpareBuffers::default(), shared: Vec::new(), thread: None, stand_in: None }
    }

    /// Runs a plan.
    ///
    /// # Errors
    /// As [`execute`].
    pub fn run(
        &mut self,
        plan: &Plan,
        options: &RunOptions,
        observer: &mut dyn Observer,
    ) -> Result<RunResult, RunError> {
        let signals = Signals::install()?;
        prepare::check(plan, options)?;
        let shares = self.shares(plan, options, &signals);
        run(plan, options, observer, self, &signals, &shares)
    }

    /// Runs plans one after another, until one of them fails or a signal comes; there are fewer results then.
    ///
    /// If all plans are passes on a thread without recording and progress, the calling thread does them, one directly
    /// after another. It prepares all passes before the first and collects all results after the last. So each pass
    /// finds the caches as the one before left them.
    ///
    /// # Errors
    /// As [`execute`].
    pub fn run_in_succession(
        &mut self,
        plans: &[Plan],
        options: &RunOptions,
        observer: &mut dyn Observer,
    ) -> Result<Vec<RunResult>, RunError> {
        if plans.iter().all(|plan| by_caller::suits(plan, options)) {
            let signals = Signals::install()?;
            plans.iter().try_for_each(|plan| prepare::check(plan, options))?;
            self.thread = None;
            return by_caller::run(plans, options, observer, self, &signals);
        }
        let mut results = Vec::new();
        for plan in plans {
            results.push(self.run(plan, options, observer)?);
            if results.last().is_some_and(by_caller::is_last) {
                break;
            }
        }
        Ok(results)
    }

    /// The tool's shares in the latencies of the jobs of a plan.
    fn shares(&mut self, plan: &Plan, options: &RunOptions, signals: &Signals) -> Vec<Option<Share>> {
        let clock = self.clock;
        calibration::before(plan, options.calibration, &clock, &mut |small| run_quietly(small, options, self, signals))
    }
}

/// Measures the set-up of each job of a plan, without running it: what an I/O that takes no time would show at the
/// largest batches that the job allows. `reap_ns`, which follows from a run, is absent. `None` for jobs that measure no
/// latency.
///
/// # Errors
/// If the handlers of signals cannot be installed.
pub fn calibrate(plan: &Plan, options: &RunOptions) -> Result<PlanCalibration, RunError> {
    let mut runner = Runner::new(&options.system_root);
    let signals = Signals::install()?;
    let shares = runner.shares(plan, options, &signals);
    let jobs = shares.into_iter().map(|share| share.map(|share| share.at_batch(f64::MAX))).collect();
    Ok(PlanCalibration { jobs, clock: clock_note(&runner.clock), ended_by_signal: signals.received() })
}

/// Runs a plan of the calibration: nothing is monitored and nothing is reported.
fn run_quietly(
    plan: &Plan,
    options: &RunOptions,
    runner: &mut Runner,
    signals: &Signals,
) -> Result<RunResult, RunError> {
    struct NoOne;
    impl Observer for NoOne {
        fn event(&mut self, _event: Event<'_>) {}
    }
    let options = RunOptions {
        system_root: options.system_root.clone(),
        monitoring: Monitoring::Off,
        read_only: false,
        ..RunOptions::default()
    };
    run(plan, &options, &mut NoOne, runner, signals, &[])
}

fn run(
    plan: &Plan,
    options: &RunOptions,
    observer: &mut dyn Observer,
    runner: &mut Runner,
    signals: &Signals,
    shares: &[Option<Share>],
) -> Result<RunResult, RunError> {
    let Runner { clock, spare, shared: kept, thread, stand_in } = runner;
    // A process that forks workers has no other thread.
    *stand_in = None;
    let clock = clock.restarted();
    let resolved = crate::replay::resolve(plan, &options.system_root);
    let (plan, replays) = match resolved.as_ref() {
        Some((plan, replays)) => (plan, replays.clone()),
        None => (plan, Vec::new()),
    };
    // The plan of a replay has the directions and sizes of its logs now.
    prepare::check(plan, options)?;
    let workers: Vec<WorkerPlan<'_>> = plan.workers().collect();
    announce(&workers, observer);
    let mut layout = LayoutContext { clock, root: &options.system_root, observer: &mut *observer, signals };
    let prepared = prepare::prepare(plan, &workers, replays, &mut layout)?;
    let thread = standing_thread(thread, &workers, options)?;
    let lone = thread.is_some().then(|| workers[0].job);
    let shared = match lone {
        Some(_) => SharedMemory::again(kept, plan, options)?,
        None => SharedMemory::new(plan, options, workers.len())?,
    };
    let stage = Stage::new(plan, workers, prepared, shared);
    let inputs = RunInputs { shares, ..stage.inputs(options, clock, spare) };
    let result = std::thread::scope(|scope| {
        let mut pool = WorkerPool::fork(inputs)?;
        let work = thread.is_some().then(|| pool.first_on_thread());
        let mut supervision = EventLoop::new(inputs);
        supervision.begin(&mut pool, scope, observer, signals)?;
        let supervise = || {
            let mut pool = pool;
            let state = supervision.run(&mut pool, scope, observer, signals)?;
            Ok(conclude(inputs, state, observer))
        };
        match thread.zip(work) {
            Some((thread, work)) => thread.run(|| work.run(), supervise),
            None => supervise(),
        }
    });
    if let Some(job) = lone.filter(|_| result.is_ok()) {
        stage.shared.keep(job, kept);
    }
    result
}

/// A plan with what it needs to run.
pub(super) struct Stage<'p> {
    pub(super) plan: &'p Plan,
    workers: Vec<WorkerPlan<'p>>,
    prepared: Vec<WorkerInput>,
    groups: Vec<GroupState>,
    pub(super) shared: SharedMemory,
}

impl<'p> Stage<'p> {
    pub(super) fn new(
        plan: &'p Plan,
        workers: Vec<WorkerPlan<'p>>,
        prepared: Vec<WorkerInput>,
        shared: SharedMemory,
    ) -> Self {
        let groups = GroupState::of_all(&workers);
        Stage { plan, workers, prepared, groups, shared }
    }

    pub(super) fn inputs<'run>(
        &'run self,
        options: &'run RunOptions,
        clock: SystemClock,
        spare: &'run SpareBuffers,
    ) -> RunInputs<'run> {
        let Stage { plan, workers, prepared, groups, shared } = self;
        RunInputs { plan, workers, prepared, groups, shared, options, clock, spare, shares: &[] }
    }
}

/// The result of a run in its last state.
pub(super) fn conclude(inputs: RunInputs<'_>, state: RunState, observer: &mut dyn Observer) -> RunResult {
    let is_stuck = state.has_stuck_workers();
    // With stuck workers the paths of files are left out: resolving them could block, because their device does not
    // respond.
    let files = if is_stuck { Vec::new() } else { regular_files(inputs.prepared) };
    let result = inputs.result(state, &files);
    if is_stuck {
        observer.event(Event::Abandoned(&result));
    }
    result
}

/// The standing thread, for a plan whose only worker can run on it. Otherwise the thread is ended: a fork copies only
/// the calling thread, so a process that forks workers has no other.
fn standing_thread<'t>(
    thread: &'t mut Option<StandingThread>,
    workers: &[WorkerPlan<'_>],
    options: &RunOptions,
) -> Result<Option<&'t mut StandingThread>, RunError> {
    match workers {
        [worker] if can_share_a_thread(worker.job, options) => {
            if thread.is_none() {
                *thread = Some(StandingThread::start(thread_name(worker.job)).map_err(RunError::Thread)?);
            }
        }
        _ => *thread = None,
    }
    Ok(thread.as_mut())
}

/// True for passes that are threads and leave their thread as it was. What a job changes of its thread would stay with
/// the next one, and the file of debug lines is not open on a standing thread.
pub(super) fn can_share_a_thread(job: &JobPlan, options: &RunOptions) -> bool {
    let is_plain = job.place == PlacePlan::default() && options.debug_log.is_none();
    job.pass.is_some() && job.isolation == Isolation::Thread && is_plain
}

/// The regular files of all workers, each once.
fn regular_files(prepared: &[WorkerInput]) -> Vec<&Path> {
    let files = prepared.iter().flat_map(|ready| &ready.files).filter(|file| file.kind == FileKind::Regular);
    files.map(|file| file.path.as_path()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Reports the number of processes and threads before anything is laid out, as fio does; those of workers whose layout
/// fails later are included.
pub(super) fn announce(workers: &[WorkerPlan<'_>], observer: &mut dyn Observer) {
    let of = |isolation: Isolation| {
        let first = |sharers: &Range<usize>| workers[sharers.start].job.isolation == isolation;
        let count = sharers(workers).into_iter().filter(first).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    };
    observer.event(Event::Starting { threads: of(Isolation::Thread), processes: of(Isolation::Process) });
}

//! A run from its plan to its result: prepares files, forks workers, monitors them, and collects their records.

use super::event_loop::{Watch, Watched};
use super::layout_thread::Outside;
use super::prepare::{self, Prepared};
use super::result::assemble;
use super::workers::{Shared, WorkerInput, WorkerPool};
use crate::files::FileKind;
use crate::shared::capabilities::has;
use crate::shared::group_state::GroupState;
use crate::shared::record::Mailbox;
use crate::{Event, Observer, RunError, RunOptions};
use measure::SystemClock;
use model::RunResult;
use plan::option::Effect;
use plan::{Isolation, Plan, WorkerPlan};
use std::collections::BTreeSet;
use std::path::Path;
use sys::machine::shared_memory::{SharedBlocks, SharedRecords};

/// Runs a plan: lays out its files, runs its jobs, and returns their results.
///
/// An error within a job is part of that job's result. Returns early, in order, on SIGINT or SIGTERM.
///
/// # Errors
/// If the plan as a whole cannot be run: it writes although that is forbidden, or the kernel cannot provide memory,
/// processes or threads for its workers.
pub fn execute(plan: &Plan, options: &RunOptions, observer: &mut dyn Observer) -> Result<RunResult, RunError> {
    execute_by(crate::environment::start_clock(&options.system_root), plan, options, observer)
}

/// The same with a clock that is already calibrated: short runs one after another share one.
///
/// # Errors
/// As [`execute`].
pub fn execute_by(
    clock: SystemClock,
    plan: &Plan,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    let clock = clock.restarted();
    let resolved = crate::replay::resolve(plan, &options.system_root);
    let (plan, replays) = match resolved.as_ref() {
        Some((plan, replays)) => (plan, replays.clone()),
        None => (plan, Vec::new()),
    };
    prepare::check(plan, options)?;
    let signals = crate::signals::Signals::watch()?;
    let workers: Vec<WorkerPlan<'_>> = plan.workers().collect();
    announce(&workers, observer);
    let mut outside = Outside { clock, root: &options.system_root, observer: &mut *observer, signals: &signals };
    let prepared = prepare::prepare(plan, &workers, replays, &mut outside)?;
    let shared = Shared {
        controls: SharedBlocks::new(workers.len())?,
        records: SharedRecords::new(workers.len())?,
        priorities: plan
            .jobs
            .iter()
            .any(|job| has(job, Effect::RaisesPriority))
            .then(|| SharedRecords::new(workers.len()))
            .transpose()?,
        mailboxes: workers.iter().map(|_| Mailbox::default()).collect(),
    };
    let system_seed = prepare::system_seed();
    let group = GroupState::of_all(&workers);
    let inputs: Vec<WorkerInput<'_>> = workers
        .iter()
        .zip(&prepared)
        .zip(&group)
        .map(|((&plan, ready), group)| WorkerInput { plan, files: &ready.files, replay: ready.replay.as_ref(), group })
        .collect();
    let ending = std::thread::scope(|scope| {
        let mut pool = WorkerPool::fork(&shared, inputs, clock, system_seed, options)?;
        let watch = Watch::new(&workers, &prepared, &shared, options, clock).of_plan(plan);
        let watched = watch.run(&mut pool, scope, observer, &signals)?;
        if watched.has_stuck_workers {
            // The paths of files are left out: resolving them could block, because their device does not respond.
            let environment = |notes| crate::environment::look_around(&options.system_root, &clock, notes, &[]);
            let result = assemble(plan, &workers, &prepared, &shared, watched, environment);
            observer.event(Event::Abandoned(&result));
            return Ok(Ending::Abandoned(Box::new(result)));
        }
        Ok::<_, RunError>(Ending::Collected(Box::new(watched)))
    })?;
    let watched = match ending {
        Ending::Collected(watched) => *watched,
        Ending::Abandoned(result) => return Ok(*result),
    };
    let files = regular_files(&prepared);
    let environment = |notes| crate::environment::look_around(&options.system_root, &clock, notes, &files);
    Ok(assemble(plan, &workers, &prepared, &shared, watched, environment))
}

/// The end of a run's workers.
enum Ending {
    /// All were reaped.
    Collected(Box<Watched>),
    /// Some are stuck in the kernel: the result without them.
    Abandoned(Box<RunResult>),
}

/// The regular files of all workers, each once.
fn regular_files(prepared: &[Prepared]) -> Vec<&Path> {
    let files = prepared.iter().flat_map(|ready| &ready.files).filter(|file| file.kind == FileKind::Regular);
    files.map(|file| file.path.as_path()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Reports the number of workers before anything is laid out, as fio does; workers whose layout fails later are
/// included.
fn announce(workers: &[WorkerPlan<'_>], observer: &mut dyn Observer) {
    let of = |isolation: Isolation| {
        let count = workers.iter().filter(|worker| worker.job.isolation == isolation).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    };
    observer.event(Event::Starting { threads: of(Isolation::Thread), processes: of(Isolation::Process) });
}

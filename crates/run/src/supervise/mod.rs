//! The run from above: prepares files, starts workers at their turn, watches them, collects what they found.

mod crew;
mod devices;
mod estimate;
mod interim;
mod latency;
mod laying;
mod prepare;
mod schedule;
mod settle;
mod stuck;
mod watch;
mod watching;

use crate::{Observer, RunError, RunOptions};
pub(crate) use crew::{End, Shared};
pub(crate) use prepare::{Prepared, needs_files};
pub(crate) use watch::Watched;

use crate::files::FileKind;
use crate::worker::record::Mailbox;
use crate::worker::ties::Ties;
use crew::{Crew, Recruit};
use job::Plan;
use job::plan::{Isolation, JobPlan, WorkerPlan};
use laying::Outside;
use measure::{Nanos, SystemClock};
use model::RunResult;
use std::collections::BTreeSet;
use std::path::Path;
use sys::{SharedBlocks, SharedRecords};
use watch::Watch;

/// How long those who are stuck have after the second request to end, which kills what can be killed.
const PATIENCE: Nanos = Nanos::from_millis(500);

/// Runs a plan: lays out its files, runs its jobs, and returns what they found.
///
/// An error inside a job is that job's result. Returns early, in order, on SIGINT or SIGTERM.
///
/// # Errors
/// When the plan as a whole cannot be run: it writes though that was forbidden, or the kernel has no room for its
/// workers.
pub fn execute(plan: &Plan, options: &RunOptions, observer: &mut dyn Observer) -> Result<RunResult, RunError> {
    execute_by(crate::environment::start_clock(&options.system_root), plan, options, observer)
}

/// The same by a clock that was calibrated before: runs of milliseconds, one after another, share one.
///
/// # Errors
/// As [`execute`].
pub fn execute_by(
    clock: SystemClock,
    plan: &Plan,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    let clock = clock.anew();
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
        priorities: plan.jobs.iter().any(raises_some).then(|| SharedRecords::new(workers.len())).transpose()?,
        mailboxes: workers.iter().map(|_| Mailbox::default()).collect(),
    };
    let system_seed = prepare::system_seed();
    let ties = Ties::of_all(&workers);
    let recruits: Vec<Recruit<'_>> = workers
        .iter()
        .zip(&prepared)
        .zip(&ties)
        .map(|((&plan, ready), ties)| Recruit { plan, files: &ready.files, replay: ready.replay.as_ref(), ties })
        .collect();
    let watched = std::thread::scope(|scope| {
        let mut crew = Crew::fork(&shared, recruits, clock, system_seed, options)?;
        let watch = Watch::new(&workers, &prepared, &shared, options, clock).of_plan(plan);
        let watched = watch.run(&mut crew, scope, observer, &signals)?;
        if watched.leaves_some {
            // Its files are not looked at: their device does not answer.
            let environment = |notes| crate::environment::look_around(&options.system_root, &clock, notes, &[]);
            let result = crate::result::assemble(plan, &workers, &prepared, &shared, watched, environment);
            observer.abandoned(&result);
            return Ok(Err(Box::new(result)));
        }
        Ok::<_, RunError>(Ok(watched))
    })?;
    let watched = match watched {
        Ok(watched) => watched,
        Err(abandoned) => return Ok(*abandoned),
    };
    let files = regular_files(&prepared);
    let environment = |notes| crate::environment::look_around(&options.system_root, &clock, notes, &files);
    Ok(crate::result::assemble(plan, &workers, &prepared, &shared, watched, environment))
}

/// The regular files of all workers, each once.
fn regular_files(prepared: &[Prepared]) -> Vec<&Path> {
    let files = prepared.iter().flat_map(|ready| &ready.files).filter(|file| file.kind == FileKind::Regular);
    files.map(|file| file.path.as_path()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Whether a job raises the priority of some of its I/Os.
fn raises_some(job: &JobPlan) -> bool {
    ["cmdprio_percentage", "cmdprio_bssplit"].iter().any(|name| job.engine_options.get(name).is_some())
}

/// Before anything is laid out, as fio's users see it; workers whose files then fail are counted.
fn announce(workers: &[WorkerPlan<'_>], observer: &mut dyn Observer) {
    let of = |isolation: Isolation| {
        let count = workers.iter().filter(|worker| worker.job.isolation == isolation).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    };
    observer.starting(of(Isolation::Thread), of(Isolation::Process));
}

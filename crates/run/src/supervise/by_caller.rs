//! Passes that the calling thread does itself, one directly after another, and their supervision.
//!
//! A pass over 64 KiB lasts 3 µs, and a third of that depends on what is in the caches of its processor. A thread that
//! is woken for the pass starts on a processor that was idle, and a new thread for each pass takes 15 % more CPU time.
//! So files, records and gates of all passes are prepared before the first pass, and their results are made after the
//! last one. Measured with `-a` on tmpfs, as parts of iozone's rates, for files of 64, 128, 256 and 512 KiB: 1.08,
//! 1.07, 1.10 and 1.07. As threads that are woken for each pass, files of 64 to 256 KiB reach 0.92, 0.90 and 0.93
//! (docs/performance.md).
//!
//! If the passes last longer than a tenth of a second, or a signal comes, a second thread supervises them
//! ([`sys::processes::stand_in`]): it reports a stuck call, and a second signal ends the program.

use super::event_loop::EventLoop;
use super::execute::{Runner, Stage, announce, can_share_a_thread, conclude};
use super::layout_thread::LayoutContext;
use super::prepare;
use super::workers::{RunInputs, SharedMemory, ThreadWork, WorkerPool, thread_name};
use crate::signals::Signals;
use crate::{Calibrating, Monitoring, Observer, RunError, RunOptions};
use model::RunResult;
use plan::{Plan, WorkerPlan};
use std::thread::Scope;
use sys::processes::stand_in::StandIn;

/// True for a plan whose only worker is a pass that the caller can do: nothing is recorded or shown while it lasts.
pub(super) fn suits(plan: &Plan, options: &RunOptions) -> bool {
    let is_unwatched = options.monitoring == Monitoring::Off && options.progress_interval.is_none();
    let is_simple = |plan: &Plan| match plan.jobs.as_slice() {
        [job] => job.clones == 1 && job.replay.is_none() && can_share_a_thread(job, options),
        _ => false,
    };
    is_unwatched && options.calibration == Calibrating::Skipped && is_simple(plan)
}

/// True for a result after which no other plan runs.
pub(super) fn is_last(result: &RunResult) -> bool {
    result.ended_by_signal.is_some() || result.jobs.iter().any(|job| job.error.is_some())
}

/// Runs plans of passes in succession, until one fails or a signal comes.
pub(super) fn run(
    plans: &[Plan],
    options: &RunOptions,
    observer: &mut dyn Observer,
    runner: &mut Runner,
    signals: &Signals,
) -> Result<Vec<RunResult>, RunError> {
    let Runner { clock, spare, shared: kept, stand_in, .. } = runner;
    let Some(first) = plans.first() else { return Ok(Vec::new()) };
    if stand_in.is_none() {
        *stand_in = Some(StandIn::start(thread_name(&first.jobs[0])).map_err(RunError::Thread)?);
    }
    let Some(stand_in) = stand_in else { return Ok(Vec::new()) };
    let clock = clock.restarted();
    let mut stages = Vec::with_capacity(plans.len());
    for plan in plans {
        let workers: Vec<WorkerPlan<'_>> = plan.workers().collect();
        announce(&workers, observer);
        let mut layout = LayoutContext { clock, root: &options.system_root, observer: &mut *observer, signals };
        let prepared = prepare::prepare(plan, &workers, Vec::new(), &mut layout)?;
        stages.push(Stage::new(plan, workers, prepared, SharedMemory::again(kept, plan, options)?));
    }
    let inputs = stages.iter().map(|stage| stage.inputs(options, clock, spare));
    let results = std::thread::scope(|scope| {
        let (mut works, mut supervised) = (Vec::new(), Vec::new());
        for inputs in inputs {
            let mut pool = WorkerPool::fork(inputs)?;
            works.push((inputs, pool.first_on_thread()));
            let mut supervision = EventLoop::new(inputs);
            supervision.begin(&mut pool, scope, observer, signals)?;
            supervised.push((inputs, pool, supervision));
        }
        stand_in.run(|| do_all(works), || supervise_all(supervised, scope, observer, signals))
    });
    if results.is_ok() {
        for Stage { plan, shared, .. } in stages {
            shared.keep(&plan.jobs[0], kept);
        }
    }
    results
}

/// Does the passes, up to the first that fails.
fn do_all(works: Vec<(RunInputs<'_>, ThreadWork<'_>)>) {
    for (inputs, work) in works {
        work.run();
        if inputs.is_faulty(0) {
            break;
        }
    }
}

/// Supervises passes that go on, or have ended; gives their results, up to the last that counts.
fn supervise_all<'run, 'scope>(
    passes: Vec<(RunInputs<'run>, WorkerPool<'run, 'scope>, EventLoop<'run>)>,
    scope: &'scope Scope<'scope, '_>,
    observer: &mut dyn Observer,
    signals: &Signals,
) -> Result<Vec<RunResult>, RunError>
where
    'run: 'scope,
{
    let mut results = Vec::with_capacity(passes.len());
    for (inputs, mut pool, supervision) in passes {
        let state = supervision.run(&mut pool, scope, observer, signals)?;
        results.push(conclude(inputs, state, observer));
        if results.last().is_some_and(is_last) {
            break;
        }
    }
    Ok(results)
}

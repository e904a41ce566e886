//! Calibration: what the tool itself adds to the latencies of a job, measured just before it by the same loop.
//!
//! I/Os that do nothing go through the worker's loop at the job's own engine, batch and processors (`setups`); how late
//! a worker wakes up is measured by waits. No target is opened. How long completions waited while the worker was busy
//! follows from the run itself.

mod setups;

use crate::error::RunError;
use crate::observer::Calibrating;
use crate::shared::capabilities::{has, is_queued};
use measure::{ClockCost, Histogram, SystemClock, VirtualClock, float};
use model::{Calibration, ClockNote, DepthStatistics, JobResult, LatencyStatistics, RunResult};
use plan::option::Effect;
use plan::{ClockChoice, JobPlan, Plan};
use setups::{Setup, Small};

/// The tool's share in the latencies of a job, as far as it is known before its run.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    /// The calibration without what depends on the batches of the run.
    bare: Calibration,
    /// The loop at batches of 1 and at the largest batch; empty if it was not measured.
    loops: Vec<LoopCost>,
}

/// Latencies of I/Os that do nothing, in ns.
#[derive(Clone, Copy, Debug)]
struct LoopCost {
    /// Mean number of I/Os per call.
    batch: f64,
    /// 50th and 99th percentile.
    total: [f64; 2],
    completion: [f64; 2],
}

/// The calibration of a plan that was not run.
#[derive(Clone, Debug)]
pub struct PlanCalibration {
    /// One entry per job of the plan.
    pub jobs: Vec<Option<Calibration>>,
    /// The clock, with its drift during the calibration.
    pub clock: ClockNote,
    /// Signal that ended it early.
    pub ended_by_signal: Option<i32>,
}

/// Runs the small jobs of a calibration.
pub(crate) type RunSmall<'a> = &'a mut dyn FnMut(&Plan) -> Result<RunResult, RunError>;

/// The shares of all jobs of a plan; `None` for jobs that measure no latency, and if the run is not to be calibrated.
pub(crate) fn before(plan: &Plan, effort: Calibrating, clock: &SystemClock, run: RunSmall<'_>) -> Vec<Option<Share>> {
    let measures = |job: &JobPlan| job.record.total_latency || job.record.completion_latency;
    let setup = |job: &JobPlan| (effort != Calibrating::Skipped && measures(job)).then(|| Setup::of(job));
    let wanted: Vec<Option<Setup>> = plan.jobs.iter().map(setup).collect();
    let mut setups: Vec<Setup> = Vec::new();
    for setup in wanted.iter().flatten().filter(|setup| !setups.contains(setup)).cloned().collect::<Vec<_>>() {
        let most = if effort == Calibrating::Thorough { usize::MAX } else { setups::MOST };
        if setups.len() < most && !setups.contains(&setup) {
            setups.push(setup);
        }
    }
    let measured = SmallRun::of(&setups, effort, run);
    let share = |setup: Option<Setup>| setup.map(|setup| measured.share(&setup, clock));
    wanted.into_iter().map(share).collect()
}

/// The small jobs and what they showed.
struct SmallRun {
    jobs: Vec<Small>,
    /// Or why they could not run.
    result: Result<RunResult, String>,
}

impl SmallRun {
    /// Runs what the set-ups need, each job once.
    fn of(setups: &[Setup], effort: Calibrating, run: RunSmall<'_>) -> Self {
        let mut jobs: Vec<Small> = Vec::new();
        for job in setups.iter().flat_map(Setup::jobs) {
            if !jobs.contains(job) {
                jobs.push(job.clone());
            }
        }
        if jobs.is_empty() {
            return SmallRun { jobs, result: Ok(RunResult::default()) };
        }
        let limited = jobs.iter().map(|job| setups::limited(job, effort)).collect();
        let result = run(&Plan { jobs: limited, ..Plan::default() });
        SmallRun { jobs, result: result.map_err(|error| error.to_string()) }
    }

    /// The result of a small job; the reason if there is none.
    fn result(&self, job: &Small) -> Result<&JobResult, String> {
        let too_many = || format!("the run has more than {} set-ups", setups::MOST);
        let at = self.jobs.iter().position(|known| known == job).ok_or_else(too_many)?;
        let result = self.result.as_ref().map_err(Clone::clone)?.jobs.get(at).ok_or_else(too_many)?;
        match &result.error {
            Some(error) => Err(error.message.clone()),
            None if result.ios() == 0 => Err("there was no time for it".to_owned()),
            None => Ok(result),
        }
    }

    fn share(&self, setup: &Setup, clock: &SystemClock) -> Share {
        let cost = match setup {
            Setup { is_virtual: true, .. } => ClockCost::of(&VirtualClock::default()),
            Setup { waits, .. } if waits.iter().any(|wait| wait.job.place.clock == Some(ClockChoice::System)) => {
                ClockCost::of(&clock.by_call())
            }
            _ => ClockCost::of(clock),
        };
        let mut bare = Calibration { borrowed: setup.borrowed, ..Calibration::of_clock(cost) };
        let measured = |job: &Small| LoopCost::of(job, self.result(job)?).ok_or("no latency was recorded".to_owned());
        let loops = setup.loops.clone().and_then(|jobs| {
            bare.by = jobs.first().map(|small| small.job.engine.to_owned());
            jobs.iter().map(measured).collect::<Result<Vec<LoopCost>, String>>()
        });
        let loops = loops.unwrap_or_else(|why| {
            (bare.by, bare.borrowed) = (None, false);
            bare.not_measured.push(format!("loop: {why}"));
            Vec::new()
        });
        let mut late = Histogram::new();
        for job in &setup.waits {
            match self.result(job) {
                Ok(result) => distributions(result).for_each(|[_, completion]| late.merge(completion)),
                Err(why) => bare.not_measured.push(format!("wake-up: {why}")),
            }
        }
        let at = |percent| late.percentile(percent).map(measure::Nanos::get);
        bare.wake_ns = at(50.0).zip(at(99.0)).map(|(middle, slow)| [middle, slow]);
        bare.not_measured.dedup();
        Share { bare, loops }
    }
}

impl LoopCost {
    fn of(job: &Small, result: &JobResult) -> Option<LoopCost> {
        let [total, completion] = distributions(result).next()?;
        let both = |histogram: &Histogram| {
            let at = |percent| histogram.percentile(percent).map(|found| float(found.saturating_sub(job.least).get()));
            Some([at(50.0)?, at(99.0)?])
        };
        Some(LoopCost { batch: batch(result), total: both(total)?, completion: both(completion)? })
    }

    /// The cost at another batch: between two that were measured it grows evenly.
    fn between(&self, other: &LoopCost, batch: f64) -> LoopCost {
        let span = other.batch - self.batch;
        let part = if span > 0.0 { ((batch - self.batch) / span).clamp(0.0, 1.0) } else { 1.0 };
        let mix = |a: [f64; 2], b: [f64; 2]| [0, 1].map(|at| a[at] + part * (b[at] - a[at]));
        LoopCost {
            batch: self.batch + part * span,
            total: mix(self.total, other.total),
            completion: mix(self.completion, other.completion),
        }
    }
}

/// Total and completion latencies of the directions of a small job.
fn distributions(result: &JobResult) -> impl Iterator<Item = [&Histogram; 2]> {
    fn histogram(latency: &Option<LatencyStatistics>) -> Option<&Histogram> {
        latency.as_ref()?.histogram.as_deref()
    }
    result.directions.iter().filter_map(|(_, found)| Some([histogram(&found.total)?, histogram(&found.completion)?]))
}

impl Share {
    /// The calibration of a job's run.
    pub(crate) fn of_run(&self, job: &JobPlan, result: &JobResult) -> Calibration {
        let mut found = self.at_batch(batch(result));
        match reap_ns(job, result) {
            Ok(ns) => found.reap_ns = Some(ns),
            Err(why) => found.not_measured.push(format!("reap: {why}")),
        }
        found
    }

    /// The calibration at a mean number of I/Os per call.
    pub(crate) fn at_batch(&self, batch: f64) -> Calibration {
        let mut found = self.bare.clone();
        let cost = match &self.loops[..] {
            [one] => *one,
            [one, .., most] => one.between(most, batch),
            [] => return found,
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "percentiles of a histogram, below 2^40 ns"
        )]
        let whole = |pair: [f64; 2]| pair.map(|ns| ns.round() as u64);
        (found.total_ns, found.completion_ns) = (Some(whole(cost.total)), Some(whole(cost.completion)));
        found.batch = cost.batch;
        found
    }
}

/// Mean number of I/Os per call that submitted or returned any, whichever is more; 1 if no calls are counted.
fn batch(result: &JobResult) -> f64 {
    let DepthStatistics { submit, complete, submits, completes, .. } = &result.depth;
    let ios = float(result.ios() + result.sync.count);
    let per = |calls: u64, empty: u64| ios / float(calls.saturating_sub(empty).max(1));
    match (submits, completes) {
        (0, _) | (_, 0) => 1.0,
        _ => per(*submits, submit[0]).max(per(*completes, complete[0])).max(1.0),
    }
}

/// Mean time in ns that a completion waited for the worker's next look.
///
/// A look follows the last one by `S`, the user CPU time that the worker spends between two: the kernel's part is what
/// any program pays for its I/Os. While it waits for completions it sees each at once, so only the share of time `r` in
/// which it is busy counts: `r S / 2`, and `r S / 2 (1 - r)` if a look takes one completion, as in a queue with random
/// arrivals and a fixed service time (Pollaczek and Khinchine). At most all others in flight are served before.
fn reap_ns(job: &JobPlan, result: &JobResult) -> Result<f64, String> {
    let is_virtual = crate::shared::capabilities::spec(job).is_some_and(|engine| engine.capabilities.virtual_time);
    if job.depth.offload {
        return Err("threads do the I/Os".to_owned());
    }
    if is_virtual || !is_queued(job) {
        return Ok(0.0);
    }
    if has(job, Effect::Polls) {
        return Err("completions are polled for".to_owned());
    }
    let (looks, runtime) = (float(result.depth.completes), result.runtime.as_f64());
    if looks == 0.0 || runtime == 0.0 {
        return Err("the run had no completions".to_owned());
    }
    let user = result.cpu.user.as_f64();
    Ok(wait_for_look(
        user / looks,
        (user / runtime).min(1.0),
        f64::from(job.depth.depth) / f64::from(job.depth.reap_max.max(1)),
    ))
}

/// The wait for a look that follows the last one by `spacing` of CPU time, if the worker is `busy` and `looks` serve
/// all in flight.
fn wait_for_look(spacing: f64, busy: f64, looks: f64) -> f64 {
    let most = (spacing / 2.0).max((looks - 1.0) * spacing);
    let queued = busy * spacing / (2.0 * (1.0 - busy));
    queued.min(most)
}

#[cfg(test)]
mod tests {
    use super::wait_for_look;

    #[test]
    fn a_completion_waits_while_the_worker_is_busy() {
        for (spacing, busy, looks, expected) in [
            (1000.0, 0.0, 4.0, 0.0),
            (1000.0, 0.5, 4.0, 500.0),
            // At most until all others in flight are served.
            (1000.0, 0.99, 4.0, 3000.0),
            (1000.0, 1.0, 1.0, 500.0),
        ] {
            assert!((wait_for_look(spacing, busy, looks) - expected).abs() < 1e-9, "{spacing} {busy} {looks}");
        }
    }
}

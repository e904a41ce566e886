//! Converts a run's progress to the content of fio's live status line.

use formats::fio::status_line::{Activity, Estimate, LiveRate, LiveStatus, Order, RateLimit};
use measure::{Bytes, BytesPerSecond, Direction, Nanos, PerDirection};
use plan::JobPlan;
use plan::Plan;
use run::{Progress, WorkerProgress, WorkerState};

/// Time before which no ETA is given: the first seconds do not predict the rest of a run.
const SETTLED: Nanos = Nanos::from_secs(3);

/// Returns the status at `progress`; `before` is the progress at the last redraw.
pub(crate) fn status(plan: &Plan, progress: &Progress, before: Option<&Progress>) -> LiveStatus {
    let activity = |worker: &WorkerProgress| activity(plan.jobs.get(worker.job_index), worker.state);
    LiveStatus {
        workers: progress.workers.iter().map(activity).collect(),
        open_files: progress.workers.iter().map(|worker| worker.open_files).sum(),
        limit: limit(plan, progress),
        rates: rates(progress, before),
        estimate: estimate(progress),
        unit_base: plan.jobs.first().map_or(1024, |job| job.record.unit_base),
        bits: plan.jobs.first().is_some_and(|job| job.record.bits),
    }
}

fn estimate(progress: &Progress) -> Option<Estimate> {
    let remaining = progress.remaining.filter(|_| progress.elapsed >= SETTLED)?;
    Some(Estimate { done: progress.done, remaining })
}

fn activity(job: Option<&JobPlan>, state: WorkerState) -> Activity {
    match (state, job) {
        (WorkerState::Waiting, _) => Activity::Waiting,
        (WorkerState::SettingUp, _) | (WorkerState::Running, None) => Activity::SettingUp,
        (WorkerState::Ramping, _) => Activity::Ramping,
        (WorkerState::PreReading, _) => Activity::PreReading,
        (WorkerState::Running, Some(job)) => {
            Activity::Running(job.load.mix, if job.load.random { Order::Random } else { Order::Sequential })
        }
        (WorkerState::Verifying, _) => Activity::Verifying,
        (WorkerState::Flushing, _) => Activity::Flushing,
        (WorkerState::Finishing, _) => Activity::Finishing,
        (WorkerState::Reaped, _) => Activity::Reaped,
    }
}

/// Bytes and I/Os per second since the last redraw.
fn rates(progress: &Progress, before: Option<&Progress>) -> PerDirection<LiveRate> {
    let since = before.map_or(Nanos::ZERO, |before| before.elapsed);
    let elapsed = progress.elapsed.saturating_sub(since);
    let moved = |direction: Direction, of: fn(&WorkerProgress) -> &PerDirection<u64>| {
        let sum = |progress: &Progress| progress.workers.iter().map(|worker| of(worker)[direction]).sum::<u64>();
        sum(progress).saturating_sub(before.map_or(0, sum))
    };
    let per_second = |amount: u64| BytesPerSecond::over(Bytes(amount), elapsed).map_or(0, |rate| rate.get());
    let rate = |direction| LiveRate {
        bandwidth: BytesPerSecond(per_second(moved(direction, |worker| &worker.bytes))),
        iops: per_second(moved(direction, |worker| &worker.ios)),
    };
    PerDirection { read: rate(Direction::Read), write: rate(Direction::Write), trim: rate(Direction::Trim) }
}

/// Sum of the rate limits of all running workers.
fn limit(plan: &Plan, progress: &Progress) -> Option<RateLimit> {
    let running = progress
        .workers
        .iter()
        .filter(|worker| worker.state == WorkerState::Running)
        .filter_map(|worker| plan.jobs.get(worker.job_index));
    let (mut bytes, mut ios) = (0u64, 0u64);
    for job in running {
        let has = |direction| job.load.mix.contains(direction);
        let rates = job.pace.rate.iter().filter(|(direction, _)| has(*direction));
        bytes += rates.filter_map(|(_, rate)| rate.map(BytesPerSecond::get)).sum::<u64>();
        let iops = job.pace.iops.iter().filter(|(direction, _)| has(*direction));
        ios += iops.filter_map(|(_, iops)| *iops).sum::<u64>();
    }
    match (bytes, ios) {
        (0, 0) => None,
        (0, ios) => Some(RateLimit::Iops(ios, ios)),
        (bytes, _) => Some(RateLimit::Bandwidth(BytesPerSecond(bytes), BytesPerSecond(bytes))),
    }
}

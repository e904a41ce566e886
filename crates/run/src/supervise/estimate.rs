//! Estimates the remaining time from the progress so far.

use super::prepare::WorkerInput;
use super::schedule::{Schedule, Standing};
use crate::WorkerProgress;
use crate::files::total_bytes;
use measure::Nanos;
use plan::{Extent, WorkerPlan};

/// The known length of each worker.
#[derive(Debug)]
pub(crate) struct Estimate {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    /// Ramp plus runtime, if the job has a runtime.
    time: Option<Nanos>,
    /// Bytes to transfer, unless only time ends the job.
    bytes: Option<u64>,
    /// Number of I/Os to do, if the job limits it.
    ios: Option<u64>,
    started: Option<Nanos>,
}

impl Estimate {
    pub(crate) fn new(workers: &[WorkerPlan<'_>], prepared: &[WorkerInput]) -> Self {
        let entry = |(worker, prepared): (&WorkerPlan<'_>, &WorkerInput)| {
            let limits = &worker.job.limits;
            let region = || total_bytes(&prepared.files);
            let bytes = match worker.job.files.io_size {
                Some(Extent::Bytes(bytes)) if bytes > 0 => bytes,
                Some(Extent::Zones(zones)) => {
                    zones.saturating_mul(prepared.files.iter().find_map(|file| file.zone_size).unwrap_or(0))
                }
                Some(Extent::Percent(percent)) => region() / 100 * u64::from(percent),
                _ => region(),
            };
            Entry {
                time: limits.runtime.map(|runtime| limits.ramp.saturating_add(runtime)),
                bytes: (!limits.time_based).then(|| bytes.saturating_mul(limits.loops.max(1))),
                ios: limits.ios.map(|ios| ios.saturating_mul(limits.loops.max(1))),
                started: None,
            }
        };
        Estimate { entries: workers.iter().zip(prepared).map(entry).collect() }
    }

    /// Sets the time at which a worker's I/O began.
    pub(crate) fn started(&mut self, index: usize, now: Nanos) {
        self.entries[index].started = Some(now);
    }

    /// The completed share of the run (0 to 1) and the remaining time, as far as they are known.
    pub(crate) fn at(
        &self,
        now: Nanos,
        workers: &[WorkerProgress],
        schedule: &Schedule<'_>,
    ) -> (Option<f64>, Option<Nanos>) {
        let mut shares = 0.0;
        let mut known = true;
        // Workers between two stonewalls run at the same time; these stretches run one after the other.
        let mut stretches: Vec<(u32, Nanos)> = Vec::new();
        for (index, entry) in self.entries.iter().enumerate() {
            let (share, remaining) = match schedule.standing(index) {
                Standing::Done => (1.0, Some(Nanos::ZERO)),
                Standing::Pending => (0.0, entry.time),
                Standing::Started => entry.at(now, &workers[index]),
            };
            shares += share;
            let Some(remaining) = remaining else {
                known = false;
                continue;
            };
            match stretches.iter_mut().find(|(wall, _)| *wall == schedule.wall(index)) {
                Some((_, longest)) => *longest = remaining.max(*longest),
                None => stretches.push((schedule.wall(index), remaining)),
            }
        }
        let remaining = known.then(|| stretches.into_iter().map(|(_, longest)| longest).sum());
        (known.then(|| shares / self.entries.len().max(1) as f64), remaining)
    }
}

impl Entry {
    fn at(&self, now: Nanos, progress: &WorkerProgress) -> (f64, Option<Nanos>) {
        let Some(started) = self.started else { return (0.0, self.time) };
        let elapsed = now.saturating_sub(started);
        let share = |done: u64, of: Option<u64>| of.filter(|&of| of > 0).map_or(0.0, |of| done as f64 / of as f64);
        let moved: u64 = progress.bytes.iter().map(|(_, bytes)| *bytes).sum();
        let ios: u64 = progress.ios.iter().map(|(_, ios)| *ios).sum();
        let by_amount = share(moved, self.bytes).max(share(ios, self.ios)).min(1.0);
        let by_time = share(elapsed.get(), self.time.map(Nanos::get)).min(1.0);
        let left_by_time = self.time.map(|time| time.saturating_sub(elapsed));
        let left_by_amount = (by_amount > 0.0).then(|| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a positive time; `as` saturates"
            )]
            Nanos((elapsed.as_f64() * (1.0 - by_amount) / by_amount) as u64)
        });
        let left = match (left_by_time, left_by_amount) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        (by_amount.max(by_time), left)
    }
}

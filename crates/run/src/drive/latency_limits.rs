//! Checks of every latency against the job's limits: which exceeded max_latency, and how many missed latency_target.

use super::slots::IoTimes;
use measure::{Direction, Nanos};
use plan::LatencyPlan;

/// The limits that latencies are compared with, and counts since the last reset.
#[derive(Debug)]
pub(crate) struct LatencyLimits {
    most: [Nanos; 3],
    target: Nanos,
    /// I/Os since the last reset, and those of them that missed the target.
    seen: u64,
    missed: u64,
    too_long: Option<(Direction, Nanos)>,
}

impl LatencyLimits {
    /// The limits of a job that has some.
    pub(crate) fn of(plan: &LatencyPlan) -> Option<Box<LatencyLimits>> {
        let most = [plan.most.read, plan.most.write, plan.most.trim].map(|most| most.unwrap_or(Nanos::MAX));
        let target = plan.target.unwrap_or(Nanos::MAX);
        plan.judges().then(|| Box::new(LatencyLimits { most, target, seen: 0, missed: 0, too_long: None }))
    }

    /// Checks the total latency of `count` equal I/Os.
    #[inline]
    pub(super) fn count(&mut self, direction: Direction, times: IoTimes, count: u64) {
        let total = times.reaped.saturating_sub(times.issued);
        self.seen += count;
        if total > self.target {
            self.missed += count;
        }
        if total > self.most[direction as usize] && self.too_long.is_none() {
            self.too_long = Some((direction, total));
        }
    }

    /// The first I/O that took longer than max_latency: its direction, its latency, and the limit.
    pub(crate) fn too_long(&self) -> Option<(Direction, Nanos, Nanos)> {
        self.too_long.map(|(direction, latency)| (direction, latency, self.most[direction as usize]))
    }

    /// I/Os since the last [`LatencyLimits::forget`], and how many of them missed the target.
    pub(super) fn counted(&self) -> (u64, u64) {
        (self.seen, self.missed)
    }

    /// Resets both counts.
    pub(super) fn forget(&mut self) {
        (self.seen, self.missed) = (0, 0);
    }
}

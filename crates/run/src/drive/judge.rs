//! Looks at every latency of a job that is to keep some: which were too long, and how many missed the target.

use job::plan::LatencyPlan;
use measure::{Direction, Nanos};

/// What latencies are held against.
#[derive(Debug)]
pub(crate) struct Judge {
    most: [Nanos; 3],
    target: Nanos,
    /// I/Os since the last look, and those that missed the target.
    seen: u64,
    missed: u64,
    too_long: Option<(Direction, Nanos)>,
}

impl Judge {
    /// The judge of a job that wants one.
    pub(crate) fn of(plan: &LatencyPlan) -> Option<Box<Judge>> {
        let most = [plan.most.read, plan.most.write, plan.most.trim].map(|most| most.unwrap_or(Nanos::MAX));
        let target = plan.target.unwrap_or(Nanos::MAX);
        plan.judges().then(|| Box::new(Judge { most, target, seen: 0, missed: 0, too_long: None }))
    }

    /// Sees `count` I/Os of this total latency.
    #[inline]
    pub(crate) fn see(&mut self, direction: Direction, total: Nanos, count: u64) {
        self.seen += count;
        if total > self.target {
            self.missed += count;
        }
        if total > self.most[direction as usize] && self.too_long.is_none() {
            self.too_long = Some((direction, total));
        }
    }

    /// The first I/O that took longer than any may, and how long that is.
    pub(crate) fn too_long(&self) -> Option<(Direction, Nanos, Nanos)> {
        self.too_long.map(|(direction, latency)| (direction, latency, self.most[direction as usize]))
    }

    /// I/Os since the last [`Judge::forget`], and how many of them missed the target.
    pub(super) fn count(&self) -> (u64, u64) {
        (self.seen, self.missed)
    }

    /// Counts from zero.
    pub(super) fn forget(&mut self) {
        (self.seen, self.missed) = (0, 0);
    }
}

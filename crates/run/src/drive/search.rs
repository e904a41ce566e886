//! The search for the depth that meets latency_target: doubles while the target is met, bisects after a miss, and ends
//! with one window that is measured.

use measure::Nanos;
use plan::LatencyPlan;

/// State of the search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    window: Nanos,
    /// Percentage of I/Os that must meet the target.
    share: f64,
    keeps_running: bool,
    most: u32,
    /// The depth being tried.
    depth: u32,
    /// The largest depth that met the target; 0 for none.
    kept: u32,
    /// The smallest depth that missed it.
    missed: Option<u32>,
    stage: SearchState,
    window_ends: Nanos,
}

/// The state of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SearchState {
    Trying,
    /// The depth is found; this window is the result.
    Final,
}

/// The next step after a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The window is not over.
    Wait,
    /// Try this depth.
    Try(u32),
    /// Measure again at this depth: the search has found it.
    Settle(u32),
    /// The job has its result and ends.
    Done,
    /// Not even depth 1 meets the target.
    Fail,
}

impl Search {
    pub(super) fn new(plan: &LatencyPlan, most: u32, now: Nanos) -> Option<Search> {
        plan.target?;
        Some(Search {
            window: plan.window,
            share: plan.percentile,
            keeps_running: plan.keep_running,
            most,
            depth: 1,
            kept: 0,
            missed: None,
            stage: SearchState::Trying,
            window_ends: now.saturating_add(plan.window),
        })
    }

    pub(super) const fn depth(&self) -> u32 {
        self.depth
    }

    /// The end of the current window.
    pub(super) const fn due(&self) -> Nanos {
        self.window_ends
    }

    /// Starts a window at `now`.
    pub(super) fn begin_window(&mut self, now: Nanos) {
        self.window_ends = now.saturating_add(self.window);
    }

    /// Decides at `now`, when `seen` I/Os of this window are complete and `missed` of them exceeded the target.
    pub(super) fn check(&mut self, now: Nanos, seen: u64, missed: u64) -> Step {
        let all = self.share >= 100.0;
        // If every I/O must meet the target, the first miss decides the window.
        if missed > 0 && all {
            return self.missed();
        }
        if now < self.window_ends || seen == 0 {
            return Step::Wait;
        }
        let share = 100.0 * (seen - missed) as f64 / seen as f64;
        if share < self.share { self.missed() } else { self.kept() }
    }

    fn kept(&mut self) -> Step {
        if self.stage == SearchState::Final {
            return if self.keeps_running { Step::Wait } else { Step::Done };
        }
        self.kept = self.depth;
        let next = match self.missed {
            None => self.depth.saturating_mul(2).min(self.most),
            Some(missed) => self.kept + (missed - self.kept) / 2,
        };
        self.go_to(next)
    }

    fn missed(&mut self) -> Step {
        if self.depth == 1 {
            return Step::Fail;
        }
        self.missed = Some(self.depth);
        // A depth that met the target before may no longer do so: the device can have slowed down.
        self.kept = self.kept.min(self.depth - 1);
        let below =
            if self.stage == SearchState::Final { self.depth - 1 } else { self.kept + (self.depth - self.kept) / 2 };
        if self.stage == SearchState::Final {
            self.kept = 0;
        }
        self.stage = SearchState::Trying;
        self.go_to(below.max(1))
    }

    fn go_to(&mut self, depth: u32) -> Step {
        if depth == self.kept {
            self.depth = depth;
            self.stage = SearchState::Final;
            return Step::Settle(depth);
        }
        self.depth = depth;
        Step::Try(depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The depths that are tried where depths up to `good` keep the target.
    fn tried(good: u32, most: u32) -> (Vec<u32>, Step) {
        let plan = LatencyPlan { target: Some(Nanos(100)), window: Nanos(10), ..LatencyPlan::default() };
        let mut search = Search::new(&plan, most, Nanos::ZERO).unwrap();
        let mut depths = vec![search.depth()];
        let mut now = Nanos::ZERO;
        loop {
            now = now.saturating_add(Nanos(10));
            let step = search.check(now, 50, u64::from(search.depth() > good));
            search.begin_window(now);
            match step {
                Step::Wait => {}
                Step::Try(depth) | Step::Settle(depth) => depths.push(depth),
                Step::Done | Step::Fail => return (depths, step),
            }
        }
    }

    // Starts at 1, doubles while good, bisects after a miss, ends with a clean run.
    #[test]
    fn the_search_doubles_then_bisects_then_runs_once_more() {
        assert_eq!(tried(5, 32), (vec![1, 2, 4, 8, 6, 5, 5], Step::Done));
        assert_eq!(tried(7, 32), (vec![1, 2, 4, 8, 6, 7, 7], Step::Done));
        assert_eq!(tried(99, 32), (vec![1, 2, 4, 8, 16, 32, 32], Step::Done));
        assert_eq!(tried(1, 1), (vec![1, 1], Step::Done));
    }

    #[test]
    fn a_miss_at_depth_1_is_the_end() {
        assert_eq!(tried(0, 32), (vec![1], Step::Fail));
    }

    #[test]
    fn a_share_of_misses_is_allowed_only_below_100_percent() {
        let plan = LatencyPlan { target: Some(Nanos(1)), window: Nanos(10), ..LatencyPlan::default() };
        let at = |percentile: f64, missed: u64| {
            let plan = LatencyPlan { percentile, ..plan.clone() };
            Search::new(&plan, 2, Nanos::ZERO).unwrap().check(Nanos(10), 100, missed)
        };
        assert_eq!((at(99.0, 1), at(99.0, 2), at(100.0, 1)), (Step::Try(2), Step::Fail, Step::Fail));
    }
}

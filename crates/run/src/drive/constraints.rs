//! Constraints that slow a worker down or end it early, in addition to its load: minimum rates, latency targets, steady
//! state, flow, overlapping I/Os, and a ramp given in bytes.
//!
//! A worker without any of these pays nothing: they are reached through the attention bit of the word that asks it to
//! stop, and through event times.

use super::search::Search;
use crate::shared::control::Control;
use crate::shared::group_state::{GroupState, SteadyChecker};
use crate::shared::steady::Steadiness;
use load::Load;
use measure::{Direction, Nanos};
use plan::{JobPlan, SteadyPlan};
use sys::machine::shared_memory::SharedBlocks;

/// Pause of a job that is ahead of its share in a flow, if the job gives none.
const FLOW_PAUSE: Nanos = Nanos::from_micros(20);

/// The constraints of one worker.
#[derive(Debug)]
pub(super) struct Constraints<'w> {
    pub(super) floor: Option<MinimumRate>,
    pub(super) search: Option<Search>,
    pub(super) steady: Option<Steady>,
    /// Pause before the next attempt when ahead of a flow.
    pub(super) flow_pause: Option<Nanos>,
    pub(super) ramp_bytes: Option<u64>,
    pub(super) serialises: bool,
    pub(super) group: &'w GroupState,
    pub(super) controls: &'w SharedBlocks<Control>,
}

/// The part a worker has in detecting steady state.
#[derive(Debug)]
pub(super) enum Steady {
    /// The worker decides by itself.
    Own(Box<Steadiness>),
    /// The worker reports the sum of its latencies to the parent once per interval; the parent decides.
    Group { interval: Nanos, due: Nanos },
}

impl Steady {
    fn new(plan: &SteadyPlan, judge: SteadyChecker, now: Nanos) -> Steady {
        match judge {
            SteadyChecker::Worker => Steady::Own(Box::new(Steadiness::new(*plan, now))),
            SteadyChecker::Parent => Steady::Group { interval: plan.interval, due: now.saturating_add(plan.interval) },
        }
    }

    pub(super) fn due(&self) -> Nanos {
        match self {
            Steady::Own(steadiness) => steadiness.due(),
            Steady::Group { due, .. } => *due,
        }
    }
}

impl<'w> Constraints<'w> {
    /// The constraints of a job, or `None` if it has none.
    pub(super) fn of(
        job: &JobPlan,
        load: &Load,
        group: &'w GroupState,
        controls: &'w SharedBlocks<Control>,
    ) -> Option<Box<Constraints<'w>>> {
        let serialises = job.depth.serialises_overlap || load.may_overlap_itself();
        let needed = job.latency.judges()
            || job.steady.is_some()
            || job.pace.flow.is_some()
            || job.limits.ramp_bytes > 0
            || serialises
            || MinimumRate::new(job, Nanos::ZERO).is_some();
        let pause = |flow: plan::FlowPlan| if flow.pause.is_zero() { FLOW_PAUSE } else { flow.pause };
        needed.then(|| {
            Box::new(Constraints {
                floor: None,
                search: None,
                steady: None,
                flow_pause: job.pace.flow.map(pause),
                ramp_bytes: (job.limits.ramp_bytes > 0).then_some(job.limits.ramp_bytes),
                serialises,
                group,
                controls,
            })
        })
    }

    /// Starts the constraints at `now`; none is checked during a ramp.
    pub(super) fn begin(&mut self, job: &JobPlan, most: u32, now: Nanos) {
        self.ramp_bytes = None;
        self.floor = MinimumRate::new(job, now);
        self.search = Search::new(&job.latency, most, now);
        self.steady = job.steady.as_ref().map(|plan| Steady::new(plan, self.group.steady, now));
    }

    /// The next moment at which a constraint is to be checked.
    pub(super) fn due(&self) -> Nanos {
        let floor = self.floor.as_ref().map_or(Nanos::MAX, MinimumRate::due);
        let steady = self.steady.as_ref().map_or(Nanos::MAX, Steady::due);
        floor.min(steady)
    }
}

/// Time after the start in which rates are not checked.
const GRACE: Nanos = Nanos::from_secs(2);

/// Bytes and I/Os completed so far, by direction.
pub(super) type Amounts = ([u64; 3], [u64; 3]);

/// The minimum rates of a job, and the cycle over which they are averaged.
#[derive(Clone, Debug)]
pub(super) struct MinimumRate {
    least: [(Option<u64>, Option<u64>); 3],
    cycle: Nanos,
    /// Start of the current cycle, and the amounts at that moment; `None` during the grace period.
    began: Option<(Nanos, Amounts)>,
    due: Nanos,
}

impl MinimumRate {
    pub(super) fn new(job: &JobPlan, now: Nanos) -> Option<MinimumRate> {
        let of = |direction: Direction| {
            let moves = job.load.mix.contains(direction);
            let rate = job.pace.least_rate[direction].map(measure::BytesPerSecond::get);
            (rate.filter(|_| moves), job.pace.least_iops[direction].filter(|_| moves))
        };
        let least = Direction::ALL.map(of);
        if least.iter().all(|(rate, iops)| rate.is_none() && iops.is_none()) {
            return None;
        }
        let cycle = job.pace.rate_cycle.max(Nanos::from_millis(1));
        Some(MinimumRate { least, cycle, began: None, due: now.saturating_add(GRACE) })
    }

    pub(super) const fn due(&self) -> Nanos {
        self.due
    }

    /// Checks the cycle that ends at `now`: a message if a minimum was not met.
    pub(super) fn check(&mut self, now: Nanos, amounts: Amounts) -> Option<String> {
        self.due = now.saturating_add(self.cycle);
        let (began, before) = self.began.replace((now, amounts))?;
        let elapsed = u128::from(now.saturating_sub(began).get().max(1));
        let rate = |now: u64, before: u64| {
            let moved = u128::from(now.saturating_sub(before)) * u128::from(Nanos::SECOND.get());
            u64::try_from(moved / elapsed).unwrap_or(u64::MAX)
        };
        (0..3).find_map(|at| {
            let bytes = rate(amounts.0[at], before.0[at]);
            let ios = rate(amounts.1[at], before.1[at]);
            match self.least[at] {
                (Some(least), _) if bytes < least => Some(format!("rate_min={least}B/s not met, got {bytes}B/s")),
                (_, Some(least)) if ios < least => Some(format!("rate_iops_min={least} not met, got {ios} IOPS")),
                _ => None,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::BytesPerSecond;

    fn floor(change: impl FnOnce(&mut JobPlan)) -> MinimumRate {
        let mut job = JobPlan::with_defaults("a", "test", "null");
        change(&mut job);
        MinimumRate::new(&job, Nanos::ZERO).unwrap()
    }

    // After 2 s, averaged over rate_cycle.
    #[test]
    fn a_floor_is_judged_after_the_grace_over_whole_cycles() {
        let mut floor = floor(|job| job.pace.least_iops.read = Some(90));
        assert_eq!(floor.due(), Nanos::from_secs(2));
        assert_eq!(floor.check(Nanos::from_secs(2), ([0; 3], [0; 3])), None);
        assert_eq!(floor.due(), Nanos::from_secs(3));
        assert_eq!(floor.check(Nanos::from_secs(3), ([0; 3], [90, 0, 0])), None);
        let said = floor.check(Nanos::from_secs(4), ([0; 3], [179, 0, 0]));
        assert_eq!(said.as_deref(), Some("rate_iops_min=90 not met, got 89 IOPS"));
    }

    #[test]
    fn a_direction_that_does_not_move_has_no_floor() {
        let mut job = JobPlan::with_defaults("a", "test", "null");
        job.pace.least_rate.write = Some(BytesPerSecond(1));
        assert!(MinimumRate::new(&job, Nanos::ZERO).is_none());
        let mut floor = floor(|job| job.pace.least_rate.read = Some(BytesPerSecond(1000)));
        floor.check(Nanos::from_secs(2), ([0; 3], [0; 3]));
        let said = floor.check(Nanos::from_secs(3), ([999, 0, 0], [1, 0, 0]));
        assert_eq!(said.as_deref(), Some("rate_min=1000B/s not met, got 999B/s"));
    }
}

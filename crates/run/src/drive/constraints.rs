//! Constraints that slow a worker down or end it early, in addition to its load: minimum rates, latency targets, steady
//! state, flow, overlapping I/Os, and a ramp given in bytes.
//!
//! A worker without any of these pays nothing: they are reached through the attention bit of the word that asks it to
//! stop, and through event times.

use super::minimum_rate::MinimumRate;
use super::search::Search;
use crate::shared::control::Control;
use crate::shared::group_state::{GroupState, SteadyChecker};
use crate::shared::steady::Steadiness;
use measure::Nanos;
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
        group: &'w GroupState,
        controls: &'w SharedBlocks<Control>,
    ) -> Option<Box<Constraints<'w>>> {
        let needed = job.latency.judges()
            || job.steady.is_some()
            || job.pace.flow.is_some()
            || job.limits.ramp_bytes > 0
            || job.depth.serialises_overlap
            || MinimumRate::new(job, Nanos::ZERO).is_some();
        let pause = |flow: plan::FlowPlan| if flow.pause.is_zero() { FLOW_PAUSE } else { flow.pause };
        needed.then(|| {
            Box::new(Constraints {
                floor: None,
                search: None,
                steady: None,
                flow_pause: job.pace.flow.map(pause),
                ramp_bytes: (job.limits.ramp_bytes > 0).then_some(job.limits.ramp_bytes),
                serialises: job.depth.serialises_overlap,
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

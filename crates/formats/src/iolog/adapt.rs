//! Changes that a job makes to replayed I/Os: filtering, redirection, scaling of offsets and times.

use super::{Event, Operation};
use measure::Nanos;
use plan::{ReplayPlan, Timing};

/// The changes of one job (`replay_skip`, `replay_scale`, ...).
#[derive(Clone, Copy, Debug)]
pub struct Adapt<'a> {
    plan: &'a ReplayPlan,
}

impl<'a> Adapt<'a> {
    /// Creates the changes that this plan requests.
    pub fn new(plan: &'a ReplayPlan) -> Self {
        Adapt { plan }
    }

    /// Returns the I/O as it is to be replayed; `None` if it is skipped.
    pub fn apply(&self, event: Event) -> Option<Event> {
        let skip = &self.plan.skip;
        let skipped = match event.operation {
            Operation::Read => skip.moves.read,
            Operation::Write => skip.moves.write,
            Operation::Trim => skip.moves.trim,
            Operation::Sync | Operation::DataSync => skip.syncs,
        };
        if skipped {
            return None;
        }
        let place = if self.plan.redirect.is_some() { 0 } else { event.place };
        let offset = event.offset / self.plan.scale.max(1);
        let offset = offset - offset % self.plan.align.max(1);
        Some(Event { at: self.moment(event.at), place, offset, ..event })
    }

    fn moment(&self, at: Nanos) -> Nanos {
        match self.plan.timing {
            Timing::None => Nanos::ZERO,
            Timing::Percent(100) => at,
            Timing::Percent(percent) => {
                let scaled = u128::from(at.get()) * 100 / u128::from(percent.max(1));
                Nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
            }
        }
    }
}

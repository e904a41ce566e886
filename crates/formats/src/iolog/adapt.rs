//! What a job changes in the I/Os it replays: left out, moved, sped up.

use super::{Event, Operation};
use job::plan::{ReplayPlan, Timing};
use measure::Nanos;

/// The changes of one job.
#[derive(Clone, Copy, Debug)]
pub struct Adapt<'a> {
    plan: &'a ReplayPlan,
}

impl<'a> Adapt<'a> {
    /// Those of this plan.
    pub fn new(plan: &'a ReplayPlan) -> Self {
        Adapt { plan }
    }

    /// The I/O as it is to be replayed; `None` when it is left out.
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

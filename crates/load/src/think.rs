//! Think time: a pause after every so many blocks.

use super::Next;
use job::plan::PacePlan;
use measure::Nanos;

/// When to pause, and for how long.
#[derive(Clone, Debug)]
pub(super) struct Think {
    pause: Nanos,
    spin: Nanos,
    blocks: u64,
    /// Blocks that came back since the last pause began.
    completed: u64,
    /// Blocks issued since the last pause ended.
    issued: u64,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Working,
    Draining,
    Pausing { until: Nanos },
}

/// What think time has to say.
pub(super) enum Verdict {
    /// Go on.
    Work,
    /// A pause has ended just now: go on.
    Refreshed,
    /// Do this first.
    Pause(Next),
}

impl Think {
    pub(super) fn new(plan: &PacePlan) -> Self {
        Think {
            pause: plan.think,
            spin: plan.think_spin.min(plan.think),
            blocks: plan.think_blocks.max(1),
            completed: 0,
            issued: 0,
            state: State::Working,
        }
    }

    /// Whether there is any think time.
    pub(super) const fn is_off(&self) -> bool {
        self.pause.is_zero()
    }

    #[inline]
    pub(super) fn issued(&mut self) {
        self.issued += 1;
    }

    #[inline]
    pub(super) fn completed(&mut self) {
        self.completed += 1;
    }

    /// What to do at `now`; no pause lasts beyond `deadline`.
    pub(super) fn consider(&mut self, now: Nanos, deadline: Nanos) -> Verdict {
        if self.is_off() {
            return Verdict::Work;
        }
        if let State::Working = self.state {
            // Blocks that come back while the queue drains count for the next pause, but one is issued between two.
            if self.completed < self.blocks || self.issued == 0 {
                return Verdict::Work;
            }
            self.completed = 0;
            self.state = State::Draining;
            return Verdict::Pause(Next::Drain);
        }
        if let State::Draining = self.state {
            self.state = State::Pausing { until: now.saturating_add(self.pause).min(deadline) };
        }
        let State::Pausing { until } = self.state else { return Verdict::Work };
        if now < until {
            return Verdict::Pause(Next::Think { until, spin_from: until.saturating_sub(self.spin) });
        }
        self.state = State::Working;
        self.issued = 0;
        Verdict::Refreshed
    }
}

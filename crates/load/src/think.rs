//! Think time: a pause after every so many blocks.

use super::Next;
use job::plan::{PacePlan, ThinkCount};
use measure::Nanos;

/// When to pause, and for how long.
#[derive(Clone, Debug)]
pub(super) struct Think {
    pause: Nanos,
    spin: Nanos,
    blocks: u64,
    counts: ThinkCount,
    /// A pause is also due after so much time of I/O; zero for never.
    io_time: Nanos,
    /// Since when there has been I/O.
    working_since: Option<Nanos>,
    /// Whether a pause of no length is one: the worker burns cycles in it.
    burns_cycles: bool,
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
            counts: plan.think_counts,
            io_time: plan.think_io_time,
            working_since: None,
            burns_cycles: plan.think_cycles > 0,
            completed: 0,
            issued: 0,
            state: State::Working,
        }
    }

    /// Whether there is any think time.
    pub(super) const fn is_off(&self) -> bool {
        self.pause.is_zero() && !self.burns_cycles
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
            let since = *self.working_since.get_or_insert(now);
            let counted = match self.counts {
                ThinkCount::Completed => self.completed,
                ThinkCount::Issued => self.issued,
            };
            let time_is_up = !self.io_time.is_zero() && now.saturating_sub(since) >= self.io_time;
            if (counted < self.blocks && !time_is_up) || self.issued == 0 {
                return Verdict::Work;
            }
            self.completed = 0;
            self.state = State::Draining;
            return Verdict::Pause(Next::Drain);
        }
        if let State::Draining = self.state {
            let until = now.saturating_add(self.pause).min(deadline);
            self.state = State::Pausing { until };
            if self.burns_cycles {
                return Verdict::Pause(Next::Think { until, spin_from: until.saturating_sub(self.spin) });
            }
        }
        let State::Pausing { until } = self.state else { return Verdict::Work };
        if now < until {
            return Verdict::Pause(Next::Think { until, spin_from: until.saturating_sub(self.spin) });
        }
        self.state = State::Working;
        self.working_since = Some(now);
        self.issued = 0;
        Verdict::Refreshed
    }
}

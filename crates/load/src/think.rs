//! Think time: a pause after every `thinktime_blocks` blocks.

use super::Next;
use measure::Nanos;
use plan::{PacePlan, ThinkCount};

/// The state of think time.
#[derive(Clone, Debug)]
pub(super) struct Think {
    pause: Nanos,
    spin: Nanos,
    blocks: u64,
    counts: ThinkCount,
    /// A pause is also due after this much time of I/O (`thinktime_iotime`); zero for never.
    io_time: Nanos,
    /// Start of the current stretch of I/O.
    working_since: Option<Nanos>,
    /// True if the worker spins for a number of cycles in each pause, even one of length zero.
    burns_cycles: bool,
    /// Blocks completed since the last pause began.
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

/// The answer of think time.
pub(super) enum Verdict {
    /// Issue I/O.
    Work,
    /// A pause has just ended: issue I/O.
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

    /// True if there is no think time.
    pub(super) const fn is_off(&self) -> bool {
        self.pause.is_zero() && !self.burns_cycles
    }

    #[inline]
    pub(super) fn issued(&mut self) {
        self.issued += 1;
    }

    #[inline]
    pub(super) fn completed(&mut self, count: u64) {
        self.completed += count;
    }

    /// Decides what to do at `now`; no pause lasts beyond `deadline`.
    pub(super) fn consider(&mut self, now: Nanos, deadline: Nanos) -> Verdict {
        if self.is_off() {
            return Verdict::Work;
        }
        if let State::Working = self.state {
            // Blocks that complete while the queue drains count for the next pause, but at least one is issued between
            // two pauses.
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

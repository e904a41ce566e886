//! Pauses: sleeping and spinning, in slices short enough to see a request to stop.

use super::Drive;
use engine::Engine;
use measure::{Clock, Nanos};

/// The longest a worker sleeps without looking up.
pub(super) const SLICE: Nanos = Nanos::from_millis(50);

impl<E: Engine, const LATENCY: bool> Drive<'_, E, LATENCY> {
    /// Sleeps until `moment`, or until the worker shall stop, or until the ramp is over: then the load decides anew.
    pub(super) fn sleep_until(&mut self, moment: Nanos) {
        loop {
            let now = self.clock.now();
            if now >= self.next_event {
                let was_ramping = self.ramp_ends.is_some();
                self.event(self.next_event, if E::SPEC.capabilities.virtual_time { moment } else { now });
                if was_ramping && self.ramp_ends.is_none() {
                    return;
                }
            }
            self.heed_report();
            if now >= moment || self.tally.control.stop_requested() {
                return;
            }
            let slice = if E::SPEC.capabilities.virtual_time { Nanos::MAX } else { SLICE };
            self.clock.sleep_until(moment.min(now.saturating_add(slice)).min(self.next_event));
        }
    }

    /// Burns the cycles that the job wants before each pause. Where time is virtual they take none.
    pub(super) fn burn_cycles(&self) {
        for _ in 0..self.job.pace.think_cycles {
            std::hint::spin_loop();
        }
    }

    /// Burns CPU until `moment`, or until the worker shall stop. Where time is virtual it is skipped.
    pub(super) fn spin_until(&mut self, moment: Nanos) {
        if E::SPEC.capabilities.virtual_time {
            self.sleep_until(moment);
            return;
        }
        while self.clock.now() < moment && !self.tally.control.stop_requested() {
            self.heed_report();
            std::hint::spin_loop();
        }
    }
}

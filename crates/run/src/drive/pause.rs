//! Pauses: sleeping and spinning, in slices short enough to notice a request to stop.

use super::calls::Calls;
use super::job_loop::Drive;
use measure::{Clock, Nanos};

/// The longest sleep between two checks for a request.
pub(super) const SLICE: Nanos = Nanos::from_millis(50);

impl<E: Calls, const LATENCY: bool> Drive<'_, E, LATENCY> {
    /// Sleeps until `moment`, until the worker is asked to stop, or until the ramp ends; after a ramp the load has to
    /// decide again.
    pub(super) fn sleep_until(&mut self, moment: Nanos) {
        loop {
            let now = self.clock.now();
            if now >= self.timing.next_event {
                let was_ramping = self.timing.ramp_ends.is_some();
                self.event(
                    self.timing.next_event,
                    if self.engine.spec().capabilities.virtual_time { moment } else { now },
                );
                if was_ramping && self.timing.ramp_ends.is_none() {
                    return;
                }
            }
            self.answer_report_request();
            if now >= moment || self.statistics.control.stop_requested() {
                return;
            }
            let slice = if self.engine.spec().capabilities.virtual_time { Nanos::MAX } else { SLICE };
            self.clock.sleep_until(moment.min(now.saturating_add(slice)).min(self.timing.next_event));
        }
    }

    /// Spins for the number of cycles that the job sets before each pause (`thinkcycles`). It advances no virtual time.
    pub(super) fn burn_cycles(&self) {
        for _ in 0..self.job.pace.think_cycles {
            std::hint::spin_loop();
        }
    }

    /// Spins until `moment`, or until the worker is asked to stop. With virtual time it sleeps instead.
    pub(super) fn spin_until(&mut self, moment: Nanos) {
        if self.engine.spec().capabilities.virtual_time {
            self.sleep_until(moment);
            return;
        }
        while self.clock.now() < moment && !self.statistics.control.stop_requested() {
            self.answer_report_request();
            std::hint::spin_loop();
        }
    }
}

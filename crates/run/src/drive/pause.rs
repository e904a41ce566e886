//! Pauses: sleeping and spinning, in slices short enough to notice a request to stop.

use super::calls::Calls;
use super::job_loop::Drive;
use engine::EngineClock;
use measure::{Clock, Nanos};

/// The longest sleep between two checks for a request.
pub(super) const SLICE: Nanos = Nanos::from_millis(50);

/// How late the worker wakes up from a sleep, as far as it has seen; zero before the first one, and for a job that
/// shares its thread, which would keep it from others while it spins.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WakeDelay(Nanos);

impl WakeDelay {
    /// A worker that was woken much later once does not spin for longer than this.
    const LONGEST: Nanos = Nanos::from_micros(60);

    fn note(&mut self, late: Nanos) {
        let late = late.min(WakeDelay::LONGEST).get();
        let before = self.0.get();
        self.0 = Nanos(if before == 0 { late } else { (before * 7 + late) / 8 });
    }

    /// A pause before an I/O that is due is never spun if it is longer: workers with rates may be more than processors.
    const LONGEST_SPIN: Nanos = Nanos::from_micros(25);

    /// True if a sleep from `now` to `until` would take twice the time, as one of 10 µs that ends 20 µs late.
    fn outlasts(self, now: Nanos, until: Nanos) -> bool {
        self.0.min(WakeDelay::LONGEST_SPIN) > until.saturating_sub(now)
    }

    /// The moment to sleep until in a pause from `now` to `until`; the rest is for spinning. A pause of which a late
    /// wake-up would be less than a tenth is slept through.
    fn sleeps_until(self, now: Nanos, until: Nanos) -> Nanos {
        let matters = self.0.get() * 10 > until.saturating_sub(now).get();
        if matters { until.saturating_sub(self.0) } else { until }
    }
}

impl<E: Calls, const LATENCY: bool> Drive<'_, E, LATENCY> {
    /// Thinks until `until`: sleeps, and spins from `spin_from` on, or from when a sleep would end too late.
    pub(super) fn think(&mut self, until: Nanos, spin_from: Nanos) {
        self.burn_cycles();
        let asleep = self.timing.wake_delay.sleeps_until(self.clock.now(), until);
        self.sleep_until(spin_from.min(asleep));
        self.spin_until(until);
    }

    /// Waits until an I/O is due: sleeps, or spins where a sleep would outlast the pause. A sleep that short takes
    /// about as much CPU time.
    pub(super) fn wait_until_due(&mut self, moment: Nanos) {
        let now = self.clock.now();
        if self.timing.wake_delay.outlasts(now, moment) && now < self.timing.next_event {
            self.spin_until(moment.min(self.timing.next_event));
        } else {
            self.sleep_until(moment);
        }
    }

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
            let wakes = moment.min(now.saturating_add(slice)).min(self.timing.next_event);
            self.clock.sleep_until(wakes);
            if !E::Clock::TAKES_TURNS {
                self.timing.wake_delay.note(self.clock.now().saturating_sub(wakes));
            }
        }
    }

    /// Spins for the number of cycles that the job sets before each pause (`thinkcycles`). It advances no virtual time.
    fn burn_cycles(&self) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_spun_where_waking_takes_more_than_a_tenth() {
        let micros = Nanos::from_micros;
        let mut delay = WakeDelay::default();
        assert_eq!(delay.sleeps_until(micros(5), micros(15)), micros(15), "nothing is known yet");
        delay.note(micros(30));
        assert_eq!(delay.sleeps_until(micros(5), micros(15)), Nanos::ZERO, "all of it");
        assert_eq!(delay.sleeps_until(micros(1000), micros(1200)), micros(1170));
        assert_eq!(delay.sleeps_until(micros(1000), micros(1301)), micros(1301));
        assert!(delay.outlasts(micros(5), micros(29)) && !delay.outlasts(micros(5), micros(31)));
        (0..100).for_each(|_| delay.note(Nanos::SECOND));
        assert!(!delay.outlasts(micros(5), micros(31)), "a busy machine is not made busier");
        assert!(delay.0 <= WakeDelay::LONGEST, "{delay:?}");
    }
}

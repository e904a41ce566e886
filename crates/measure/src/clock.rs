//! The clock of a run: calibrated TSC where it is safe, clock_gettime elsewhere, and virtual time for the sim engine.

use crate::Nanos;
use std::cell::Cell;
use std::rc::Rc;

/// A source of time for one worker. All moments are nanoseconds since an epoch that the clock's workers share.
pub trait Clock: Clone {
    /// The present moment.
    fn now(&self) -> Nanos;
    /// Returns at `moment` or soon after; at once when it is past.
    fn sleep_until(&self, moment: Nanos);
}

/// Where [`SystemClock`] takes its time from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockSource {
    /// The processor's time-stamp counter, calibrated against CLOCK_MONOTONIC.
    Tsc,
    /// clock_gettime(CLOCK_MONOTONIC).
    Monotonic,
}

/// What is to be said about the clock after a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockReport {
    /// The source in use.
    pub source: ClockSource,
    /// Drift of the TSC against CLOCK_MONOTONIC since calibration, in parts per million; `None` without a TSC.
    pub drift_ppm: Option<f64>,
    /// Why the TSC was not used, when it was not.
    pub why_not_tsc: Option<&'static str>,
}

/// Real time. Copies share one calibration and one epoch, so moments of different workers compare.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    epoch: std::time::Instant,
}

impl SystemClock {
    /// Calibrates and starts a clock; falls back to CLOCK_MONOTONIC when the TSC is not safe to use.
    pub fn start() -> Self {
        SystemClock { epoch: std::time::Instant::now() }
    }
}

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos(u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn sleep_until(&self, moment: Nanos) {
        std::thread::sleep(moment.saturating_sub(self.now()).as_duration());
    }
}

/// Virtual time: it stands still until someone sleeps or advances it. Clones share the same time.
#[derive(Clone, Debug, Default)]
pub struct VirtualClock {
    now: Rc<Cell<u64>>,
}

impl VirtualClock {
    /// Moves time on to `moment`; never back.
    pub fn advance_to(&self, moment: Nanos) {
        self.now.set(self.now.get().max(moment.get()));
    }
}

impl Clock for VirtualClock {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos(self.now.get())
    }

    fn sleep_until(&self, moment: Nanos) {
        self.advance_to(moment);
    }
}

//! Clocks: calibrated TSC if it is safe, otherwise clock_gettime(2), and virtual time for the sim engine.

use crate::Nanos;
use crate::tsc::Tsc;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::cell::Cell;
use std::rc::Rc;

/// A source of time for one worker. All times are nanoseconds since an epoch that the clocks of all workers share.
///
/// ```
/// use measure::{Clock, Nanos, VirtualClock};
///
/// fn two_naps(clock: &impl Clock) -> Nanos {
///     let began = clock.now();
///     clock.sleep_until(began + Nanos::from_secs(3600));
///     clock.sleep_until(clock.now() + Nanos::MILLISECOND);
///     clock.now() - began
/// }
/// assert_eq!(two_naps(&VirtualClock::default()), Nanos::from_secs(3600) + Nanos::MILLISECOND);
/// ```
pub trait Clock: Clone {
    /// Returns the current time.
    fn now(&self) -> Nanos;
    /// Returns at `moment` or soon after; immediately if it is in the past.
    fn sleep_until(&self, moment: Nanos);
}

/// Time source of a [`SystemClock`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockSource {
    /// The CPU's time-stamp counter, calibrated against CLOCK_MONOTONIC.
    Tsc,
    /// clock_gettime(CLOCK_MONOTONIC).
    Monotonic,
}

/// Facts about the clock, for reports at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockReport {
    /// Time source in use.
    pub source: ClockSource,
    /// Drift of the TSC relative to CLOCK_MONOTONIC since calibration, in parts per million; `None` without a TSC.
    pub drift_ppm: Option<f64>,
    /// Reason why the TSC is not used, if it is not.
    pub why_not_tsc: Option<&'static str>,
}

/// The wall clock in milliseconds since 1970 UTC; 0 before.
pub fn unix_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Cost of reading a clock, and how fine it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockCost {
    /// The smallest step between two reads that differ; zero if no two did.
    pub resolution: Nanos,
    /// Mean time from one read to the next, without the longest.
    pub read: Nanos,
    /// Longest time from one read to the next: the worker was interrupted.
    pub worst_gap: Nanos,
}

impl ClockCost {
    /// Number of pairs of reads that [`ClockCost::of`] makes.
    pub const PAIRS: usize = 10_000;

    /// Reads the clock many times, about 0.3 ms.
    pub fn of(clock: &impl Clock) -> ClockCost {
        let mut gaps: Vec<Nanos> = Vec::with_capacity(Self::PAIRS);
        let mut last = clock.now();
        for _ in 0..Self::PAIRS {
            let now = clock.now();
            gaps.push(now.saturating_sub(last));
            last = now;
        }
        let sum: Nanos = gaps.iter().copied().sum();
        gaps.sort_unstable();
        let resolution = gaps.iter().copied().find(|gap| !gap.is_zero()).unwrap_or_default();
        let worst_gap = gaps.last().copied().unwrap_or_default();
        // A mean, as each gap is a multiple of the clock's step, without the longest, which has an interruption.
        let read = Nanos(sum.saturating_sub(worst_gap).get() / (Self::PAIRS as u64 - 1));
        ClockCost { resolution, read, worst_gap }
    }
}

/// Real time. Copies share one calibration and one epoch, so the times of different workers can be compared.
///
/// A read costs about 10 ns with the TSC and 25 ns with CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    /// The counter and its rate; `None` to read CLOCK_MONOTONIC.
    counter: Option<Tsc>,
    /// Epoch in CLOCK_MONOTONIC nanoseconds.
    epoch: u64,
    why_not_tsc: Option<&'static str>,
}

impl SystemClock {
    /// Starts a clock that reads CLOCK_MONOTONIC, for callers that do not know the kernel's clocksource.
    pub fn start() -> Self {
        Self::on_monotonic("the kernel's clocksource was not looked up")
    }

    /// Calibrates the TSC (20 ms, mostly asleep) and starts a clock. Falls back to CLOCK_MONOTONIC if the TSC is not
    /// safe to use; [`SystemClock::report`] has the reason.
    ///
    /// `clocksource` is the text of /sys/devices/system/clocksource/clocksource0/current_clocksource. The calling
    /// thread moves over the CPUs that it may use, to check that their counters agree, and restores its affinity.
    pub fn calibrate(clocksource: &str) -> Self {
        match Tsc::calibrate(clocksource) {
            Ok((counter, epoch)) => SystemClock { counter: Some(counter), epoch, why_not_tsc: None },
            Err(why) => Self::on_monotonic(why),
        }
    }

    fn on_monotonic(why: &'static str) -> Self {
        SystemClock { counter: None, epoch: monotonic(), why_not_tsc: Some(why) }
    }

    /// The same clock, but read with clock_gettime(2) instead of the TSC.
    #[must_use]
    pub fn by_call(self) -> Self {
        SystemClock { counter: None, why_not_tsc: Some("a call was asked for"), ..self }
    }

    /// The same clock with the current time as its epoch: starts another run without a new calibration.
    #[must_use]
    pub fn restarted(self) -> Self {
        match self.counter {
            Some(counter) => {
                let (counter, epoch) = counter.restarted();
                SystemClock { counter: Some(counter), epoch, ..self }
            }
            None => SystemClock { epoch: monotonic(), ..self },
        }
    }

    /// Returns the facts about the clock at this time, such as the drift since calibration.
    pub fn report(&self) -> ClockReport {
        let source = if self.counter.is_some() { ClockSource::Tsc } else { ClockSource::Monotonic };
        let drift_ppm = self.counter.and_then(|counter| counter.drift_ppm(self.epoch));
        ClockReport { source, drift_ppm, why_not_tsc: self.why_not_tsc }
    }
}

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> Nanos {
        match &self.counter {
            Some(counter) => Nanos(counter.elapsed()),
            None => Nanos(monotonic().saturating_sub(self.epoch)),
        }
    }

    /// Sleeps without spinning. A signal ends the sleep early; callers check the time again. It returns late by the
    /// kernel's timer slack (50 µs by default, PR_SET_TIMERSLACK) and the wake-up latency.
    fn sleep_until(&self, moment: Nanos) {
        let remaining = moment.saturating_sub(self.now()).get();
        if remaining == 0 {
            return;
        }
        let until = monotonic().saturating_add(remaining);
        let seconds = i64::try_from(until / Nanos::SECOND.get()).unwrap_or(i64::MAX);
        let nanoseconds = i64::try_from(until % Nanos::SECOND.get()).unwrap_or(0);
        let until = Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
        // The only possible errors are EINTR, which counts as a wake-up, and those of invalid arguments.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &until);
    }
}

/// CLOCK_MONOTONIC in nanoseconds, read in user space (vDSO).
#[inline]
pub(crate) fn monotonic() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    // Neither part is ever negative with this clock.
    time.tv_sec.unsigned_abs() * Nanos::SECOND.get() + time.tv_nsec.unsigned_abs()
}

/// Virtual time, which advances only by sleeping or by [`VirtualClock::advance_to`]. Clones share the same time.
#[derive(Clone, Debug, Default)]
pub struct VirtualClock {
    now: Rc<Cell<u64>>,
}

impl VirtualClock {
    /// Advances the time to `moment`; never backwards.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn clocksource() -> String {
        std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource").unwrap_or_default()
    }

    #[test]
    fn both_sources_keep_the_time_of_clock_monotonic() {
        for clock in [SystemClock::start(), SystemClock::calibrate(&clocksource())] {
            let (began, reference) = (clock.now(), Instant::now());
            std::thread::sleep(Duration::from_millis(100));
            let (took, expected) = (clock.now() - began, reference.elapsed());
            let off = took.as_duration().abs_diff(expected);
            assert!(off < Duration::from_millis(2), "{clock:?}: {off:?}");
        }
    }

    #[test]
    fn a_tsc_that_the_kernel_trusts_is_used_and_hardly_drifts() {
        let clock = SystemClock::calibrate(&clocksource());
        std::thread::sleep(Duration::from_millis(200));
        let report = clock.report();
        match report.source {
            ClockSource::Tsc => assert!(report.drift_ppm.unwrap().abs() < 100.0, "{report:?}"),
            ClockSource::Monotonic => assert!(report.why_not_tsc.is_some()),
        }
    }

    #[test]
    fn a_clock_costs_what_it_takes_and_virtual_time_costs_nothing() {
        assert_eq!(ClockCost::of(&VirtualClock::default()), ClockCost::default());
        for clock in [SystemClock::start(), SystemClock::calibrate(&clocksource())] {
            let (began, cost) = (Instant::now(), ClockCost::of(&clock));
            let took = began.elapsed().as_nanos() as f64;
            assert!(cost.read.as_f64() * ClockCost::PAIRS as f64 <= took, "{cost:?} in {took} ns");
            assert!(cost.read > Nanos(1) && cost.read < Nanos(5_000), "{cost:?}");
            assert!(!cost.resolution.is_zero() && cost.resolution <= cost.worst_gap, "{cost:?}");
        }
    }

    #[test]
    fn another_clocksource_forbids_the_tsc() {
        for text in ["hpet\n", "kvm-clock", ""] {
            let report = SystemClock::calibrate(text).report();
            assert_eq!((report.source, report.drift_ppm), (ClockSource::Monotonic, None), "{text:?}");
            assert!(report.why_not_tsc.is_some());
        }
    }

    #[test]
    fn copies_share_the_epoch_across_threads() {
        let clock = SystemClock::calibrate(&clocksource());
        let before = clock.now();
        let there = std::thread::spawn(move || clock.now()).join().unwrap();
        let after = clock.now();
        assert!(before <= there && there <= after, "{before:?} {there:?} {after:?}");
    }

    #[test]
    fn a_restarted_clock_reads_nearly_zero_and_keeps_its_rate() {
        for clock in [SystemClock::start(), SystemClock::calibrate(&clocksource())] {
            std::thread::sleep(Duration::from_millis(30));
            let (before, restarted, after) = (clock.now(), clock.restarted(), clock.now());
            let behind = before.saturating_sub(Nanos(1000)) - restarted.now().min(before);
            assert!(restarted.now() < before && behind < after, "{before:?} {after:?} {:?}", restarted.now());
            let (began, reference) = (restarted.now(), Instant::now());
            std::thread::sleep(Duration::from_millis(50));
            let off = (restarted.now() - began).as_duration().abs_diff(reference.elapsed());
            assert!(off < Duration::from_millis(2), "{off:?}");
        }
    }

    #[test]
    fn sleep_ends_at_its_moment_and_not_before() {
        let clock = SystemClock::calibrate(&clocksource());
        let late: Vec<u64> = (0..20)
            .map(|_| {
                let moment = clock.now() + Nanos::from_millis(2);
                clock.sleep_until(moment);
                clock.now().get().checked_sub(moment.get()).expect("no signal comes, so it is not early")
            })
            .collect();
        // Uses the best of twenty: a busy machine wakes sleepers late.
        assert!(late.iter().min().is_some_and(|&ns| ns < 1_000_000), "{late:?}");
        let past = Instant::now();
        clock.sleep_until(Nanos::ZERO);
        assert!(past.elapsed() < Duration::from_millis(1));
    }

    #[test]
    fn virtual_time_moves_only_on_request_and_never_back() {
        let clock = VirtualClock::default();
        let same = clock.clone();
        assert_eq!(clock.now(), Nanos::ZERO);
        clock.sleep_until(Nanos(100));
        assert_eq!(same.now(), Nanos(100));
        same.advance_to(Nanos(50));
        assert_eq!(clock.now(), Nanos(100));
        same.advance_to(Nanos(101));
        assert_eq!(clock.now(), Nanos(101));
    }
}

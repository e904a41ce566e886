//! The CPU's time-stamp counter (TSC): checks that it is safe to use, calibration, and drift.
//!
//! Times of different workers are compared, so the counters of all CPUs must run at one constant rate from one start.
//! Three conditions ensure that: the kernel itself uses the TSC as its clocksource, the CPU declares it invariant, and
//! the counters of the allowed CPUs never run backwards when a thread moves between them. A read is not serialising:
//! the CPU may reorder it with the instructions around it by a few nanoseconds.

use crate::clock::monotonic;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::time::Duration;

/// A calibrated counter. One multiplication converts ticks to nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tsc {
    /// Counter value at the epoch.
    epoch: u64,
    /// Nanoseconds per tick as a fraction of 2^64; less than one, because the counter runs faster than 1 GHz.
    nanoseconds_per_tick: u64,
}

/// Duration of the calibration. Paired reads are accurate to 5 ns, so the rate is to 1 ppm; drift is read at the end.
const BASELINE_NS: u64 = 20_000_000;
/// Number of pairs read at each end of the calibration; the one with the shortest bracket counts.
const PAIRS: u32 = 64;
/// Maximum number of CPUs to check; on larger machines every n-th CPU is checked.
const VISITS: usize = 32;

impl Tsc {
    /// Returns the counter and its epoch in CLOCK_MONOTONIC nanoseconds, or the reason why it is not safe to use.
    pub(crate) fn calibrate(clocksource: &str) -> Result<(Self, u64), &'static str> {
        if clocksource.trim() != "tsc" {
            return Err("the kernel's clocksource is not tsc");
        }
        if !is_invariant() {
            return Err("the processor does not promise an invariant TSC");
        }
        let first = pair();
        // The check takes part of the calibration time, so it costs no additional time.
        cpus_agree()?;
        std::thread::sleep(Duration::from_nanos(BASELINE_NS.saturating_sub(monotonic() - first.nanoseconds)));
        let last = pair();
        let (ticks, nanoseconds) = (last.ticks.wrapping_sub(first.ticks), last.nanoseconds - first.nanoseconds);
        let rate = rate(ticks, nanoseconds).ok_or("the TSC ticks slower than 1 GHz or not at all")?;
        Ok((Tsc { epoch: first.ticks, nanoseconds_per_tick: rate }, first.nanoseconds))
    }

    /// The same counter with the current time as its epoch, and that time in CLOCK_MONOTONIC nanoseconds.
    pub(crate) fn restarted(self) -> (Self, u64) {
        let now = pair();
        (Tsc { epoch: now.ticks, ..self }, now.nanoseconds)
    }

    /// Nanoseconds since the epoch.
    #[inline]
    pub(crate) fn elapsed(&self) -> u64 {
        scale(read().saturating_sub(self.epoch), self.nanoseconds_per_tick)
    }

    /// Gain of the counter over CLOCK_MONOTONIC since `epoch` on that clock, in parts per million.
    pub(crate) fn drift_ppm(&self, epoch: u64) -> Option<f64> {
        let now = pair();
        let by_counter = scale(now.ticks.saturating_sub(self.epoch), self.nanoseconds_per_tick);
        let by_kernel = now.nanoseconds.checked_sub(epoch).filter(|&span| span > 0)?;
        let ahead = i128::from(by_counter) - i128::from(by_kernel);
        Some(ahead as f64 / by_kernel as f64 * 1e6)
    }
}

/// Converts `ticks` to nanoseconds, at `rate` / 2^64 nanoseconds per tick.
#[inline]
const fn scale(ticks: u64, rate: u64) -> u64 {
    ((ticks as u128 * rate as u128) >> 64) as u64
}

/// Nanoseconds per tick × 2^64; `None` if that is one or more, or if the counter did not advance.
fn rate(ticks: u64, nanoseconds: u64) -> Option<u64> {
    u64::try_from((u128::from(nanoseconds) << 64).checked_div(u128::from(ticks))?).ok()
}

/// The counter and CLOCK_MONOTONIC at the same time.
#[derive(Clone, Copy, Debug)]
struct Pair {
    ticks: u64,
    nanoseconds: u64,
}

/// Reads both clocks several times, a counter before and after each, and returns the pair with the least difference.
fn pair() -> Pair {
    let bracket = || {
        let before = read();
        let nanoseconds = monotonic();
        let width = read().wrapping_sub(before);
        (width, Pair { ticks: before.wrapping_add(width / 2), nanoseconds })
    };
    let first = bracket();
    (1..PAIRS).map(|_| bracket()).fold(first, |best, next| if next.0 < best.0 { next } else { best }).1
}

/// Moves the thread over the CPUs and back: if the counter of one is behind that of another by more than a move takes
/// (tens of µs), time appears to run backwards. The kernel's check at boot is more precise; this one detects faulty
/// virtual machines.
fn cpus_agree() -> Result<(), &'static str> {
    let Ok(allowed) = sched_getaffinity(None) else {
        return Err("the CPUs of this thread are unknown, so their counters could not be compared");
    };
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    let mut last = read();
    let mut agree = true;
    // Forward and backward, so that a counter that is ahead of the others is detected as well.
    let there = cpus.iter().step_by(cpus.len().div_ceil(VISITS).max(1));
    for &cpu in there.clone().chain(there.rev()) {
        let mut only = CpuSet::new();
        only.set(cpu);
        if sched_setaffinity(None, &only).is_ok() {
            let now = read();
            agree &= now >= last;
            last = now;
        }
    }
    let restored = sched_setaffinity(None, &allowed).is_ok();
    match (agree, restored) {
        (true, true) => Ok(()),
        (false, _) => Err("the TSCs of the CPUs disagree"),
        (_, false) => Err("the thread's affinity could not be restored after comparing the CPUs' counters"),
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[expect(unsafe_code, reason = "the instruction is unsafe only by its declaration")]
fn read() -> u64 {
    // SAFETY: every x86_64 CPU has RDTSC, which only reads a register.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// CPUID 8000_0007 EDX bit 8, invariant TSC: the counter runs at one rate in all power states.
#[cfg(target_arch = "x86_64")]
fn is_invariant() -> bool {
    use core::arch::x86_64::__cpuid;
    const LAST_LEAF: u32 = 0x8000_0000;
    const POWER_LEAF: u32 = 0x8000_0007;
    __cpuid(LAST_LEAF).eax >= POWER_LEAF && __cpuid(POWER_LEAF).edx & (1 << 8) != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn read() -> u64 {
    0
}

#[cfg(not(target_arch = "x86_64"))]
fn is_invariant() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_2_5_ghz_counter_makes_0_4_ns_per_tick() {
        let rate = rate(2_500_000_000, 1_000_000_000).unwrap();
        assert_eq!(scale(2_500_000_000, rate), 999_999_999);
        // A hundred days lose less than one part in 10^18: the fraction is rounded down by less than 2^-64 ns per tick.
        let ticks = 2_500_000_000 * 8_640_000;
        assert_eq!(scale(ticks, rate), 8_640_000_000_000_000 - 1);
    }

    #[test]
    fn counters_too_slow_for_the_fraction_are_refused() {
        assert_eq!(rate(0, 1000), None);
        assert_eq!(rate(1000, 1000), None);
        assert!(rate(1001, 1000).is_some());
    }

    #[test]
    fn comparing_the_cpus_leaves_the_affinity_as_it_was() {
        let before = sched_getaffinity(None).unwrap();
        assert_eq!(cpus_agree(), Ok(()));
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }

    #[test]
    fn a_counter_that_gained_a_thousandth_drifted_by_1000_ppm() {
        if !is_invariant() {
            return;
        }
        let now = pair();
        // One second ago according to the kernel, 1.001 s according to the counter.
        let tsc = Tsc { epoch: now.ticks.wrapping_sub(2_002_000_000), nanoseconds_per_tick: 1 << 63 };
        let drift = tsc.drift_ppm(now.nanoseconds - 1_000_000_000).unwrap();
        assert!((drift - 1000.0).abs() < 50.0, "{drift}");
    }
}

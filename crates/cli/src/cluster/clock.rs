//! The clock of leaders and members, and the times and the version that all of them share.

use measure::Nanos;
use measure::text::{TimeUnit, duration};
use std::time::Duration;

/// Silence after which a member is given up.
pub(crate) const SILENCE: Nanos = Nanos::from_secs(60);
/// How far apart the starts may be.
pub(crate) const START_WITHIN: Nanos = Nanos::from_millis(10);
/// Name and version of this program, which all members must have.
pub(crate) const PROGRAM: &str = concat!("plumb ", env!("CARGO_PKG_VERSION"));

/// The time until a moment of the monotonic clock.
pub(crate) fn until(at: Nanos, now: Nanos) -> Duration {
    at.saturating_sub(now).as_duration()
}

/// Time of CLOCK_MONOTONIC.
pub(crate) fn now() -> Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Nanos::from_secs(seconds).saturating_add(Nanos(u64::try_from(time.tv_nsec).unwrap_or_default()))
}

/// Reads the value of an option that is a time.
pub(super) fn time(text: &str) -> Result<Nanos, String> {
    duration(text, TimeUnit::Seconds).map_err(|_| format!("`{text}` is not a time; write it like 10ms or 2s"))
}

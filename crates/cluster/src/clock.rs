//! The clock of a member relative to that of the leader, from the times of pings and their answers.
//!
//! The member reads its clock at some moment between the sending of a ping and the arrival of its answer. So the offset
//! is known to half of the time in between, whichever way took longer; the shortest round trip knows it best.

use measure::Nanos;
use serde::{Deserialize, Serialize};

/// Pings of one measurement of a clock.
pub(crate) const PINGS: u32 = 32;

/// A measured offset, and its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockEstimate {
    /// Clock of the member minus clock of the leader, in nanoseconds.
    pub offset_ns: i64,
    /// Bound of its error: half of the round trip.
    pub error: Nanos,
    /// Time of the leader's clock at which it was measured.
    pub at: Nanos,
}

impl ClockEstimate {
    /// The estimate of one ping: sent and received on the leader's clock, answered on the member's.
    pub(crate) fn of(sent: Nanos, answered: Nanos, received: Nanos) -> Self {
        let round_trip = received.saturating_sub(sent);
        let middle = sent.saturating_add(Nanos(round_trip.get() / 2));
        let offset = i128::from(answered.get()) - i128::from(middle.get());
        let limits = i128::from(i64::MIN)..=i128::from(i64::MAX);
        let offset_ns = i64::try_from(offset.clamp(*limits.start(), *limits.end())).unwrap_or_default();
        ClockEstimate { offset_ns, error: Nanos(round_trip.get().div_ceil(2)), at: middle }
    }
}

/// Both measurements of the clock of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemberClock {
    /// Measured before the run.
    before: Option<ClockEstimate>,
    /// Measured after it.
    after: Option<ClockEstimate>,
}

/// When a clock was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measurement {
    Before,
    After,
}

impl MemberClock {
    /// Adds a ping; the one with the shortest round trip counts.
    pub(crate) fn add(&mut self, measurement: Measurement, estimate: ClockEstimate) {
        let kept = match measurement {
            Measurement::Before => &mut self.before,
            Measurement::After => &mut self.after,
        };
        if kept.is_none_or(|kept| estimate.error < kept.error) {
            *kept = Some(estimate);
        }
    }

    /// The clock at the start of the next round: the measurement after this one is the one before that.
    pub(crate) fn of_next_round(self) -> Self {
        MemberClock { before: self.after.or(self.before), after: None }
    }

    /// The shortest round trip before the run.
    pub(crate) fn round_trip(&self) -> Nanos {
        self.before.map_or(Nanos::ZERO, |estimate| Nanos(estimate.error.get().saturating_mul(2)))
    }

    /// Clock of the member minus that of the leader before the run, in nanoseconds.
    pub(crate) fn offset_ns(&self) -> Option<i64> {
        self.before.map(|estimate| estimate.offset_ns)
    }

    /// The bound of times that were converted: the larger one of both measurements.
    pub(crate) fn error(&self) -> Option<Nanos> {
        [self.before, self.after].iter().flatten().map(|estimate| estimate.error).max()
    }

    /// A time of the leader's clock on the member's, before the run.
    pub(crate) fn to_member(self, time: Nanos) -> Nanos {
        self.before.map_or(time, |estimate| shifted(time, i128::from(estimate.offset_ns)))
    }

    /// A time of the member's clock on the leader's. Between two measurements the offset is on the line between them: a
    /// clock that runs too fast does so steadily.
    pub(crate) fn to_leader(self, time: Nanos) -> Option<Nanos> {
        let before = self.before?;
        let roughly = shifted(time, -i128::from(before.offset_ns));
        let Some(after) = self.after.filter(|after| after.at > before.at) else { return Some(roughly) };
        let span = i128::from((after.at - before.at).get());
        let since = i128::from(roughly.get()) - i128::from(before.at.get());
        let grown = i128::from(after.offset_ns) - i128::from(before.offset_ns);
        let offset = i128::from(before.offset_ns) + grown * since.clamp(0, span) / span;
        Some(shifted(time, -offset))
    }
}

fn shifted(time: Nanos, by: i128) -> Nanos {
    let shifted = i128::from(time.get()) + by;
    Nanos(u64::try_from(shifted.max(0)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Round trips of any shape: all of the delay in one direction is the worst.
        #[test]
        fn the_bound_contains_the_true_offset(
            sent in 0u64..1 << 50, there in 0u64..1 << 32, back in 0u64..1 << 32, offset in -(1i64 << 40)..1 << 40,
        ) {
            let member = i128::from(sent) + i128::from(there) + i128::from(offset) + (1 << 41);
            let member = u64::try_from(member).unwrap();
            let found = ClockEstimate::of(Nanos(sent), Nanos(member), Nanos(sent + there + back));
            let truth = offset + (1 << 41);
            prop_assert!(found.offset_ns.abs_diff(truth) <= found.error.get(), "{found:?} {truth}");
        }

        #[test]
        fn no_times_make_it_panic(sent: u64, answered: u64, received: u64, time: u64) {
            let mut clock = MemberClock::default();
            clock.add(Measurement::Before, ClockEstimate::of(Nanos(sent), Nanos(answered), Nanos(received)));
            clock.add(Measurement::After, ClockEstimate::of(Nanos(received), Nanos(sent), Nanos(answered)));
            let _ = (clock.to_leader(Nanos(time)), clock.to_member(Nanos(time)), clock.round_trip(), clock.error());
        }
    }

    #[test]
    fn the_shortest_round_trip_counts_and_drift_is_followed() {
        let mut clock = MemberClock::default();
        // 1000 s ahead; one ping took 4 ms, the other one 20 µs.
        let ahead = 1_000_000_000_000;
        clock.add(Measurement::Before, ClockEstimate::of(Nanos(0), Nanos(ahead + 3_000_000), Nanos(4_000_000)));
        clock.add(Measurement::Before, ClockEstimate::of(Nanos(0), Nanos(ahead + 10_000), Nanos(20_000)));
        assert_eq!(clock.error(), Some(Nanos(10_000)));
        assert_eq!(clock.to_member(Nanos(500)), Nanos(ahead + 500));
        assert_eq!(clock.to_leader(Nanos(ahead + 500)), Some(Nanos(500)));
        // It gains 1 ms in 10 s.
        let later = 10_000_010_000;
        let answered = ahead + later + 1_000_000;
        clock.add(Measurement::After, ClockEstimate::of(Nanos(later - 10_000), Nanos(answered), Nanos(later + 10_000)));
        let half = clock.to_leader(Nanos(ahead + 5_000_500_000)).unwrap();
        assert!(half.get().abs_diff(5_000_000_000) < 2_000, "{half:?}");
        assert_eq!(MemberClock::default().to_leader(Nanos(5)), None);
    }
}

//! The clock of a member relative to that of the leader, from the times of pings and their answers.
//!
//! The member reads its clock at some moment between the sending of a ping and the arrival of its answer. So each ping
//! bounds the offset from both sides, whichever way took longer. All pings together know it better than the
//! shortest round trip: one may have been fast on the way there, and another one on the way back.

use measure::Nanos;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Least number of pings of one measurement of a clock.
const LEAST_PINGS: u32 = 32;
/// Number of pings after which a measurement ends in any case.
pub(crate) const MOST_PINGS: u32 = 4096;
/// Time in which more pings than the least are sent, unless the offset is known well enough.
const MORE_PINGS: Nanos = Nanos::from_millis(500);
/// Bound of an offset that is known well enough.
const FINE: Nanos = Nanos::from_micros(250);
/// One clock gains at most a thousandth of the time on another one: the kernel slews each by 500 millionths at most.
const MOST_DRIFT: i128 = 1000;

/// A measured offset, and its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockEstimate {
    /// Clock of the member minus clock of the leader, in nanoseconds.
    pub offset_ns: i64,
    /// Bound of its error: half of the shortest round trip, or less.
    pub error: Nanos,
    /// Time of the leader's clock at which it was measured.
    pub at: Nanos,
}

/// A ping and its answer: sent and received on the leader's clock, answered on the member's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ping {
    pub(crate) sent: Nanos,
    pub(crate) answered: Nanos,
    pub(crate) received: Nanos,
}

impl Ping {
    fn round_trip(&self) -> Nanos {
        self.received.saturating_sub(self.sent)
    }

    fn bounds(&self) -> Bounds {
        let [sent, answered, received] = [self.sent, self.answered, self.received].map(|at| i128::from(at.get()));
        let middle = self.sent.saturating_add(Nanos(self.round_trip().get() / 2));
        Bounds { offset: answered - received.max(sent)..=answered - sent, at: middle }
    }
}

/// The least and the greatest possible offset, at a time of the leader's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bounds {
    offset: RangeInclusive<i128>,
    at: Nanos,
}

impl Bounds {
    /// These and later ones together. If they disagree, a clock was set or stopped in between: the later ones.
    fn and(&self, later: Bounds) -> Bounds {
        let drift = i128::from(later.at.saturating_sub(self.at).get()) / MOST_DRIFT + 1;
        let least = *later.offset.start().max(&(self.offset.start() - drift));
        let most = *later.offset.end().min(&(self.offset.end() + drift));
        if least > most { later } else { Bounds { offset: least..=most, at: later.at } }
    }

    fn estimate(&self) -> ClockEstimate {
        let (least, most) = (*self.offset.start(), *self.offset.end());
        let limits = i128::from(i64::MIN)..=i128::from(i64::MAX);
        let middle = (least + (most - least) / 2).clamp(*limits.start(), *limits.end());
        let error = u64::try_from((most - least + 1) / 2).unwrap_or(u64::MAX);
        ClockEstimate { offset_ns: i64::try_from(middle).unwrap_or_default(), error: Nanos(error), at: self.at }
    }
}

/// One measurement of a clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Pings {
    count: u32,
    first: Nanos,
    shortest: Nanos,
    bounds: Option<Bounds>,
    best: Option<ClockEstimate>,
}

impl Pings {
    fn add(&mut self, ping: &Ping) {
        if self.count == 0 {
            (self.first, self.shortest) = (ping.sent, ping.round_trip());
        }
        self.count += 1;
        self.shortest = self.shortest.min(ping.round_trip());
        let bounds = match &self.bounds {
            Some(before) => before.and(ping.bounds()),
            None => ping.bounds(),
        };
        let estimate = bounds.estimate();
        if self.best.is_none_or(|best| estimate.error < best.error) {
            self.best = Some(estimate);
        }
        self.bounds = Some(bounds);
    }

    fn are_enough(&self, now: Nanos) -> bool {
        let is_fine = self.best.is_some_and(|best| best.error <= FINE);
        let is_late = now.saturating_sub(self.first) >= MORE_PINGS;
        self.count >= MOST_PINGS || self.count >= LEAST_PINGS && (is_fine || is_late)
    }
}

/// Both measurements of the clock of a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemberClock {
    /// Measured before the run.
    before: Pings,
    /// Measured after it.
    after: Pings,
}

/// When a clock was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measurement {
    Before,
    After,
}

impl MemberClock {
    /// Adds a ping. True if the measurement needs no other one.
    pub(crate) fn add(&mut self, measurement: Measurement, ping: Ping) -> bool {
        let pings = match measurement {
            Measurement::Before => &mut self.before,
            Measurement::After => &mut self.after,
        };
        pings.add(&ping);
        pings.are_enough(ping.received)
    }

    /// The clock at the start of the next round: the measurement after this one is the one before that.
    pub(crate) fn of_next_round(&self) -> Self {
        let latest = if self.after.best.is_some() { &self.after } else { &self.before };
        MemberClock { before: latest.clone(), after: Pings::default() }
    }

    /// The shortest round trip before the run.
    pub(crate) fn round_trip(&self) -> Nanos {
        self.before.shortest
    }

    /// Clock of the member minus that of the leader before the run, in nanoseconds.
    pub(crate) fn offset_ns(&self) -> Option<i64> {
        self.before.best.map(|estimate| estimate.offset_ns)
    }

    /// The bound of times that were converted: the larger one of both measurements.
    pub(crate) fn error(&self) -> Option<Nanos> {
        [self.before.best, self.after.best].iter().flatten().map(|estimate| estimate.error).max()
    }

    /// A time of the leader's clock on the member's, before the run.
    pub(crate) fn to_member(&self, time: Nanos) -> Nanos {
        self.before.best.map_or(time, |estimate| shifted(time, i128::from(estimate.offset_ns)))
    }

    /// A time of the member's clock on the leader's. Between two measurements the offset is on the line between them: a
    /// clock that runs too fast does so steadily.
    pub(crate) fn to_leader(&self, time: Nanos) -> Option<Nanos> {
        let before = self.before.best?;
        let roughly = shifted(time, -i128::from(before.offset_ns));
        let Some(after) = self.after.best.filter(|after| after.at > before.at) else { return Some(roughly) };
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

    /// A ping of these times on the way, to a member whose clock is ahead.
    fn ping(sent: u64, there: u64, back: u64, ahead: i64) -> Ping {
        let answered = u64::try_from(i128::from(sent) + i128::from(there) + i128::from(ahead)).unwrap();
        Ping { sent: Nanos(sent), answered: Nanos(answered), received: Nanos(sent + there + back) }
    }

    fn measured(pings: impl IntoIterator<Item = Ping>) -> ClockEstimate {
        let mut clock = MemberClock::default();
        for ping in pings {
            clock.add(Measurement::Before, ping);
        }
        clock.before.best.unwrap()
    }

    proptest! {
        /// Ways of any length, and a clock that gains or loses time.
        #[test]
        fn the_bound_contains_the_true_offset(
            ways in prop::collection::vec((0u64..1 << 32, 0u64..1 << 32), 1..20), offset in 0i64..1 << 41, ppm in -900i64..900,
        ) {
            let mut sent = 1 << 30;
            let gained = |at: u64| offset + i64::try_from(at).unwrap() / 1_000_000 * ppm;
            let mut pings = Vec::new();
            for (there, back) in ways {
                pings.push(ping(sent, there, back, gained(sent + there)));
                sent += there + back + 1_000;
            }
            let found = measured(pings.clone());
            // The clock went on within the ping.
            let longest = pings.iter().map(|ping| ping.round_trip().get()).max().unwrap();
            let off = found.offset_ns.abs_diff(gained(found.at.get()));
            prop_assert!(off <= found.error.get() + longest / 1_000 + 2_000, "{found:?} {off}");
            let shortest = pings.iter().map(|ping| ping.round_trip().get()).min().unwrap();
            prop_assert!(found.error.get() <= shortest.div_ceil(2));
        }

        #[test]
        fn no_times_make_it_panic(sent: u64, answered: u64, received: u64, time: u64) {
            let mut clock = MemberClock::default();
            let ping = |[sent, answered, received]: [u64; 3]| Ping {
                sent: Nanos(sent),
                answered: Nanos(answered),
                received: Nanos(received),
            };
            clock.add(Measurement::Before, ping([sent, answered, received]));
            clock.add(Measurement::Before, ping([answered, sent, received]));
            clock.add(Measurement::After, ping([received, sent, answered]));
            let _ = (clock.to_leader(Nanos(time)), clock.to_member(Nanos(time)), clock.round_trip(), clock.error());
        }
    }

    #[test]
    fn fast_ways_of_different_pings_count_together() {
        let ahead = 3_000_000_000;
        // The way there took 0.1 ms and the one back 8 ms; then the other way round.
        let found = measured([ping(0, 100_000, 8_000_000, ahead), ping(10_000_000, 8_000_000, 100_000, ahead)]);
        assert!(found.offset_ns.abs_diff(ahead) <= found.error.get(), "{found:?}");
        assert!(
            found.error <= Nanos(110_000),
            "a tenth of a millisecond, and what clocks may gain in 10 ms: {found:?}"
        );
        // A clock that was set in between: the later ping counts.
        let found = measured([ping(0, 1_000, 1_000, ahead), ping(10_000, 1_000, 500, ahead + 1_000_000)]);
        assert_eq!((found.offset_ns, found.error), (ahead + 1_000_250, Nanos(750)));
    }

    #[test]
    fn a_long_round_trip_gets_more_pings() {
        let count = |round_trip: u64| {
            let mut clock = MemberClock::default();
            let pings = (0_u64..).map(|number| ping(number * round_trip, round_trip / 2, round_trip / 2, 5));
            1 + pings.take_while(|&ping| !clock.add(Measurement::Before, ping)).count()
        };
        // 0.4 ms, 5 ms, and 40 ms, after which half a second is over.
        assert_eq!([400_000, 5_000_000, 40_000_000].map(count), [32, 100, 32]);
    }

    #[test]
    fn the_shortest_round_trip_counts_and_drift_is_followed() {
        let mut clock = MemberClock::default();
        // 1000 s ahead; one ping took 4 ms, the other one 20 µs.
        let ahead = 1_000_000_000_000;
        clock.add(Measurement::Before, ping(0, 3_000_000, 1_000_000, ahead));
        clock.add(Measurement::Before, ping(0, 10_000, 10_000, ahead));
        assert_eq!(clock.error(), Some(Nanos(10_000)));
        assert_eq!(clock.round_trip(), Nanos(20_000));
        assert_eq!(clock.to_member(Nanos(500)), Nanos(1_000_000_000_500));
        assert_eq!(clock.to_leader(Nanos(1_000_000_000_500)), Some(Nanos(500)));
        // It gains 1 ms in 10 s.
        clock.add(Measurement::After, ping(10_000_000_000, 10_000, 10_000, ahead + 1_000_000));
        let half = clock.to_leader(Nanos(1_005_000_500_000)).unwrap();
        assert!(half.get().abs_diff(5_000_000_000) < 2_000, "{half:?}");
        assert_eq!(MemberClock::default().to_leader(Nanos(5)), None);
    }
}

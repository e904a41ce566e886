//! The rate: when the next I/O of a direction is due.
//!
//! Due times are exact: the remainder of each division is carried into the next gap, so that no rate drifts.

use super::Due;
use super::random::Random;
use measure::{Direction, Nanos, PerDirection};
use plan::{BlockSize, PacePlan};

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The rates of one worker.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    lanes: PerDirection<Option<Lane>>,
    poisson: bool,
    random: Random,
}

/// The rate of one direction.
#[derive(Clone, Debug)]
struct Lane {
    cost: Cost,
    due: Nanos,
    /// Remainder of earlier divisions: fractions of a nanosecond in units of 1 / rate.
    rest: u64,
}

/// The unit of a rate.
#[derive(Clone, Copy, Debug)]
enum Cost {
    /// Bytes per second.
    Bytes(u64),
    /// I/Os per second.
    Ios(u64),
}

impl Pace {
    pub(super) fn new(plan: &PacePlan, sizes: &PerDirection<BlockSize>, seed: u64) -> Self {
        let lane = |direction: Direction| {
            let cost = match (plan.rate[direction], plan.iops[direction]) {
                (Some(rate), _) if rate.get() > 0 => Some(Cost::Bytes(rate.get())),
                (_, Some(iops)) if iops > 0 => Some(match &sizes[direction] {
                    // A rate in I/Os with a range of sizes is a rate in bytes of the smallest size, as in fio.
                    BlockSize::Range(least, _) => Cost::Bytes(iops.saturating_mul(u64::from(*least))),
                    BlockSize::Fixed(_) | BlockSize::Split(_) => Cost::Ios(iops),
                }),
                _ => None,
            };
            cost.map(|cost| Lane { cost, due: Nanos::ZERO, rest: 0 })
        };
        Pace { lanes: PerDirection::each(lane), poisson: plan.poisson, random: Random::new(seed) }
    }

    /// True if no direction has a rate.
    pub(super) const fn is_free(&self) -> bool {
        self.lanes.read.is_none() && self.lanes.write.is_none() && self.lanes.trim.is_none()
    }

    /// Makes everything due at `now`: at the start, and at the end of the ramp.
    pub(super) fn restart(&mut self, now: Nanos) {
        for lane in self.lanes_mut() {
            lane.due = now;
            lane.rest = 0;
        }
    }

    /// Drops the I/Os that became due during a pause that ends at `now`.
    pub(super) fn forgive(&mut self, now: Nanos) {
        for lane in self.lanes_mut() {
            lane.due = lane.due.max(now);
        }
    }

    /// The time at which the next I/O in `direction` is due; zero without a rate.
    #[inline]
    pub(super) fn due(&self, direction: Direction) -> Nanos {
        self.lanes[direction].as_ref().map_or(Nanos::ZERO, |lane| lane.due)
    }

    /// The moment at which the next I/O in `direction` is due, for its response time; `None` without a rate.
    #[inline]
    pub(super) fn due_at(&self, direction: Direction) -> Option<Due> {
        self.lanes[direction].as_ref().map(|lane| Due::at(lane.due))
    }

    /// Advances the due time by an I/O of `length` bytes.
    #[inline]
    pub(super) fn issued(&mut self, direction: Direction, length: u32) {
        if let Some(lane) = &mut self.lanes[direction] {
            let stretch = if self.poisson { -self.random.positive_unit().ln() } else { 1.0 };
            lane.advance(length, self.poisson.then_some(stretch));
        }
    }

    fn lanes_mut(&mut self) -> impl Iterator<Item = &mut Lane> {
        [&mut self.lanes.read, &mut self.lanes.write, &mut self.lanes.trim].into_iter().flatten()
    }
}

impl Lane {
    /// Advances by the gap of an I/O of `length` bytes, times `stretch`.
    fn advance(&mut self, length: u32, stretch: Option<f64>) {
        let (amount, rate) = match self.cost {
            Cost::Bytes(rate) => (u64::from(length), rate),
            Cost::Ios(rate) => (1, rate),
        };
        // 2^32 * 10^9 + rest: fits for rates up to 10^19 per second.
        let scaled = (amount * NANOS_PER_SECOND).saturating_add(self.rest);
        let gap = match stretch {
            None => {
                self.rest = scaled % rate;
                scaled / rate
            }
            Some(stretch) => stretched(scaled, rate, stretch),
        };
        self.due = self.due.saturating_add(Nanos(gap));
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a random gap needs no more than 53 bits, and is never negative"
)]
fn stretched(scaled: u64, rate: u64, stretch: f64) -> u64 {
    (scaled as f64 / rate as f64 * stretch).round() as u64
}

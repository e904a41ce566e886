//! The rate: when the next I/O of a direction is due.
//!
//! Due times are exact: the remainder of each division is carried into the next gap, so that no rate drifts. A rate
//! that changes over time is the area under its profile.

use super::random::Random;
use super::{Due, Next};
use measure::{Direction, Nanos, PerDirection};
use plan::{BlockSize, LoadPlan, Mix, PacePlan, RateStep, ThinkCount};

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
    /// Replaces `cost` if the rate changes over time.
    profile: Option<Profile>,
    due: Nanos,
    /// Remainder of earlier divisions: fractions of a nanosecond in units of 1 / rate.
    rest: u64,
    gap: Gap,
}

/// The time from an I/O to the next, divided once for all I/Os of one length.
#[derive(Clone, Copy, Debug)]
struct Gap {
    length: u32,
    /// I/Os or bytes per second.
    rate: u64,
    /// Nanoseconds, and the remainder in units of 1 / rate.
    whole: u64,
    part: u64,
    /// The same with its fraction.
    mean: f64,
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
    pub(super) fn new(plan: &PacePlan, load: &LoadPlan, seed: u64) -> Self {
        let lane = |direction: Direction| {
            let cost = match (plan.rate[direction], plan.iops[direction]) {
                (Some(rate), _) if rate.get() > 0 => Some(Cost::Bytes(rate.get())),
                (_, Some(iops)) if iops > 0 => Some(match &load.block_size[direction] {
                    // A rate in I/Os with a range of sizes is a rate in bytes of the smallest size, as in fio.
                    BlockSize::Range(least, _) => Cost::Bytes(iops.saturating_mul(u64::from(*least))),
                    BlockSize::Fixed(_) | BlockSize::Split(_) => Cost::Ios(iops),
                }),
                _ => None,
            };
            let profile = Profile::new(&plan.profile, share(load, direction));
            let cost = cost.or_else(|| profile.is_some().then_some(Cost::Ios(1)));
            cost.map(|cost| Lane { cost, profile, due: Nanos::ZERO, rest: 0, gap: cost.gap(load.largest()) })
        };
        Pace { lanes: PerDirection::each(lane), poisson: plan.poisson, random: Random::new(seed) }
    }

    /// True if no direction has a rate.
    pub(super) const fn is_free(&self) -> bool {
        self.lanes.read.is_none() && self.lanes.write.is_none() && self.lanes.trim.is_none()
    }

    /// True if this direction has a rate.
    pub(super) fn has_rate(&self, direction: Direction) -> bool {
        self.lanes[direction].is_some()
    }

    /// Makes everything due at `now`: at the start, and at the end of the ramp.
    pub(super) fn restart(&mut self, now: Nanos) {
        for lane in self.lanes_mut() {
            lane.due = lane.profile.as_mut().map_or(now, |profile| profile.restart(now));
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

    /// The moment at which an I/O of `length` bytes was due that can be issued at `now`, and counts as issued; `None`
    /// if the next is due later.
    #[inline(always)]
    pub(super) fn take_due(&mut self, direction: Direction, now: Nanos, length: u32) -> Option<Due> {
        let due = self.lanes[direction].as_ref()?.due;
        (due <= now).then(|| {
            self.issued(direction, length);
            Due::at(due)
        })
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
            let stretch = if self.poisson { self.random.exponential() } else { 1.0 };
            lane.advance(length, self.poisson.then_some(stretch));
        }
    }

    fn lanes_mut(&mut self) -> impl Iterator<Item = &mut Lane> {
        [&mut self.lanes.read, &mut self.lanes.write, &mut self.lanes.trim].into_iter().flatten()
    }
}

impl Lane {
    /// Advances by the gap of an I/O of `length` bytes, times `stretch`.
    #[inline]
    fn advance(&mut self, length: u32, stretch: Option<f64>) {
        if let Some(profile) = &mut self.profile {
            self.due = profile.after(self.due, stretch.unwrap_or(1.0));
            return;
        }
        if self.gap.length != length {
            self.gap = self.cost.gap(length);
        }
        let Gap { rate, whole, part, mean, .. } = self.gap;
        let gap = match stretch {
            // The sum of two remainders may not fit into 64 bits.
            None if self.rest >= rate - part => {
                self.rest -= rate - part;
                whole + 1
            }
            None => {
                self.rest += part;
                whole
            }
            Some(stretch) => rounded(mean * stretch),
        };
        self.due = self.due.saturating_add(Nanos(gap));
    }
}

impl Cost {
    /// The gap after an I/O of `length` bytes.
    fn gap(self, length: u32) -> Gap {
        let (amount, rate) = match self {
            Cost::Bytes(rate) => (u64::from(length), rate),
            Cost::Ios(rate) => (1, rate),
        };
        // At most 2^32 * 10^9, which fits.
        let scaled = amount * NANOS_PER_SECOND;
        Gap { length, rate, whole: scaled / rate, part: scaled % rate, mean: ratio(scaled, rate) }
    }
}

/// Part of the I/Os that are in this direction.
fn share(load: &LoadPlan, direction: Direction) -> f64 {
    let reads = f64::from(load.read_percent.min(100)) / 100.0;
    match (load.mix, direction) {
        (Mix::Only(only), _) => f64::from(u8::from(only == direction)),
        (Mix::ReadWrite, Direction::Read) => reads,
        (Mix::ReadWrite, Direction::Write) => 1.0 - reads,
        (Mix::TrimWrite, Direction::Write | Direction::Trim) => 0.5,
        (Mix::ReadWrite, Direction::Trim) | (Mix::TrimWrite, Direction::Read) => 0.0,
    }
}

/// A rate that changes over time: the I/O with number k is due when the area under the rate reaches k; with random
/// arrivals each adds an exponential amount of mean 1 to the area, which makes them a Poisson process of that rate.
#[derive(Clone, Debug)]
struct Profile {
    /// Start of each step in ns since `began`, and I/Os per ns.
    steps: Vec<(f64, f64)>,
    began: Nanos,
    /// The step of the next I/O.
    step: usize,
    /// Fraction of a nanosecond by which it is due later, or earlier.
    fraction: f64,
}

/// An I/O that is due at the end of a step to within this part of an I/O is due when I/Os are next: the end of a step
/// is the start of another, which may be a pause.
const AT_THE_END: f64 = 1e-6;

impl Profile {
    /// The profile of a direction with this share of the I/Os; `None` without a profile or a share.
    fn new(steps: &[RateStep], share: f64) -> Option<Profile> {
        let of = |step: &RateStep| (step.from.as_f64(), rate_per_ns(step.iops) * share);
        let steps: Vec<(f64, f64)> = steps.iter().map(of).collect();
        // With a last rate above 0 there is always a next I/O.
        let is_used = steps.last().is_some_and(|&(_, rate)| rate > 0.0);
        is_used.then_some(Profile { steps, began: Nanos::ZERO, step: 0, fraction: 0.0 })
    }

    /// Starts at `now`; returns when the first I/O is due.
    fn restart(&mut self, now: Nanos) -> Nanos {
        (self.began, self.step, self.fraction) = (now, 0, 0.0);
        let first = self.steps.iter().find(|&&(_, rate)| rate > 0.0).map_or(0.0, |&(from, _)| from);
        now.saturating_add(whole(first))
    }

    /// When the I/O is due that follows one at `due` after this area.
    fn after(&mut self, due: Nanos, mut area: f64) -> Nanos {
        let mut at = due.saturating_sub(self.began).as_f64() + self.fraction;
        loop {
            while self.steps.get(self.step + 1).is_some_and(|&(from, _)| from <= at) {
                self.step += 1;
            }
            let rate = self.steps[self.step].1;
            let end = self.steps.get(self.step + 1).map_or(f64::INFINITY, |&(from, _)| from);
            let rest = if rate > 0.0 { rate * (end - at) } else { 0.0 };
            if area < rest - AT_THE_END {
                at += area / rate;
                break;
            }
            area = (area - rest).max(0.0);
            at = end;
        }
        self.fraction = at - at.round();
        self.began.saturating_add(whole(at.round()))
    }
}

fn rate_per_ns(per_second: u64) -> f64 {
    per_second as f64 / NANOS_PER_SECOND as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time ≥ 0; the cast saturates")]
fn whole(ns: f64) -> Nanos {
    Nanos(ns as u64)
}

fn ratio(scaled: u64, rate: u64) -> f64 {
    scaled as f64 / rate as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a gap is never negative; the cast saturates"
)]
fn rounded(gap: f64) -> u64 {
    (gap + 0.5) as u64
}

/// The state of think time.
#[derive(Clone, Debug)]
pub(super) struct Think {
    pause: Nanos,
    spin: Nanos,
    blocks: u64,
    counts: ThinkCount,
    /// A pause is also due after this much time of I/O (`thinktime_iotime`); zero for never.
    io_time: Nanos,
    /// Start of the current stretch of I/O.
    working_since: Option<Nanos>,
    /// True if the worker spins for a number of cycles in each pause, even one of length zero.
    burns_cycles: bool,
    /// Blocks completed since the last pause began.
    completed: u64,
    /// Blocks issued since the last pause ended.
    issued: u64,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Working,
    Draining,
    Pausing { until: Nanos },
}

/// The answer of think time.
pub(super) enum Verdict {
    /// Issue I/O.
    Work,
    /// A pause has just ended: issue I/O.
    Refreshed,
    /// Do this first.
    Pause(Next),
}

impl Think {
    pub(super) fn new(plan: &PacePlan) -> Self {
        Think {
            pause: plan.think,
            spin: plan.think_spin.min(plan.think),
            blocks: plan.think_blocks.max(1),
            counts: plan.think_counts,
            io_time: plan.think_io_time,
            working_since: None,
            burns_cycles: plan.think_cycles > 0,
            completed: 0,
            issued: 0,
            state: State::Working,
        }
    }

    /// True if there is no think time.
    pub(super) const fn is_off(&self) -> bool {
        self.pause.is_zero() && !self.burns_cycles
    }

    #[inline]
    pub(super) fn issued(&mut self) {
        self.issued += 1;
    }

    #[inline]
    pub(super) fn completed(&mut self, count: u64) {
        self.completed += count;
    }

    /// Decides what to do at `now`; no pause lasts beyond `deadline`.
    pub(super) fn consider(&mut self, now: Nanos, deadline: Nanos) -> Verdict {
        if self.is_off() {
            return Verdict::Work;
        }
        if let State::Working = self.state {
            // Blocks that complete while the queue drains count for the next pause, but at least one is issued between
            // two pauses.
            let since = *self.working_since.get_or_insert(now);
            let counted = match self.counts {
                ThinkCount::Completed => self.completed,
                ThinkCount::Issued => self.issued,
            };
            let time_is_up = !self.io_time.is_zero() && now.saturating_sub(since) >= self.io_time;
            if (counted < self.blocks && !time_is_up) || self.issued == 0 {
                return Verdict::Work;
            }
            self.completed = 0;
            self.state = State::Draining;
            return Verdict::Pause(Next::Drain);
        }
        if let State::Draining = self.state {
            let until = now.saturating_add(self.pause).min(deadline);
            self.state = State::Pausing { until };
            if self.burns_cycles {
                return Verdict::Pause(Next::Think { until, spin_from: until.saturating_sub(self.spin) });
            }
        }
        let State::Pausing { until } = self.state else { return Verdict::Work };
        if now < until {
            return Verdict::Pause(Next::Think { until, spin_from: until.saturating_sub(self.spin) });
        }
        self.state = State::Working;
        self.working_since = Some(now);
        self.issued = 0;
        Verdict::Refreshed
    }
}

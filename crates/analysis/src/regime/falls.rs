//! Why a level ended: credits that are spent, a write cache that is full, a limit that holds back.

use super::course::{Course, Stretch, Warmth};
use super::plateaus::{self, Rate};
use crate::run_facts::float;
use measure::{Nanos, text};
use model::{Like, PhaseKind};

/// Most deviation of a flat level, as a share of it.
const FLAT: f64 = 0.03;
/// Most deviation of a rate that is set.
const EXACT: f64 = 0.01;
/// A rate that is set is within this share of a round number.
const ROUND: f64 = 0.002;
/// A level before a full cache is at least this many times that after it.
const CACHE_FACTOR: f64 = 1.3;
/// A cache is a smaller share of the device.
const CACHE_SHARE: f64 = 0.2;
/// A smaller share of the time in a quota is a partial period.
const HELD: f64 = 0.05;
/// A smaller share of foreign traffic is normal background activity.
const OTHERS: f64 = 0.1;
/// Intervals before a fall in which a device is as hot as at the fall.
const NEAR_END: usize = 3;
/// Fewest times per second that processors are slowed because of heat.
const LEAST_THROTTLES: f64 = 0.1;
/// A rate at a limit is within this share of it.
const AT_LIMIT: f64 = 0.05;

/// The end of a level.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fall {
    /// Credits are spent.
    Credits {
        /// I/Os per second before.
        plateau: f64,
        /// I/Os per second after it: the rate of refilling.
        base: f64,
        /// I/Os that the credits were worth.
        size: f64,
        /// Seconds from the begin of the level to its end.
        after: f64,
    },
    /// A write cache is full.
    Cache {
        /// Bytes that were written before.
        bytes: f64,
        /// Bytes per second after it.
        base: f64,
        /// Seconds from the begin of the level to its end.
        after: f64,
    },
}

impl Fall {
    pub(super) fn kind(&self) -> PhaseKind {
        match self {
            Fall::Credits { .. } => PhaseKind::Burst,
            Fall::Cache { .. } => PhaseKind::WriteCache,
        }
    }

    /// The volumes whose credits these may be.
    pub(super) fn like(&self, course: &Course) -> Vec<Like> {
        match (self, &course.place) {
            (&Fall::Credits { plateau, base, size, .. }, Some(place)) => place.like_burst(plateau, base, size),
            _ => Vec::new(),
        }
    }

    pub(super) fn evidence(&self) -> Vec<(&'static str, f64)> {
        match *self {
            Fall::Credits { plateau, base, size, after } => vec![
                ("plateau_iops", plateau),
                ("base_iops", base),
                ("credits_ios", size),
                ("spent_after_s", after),
                ("refill_s", size / base.max(1e-9)),
            ],
            Fall::Cache { bytes, base, after } => {
                vec![("cache_bytes", bytes), ("base_bytes_per_second", base), ("full_after_s", after)]
            }
        }
    }
}

/// Why a level ended at the one after it; `None` if it rose, or for a cause that these rules do not know.
pub(super) fn ended(course: &Course, level: &Stretch<'_>, next: &Stretch<'_>) -> Option<Fall> {
    let (plateau, base) = (level.median(), next.median());
    let is_disturbed = next.others_share() >= OTHERS && next.others_share() > level.others_share();
    if base >= plateau || base <= 0.0 || is_disturbed || throttled(level, next).is_some() {
        return None;
    }
    credits(course, level, next).or_else(|| cache(course, level, next))
}

/// I/Os of a level above the rate after it, and the moment of the change in seconds from its begin. The interval with
/// the change is the last of the level or the first after it; their I/Os say how much of them was before the change.
fn change(level: &Stretch<'_>, next: &Stretch<'_>) -> (f64, f64) {
    let (plateau, base) = (level.median(), next.median());
    let above = |step: &super::Step| float(step.ios) - base * step.length.as_secs_f64();
    let excess = level.steps.iter().chain(next.steps.first()).map(above).sum::<f64>();
    let near = level.steps.last().into_iter().chain(next.steps.first());
    let length = |step: &super::Step| step.length.as_secs_f64();
    let last = level.steps.last().map_or(0.0, length);
    let within = near.clone().map(above).sum::<f64>() / (plateau - base);
    (excess, level.seconds() - last + within.clamp(0.0, near.map(length).sum()))
}

fn credits(course: &Course, level: &Stretch<'_>, next: &Stretch<'_>) -> Option<Fall> {
    let is_flat = |part: &Stretch<'_>| part.variation() < FLAT;
    // A full write cache leaves flat levels, too; a rate that someone set is exact, and a round number.
    let is_exact = |part: &Stretch<'_>| part.variation() < EXACT && is_round(part);
    let is_set = !course.writes || (is_exact(level) && is_exact(next));
    let slower = match (level.percentiles()[0], next.percentiles()[0]) {
        (Some(before), Some(after)) => after > before || is_bimodal(next),
        _ => true,
    };
    if !(is_flat(level) && is_flat(next) && is_set && slower) {
        return None;
    }
    let (plateau, base) = (level.median(), next.median());
    let (excess, after) = change(level, next);
    let is_first = level.from().as_secs_f64() <= course.lead.2 + 1e-9;
    let lead = if is_first { (float(course.lead.0) - base * course.lead.2).max(0.0) } else { 0.0 };
    Some(Fall::Credits { plateau, base, size: excess + lead, after })
}

fn cache(course: &Course, level: &Stretch<'_>, next: &Stretch<'_>) -> Option<Fall> {
    let (_, after) = change(level, next);
    let bytes = float(level.bytes_before()) + after * level.bytes_per_second();
    let is_small = course.device_bytes.is_none_or(|size| bytes < CACHE_SHARE * float(size));
    let falls = level.median() > CACHE_FACTOR * next.median();
    (course.writes && falls && is_small).then(|| {
        let size = next.bytes_per_second() / next.iops().max(1e-9);
        Fall::Cache { bytes, base: next.median() * size, after }
    })
}

/// True if a level is within 0.2 % of a number with two digits, in I/Os or MiB per second.
fn is_round(part: &Stretch<'_>) -> bool {
    let size = part.bytes_per_second() / part.iops().max(1e-9);
    let rate = part.median();
    [rate, rate * size / f64::from(1 << 20)].into_iter().any(|rate| {
        let digit = 10.0_f64.powf((rate.max(1e-9).log10() + 1e-9).floor() - 1.0);
        rate > 0.0 && (rate - (rate / digit).round() * digit).abs() <= ROUND * rate
    })
}

/// True if a fifth of the I/Os or more take at least four times the median.
fn is_bimodal(part: &Stretch<'_>) -> bool {
    const FACTOR: u64 = 4;
    let all = part.latencies();
    let Some(median) = all.percentile(50.0) else { return false };
    let slow = all.slower_than(Nanos(median.get().saturating_mul(FACTOR)));
    float(slow) >= 0.2 * float(all.total())
}

/// The volumes that a flat rate is like, which no limit of a control group explains.
pub(super) fn like_a_plateau(course: &Course, stretch: &Stretch<'_>) -> Vec<Like> {
    let Some(place) = &course.place else { return Vec::new() };
    if stretch.variation() >= plateaus::FLAT || group(stretch).is_some() {
        return Vec::new();
    }
    let rate = Rate { iops: stretch.iops(), bytes_per_second: stretch.bytes_per_second(), writes: course.writes };
    place.like(&rate)
}

/// Cause of a slower stretch.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cause {
    /// A processor quota, for this share of the time, in this number of its periods.
    Quota(f64, u64),
    /// A limit of a control group.
    Group(GroupCause),
    /// A device is at or above the temperature at which it warns.
    Hot(Warmth),
    /// Processors were slowed because of heat, this many times.
    Processors(u64),
}

/// A limit of a control group.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GroupCause {
    /// `control group /bench, 300 I/Os/s on sda`.
    pub(super) name: String,
    /// The limit per second.
    pub(super) limit: f64,
    /// The rate that was reached.
    pub(super) reached: f64,
    /// The moment from which on it was seen, if that was during the run.
    pub(super) since: Option<Nanos>,
}

impl Cause {
    pub(super) fn evidence(&self) -> Vec<(&'static str, f64)> {
        let degrees = |milli: i64| float(milli.unsigned_abs()) / 1e3;
        match self {
            Cause::Quota(share, periods) => {
                vec![("throttled_percent", 100.0 * share), ("throttled_periods", float(*periods))]
            }
            Cause::Group(group) => {
                let since = group.since.map(|since| ("limit_since_s", since.as_secs_f64()));
                let rates = [("limit_per_second", group.limit), ("reached_per_second", group.reached)];
                rates.into_iter().chain(since).collect()
            }
            Cause::Hot(warmth) => vec![
                ("temperature_celsius", degrees(warmth.millidegrees)),
                ("warning_celsius", degrees(warmth.warning_millidegrees)),
            ],
            Cause::Processors(count) => vec![("processor_throttles", float(*count))],
        }
    }
}

/// Cause of a stretch that is slower than the one before it; `None` if it is not, or if no counter shows why.
pub(super) fn throttled(before: &Stretch<'_>, stretch: &Stretch<'_>) -> Option<Cause> {
    if stretch.median() >= before.median() {
        return None;
    }
    let held = stretch.throttled_share();
    if held >= HELD && held > 2.0 * before.throttled_share() {
        return Some(Cause::Quota(held, stretch.throttled_periods()));
    }
    group(stretch).map(Cause::Group).or_else(|| hot(before, stretch)).or_else(|| processors(before, stretch))
}

/// The limit of a control group that a stretch is at.
fn group(stretch: &Stretch<'_>) -> Option<GroupCause> {
    let (since, caps) = stretch.caps();
    let (iops, bytes) = (stretch.iops(), stretch.bytes_per_second());
    let limits = caps.iter().flat_map(|cap| {
        let ios = [cap.read_iops, cap.write_iops].into_iter().flatten().map(move |limit| (cap, "I/Os", limit, iops));
        let bytes_each = [cap.read_bytes_per_second, cap.write_bytes_per_second];
        ios.chain(bytes_each.into_iter().flatten().map(move |limit| (cap, "bytes", limit, bytes)))
    });
    let at = limits.into_iter().find(|(_, _, limit, reached)| (reached / float(*limit) - 1.0).abs() <= AT_LIMIT);
    at.map(|(cap, unit, limit, reached)| {
        let group = cap.group.as_deref().unwrap_or("?");
        GroupCause {
            name: format!("control group {group}, {} {unit}/s on {}", text::number(float(limit)), cap.device),
            limit: float(limit),
            reached,
            since: Some(since).filter(|since| *since > Nanos::ZERO),
        }
    })
}

/// A device that became hot at the end of the stretch before, or in this one: it cools down once it is slower.
fn hot(before: &Stretch<'_>, stretch: &Stretch<'_>) -> Option<Cause> {
    let (early, late) = before.steps.split_at(before.steps.len().saturating_sub(NEAR_END));
    let is_hot = |step: &super::Step| step.warmest.as_ref().is_some_and(Warmth::is_hot);
    // A device that was as hot all the time did not slow down for that.
    if early.iter().filter(|step| is_hot(step)).count() * 2 > early.len() {
        return None;
    }
    let near = late.iter().filter_map(|step| step.warmest.as_ref()).filter(|warmth| warmth.is_hot());
    let hottest = near.chain(stretch.hot()).max_by_key(|warmth| warmth.millidegrees)?;
    Some(Cause::Hot(hottest.clone()))
}

/// Processors that were slowed because of heat more often than before.
fn processors(before: &Stretch<'_>, stretch: &Stretch<'_>) -> Option<Cause> {
    let rate = |part: &Stretch<'_>| float(part.processor_throttles()) / part.seconds();
    let is_more = rate(stretch) >= LEAST_THROTTLES && rate(stretch) > 2.0 * rate(before);
    is_more.then(|| Cause::Processors(stretch.processor_throttles()))
}

//! Why a level ended: credits that are spent, a write cache that is full, a limit that holds back.

use super::course::{Course, Stretch};
use crate::run_facts::float;
use model::PhaseKind;

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

/// I/Os of a level above the rate after it, and the moment of the change in seconds from its begin. The interval with the
/// change is the last of the level or the first after it; their I/Os say how much of them was before the change.
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
    let slow = all.slower_than(measure::Nanos(median.get().saturating_mul(FACTOR)));
    float(slow) >= 0.2 * float(all.total())
}

/// The limit that held a stretch back.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cause {
    /// A processor quota, for this share of the time.
    Quota(f64),
    /// A limit of a control group: its name, its rate and the rate that was reached.
    Group(String, f64, f64),
}

impl Cause {
    pub(super) fn evidence(&self) -> Vec<(&'static str, f64)> {
        match self {
            Cause::Quota(share) => vec![("throttled_percent", 100.0 * share)],
            Cause::Group(_, limit, reached) => vec![("limit_per_second", *limit), ("reached_per_second", *reached)],
        }
    }
}

/// The limit that holds a stretch back since it began; `None` if it is not slower than the one before it.
pub(super) fn throttled(before: &Stretch<'_>, stretch: &Stretch<'_>) -> Option<Cause> {
    if stretch.median() >= before.median() {
        return None;
    }
    let held = stretch.throttled_share();
    if held >= HELD && held > 2.0 * before.throttled_share() {
        return Some(Cause::Quota(held));
    }
    let (iops, bytes) = (stretch.iops(), stretch.bytes_per_second());
    let limits = stretch.caps.iter().flat_map(|cap| {
        let ios = [cap.read_iops, cap.write_iops].into_iter().flatten().map(move |limit| (cap, "I/Os", limit, iops));
        let bytes_each = [cap.read_bytes_per_second, cap.write_bytes_per_second];
        ios.chain(bytes_each.into_iter().flatten().map(move |limit| (cap, "bytes", limit, bytes)))
    });
    let at = limits.into_iter().find(|(_, _, limit, reached)| (reached / float(*limit) - 1.0).abs() <= AT_LIMIT);
    at.map(|(cap, unit, limit, reached)| {
        let group = cap.group.as_deref().unwrap_or("?");
        Cause::Group(
            format!("control group {group}, {} {unit}/s on {}", crate::thousands(float(limit)), cap.device),
            float(limit),
            reached,
        )
    })
}

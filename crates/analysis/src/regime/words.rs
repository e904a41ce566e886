//! One sentence about a phase.

use super::HeldIos;
use super::course::{Stretch, Warmth};
use super::curve::Curve;
use super::falls::{Cause, Fall, GroupCause};
use super::rhythm::Rhythm;
use crate::run_facts::float;
use measure::text;
use model::{Phase, PhaseKind};

/// `0–20 s`, in seconds since the begin of the run.
fn times(stretch: &Stretch<'_>) -> String {
    format!("{:.0}–{:.0} s", stretch.from().as_secs_f64(), stretch.until().as_secs_f64())
}

/// `3,000 IOPS (11.7 MiB/s)`.
fn rate(stretch: &Stretch<'_>) -> String {
    format!("{} IOPS ({})", text::number(stretch.iops()), text::rate(stretch.bytes_per_second()))
}

pub(super) fn fall(stretch: &Stretch<'_>, fall: &Fall) -> String {
    match *fall {
        Fall::Credits { plateau, base, size, after } => format!(
            "plateau {} IOPS for {}, then {} IOPS: credits are spent; they were worth about {} I/Os and return in {} of rest",
            text::number(plateau),
            text::span(after),
            text::number(base),
            text::number(size),
            text::span(size / base.max(1e-9))
        ),
        Fall::Cache { bytes, base, after } => {
            let fast = text::rate(stretch.bytes_per_second());
            let (cache, slow) = (text::rounded_size(bytes), text::rate(base));
            format!("{fast} for {}, then {slow}: a write cache of about {cache}; expect {slow}", text::span(after))
        }
    }
}

pub(super) fn throttled(stretch: &Stretch<'_>, cause: &Cause) -> String {
    let why = match cause {
        Cause::Quota(share, periods) => format!(
            "cpu.max held the workers back {} of the time (nr_throttled + {})",
            text::percent(*share),
            text::number(float(*periods))
        ),
        Cause::Group(GroupCause { name, since: None, .. }) => format!("the limit of {name}"),
        Cause::Group(GroupCause { name, since: Some(since), .. }) => {
            format!("the limit of {name}, which was set at {}", text::span(since.as_secs_f64()))
        }
        Cause::Hot(warmth) => hot(warmth),
        Cause::Processors(count) => format!(
            "processors were slowed because of heat {} times (package_throttle_count, core_throttle_count)",
            text::number(float(*count))
        ),
    };
    format!("{} {}: {why}", times(stretch), rate(stretch))
}

/// `nvme0n1 was at 85 °C, and warns from 84 °C on (hwmon temp1_max)`.
fn hot(warmth: &Warmth) -> String {
    let degrees = |milli: i64| milli.saturating_add(500).div_euclid(1000);
    let (now, limit) = (degrees(warmth.millidegrees), degrees(warmth.warning_millidegrees));
    format!("{} was at {now} °C, and warns from {limit} °C on (hwmon temp1_max)", warmth.device)
}

pub(super) fn dips(stretch: &Stretch<'_>, rhythm: &Rhythm) -> String {
    let pace = stretch.pace();
    let why = match stretch.hot() {
        Some(warmth) => hot(warmth),
        None => "garbage collection, a commit interval or another stall that recurs".to_owned(),
    };
    format!(
        "falls by {} every {} for {}: {why}",
        text::percent(rhythm.depth),
        text::span(rhythm.period * pace),
        text::span(rhythm.length * pace)
    )
}

/// The rates at both ends.
fn ends(stretch: &Stretch<'_>) -> (String, String) {
    let rates = stretch.rates();
    let some = (rates.len() / 10).max(1);
    let mean = |part: &[f64]| text::number(part.iter().sum::<f64>() / float(part.len() as u64));
    (mean(&rates[..some]), mean(&rates[rates.len() - some..]))
}

pub(super) fn slope(stretch: &Stretch<'_>) -> String {
    let (first, last) = ends(stretch);
    format!("{} from {first} to {last} IOPS: it had not settled yet", times(stretch))
}

pub(super) fn settling(stretch: &Stretch<'_>, curve: &Curve) -> String {
    let (first, last) = ends(stretch);
    let end = format!(
        "{} IOPS ({} to {})",
        text::number(curve.end),
        text::number((curve.end - curve.half).max(0.0)),
        text::number(curve.end + curve.half)
    );
    let left = curve.seconds_left(stretch);
    let rest =
        if left > 0.0 { format!("within 5 % in {} more", text::span(left)) } else { "within 5 % now".to_owned() };
    format!("{} from {first} to {last} IOPS: by this curve it ends at {end}, {rest}", times(stretch))
}

pub(super) fn drifting(stretch: &Stretch<'_>) -> String {
    let (first, last) = ends(stretch);
    format!("{} from {first} to {last} IOPS: it drifts, and nothing shows where it ends", times(stretch))
}

/// Seconds of the window that an answer is about.
fn window(stretch: &Stretch<'_>) -> String {
    const FEWEST: usize = 60;
    let count = (stretch.steps.len() / 2).max(FEWEST).min(stretch.steps.len());
    text::span(stretch.pace() * float(count as u64))
}

pub(super) fn settled(stretch: &Stretch<'_>) -> String {
    format!("{} {}: settled over its last {}", times(stretch), rate(stretch), window(stretch))
}

pub(super) fn held(held: &HeldIos) -> String {
    format!(
        "; a limiter holds {} of the I/Os: they take {} or more, most {}, none in between",
        text::percent(held.share),
        text::time(held.held.as_f64()),
        text::time(held.usual.as_f64())
    )
}

pub(super) fn cannot_tell(stretch: &Stretch<'_>) -> String {
    let why = if stretch.steps.len() < 60 { "too short" } else { "too noisy" };
    format!("{} {}: {why} to tell if it is settled", times(stretch), rate(stretch))
}

pub(super) fn lasting(phase: &Phase, average: f64, count: usize) -> String {
    let which =
        if phase.kind == PhaseKind::Settled { "last settled phase" } else { "last phase, which had not settled" };
    let (from, until) = (phase.from.as_secs_f64(), phase.until.as_secs_f64());
    format!(
        "{} IOPS ({}) in the {which} ({from:.0}–{until:.0} s); the average of {} IOPS is over {count} phases that differ",
        text::number(phase.iops),
        text::rate(phase.bytes_per_second),
        text::number(average)
    )
}

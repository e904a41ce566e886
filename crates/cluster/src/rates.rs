//! The rates of a run of several members, each with its name: over all, of the common window, and the sum.

use crate::member_result::{MemberResult, Sample};
use measure::{Direction, Nanos};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The rates of one direction. All in bytes and I/Os per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectionRates {
    /// The direction.
    pub direction: Direction,
    /// Bytes of all members.
    pub bytes: u64,
    /// I/Os of all members.
    pub ios: u64,
    /// From the first start to the last end; `None` if the members' times are not known.
    pub over_all: Option<f64>,
    /// The same in I/Os.
    pub over_all_iops: Option<f64>,
    /// First start to last end.
    pub elapsed: Option<Nanos>,
    /// The time in which all members were at work.
    pub common_window: Option<CommonWindow>,
    /// The members' own rates added: no moment of the run needs to have had it.
    pub sum: f64,
    /// The same in I/Os.
    pub sum_iops: f64,
    /// First start to first end.
    pub first_done: Option<Nanos>,
    /// First start to last end of the members that did I/O in this direction.
    pub last_done: Option<Nanos>,
}

impl DirectionRates {
    /// Share by which two rates differ before both are shown.
    pub const SAME: f64 = 0.02;

    /// True if `rate` is not the rate over all.
    pub fn is_other(&self, rate: f64) -> bool {
        self.over_all.is_some_and(|over_all| (rate - over_all).abs() > DirectionRates::SAME * over_all)
    }
}

/// The time in which all members were at work: a range, because the bytes between two samples are not known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommonWindow {
    /// Length of the window.
    pub length: Nanos,
    /// Least rate that agrees with the samples.
    pub low: f64,
    /// Highest rate that does.
    pub high: f64,
}

/// The part of a member in one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) bytes: u64,
    pub(crate) ios: u64,
    /// Length of its measured part.
    pub(crate) length: Nanos,
    /// Start and end on the leader's clock.
    pub(crate) window: Option<(Nanos, Nanos)>,
}

/// The rates of all directions with I/O.
pub fn rates(members: &[MemberResult]) -> Vec<DirectionRates> {
    Direction::ALL.into_iter().filter_map(|direction| rates_of(members, direction)).collect()
}

/// The part of a member in a direction; `None` without I/O.
pub(crate) fn part(member: &MemberResult, direction: Direction) -> Option<Part> {
    let result = member.result.as_ref()?;
    let jobs = || result.jobs.iter().filter(move |job| job.directions[direction].ios > 0);
    let sum = |get: fn(&model::DirectionResult) -> u64| {
        jobs().map(|job| get(&job.directions[direction])).fold(0, u64::saturating_add)
    };
    let runtime = jobs().map(|job| job.directions[direction].runtime).max()?;
    let measured = jobs().map(|job| job.measured.map(|part| (part.from, part.until)));
    let measured = measured.collect::<Option<Vec<_>>>().and_then(|parts| {
        let (froms, untils) = (parts.iter().map(|part| part.0), parts.iter().map(|part| part.1));
        Some((froms.min()?, untils.max()?))
    });
    let window = measured
        .zip(member.started)
        .map(|((from, until), started)| (started.saturating_add(from), started.saturating_add(until)));
    let length = window.map_or(runtime, |(from, until)| until.saturating_sub(from));
    Some(Part { bytes: sum(|found| found.bytes), ios: sum(|found| found.ios), length, window })
}

fn rates_of(members: &[MemberResult], direction: Direction) -> Option<DirectionRates> {
    let parts: Vec<(&MemberResult, Part)> =
        members.iter().filter_map(|member| Some((member, part(member, direction)?))).collect();
    let per_second = |amount: u64, time: Nanos| amount as f64 / time.as_secs_f64().max(1e-9);
    let (bytes, ios) = parts.iter().fold((0_u64, 0_u64), |(bytes, ios), (_, part)| {
        (bytes.saturating_add(part.bytes), ios.saturating_add(part.ios))
    });
    if parts.is_empty() {
        return None;
    }
    let windows: Option<Vec<(Nanos, Nanos)>> = parts.iter().map(|(_, part)| part.window).collect();
    let ends = windows.and_then(|windows| {
        let (starts, ends) = (windows.iter().map(|window| window.0), windows.iter().map(|window| window.1));
        Some((starts.clone().min()?, starts.max()?, ends.clone().min()?, ends.max()?))
    });
    let elapsed = ends.map(|(first, _, _, last)| last.saturating_sub(first)).filter(|time| !time.is_zero());
    Some(DirectionRates {
        direction,
        bytes,
        ios,
        over_all: elapsed.map(|time| per_second(bytes, time)),
        over_all_iops: elapsed.map(|time| per_second(ios, time)),
        elapsed,
        common_window: ends.and_then(|(_, from, until, _)| common_window(&parts, direction, from..until)),
        sum: parts.iter().map(|(_, part)| per_second(part.bytes, part.length)).sum(),
        sum_iops: parts.iter().map(|(_, part)| per_second(part.ios, part.length)).sum(),
        first_done: ends.map(|(first, _, done, _)| done.saturating_sub(first)),
        last_done: elapsed,
    })
}

/// The rate while all were at work; `None` if they never were all at once, or if there is but one member.
fn common_window(parts: &[(&MemberResult, Part)], direction: Direction, window: Range<Nanos>) -> Option<CommonWindow> {
    if parts.len() < 2 || window.is_empty() {
        return None;
    }
    let length = window.end - window.start;
    let (mut low, mut high) = (0_u64, 0_u64);
    for (member, part) in parts {
        let (least, most) = bytes_within(member, *part, direction, &window);
        (low, high) = (low.saturating_add(least), high.saturating_add(most));
    }
    let seconds = length.as_secs_f64();
    Some(CommonWindow { length, low: low as f64 / seconds, high: high as f64 / seconds })
}

/// The least and the most bytes that a member can have moved within a window, by its samples and the error of its
/// clock.
fn bytes_within(member: &MemberResult, part: Part, direction: Direction, window: &Range<Nanos>) -> (u64, u64) {
    let Some((start, end)) = part.window else { return (0, part.bytes) };
    let error = member.clock_error.unwrap_or_default();
    let bytes = |sample: &Sample| sample.bytes[direction as usize];
    // Samples count from the first I/O, the measured part from the end of a ramp.
    let last = member.samples.iter().map(bytes).max().unwrap_or(0).max(part.bytes);
    let before_ramp = last - part.bytes;
    let counted = |at: Nanos| -> (u64, u64) {
        let surely = member.samples.iter().filter(|sample| sample.at.saturating_add(error) <= at).map(bytes).max();
        let at_most = member.samples.iter().filter(|sample| sample.at >= at.saturating_add(error)).map(bytes).min();
        let least = if at >= end { last } else { surely.unwrap_or(0).max(if at > start { before_ramp } else { 0 }) };
        let most = if at <= start { before_ramp } else { at_most.unwrap_or(last) };
        (least.min(most), most)
    };
    let ((from_least, from_most), (until_least, until_most)) = (counted(window.start), counted(window.end));
    (until_least.saturating_sub(from_most), until_most.saturating_sub(from_least).min(part.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_members::{at_work, with_samples};
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn three_rates_of_a_slow_member_are_those_computed_by_hand() {
        // Three members write 1000 MiB in 10 s, one writes the same in 20 s.
        let members: Vec<MemberResult> =
            (0..4).map(|rank| at_work(rank, 1000 * MIB, (100, if rank == 3 { 20_100 } else { 10_100 }))).collect();
        let found = &rates(&members)[0];
        assert_eq!((found.direction, found.bytes), (Direction::Write, 4000 * MIB));
        assert_eq!(found.over_all, Some(200.0 * MIB as f64));
        assert!((found.sum / MIB as f64 - 350.0).abs() < 1e-6, "{}", found.sum);
        assert_eq!((found.first_done, found.last_done), (Some(Nanos::from_secs(10)), Some(Nanos::from_secs(20))));
        // Without samples in between, the slow one moved something between nothing and all within the first 10 s.
        let window = found.common_window.unwrap();
        assert_eq!(window.length, Nanos::from_secs(10));
        assert_eq!((window.low / MIB as f64, window.high / MIB as f64), (300.0, 400.0));
    }

    #[test]
    fn samples_narrow_the_range_of_the_common_window() {
        let mut members = vec![at_work(0, 1000 * MIB, (0, 10_000)), at_work(1, 1000 * MIB, (0, 20_000))];
        with_samples(&mut members[1], &[(9_500, 475 * MIB), (10_020, 501 * MIB), (20_000, 1000 * MIB)]);
        let window = rates(&members)[0].common_window.unwrap();
        assert_eq!((window.low / MIB as f64, window.high / MIB as f64), (147.5, 150.1));
    }

    #[test]
    fn results_without_times_have_a_sum_and_nothing_else() {
        let mut member = at_work(0, 1000 * MIB, (0, 10_000));
        member.started = None;
        let found = &rates(&[member])[0];
        assert_eq!((found.over_all, found.common_window, found.first_done), (None, None, None));
        assert!((found.sum / MIB as f64 - 100.0).abs() < 1e-6);
        assert!(rates(&[]).is_empty());
    }

    proptest! {
        /// Members of constant rates: the truth is known at any moment.
        #[test]
        fn the_range_of_the_common_window_contains_the_true_rate(
            spans in prop::collection::vec((0u64..2_000, 1_000u64..20_000, 1u64..1_000), 2..6), step in 20u64..1_000,
        ) {
            let members: Vec<MemberResult> = (0..).zip(&spans).map(|(rank, &(from, length, rate))| {
                let mut member = at_work(rank, rate * length * 1_000, (from, from + length));
                let samples: Vec<(u64, u64)> =
                    (1..=length / step).map(|number| (from + number * step, rate * number * step * 1_000)).collect();
                with_samples(&mut member, &samples);
                member
            }).collect();
            let found = &rates(&members)[0];
            let from = spans.iter().map(|span| span.0).max().unwrap();
            let until = spans.iter().map(|span| span.0 + span.1).min().unwrap();
            if until > from {
                let truth: f64 = spans.iter().map(|span| span.2 as f64 * 1e6).sum();
                let window = found.common_window.unwrap();
                prop_assert!(window.low <= truth * 1.000_001 && truth <= window.high * 1.000_001, "{window:?} {truth}");
            }
            prop_assert!(found.over_all.unwrap() <= found.sum * 1.000_001);
        }
    }
}

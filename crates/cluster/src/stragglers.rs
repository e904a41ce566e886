//! Members that are slower than the others.
//!
//! A member is named if its number is farther from the median than three robust standard deviations (1.4826 × the
//! median absolute deviation) and a share that noise does not reach. With fewer than three members no one can say which
//! one is the slow one.

use crate::member_result::MemberResult;
use crate::rates::part;
use measure::{Direction, Nanos};
use serde::{Deserialize, Serialize};

/// Least number of members.
const LEAST_MEMBERS: usize = 3;
/// Robust standard deviations.
const DEVIATIONS: f64 = 3.0;
/// 1 ÷ 0.6745: from the median absolute deviation to the standard deviation of normal values.
const TO_DEVIATION: f64 = 1.4826;
/// Least share by which an elapsed time or a rate differs from the median.
const SHARE: f64 = 0.1;
/// The same of a high percentile, which varies more.
const SHARE_OF_TAIL: f64 = 1.0;
/// I/Os from which a p99.9 has ten beyond it.
const IOS_OF_TAIL: u64 = 10_000;

/// Why a member is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Its time from start to end, in seconds.
    Elapsed,
    /// Its rate, in bytes per second.
    Rate,
    /// Its p99.9, in seconds.
    Tail,
}

/// A slow member, or a host all of whose members are slow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Straggler {
    /// The direction.
    pub direction: Direction,
    /// Its ranks: several if a host is named.
    pub ranks: Vec<u32>,
    /// Its host.
    pub host: String,
    /// Why.
    pub reason: Reason,
    /// Its number; the worst of a host.
    pub value: f64,
    /// The median of all members.
    pub median: f64,
}

/// The stragglers of all directions, each member at most once per direction.
pub fn stragglers(members: &[MemberResult]) -> Vec<Straggler> {
    Direction::ALL.into_iter().flat_map(|direction| of_direction(members, direction)).collect()
}

fn of_direction(members: &[MemberResult], direction: Direction) -> Vec<Straggler> {
    let parts: Vec<_> = members.iter().filter_map(|member| Some((member, part(member, direction)?))).collect();
    let rates: Vec<f64> =
        parts.iter().map(|(_, part)| part.bytes as f64 / part.length.as_secs_f64().max(1e-9)).collect();
    let times: Vec<f64> = parts.iter().map(|(_, part)| part.length.as_secs_f64()).collect();
    let tails: Option<Vec<f64>> = parts.iter().map(|(member, _)| tail(member, direction)).collect();
    let mut found: Vec<Straggler> = Vec::new();
    let kinds = [
        (Reason::Elapsed, Some(times), SHARE),
        (Reason::Rate, Some(rates), SHARE),
        (Reason::Tail, tails, SHARE_OF_TAIL),
    ];
    for (reason, values, share) in kinds {
        let Some(values) = values.filter(|values| values.len() >= LEAST_MEMBERS) else { continue };
        let (median, deviation) = median_and_deviation(&values);
        let margin = (DEVIATIONS * TO_DEVIATION * deviation).max(share * median);
        for ((member, _), &value) in parts.iter().zip(&values) {
            let excess = if reason == Reason::Rate { median - value } else { value - median };
            if excess > margin && !found.iter().any(|straggler| straggler.ranks.contains(&member.rank)) {
                let host = member.host().to_owned();
                found.push(Straggler { direction, ranks: vec![member.rank], host, reason, value, median });
            }
        }
    }
    by_host(found, members)
}

/// One entry for a host all of whose members are slow for one reason, if it has several.
fn by_host(found: Vec<Straggler>, members: &[MemberResult]) -> Vec<Straggler> {
    let mut kept: Vec<Straggler> = Vec::new();
    for straggler in &found {
        let is_like = |other: &&Straggler| other.host == straggler.host && other.reason == straggler.reason;
        let ranks: Vec<u32> = found.iter().filter(is_like).flat_map(|other| other.ranks.clone()).collect();
        let of_host =
            members.iter().filter(|member| member.host() == straggler.host && member.result.is_some()).count();
        let is_whole = ranks.len() == of_host && ranks.len() > 1;
        if !is_whole {
            kept.push(straggler.clone());
        } else if !kept.iter().any(|other| other.ranks == ranks) {
            let values = found.iter().filter(is_like).map(|other| other.value);
            let worst = if straggler.reason == Reason::Rate {
                values.fold(f64::MAX, f64::min)
            } else {
                values.fold(0.0, f64::max)
            };
            kept.push(Straggler { ranks, value: worst, ..straggler.clone() });
        }
    }
    kept
}

/// The p99.9 of a member in seconds; `None` if it has too few I/Os for one.
fn tail(member: &MemberResult, direction: Direction) -> Option<f64> {
    let mut histogram = measure::Histogram::new();
    for job in &member.result.as_ref()?.jobs {
        if let Some(found) = job.directions[direction].latency_distribution().and_then(|found| found.histogram.as_ref())
        {
            histogram.merge(found);
        }
    }
    let value = (histogram.total() >= IOS_OF_TAIL).then(|| histogram.percentile(99.9)).flatten();
    value.map(Nanos::as_secs_f64)
}

fn median_and_deviation(values: &[f64]) -> (f64, f64) {
    let middle = median(values.to_vec());
    (middle, median(values.iter().map(|value| (value - middle).abs()).collect()))
}

/// The median, of an even number the middle of both; 0 without values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[half],
        _ => f64::midpoint(values[half - 1], values[half]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_members::{at_work, busy};
    use measure::SplitMix;

    #[test]
    fn a_member_of_half_the_rate_is_named_by_time_or_by_rate() {
        let by_time: Vec<MemberResult> =
            (0..4).map(|rank| at_work(rank, 1 << 30, (0, if rank == 2 { 20_000 } else { 10_000 }))).collect();
        let found = stragglers(&by_time);
        assert_eq!((found.len(), found[0].ranks.as_slice(), found[0].reason), (1, [2].as_slice(), Reason::Elapsed));
        assert_eq!((found[0].value, found[0].median, found[0].host.as_str()), (20.0, 10.0, "node3"));
        let by_rate: Vec<MemberResult> =
            (0..4).map(|rank| at_work(rank, if rank == 1 { 1 << 29 } else { 1 << 30 }, (0, 10_000))).collect();
        let found = stragglers(&by_rate);
        assert_eq!((found.len(), found[0].ranks.as_slice(), found[0].reason), (1, [1].as_slice(), Reason::Rate));
    }

    #[test]
    fn a_host_all_of_whose_members_are_slow_is_named_once() {
        let mut members: Vec<MemberResult> =
            (0..6).map(|rank| at_work(rank, 1 << 30, (0, if rank > 3 { 20_000 } else { 10_000 }))).collect();
        members[5].facts.as_mut().unwrap().host = "node5".to_owned();
        let found = stragglers(&members);
        assert_eq!((found.len(), found[0].ranks.as_slice(), found[0].host.as_str()), (1, [4, 5].as_slice(), "node5"));
    }

    #[test]
    fn a_long_tail_is_named_if_there_are_enough_ios_for_it() {
        let members = |ios: u64| -> Vec<MemberResult> {
            (0..3).map(|rank| busy(rank, ios, Nanos::from_millis(if rank == 0 { 9 } else { 1 }))).collect()
        };
        assert!(stragglers(&members(9_999)).is_empty());
        let found = stragglers(&members(10_000));
        assert_eq!((found.len(), found[0].reason, found[0].ranks[0]), (1, Reason::Tail, 0));
    }

    #[test]
    fn equal_members_and_small_differences_name_no_one() {
        let mut random = SplitMix::new(1);
        for _ in 0..200 {
            let count = 3 + random.next_word() % 6;
            // Up to 8 % more or less than 10 s.
            let members: Vec<MemberResult> = (0..u32::try_from(count).unwrap())
                .map(|rank| at_work(rank, 1 << 30, (0, 9_600 + random.next_word() % 800)))
                .collect();
            assert_eq!(stragglers(&members), []);
        }
        assert!(
            stragglers(&[at_work(0, 1, (0, 1)), at_work(1, 1, (0, 9_000))]).is_empty(),
            "of two, neither is the slow one"
        );
    }
}

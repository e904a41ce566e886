//! Everything that a report of a cluster shows, as plain data.

use crate::checks::{findings, machine};
use crate::member_result::MemberResult;
use crate::rates::{DirectionRates, rates};
use crate::stragglers::{Straggler, stragglers};
use measure::{Direction, Histogram, Nanos};
use model::{LatencyStatistics, Limiter, Note, percentile_as_fact};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The summary of a run of several members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How the members were started: `local`, `ssh`, `mpi`, or `files`.
    pub carrier: String,
    /// Name and number of the MPI library that carried their messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// Number of members.
    pub members: u32,
    /// Number of machines.
    pub hosts: u32,
    /// True if every member has a result.
    pub complete: bool,
    /// Start of the members; `None` if their times are not known.
    pub start: Option<StartSkew>,
    /// The rates by direction.
    pub rates: Vec<DirectionRates>,
    /// Slow members.
    pub stragglers: Vec<Straggler>,
    /// The remarks of the checks.
    pub notes: Vec<Note>,
    /// The members in order.
    pub each: Vec<MemberSummary>,
}

/// How far apart the members began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartSkew {
    /// From the first start to the last one.
    #[serde(rename = "skew_ns")]
    pub skew: Nanos,
    /// Bound of its error: that of two clocks.
    #[serde(rename = "clock_error_ns")]
    pub clock_error: Nanos,
}

/// One member in a summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberSummary {
    /// Its number.
    pub rank: u32,
    /// Its machine.
    pub host: String,
    /// Its start after the first one's.
    pub start_late_ns: Option<Nanos>,
    /// Its monotonic clock minus that of the leader before the run.
    pub clock_offset_ns: Option<i64>,
    /// Bound of the error of that, and of its times.
    pub clock_error_ns: Option<Nanos>,
    /// Longest measured part of its jobs, in seconds.
    pub elapsed_s: Option<f64>,
    /// Bytes of all directions.
    pub bytes: u64,
    /// I/Os of all directions.
    pub ios: u64,
    /// I/Os of its fastest worker when the time was over, if members went on after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ios_in_time: Option<u64>,
    /// Errors of its jobs.
    pub errors: u64,
    /// The first of them.
    pub error: Option<String>,
    /// Its own rate in bytes per second.
    pub bytes_per_second: Option<f64>,
    /// p50, p99, p99.9 and maximum of the latencies of all directions, in nanoseconds; a percentile is `None` without
    /// enough I/Os for it.
    pub latency_ns: Option<[Option<u64>; 4]>,
    /// IDs of the checks that have remarks about its own result.
    pub checks: Vec<String>,
    /// Why it has no result.
    pub lost: Option<String>,
}

/// Summarises the results of all members.
pub fn summary(members: &[MemberResult], carrier: &str, start_within: Nanos) -> Summary {
    let hosts: BTreeSet<&str> = members
        .iter()
        .filter(|member| member.facts.is_some() || member.result.is_some())
        .map(MemberResult::host)
        .collect();
    let count = members.iter().map(|member| member.members).max().unwrap_or(0);
    let with_result = members.iter().filter(|member| member.result.is_some()).count();
    let first = members.iter().filter_map(first_io).min();
    Summary {
        carrier: carrier.to_owned(),
        library: None,
        members: count,
        hosts: u32::try_from(hosts.len()).unwrap_or(u32::MAX),
        complete: with_result == count as usize,
        start: start_skew(members),
        rates: rates(members),
        stragglers: stragglers(members),
        notes: findings(members, start_within),
        each: members.iter().map(|member| one(member, members, first)).collect(),
    }
}

/// The first measured I/O of a member on the leader's clock: it may be later than the agreed moment.
pub(crate) fn first_io(member: &MemberResult) -> Option<Nanos> {
    let jobs = member.result.iter().flat_map(|result| &result.jobs);
    let from = jobs.filter_map(|job| job.measured).map(|part| part.from).min()?;
    Some(member.started?.saturating_add(from))
}

/// How far apart the members began; `None` for fewer than two.
pub(crate) fn start_skew(members: &[MemberResult]) -> Option<StartSkew> {
    let starts = || members.iter().filter_map(first_io);
    if starts().count() < 2 {
        return None;
    }
    let error = members.iter().filter_map(|member| member.clock_error).max().unwrap_or_default();
    Some(StartSkew {
        skew: starts().max()?.saturating_sub(starts().min()?),
        clock_error: Nanos(error.get().saturating_mul(2)),
    })
}

/// The check that finds the I/O of others. On a machine with several members these are the others.
pub(crate) const NEIGHBOUR: &str = "neighbour";

fn one(member: &MemberResult, members: &[MemberResult], first: Option<Nanos>) -> MemberSummary {
    let jobs = || member.result.iter().flat_map(|result| &result.jobs);
    let directions = || jobs().flat_map(|job| Direction::ALL.map(|direction| &job.directions[direction]));
    let bytes = directions().map(|found| found.bytes).fold(0, u64::saturating_add);
    let lengths = || jobs().filter_map(|job| job.measured).map(|part| part.until);
    let from = jobs().filter_map(|job| job.measured).map(|part| part.from).min();
    let measured = lengths().max().zip(from).map(|(until, from)| until.saturating_sub(from));
    let elapsed = measured.or_else(|| jobs().map(|job| job.runtime).max()).filter(|time| !time.is_zero());
    let error = jobs().find_map(|job| job.error.as_ref()).map(|error| error.message.clone());
    let on_machine = members.iter().filter(|other| machine(other) == machine(member)).count();
    let notes = member.result.iter().flat_map(|result| &result.notes);
    let notes = notes.filter(|note| on_machine == 1 || note.check != NEIGHBOUR);
    MemberSummary {
        rank: member.rank,
        host: member.host().to_owned(),
        start_late_ns: first_io(member).zip(first).map(|(started, first)| started.saturating_sub(first)),
        clock_offset_ns: member.clock_offset_ns,
        clock_error_ns: member.clock_error,
        elapsed_s: elapsed.map(Nanos::as_secs_f64),
        bytes,
        ios: directions().map(|found| found.ios).fold(0, u64::saturating_add),
        ios_in_time: member.ios_in_time,
        errors: jobs()
            .map(|job| job.forgiven_errors.saturating_add(u64::from(job.error.is_some())))
            .fold(0, u64::saturating_add),
        error,
        bytes_per_second: elapsed.map(|time| bytes as f64 / time.as_secs_f64()),
        latency_ns: latency([member]),
        checks: notes.map(|note| note.check.clone()).collect(),
        lost: member.lost.as_ref().map(|loss| loss.why.clone()),
    }
}

/// p50, p99, p99.9 and maximum over all jobs and directions of these members, in nanoseconds; a percentile is `None`
/// without enough I/Os for it.
pub fn latency<'a>(members: impl IntoIterator<Item = &'a MemberResult>) -> Option<[Option<u64>; 4]> {
    let results = members.into_iter().filter_map(|member| member.result.as_ref());
    let jobs = results.flat_map(|result| &result.jobs);
    let found =
        together(jobs.flat_map(|job| job.directions.iter()).filter_map(|(_, found)| found.latency_distribution()))?;
    let percentile = |percent| percentile_as_fact(&found, percent).map(Nanos::get);
    Some([percentile(50.0), percentile(99.0), percentile(99.9), found.moments.maximum().map(Nanos::get)])
}

/// Latencies added; `None` if there are none.
pub fn together<'a>(parts: impl Iterator<Item = &'a LatencyStatistics>) -> Option<LatencyStatistics> {
    let mut sum = LatencyStatistics { histogram: Some(Box::new(Histogram::new())), ..LatencyStatistics::default() };
    for part in parts {
        sum.moments.merge(&part.moments);
        if let (Some(all), Some(counts)) = (&mut sum.histogram, &part.histogram) {
            all.merge(counts);
        }
    }
    sum.histogram.as_ref().is_some_and(|all| all.total() > 0).then_some(sum)
}

/// Writes the number of other members on its machine into each result. Hosts of different names can be one machine,
/// which only the leader knows.
pub fn name_neighbours(members: &mut [MemberResult]) {
    let machines: Vec<String> = members.iter().map(|member| machine(member).to_owned()).collect();
    for (member, of) in members.iter_mut().zip(&machines) {
        let others = machines.iter().filter(|other| *other == of).count() - 1;
        let Some(result) = member.result.as_mut().filter(|_| others > 0) else { continue };
        let known = result.environment.other_members.replace(u32::try_from(others).unwrap_or(u32::MAX));
        if known.unwrap_or(0) == 0 {
            result.notes.retain(|note| note.check != NEIGHBOUR);
            result.limited_by.take_if(|limit| limit.limiter == Limiter::Neighbour);
        }
    }
}

#[cfg(test)]
mod neighbours_tests {
    use super::*;
    use crate::sample_members::at_work;
    use model::{Grade, Note};

    #[test]
    fn members_of_one_machine_know_each_other_by_any_host_name() {
        let mut members: Vec<MemberResult> = (0..3).map(|rank| at_work(rank, 1 << 20, (0, 100))).collect();
        for (member, boot) in members.iter_mut().zip(["x", "x", "y"]) {
            member.facts.as_mut().unwrap().boot_id = Some(boot.to_owned());
            let note = Note {
                check: NEIGHBOUR.to_owned(),
                grade: Grade::ValidWithLimits,
                sentence: String::new(),
                evidence: Vec::new(),
            };
            let result = member.result.as_mut().unwrap();
            (result.notes, result.environment.other_members) = (vec![note], Some(0));
        }
        name_neighbours(&mut members);
        let found = |member: &MemberResult| {
            let result = member.result.as_ref().unwrap();
            (result.environment.other_members, result.notes.len())
        };
        assert_eq!(members.iter().map(found).collect::<Vec<_>>(), [(Some(1), 0), (Some(1), 0), (Some(0), 1)]);
    }
}

/// A rate in several repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The highest.
    pub max: f64,
    /// The lowest.
    pub min: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The standard deviation of a sample (divisor n - 1); `None` for one repetition.
    pub deviation: Option<f64>,
}

/// The rates of one direction in all repetitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepeatedRates {
    /// The direction.
    pub direction: Direction,
    /// Repetitions with I/O in this direction.
    pub repetitions: u32,
    /// Bytes per second: over all, or the sum where the members' times are not known.
    pub bytes_per_second: Spread,
    /// The same in I/Os.
    pub iops: Spread,
    /// Mean of the times from the first start to the last end, in seconds; `None` if they are not known.
    pub mean_s: Option<f64>,
}

/// The rates of all directions with I/O. A run whose rates are not known has no place in `repetitions`.
pub fn repeated(repetitions: &[&Summary]) -> Vec<RepeatedRates> {
    let of = |direction| {
        let rates = || repetitions.iter().flat_map(|run| &run.rates).filter(|rates| rates.direction == direction);
        let of_bytes: Vec<f64> = rates().map(|rates| rates.over_all.unwrap_or(rates.sum)).collect();
        let of_ios: Vec<f64> = rates().map(|rates| rates.over_all_iops.unwrap_or(rates.sum_iops)).collect();
        let times: Option<Vec<f64>> = rates().map(|rates| rates.elapsed.map(Nanos::as_secs_f64)).collect();
        Some(RepeatedRates {
            direction,
            repetitions: u32::try_from(of_bytes.len()).unwrap_or(u32::MAX),
            bytes_per_second: spread(&of_bytes)?,
            iops: spread(&of_ios)?,
            mean_s: times.and_then(|times| spread(&times)).map(|times| times.mean),
        })
    };
    Direction::ALL.into_iter().filter_map(of).collect()
}

/// `None` without values.
fn spread(values: &[f64]) -> Option<Spread> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some(Spread {
        max: values.iter().copied().reduce(f64::max)?,
        min: values.iter().copied().reduce(f64::min)?,
        mean,
        deviation: (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_members::{at_work, busy};

    #[test]
    fn a_member_without_a_result_makes_the_run_incomplete() {
        let mut members: Vec<MemberResult> = (0..4).map(|rank| at_work(rank, 1 << 30, (0, 10_000))).collect();
        assert!(summary(&members, "local", Nanos::MILLISECOND).complete);
        members[2].result = None;
        members[2].lost = Some(crate::Loss { why: "killed".to_owned(), at: Nanos::SECOND });
        let found = summary(&members, "local", Nanos::MILLISECOND);
        assert_eq!((found.complete, found.hosts, found.each[2].lost.as_deref()), (false, 4, Some("killed")));
        // A file that is missing is a member that is missing.
        assert!(!summary(&members[..2], "files", Nanos::MILLISECOND).complete);
    }

    #[test]
    fn the_numbers_of_a_member_are_its_own() {
        let found = summary(&[busy(0, 1_000, Nanos::from_millis(2))], "local", Nanos::MILLISECOND);
        let each = &found.each[0];
        assert_eq!((each.ios, each.bytes, each.elapsed_s), (1_000, 4_096_000, Some(1.0)));
        let [half, high, _, longest] = each.latency_ns.unwrap();
        assert!(half.unwrap().abs_diff(2_000_000) < 2_000_000 / 64, "{half:?}");
        assert_eq!((high, longest), (None, Some(2_000_000)), "a p99 needs 10,000 I/Os");
    }
}

#[cfg(test)]
mod repetitions_tests {
    use super::*;
    use crate::sample_members::at_work;
    use crate::summary::summary;

    const MIB: u64 = 1 << 20;

    #[test]
    fn four_repetitions_have_the_mean_and_deviation_by_hand() {
        // 1000 MiB in 10, 8, 5 and 4 s by each of two members: 200, 250, 400 and 500 MiB/s.
        let run = |ms: u64| {
            let members: Vec<_> = (0..2).map(|rank| at_work(rank, 1000 * MIB, (0, ms))).collect();
            summary(&members, "local", Nanos::MILLISECOND)
        };
        let runs = [run(10_000), run(8_000), run(5_000), run(4_000)];
        let found = &repeated(&runs.iter().collect::<Vec<_>>())[..];
        let [found] = found else { panic!("{found:?}") };
        let Spread { max, min, mean, deviation } = found.bytes_per_second;
        let mib = |rate: f64| (rate / MIB as f64 * 1e3).round() / 1e3;
        assert_eq!((found.direction, found.repetitions, found.mean_s), (Direction::Write, 4, Some(6.75)));
        assert_eq!((mib(max), mib(min), mib(mean)), (500.0, 200.0, 337.5));
        // Deviations from the mean: 137.5, 87.5, 62.5, 162.5; their squares add up to 56,875.
        assert_eq!(mib(deviation.unwrap()), 137.689);
        assert_eq!(found.iops.max.round(), 500.0);
    }

    #[test]
    fn one_repetition_has_no_deviation_and_none_has_no_rates() {
        let run = summary(&[at_work(0, MIB, (0, 1_000))], "local", Nanos::MILLISECOND);
        let found = repeated(&[&run]);
        assert_eq!((found[0].bytes_per_second.deviation, found[0].iops.mean), (None, 1.0));
        assert!(repeated(&[]).is_empty());
    }
}

//! One result of all members: counts and histograms are added, percentiles are never averaged.

use crate::member_result::MemberResult;
use crate::summary::Summary;
use model::{Grade, JobResult, Note, RunResult};
use std::collections::BTreeMap;

/// Members that a finding names; of more there is the number.
const MOST_RANKS: usize = 8;

/// Merges the results of the members: the rows of each member's report, added to the same rows of the others. Devices
/// and samples over time are those of single machines and stay in the members' own results. Any order gives the same
/// counts.
pub fn merged(members: &[MemberResult]) -> RunResult {
    let mut results = members.iter().filter_map(|member| member.result.as_ref());
    let Some(first) = results.next() else { return RunResult::default() };
    let mut jobs = first.reported_jobs();
    let mut expected = ios(&jobs);
    let mut all = RunResult {
        ended_unix_ms: first.ended_unix_ms,
        global_options: first.global_options.clone(),
        environment: first.environment.clone(),
        warnings: first.warnings.clone(),
        ended_by_signal: first.ended_by_signal,
        ..RunResult::default()
    };
    for other in results {
        all.ended_unix_ms = all.ended_unix_ms.max(other.ended_unix_ms);
        all.ended_by_signal = all.ended_by_signal.or(other.ended_by_signal);
        let rows = other.reported_jobs();
        expected = expected.saturating_add(ios(&rows));
        rows.iter().for_each(|row| add(&mut jobs, row));
    }
    assert_eq!(ios(&jobs), expected, "each I/O of the members is in the sum once");
    // Text that names one machine would be wrong for the others.
    all.environment.engine_notes.clear();
    all.environment.clock = None;
    all.environment.other_members = None;
    all.environment.host = Some(hosts(members));
    all.jobs = jobs;
    all
}

/// The merged result with the rates over all: the runtime of each direction is from the first start to the last end.
pub fn over_all(members: &[MemberResult], summary: &Summary) -> RunResult {
    let mut all = merged(members);
    for rates in &summary.rates {
        if let Some(elapsed) = rates.elapsed {
            let found = all.jobs.iter_mut().map(|job| &mut job.directions[rates.direction]);
            found.filter(|found| found.ios > 0).for_each(|found| found.runtime = elapsed);
        }
    }
    all
}

/// The remarks of the cluster, and those about members' own results, once for each check, with the numbers of the
/// members.
pub fn remarks(members: &[MemberResult], summary: &Summary) -> Vec<Note> {
    let mut notes = summary.notes.clone();
    let mut of_members: BTreeMap<&str, (Note, Vec<String>)> = BTreeMap::new();
    for member in members {
        let own = member.result.iter().flat_map(|result| &result.notes);
        for note in own.filter(|note| note.grade > Grade::Trusted) {
            let (worst, ranks) = of_members.entry(&note.check).or_insert_with(|| (note.clone(), Vec::new()));
            if note.grade > worst.grade {
                *worst = note.clone();
            }
            ranks.push(member.rank.to_string());
        }
    }
    notes.extend(of_members.into_values().map(|(note, ranks)| {
        let whose = if ranks.len() == 1 { "member" } else { "members" };
        let more = ranks.len().saturating_sub(MOST_RANKS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let few = ranks[..ranks.len().min(MOST_RANKS)].join(", ");
        Note { sentence: format!("{whose} {few}{more}: {}", note.sentence), ..note }
    }));
    notes
}

fn ios(jobs: &[JobResult]) -> u64 {
    jobs.iter().map(JobResult::ios).fold(0, u64::saturating_add)
}

fn add(jobs: &mut Vec<JobResult>, row: &JobResult) {
    let is_like = |job: &&mut JobResult| (job.echo.number, &job.echo.name) == (row.echo.number, &row.echo.name);
    match jobs.iter_mut().find(is_like) {
        Some(job) => {
            job.merge(row);
            let new: Vec<String> =
                row.echo.paths.iter().filter(|path| !job.echo.paths.contains(path)).cloned().collect();
            job.echo.paths.extend(new);
        }
        None => jobs.push(row.clone()),
    }
}

/// The names of up to four machines, or how many there are.
fn hosts(members: &[MemberResult]) -> String {
    let mut hosts: Vec<&str> = Vec::new();
    for member in members.iter().filter(|member| member.result.is_some()) {
        if !hosts.contains(&member.host()) {
            hosts.push(member.host());
        }
    }
    match hosts.len() {
        0..=4 => hosts.join(", "),
        count => format!("{count} hosts"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_members::{at_work, busy, group};
    use crate::summary::summary;
    use measure::{Direction, Histogram, Nanos};
    use proptest::prelude::*;

    #[test]
    fn percentiles_are_of_all_latencies_not_of_the_members() {
        // 900 I/Os of 1 ms, and 100 of 9 ms: p95 of all is 9 ms. The mean of the members' p95 would be 5 ms.
        let members = [busy(0, 900, Nanos::from_millis(1)), busy(1, 100, Nanos::from_millis(9))];
        let all = merged(&members);
        let latency = all.jobs[0].directions.read.latency_distribution().unwrap();
        let p95 = latency.histogram.as_ref().unwrap().percentile(95.0).unwrap();
        assert!(p95.get().abs_diff(9_000_000) < 9_000_000 / 64, "{p95:?}");
        assert_eq!((all.jobs.len(), all.jobs[0].workers, all.jobs[0].ios()), (1, 2, 1000));
    }

    #[test]
    fn a_member_without_a_result_is_in_no_sum() {
        let mut members = vec![busy(0, 10, Nanos(500)), busy(1, 20, Nanos(500))];
        members[1].result = None;
        assert_eq!(merged(&members).jobs[0].ios(), 10);
        assert_eq!(merged(&members[1..]), RunResult::default());
    }

    #[test]
    fn rates_count_from_the_first_start_to_the_last_end() {
        let mut members = vec![at_work(0, 1000 << 20, (0, 10_000)), at_work(1, 1000 << 20, (5_000, 20_000))];
        let note = |check: &str, grade| Note {
            check: check.to_owned(),
            grade,
            sentence: "memory answered".to_owned(),
            evidence: Vec::new(),
        };
        for (member, grade) in members.iter_mut().zip([Grade::ValidWithLimits, Grade::NotAStorageResult]) {
            member.result.as_mut().unwrap().notes = vec![note("cache", grade)];
        }
        let found = summary(&members, "local", Nanos::from_secs(60));
        let all = over_all(&members, &found);
        assert_eq!(all.jobs[0].directions.write.bytes_per_second(), Some(100 << 20));
        let notes = remarks(&members, &found);
        let of_cache: Vec<&Note> = notes.iter().filter(|note| note.check == "cache").collect();
        assert_eq!((of_cache.len(), of_cache[0].grade), (1, Grade::NotAStorageResult));
        assert_eq!(of_cache[0].sentence, "members 0, 1: memory answered");
    }

    proptest! {
        #[test]
        fn any_order_gives_the_same_sums(counts in prop::collection::vec((1u64..1000, 1u64..1 << 30), 1..8), seed: u64) {
            let ranked = |(rank, &(ios, ns)): (u32, &(u64, u64))| busy(rank, ios, Nanos(ns));
            let members: Vec<MemberResult> = (0..).zip(&counts).map(ranked).collect();
            let mut turned = members.clone();
            turned.rotate_left(usize::try_from(seed % counts.len() as u64).unwrap());
            turned.reverse();
            let (one, other) = (merged(&members), merged(&turned));
            let sums = |result: &RunResult| {
                let read = &result.jobs[0].directions[Direction::Read];
                let histogram: Histogram = *read.completion.as_ref().unwrap().histogram.clone().unwrap();
                (read.bytes, read.ios, histogram, result.jobs[0].workers)
            };
            prop_assert_eq!(sums(&one), sums(&other));
            prop_assert_eq!(one.jobs[0].ios(), counts.iter().map(|(ios, _)| ios).sum::<u64>());
        }
    }

    #[test]
    fn rows_of_a_group_are_added_to_the_same_group_of_the_others() {
        let members = [group(0, 2), group(1, 2)];
        let all = merged(&members);
        assert_eq!((all.jobs.len(), all.jobs[0].workers), (1, 4));
    }
}

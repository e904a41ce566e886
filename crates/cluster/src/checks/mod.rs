//! Checks that only a cluster has: one function and one row each. They give remarks about a result of several members;
//! the checks of a single result are those of each member.

mod network_bound;

use crate::member_result::MemberResult;
use crate::message::Sharing;
use crate::summary::{first_io, start_skew};
use measure::{Nanos, text};
use model::{FactKind, Grade, JobResult, Note};
use std::collections::{BTreeMap, BTreeSet};

/// A check: its ID, and the function that gives its remark.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Its name in results.
    pub id: &'static str,
    run: fn(&[MemberResult], Nanos) -> Option<Note>,
}

/// All checks. The time is how far apart the starts of members may be.
pub const CHECKS: &[Check] = &[
    Check { id: "own cache", run: |members, _| own_cache(members) },
    Check { id: "bound", run: |members, _| bound(members) },
    Check { id: "one machine", run: |members, _| one_machine(members) },
    Check { id: "same file", run: |members, _| same_file(members) },
    Check { id: "unlike members", run: |members, _| unlike_members(members) },
    Check { id: "uneven start", run: uneven_start },
    Check { id: network_bound::ID, run: |members, _| network_bound::note(members) },
];

/// The remarks about a result of these members.
pub fn findings(members: &[MemberResult], start_within: Nanos) -> Vec<Note> {
    CHECKS.iter().filter_map(|check| (check.run)(members, start_within)).collect()
}

/// A remark that limits what a result says.
fn limited(check: &str, sentence: String, evidence: &[(&str, f64)]) -> Note {
    let evidence = evidence.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    Note { check: check.to_owned(), grade: Grade::ValidWithLimits, sentence, evidence }
}

/// The machine of a member: its boot ID, or else its name.
pub(crate) fn machine(member: &MemberResult) -> &str {
    let boot_id = member.facts.as_ref().and_then(|facts| facts.boot_id.as_deref());
    boot_id.unwrap_or_else(|| member.host())
}

/// Numbers of members as text: `0, 2, 3`, or how many there are.
fn ranks(ranks: &[u32]) -> String {
    match ranks {
        few if few.len() <= 6 => few.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
        [first, second, third, .., last] => format!("{first}, {second}, {third} … {last} ({} members)", ranks.len()),
        _ => String::new(),
    }
}

/// The members of each machine.
fn by_machine(members: &[MemberResult]) -> BTreeMap<&str, Vec<&MemberResult>> {
    let mut found: BTreeMap<&str, Vec<&MemberResult>> = BTreeMap::new();
    members.iter().for_each(|member| found.entry(machine(member)).or_default().push(member));
    found
}

/// Hosts of different names that are one machine: containers on one node, or two names of one host.
fn one_machine(members: &[MemberResult]) -> Option<Note> {
    let mut places: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for member in members {
        let Some(facts) = &member.facts else { continue };
        let Some(boot_id) = &facts.boot_id else { continue };
        places.entry(boot_id).or_default().insert(if member.place.is_empty() { &facts.host } else { &member.place });
    }
    let shared = places.into_values().max_by_key(BTreeSet::len).filter(|places| places.len() > 1)?;
    let names: Vec<&str> = shared.iter().copied().take(6).collect();
    let more = shared.len() - names.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(limited(
        "one machine",
        format!(
            "{}{more} are one machine (equal boot ID): they share its processors, its memory and its way to the storage",
            names.join(", ")
        ),
        &[("hosts", shared.len() as f64)],
    ))
}

/// Members that wrote the same file: each has overwritten what the others wrote, and they shared its locks.
fn same_file(members: &[MemberResult]) -> Option<Note> {
    let mut writers: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    // Those that have a part each write different bytes.
    for member in members.iter().filter(|member| member.sharing == Sharing::All) {
        for job in member.result.iter().flat_map(|result| &result.jobs).filter(|job| job.directions.write.bytes > 0) {
            let absolute = job.echo.paths.iter().filter(|path| path.starts_with('/'));
            for path in absolute {
                writers.entry(path).or_default().insert(member.rank);
            }
        }
    }
    let (path, of_path) =
        writers.into_iter().max_by_key(|(_, ranks)| ranks.len()).filter(|(_, ranks)| ranks.len() > 1)?;
    let machines: BTreeSet<&str> =
        members.iter().filter(|member| of_path.contains(&member.rank)).map(machine).collect();
    let if_shared = if machines.len() > 1 { ", if it is on storage that they share" } else { "" };
    let numbers: Vec<u32> = of_path.iter().copied().collect();
    Some(limited(
        "same file",
        format!(
            "members {} wrote the same file, {path}{if_shared}; give each its file with ${{PLUMB_RANK}} in its name, or its part with \
             --spread region",
            ranks(&numbers)
        ),
        &[("members", numbers.len() as f64)],
    ))
}

/// Reads through the page cache of files that the same machine wrote in this run: they show its memory, not the
/// storage.
fn own_cache(members: &[MemberResult]) -> Option<Note> {
    let (mut readers, mut bytes) = (Vec::new(), 0_u64);
    for of_machine in by_machine(members).values() {
        let jobs = || of_machine.iter().flat_map(|member| jobs(member).map(move |job| (member.rank, job)));
        let written: BTreeSet<&str> =
            jobs().filter(|(_, job)| job.directions.write.bytes > 0).flat_map(|(_, job)| paths(job)).collect();
        for (rank, job) in jobs() {
            // A job that writes and reads its own file is judged by the checks of a single result.
            let only_reads = job.directions.read.bytes > 0 && job.directions.write.bytes == 0;
            if only_reads && !job.echo.direct && paths(job).any(|path| written.contains(path)) {
                readers.push(rank);
                bytes = bytes.saturating_add(job.directions.read.bytes);
            }
        }
    }
    readers.sort_unstable();
    readers.dedup();
    if readers.is_empty() {
        return None;
    }
    let note = limited(
        "own cache",
        format!(
            "members {} read through the page cache what their own machine wrote in this run: that shows its memory; read with direct=1, or what another \
             host wrote (--shift host, and ${{PLUMB_SHIFTED_RANK}} in the file's name)",
            ranks(&readers)
        ),
        &[("members", readers.len() as f64), ("read_bytes", bytes as f64)],
    );
    Some(Note { grade: Grade::NotAStorageResult, ..note })
}

fn jobs(member: &MemberResult) -> impl Iterator<Item = &JobResult> {
    member.result.iter().flat_map(|result| &result.jobs)
}

fn paths(job: &JobResult) -> impl Iterator<Item = &str> {
    job.echo.paths.iter().map(String::as_str)
}

/// Members that began at different times.
fn uneven_start(members: &[MemberResult], start_within: Nanos) -> Option<Note> {
    let start = start_skew(members)?;
    // Less than the error of the clocks is not known.
    if start.skew <= start_within.max(start.clock_error) {
        return None;
    }
    let last = members.iter().max_by_key(|member| first_io(member))?;
    Some(limited(
        "uneven start",
        format!(
            "the members began within {}, {} last: the rate over all counts that time, too",
            text::time(start.skew.as_f64()),
            last.name()
        ),
        &[("skew_ns", start.skew.as_f64()), ("clock_error_ns", start.clock_error.as_f64())],
    ))
}

/// Differences between machines that are named; the others are counted.
const NAMED: usize = 4;

/// Members on machines that differ in what changes results: kernel, processors, file system, settings.
fn unlike_members(members: &[MemberResult]) -> Option<Note> {
    let mut values: BTreeMap<String, BTreeMap<String, Vec<&MemberResult>>> = BTreeMap::new();
    for member in members.iter().filter(|member| member.result.is_some()) {
        for (key, value) in facts(member) {
            values.entry(key).or_default().entry(value).or_default().push(member);
        }
    }
    let unlike: Vec<String> =
        values.iter().filter(|(_, found)| found.len() > 1).map(|(key, found)| difference(key, found)).collect();
    if unlike.is_empty() {
        return None;
    }
    let more = unlike.len().saturating_sub(NAMED);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let named: Vec<String> = unlike.iter().take(NAMED).cloned().collect();
    Some(limited(
        "unlike members",
        format!("the members' machines differ: {}{more}", named.join("; ")),
        &[("differences", unlike.len() as f64)],
    ))
}

/// `kernel 6.1 (node1, node2), 6.5 (node3)`.
fn difference(key: &str, found: &BTreeMap<String, Vec<&MemberResult>>) -> String {
    let value = |(value, members): (&String, &Vec<&MemberResult>)| {
        let places: BTreeSet<&str> = members.iter().map(|member| member.host()).collect();
        let mut places: Vec<&str> = places.into_iter().collect();
        if places.len() > 3 {
            places.truncate(3);
            places.push("…");
        }
        format!("{value} ({})", places.join(", "))
    };
    format!("{key} {}", found.iter().map(value).collect::<Vec<_>>().join(", "))
}

/// The facts about a member's machine that should be those of the others.
fn facts(member: &MemberResult) -> Vec<(String, String)> {
    let Some(result) = &member.result else { return Vec::new() };
    let environment = &result.environment;
    let gib = |bytes: u64| format!("{} GiB", bytes.saturating_add(1 << 29) >> 30);
    let mut found = vec![
        ("kernel".to_owned(), environment.kernel.clone()),
        ("processor".to_owned(), environment.processor.clone()),
        ("processors".to_owned(), environment.cpus.to_string()),
        ("memory".to_owned(), gib(environment.memory_bytes)),
    ];
    let kinds: BTreeSet<&str> = environment.file_systems.iter().map(|system| system.kind.as_str()).collect();
    if !kinds.is_empty() {
        found.push(("file system".to_owned(), kinds.into_iter().collect::<Vec<_>>().join(" + ")));
    }
    let conditions = result.surroundings.iter().flat_map(|surroundings| &surroundings.facts);
    found.extend(
        conditions.filter(|fact| fact.kind == FactKind::Condition).map(|fact| (fact.key.clone(), fact.value.clone())),
    );
    found
}

/// Members that may run on fewer processors than they have workers, though the machine has more: a launcher has bound
/// them.
fn bound(members: &[MemberResult]) -> Option<Note> {
    let (mut bound, mut most) = (Vec::new(), None);
    for of_machine in by_machine(members).values() {
        for member in of_machine {
            let (Some(facts), Some(result)) = (&member.facts, &member.result) else { continue };
            let workers: u32 = result.jobs.iter().map(|job| job.workers).fold(0, u32::saturating_add);
            let allowed: BTreeSet<u32> = facts.allowed_cpus.iter().copied().collect();
            let allowed = u32::try_from(allowed.len()).unwrap_or(u32::MAX);
            if allowed > 0 && allowed < workers && allowed < facts.cpus {
                bound.push(member.rank);
                most = most.max(Some((workers, allowed, facts.cpus)));
            }
        }
    }
    let (workers, allowed, cpus) = most?;
    bound.sort_unstable();
    Some(limited(
        "bound",
        format!(
            "members {} are bound: {workers} workers share {allowed} of {cpus} processors; start them unbound (mpirun --bind-to none, srun \
             --cpu-bind=none, no taskset)",
            ranks(&bound)
        ),
        &[
            ("members", bound.len() as f64),
            ("workers", f64::from(workers)),
            ("allowed_cpus", f64::from(allowed)),
            ("cpus", f64::from(cpus)),
        ],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_members::at_work;
    use std::collections::BTreeSet;

    #[test]
    fn each_check_has_one_id_and_a_good_run_has_no_remark() {
        let ids: BTreeSet<&str> = CHECKS.iter().map(|check| check.id).collect();
        assert_eq!(ids.len(), CHECKS.len());
        let members: Vec<MemberResult> = (0..4).map(|rank| at_work(rank, 1 << 30, (0, 10_000))).collect();
        assert_eq!(findings(&members, Nanos::from_millis(10)), []);
        assert_eq!(findings(&[], Nanos::from_millis(10)), []);
    }
}

#[cfg(test)]
mod one_machine_tests {
    use super::*;
    use crate::sample_members::at_work;

    #[test]
    fn it_fires_for_two_names_of_one_machine_only() {
        let mut members = [at_work(0, 1, (0, 1)), at_work(1, 1, (0, 1))];
        assert_eq!(one_machine(&members), None);
        members[1].facts.as_mut().unwrap().boot_id = Some("boot 0".to_owned());
        assert!(one_machine(&members).unwrap().sentence.starts_with("node1, node2 are one machine"));
        members[1].place = "node1".to_owned();
        assert_eq!(one_machine(&members), None);
    }
}

#[cfg(test)]
mod same_file_tests {
    use super::*;
    use crate::sample_members::at_work;

    #[test]
    fn it_fires_for_two_writers_of_one_path_only() {
        let named = |rank: u32, path: &str| {
            let mut member = at_work(rank, 1, (0, 1));
            member.result.as_mut().unwrap().jobs[0].echo.paths = vec![path.to_owned()];
            member
        };
        let text = same_file(&[named(0, "/s/f"), named(1, "/s/f"), named(2, "/s/g")]).unwrap().sentence;
        assert!(text.starts_with("members 0, 1 wrote the same file, /s/f, if"), "{text}");
        assert_eq!(same_file(&[named(0, "/s/f"), named(1, "/s/g")]), None);
        let mut parts = [named(0, "/s/f"), named(1, "/s/f")];
        parts.iter_mut().for_each(|member| member.sharing = Sharing::Region);
        assert_eq!(same_file(&parts), None, "each has its part");
        let mut one_host = [named(0, "/s/f"), named(1, "/s/f")];
        one_host[1].facts.as_mut().unwrap().boot_id = Some("boot 0".to_owned());
        assert!(!same_file(&one_host).unwrap().sentence.contains("if it is on storage"));
    }
}

#[cfg(test)]
mod own_cache_tests {
    use super::*;
    use crate::sample_members::at_work;

    /// A member that writes one file and then reads another one.
    fn member(rank: u32, host: u32, (written, read): (&str, &str)) -> MemberResult {
        let mut member = at_work(rank, 1 << 20, (0, 1_000));
        member.facts.as_mut().unwrap().boot_id = Some(format!("boot {host}"));
        let jobs = &mut member.result.as_mut().unwrap().jobs;
        let mut reader = jobs[0].clone();
        std::mem::swap(&mut reader.directions.read, &mut reader.directions.write);
        jobs[0].echo.paths = vec![written.to_owned()];
        reader.echo.paths = vec![read.to_owned()];
        jobs.push(reader);
        member
    }

    fn found(members: &[MemberResult]) -> Option<Note> {
        own_cache(members)
    }

    #[test]
    fn it_fires_for_own_files_and_a_shift_that_stays_on_the_host() {
        let own = [member(0, 0, ("/s/0", "/s/0")), member(1, 1, ("/s/1", "/s/1"))];
        let text = found(&own).unwrap().sentence;
        assert!(text.contains("members 0, 1") && text.contains("--shift host"), "{text}");
        // Shift by one, with two members on each host: ior #136.
        let hosts = [0, 0, 1, 1];
        let shifted: Vec<MemberResult> = (0..4_u32)
            .map(|rank| member(rank, hosts[rank as usize], (&format!("/s/{rank}"), &format!("/s/{}", (rank + 1) % 4))))
            .collect();
        assert!(found(&shifted).unwrap().sentence.contains("members 0, 2"), "{:?}", found(&shifted));
    }

    #[test]
    fn it_is_silent_for_direct_reads_and_for_files_of_another_host() {
        let other = [member(0, 0, ("/s/0", "/s/1")), member(1, 1, ("/s/1", "/s/0"))];
        assert_eq!(found(&other), None);
        let mut direct = member(0, 0, ("/s/0", "/s/0"));
        direct.result.as_mut().unwrap().jobs[1].echo.direct = true;
        assert_eq!(found(&[direct]), None);
    }
}

#[cfg(test)]
mod uneven_start_tests {
    use super::*;
    use crate::sample_members::at_work;

    #[test]
    fn it_fires_beyond_the_limit_and_beyond_what_the_clocks_know() {
        let limit = Nanos::from_millis(10);
        let mut members = [at_work(0, 1, (0, 1)), at_work(1, 1, (0, 1))];
        members[1].started = Some(Nanos::from_millis(11));
        let text = uneven_start(&members, limit).unwrap().sentence;
        assert!(text.contains("within 11 ms, member 1 (node2) last"), "{text}");
        members[1].clock_error = Some(Nanos::from_millis(20));
        assert_eq!(uneven_start(&members, limit), None);
        members[1].started = None;
        assert_eq!(uneven_start(&members, limit), None);
    }
}

#[cfg(test)]
mod unlike_members_tests {
    use super::*;
    use crate::sample_members::at_work;
    use model::{Fact, Surroundings};

    #[test]
    fn it_names_what_differs_and_where() {
        let mut members: Vec<MemberResult> = (0..3).map(|rank| at_work(rank, 1, (0, 1))).collect();
        assert_eq!(unlike_members(&members), None);
        members[2].result.as_mut().unwrap().environment.kernel = "6.5".to_owned();
        let scheduler = |value: &str| {
            Some(Box::new(Surroundings { facts: vec![Fact::condition("scheduler", value)], ..Surroundings::default() }))
        };
        members[0].result.as_mut().unwrap().surroundings = scheduler("none");
        members[1].result.as_mut().unwrap().surroundings = scheduler("bfq");
        let text = unlike_members(&members).unwrap().sentence;
        assert!(text.contains("kernel 6.1 (node1, node2), 6.5 (node3)"), "{text}");
        assert!(text.contains("scheduler bfq (node2), none (node1)"), "{text}");
    }
}

#[cfg(test)]
mod bound_tests {
    use super::*;
    use crate::sample_members::{at_work, group};

    #[test]
    fn it_fires_if_workers_share_a_core_and_more_are_there() {
        let mut member = group(3, 4);
        assert_eq!(bound(std::slice::from_ref(&member)), None);
        member.facts.as_mut().unwrap().allowed_cpus = vec![0];
        let text = bound(std::slice::from_ref(&member)).unwrap().sentence;
        assert!(text.starts_with("members 3 are bound: 4 workers share 1 of 8 processors"), "{text}");
        member.facts.as_mut().unwrap().cpus = 1;
        assert_eq!(bound(&[member]), None, "a machine of one processor");
        let mut alone = at_work(0, 1, (0, 1));
        alone.facts.as_mut().unwrap().allowed_cpus = vec![5];
        assert_eq!(bound(&[alone]), None, "one worker on one core");
    }
}

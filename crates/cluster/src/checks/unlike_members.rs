//! Members on machines that differ in what changes results: kernel, processors, file system, settings.

use super::Limits;
use crate::member_result::MemberResult;
use model::{FactKind, Grade, Note};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const ID: &str = "unlike members";
/// Differences that are named; the others are counted.
const NAMED: usize = 4;

pub(super) fn note(members: &[MemberResult], _limits: Limits) -> Option<Note> {
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
    Some(Note {
        check: ID.to_owned(),
        grade: Grade::ValidWithLimits,
        sentence: format!("the members' machines differ: {}{more}", named.join("; ")),
        evidence: vec![("differences".to_owned(), unlike.len() as f64)],
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_members::at_work;
    use measure::Nanos;
    use model::{Fact, Surroundings};

    #[test]
    fn it_names_what_differs_and_where() {
        let limits = Limits { start_within: Nanos::MILLISECOND };
        let mut members: Vec<MemberResult> = (0..3).map(|rank| at_work(rank, 1, (0, 1))).collect();
        assert_eq!(note(&members, limits), None);
        members[2].result.as_mut().unwrap().environment.kernel = "6.5".to_owned();
        let scheduler = |value: &str| {
            Some(Box::new(Surroundings { facts: vec![Fact::condition("scheduler", value)], ..Surroundings::default() }))
        };
        members[0].result.as_mut().unwrap().surroundings = scheduler("none");
        members[1].result.as_mut().unwrap().surroundings = scheduler("bfq");
        let text = note(&members, limits).unwrap().sentence;
        assert!(text.contains("kernel 6.1 (node1, node2), 6.5 (node3)"), "{text}");
        assert!(text.contains("scheduler bfq (node2), none (node1)"), "{text}");
    }
}

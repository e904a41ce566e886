//! Hosts of different names that are one machine: containers on one node, or two names of one host.

use super::Limits;
use crate::member_result::MemberResult;
use model::{Grade, Note};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const ID: &str = "one machine";

pub(super) fn note(members: &[MemberResult], _limits: Limits) -> Option<Note> {
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
    Some(Note {
        check: ID.to_owned(),
        grade: Grade::ValidWithLimits,
        sentence: format!(
            "{}{more} are one machine (equal boot ID): they share its processors, its memory and its way to the storage",
            names.join(", ")
        ),
        evidence: vec![("hosts".to_owned(), shared.len() as f64)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_members::at_work;
    use measure::Nanos;

    #[test]
    fn it_fires_for_two_names_of_one_machine_only() {
        let limits = Limits { start_within: Nanos::MILLISECOND };
        let mut members = [at_work(0, 1, (0, 1)), at_work(1, 1, (0, 1))];
        assert_eq!(note(&members, limits), None);
        members[1].facts.as_mut().unwrap().boot_id = Some("boot 0".to_owned());
        assert!(note(&members, limits).unwrap().sentence.starts_with("node1, node2 are one machine"));
        members[1].place = "node1".to_owned();
        assert_eq!(note(&members, limits), None);
    }
}

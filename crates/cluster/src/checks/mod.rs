//! Checks that only a cluster has: one file and one row each. They give remarks about a result of several members; the checks of a single result are
//! those of each member.

mod bound;
mod network_bound;
mod one_machine;
mod own_cache;
mod same_file;
mod uneven_start;
mod unlike_members;

use crate::member_result::MemberResult;
use measure::Nanos;
use model::Note;
use std::collections::BTreeMap;

/// Settings of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// How far apart the starts may be.
    pub(crate) start_within: Nanos,
}

/// A check: its ID, and the function that gives its remark.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Its name in results.
    pub id: &'static str,
    run: fn(&[MemberResult], Limits) -> Option<Note>,
}

/// All checks.
pub const CHECKS: &[Check] = &[
    Check { id: own_cache::ID, run: own_cache::note },
    Check { id: bound::ID, run: bound::note },
    Check { id: one_machine::ID, run: one_machine::note },
    Check { id: same_file::ID, run: same_file::note },
    Check { id: unlike_members::ID, run: unlike_members::note },
    Check { id: uneven_start::ID, run: uneven_start::note },
    Check { id: network_bound::ID, run: network_bound::note },
];

/// The remarks about a result of these members.
pub fn findings(members: &[MemberResult], start_within: Nanos) -> Vec<Note> {
    let limits = Limits { start_within };
    CHECKS.iter().filter_map(|check| (check.run)(members, limits)).collect()
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

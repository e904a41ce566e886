//! Members of one machine, which are neighbours of each other: what each result says of the others.

use crate::checks::machine;
use crate::member_result::MemberResult;
use crate::summary::NEIGHBOUR;
use model::Limiter;

/// Writes the number of other members on its machine into each result. Hosts of different names can be one machine, which only the leader knows.
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
mod tests {
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

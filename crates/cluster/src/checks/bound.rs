//! Members that may run on fewer processors than they have workers, though the machine has more: a launcher has bound them.

use super::{Limits, by_machine, ranks};
use crate::member_result::MemberResult;
use model::{Grade, Note};
use std::collections::BTreeSet;

pub(super) const ID: &str = "bound";

pub(super) fn note(members: &[MemberResult], _limits: Limits) -> Option<Note> {
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
    Some(Note {
        check: ID.to_owned(),
        grade: Grade::ValidWithLimits,
        sentence: format!(
            "members {} are bound: {workers} workers share {allowed} of {cpus} processors; start them unbound (mpirun --bind-to none, srun \
             --cpu-bind=none, no taskset)",
            ranks(&bound)
        ),
        evidence: vec![
            ("members".to_owned(), bound.len() as f64),
            ("workers".to_owned(), f64::from(workers)),
            ("allowed_cpus".to_owned(), f64::from(allowed)),
            ("cpus".to_owned(), f64::from(cpus)),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_members::{at_work, group};
    use measure::Nanos;

    #[test]
    fn it_fires_if_workers_share_a_core_and_more_are_there() {
        let limits = Limits { start_within: Nanos::MILLISECOND };
        let mut member = group(3, 4);
        assert_eq!(note(std::slice::from_ref(&member), limits), None);
        member.facts.as_mut().unwrap().allowed_cpus = vec![0];
        let text = note(std::slice::from_ref(&member), limits).unwrap().sentence;
        assert!(text.starts_with("members 3 are bound: 4 workers share 1 of 8 processors"), "{text}");
        member.facts.as_mut().unwrap().cpus = 1;
        assert_eq!(note(&[member], limits), None, "a machine of one processor");
        let mut alone = at_work(0, 1, (0, 1));
        alone.facts.as_mut().unwrap().allowed_cpus = vec![5];
        assert_eq!(note(&[alone], limits), None, "one worker on one core");
    }
}

//! Members that wrote the same file: each has overwritten what the others wrote, and they shared its locks.

use super::{Limits, machine, ranks};
use crate::member_result::MemberResult;
use crate::message::Sharing;
use model::{Grade, Note};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const ID: &str = "same file";

pub(super) fn note(members: &[MemberResult], _limits: Limits) -> Option<Note> {
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
    Some(Note {
        check: ID.to_owned(),
        grade: Grade::ValidWithLimits,
        sentence: format!(
            "members {} wrote the same file, {path}{if_shared}; give each its file with ${{PLUMB_RANK}} in its name, or its part with \
             --spread region",
            ranks(&numbers)
        ),
        evidence: vec![("members".to_owned(), numbers.len() as f64)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_members::at_work;
    use measure::Nanos;

    #[test]
    fn it_fires_for_two_writers_of_one_path_only() {
        let limits = Limits { start_within: Nanos::MILLISECOND };
        let named = |rank: u32, path: &str| {
            let mut member = at_work(rank, 1, (0, 1));
            member.result.as_mut().unwrap().jobs[0].echo.paths = vec![path.to_owned()];
            member
        };
        let text = note(&[named(0, "/s/f"), named(1, "/s/f"), named(2, "/s/g")], limits).unwrap().sentence;
        assert!(text.starts_with("members 0, 1 wrote the same file, /s/f, if"), "{text}");
        assert_eq!(note(&[named(0, "/s/f"), named(1, "/s/g")], limits), None);
        let mut parts = [named(0, "/s/f"), named(1, "/s/f")];
        parts.iter_mut().for_each(|member| member.sharing = Sharing::Region);
        assert_eq!(note(&parts, limits), None, "each has its part");
        let mut one_host = [named(0, "/s/f"), named(1, "/s/f")];
        one_host[1].facts.as_mut().unwrap().boot_id = Some("boot 0".to_owned());
        assert!(!note(&one_host, limits).unwrap().sentence.contains("if it is on storage"));
    }
}

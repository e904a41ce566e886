//! Reads through the page cache of files that the same machine wrote in this run: they show its memory, not the storage.

use super::{Limits, by_machine, ranks};
use crate::member_result::MemberResult;
use model::{Grade, JobResult, Note};
use std::collections::BTreeSet;

pub(super) const ID: &str = "own cache";

pub(super) fn note(members: &[MemberResult], _limits: Limits) -> Option<Note> {
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
    (!readers.is_empty()).then(|| Note {
        check: ID.to_owned(),
        grade: Grade::NotAStorageResult,
        sentence: format!(
            "members {} read through the page cache what their own machine wrote in this run: that shows its memory; read with direct=1, or what another \
             host wrote (--shift host, and ${{PLUMB_SHIFTED_RANK}} in the file's name)",
            ranks(&readers)
        ),
        evidence: vec![("members".to_owned(), readers.len() as f64), ("read_bytes".to_owned(), bytes as f64)],
    })
}

fn jobs(member: &MemberResult) -> impl Iterator<Item = &JobResult> {
    member.result.iter().flat_map(|result| &result.jobs)
}

fn paths(job: &JobResult) -> impl Iterator<Item = &str> {
    job.echo.paths.iter().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_members::at_work;
    use measure::Nanos;

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
        note(members, Limits { start_within: Nanos::MILLISECOND })
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

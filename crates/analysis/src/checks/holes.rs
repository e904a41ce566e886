//! Holes: reads of blocks that were never written are served by the file system or the thin volume, even with O_DIRECT.
//!
//! Signals: holes and unwritten extents of the jobs' regions at the start of I/O (FIEMAP), the provisioned part of thin
//! volumes, settings of the jobs, bytes at the devices.

use super::note;
use crate::run_facts::{busy_jobs, bytes_asked, bytes_at_devices, float};
use measure::{Direction, text};
use model::{Grade, Note, RunResult, TargetAccess, TargetFacts};

/// A smaller fraction of unwritten bytes does not affect the result.
const LEAST_SHARE: f64 = 0.02;

/// Sums the never-written bytes in the regions that were read.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let Some(monitored) = &result.monitored else { return Vec::new() };
    let (read, written) = (bytes_asked(result, Direction::Read), bytes_asked(result, Direction::Write));
    // What is only written, as a new file is, says nothing of the reads.
    let is_read = |target: &&TargetFacts| target.access != Some(TargetAccess::Writes);
    let known =
        || monitored.targets.iter().filter(is_read).filter_map(|target| Some((target, target.unwritten_bytes?)));
    let unwritten: u64 = known().map(|(_, bytes)| bytes).fold(0, u64::saturating_add);
    if read > 0 && reads_thin_volumes(result) {
        return of_thin_volumes(result, read);
    }
    // A run that writes at least as much as was unwritten fills its own holes; one that only reads a file fills none.
    let fills = known().any(|(target, bytes)| bytes > 0 && target.access != Some(TargetAccess::Reads));
    if read == 0 || (fills && written >= unwritten) {
        return Vec::new();
    }
    let region: u64 = known().map(|(target, _)| target.region_bytes).fold(0, u64::saturating_add);
    let share = float(unwritten) / float(region.max(1));
    if share < LEAST_SHARE {
        return Vec::new();
    }
    let grade = if share >= 0.5 { Grade::NotAStorageResult } else { Grade::ValidWithLimits };
    let sentence = format!(
        "{} of the region was never written; those reads never reached the disk",
        text::percent(share.min(1.0))
    );
    let evidence = [
        ("unwritten_bytes", float(unwritten)),
        ("region_bytes", float(region)),
        ("unwritten_percent", 100.0 * share.min(1.0)),
    ];
    vec![note(grade, sentence, &evidence)]
}

/// True if the jobs read with O_DIRECT, and only from thin volumes.
pub(super) fn reads_thin_volumes(result: &RunResult) -> bool {
    let targets = result.monitored.iter().flat_map(|monitored| &monitored.targets);
    let mut read = targets.filter(|target| target.access != Some(TargetAccess::Writes)).peekable();
    read.peek().is_some()
        && read.all(|target| target.provisioned_bytes.is_some())
        && busy_jobs(result).all(|job| job.echo.direct)
}

/// Reads that reached no disk. The kernel shows how many blocks a volume has, not which.
fn of_thin_volumes(result: &RunResult, read: u64) -> Vec<Note> {
    let Some(moved) = bytes_at_devices(result, Direction::Read) else { return Vec::new() };
    let missing = (1.0 - float(moved) / float(read)).min(if moved > 0 { 0.9999 } else { 1.0 });
    if missing < LEAST_SHARE {
        return Vec::new();
    }
    let grade = if missing >= 0.5 { Grade::NotAStorageResult } else { Grade::ValidWithLimits };
    let share = text::percent(missing);
    let sentence = format!("{share} of the reads were of blocks that the volume has not provisioned: no disk was read");
    let evidence =
        [("bytes_asked", float(read)), ("bytes_at_device", float(moved)), ("unwritten_percent", 100.0 * missing)];
    vec![note(grade, sentence, &evidence)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{device, watched_random_read};

    #[test]
    fn a_region_that_was_never_written_is_not_a_disk() {
        let mut result = watched_random_read();
        assert_eq!(run(&result), []);
        let target = &mut result.monitored.as_mut().unwrap().targets[0];
        target.unwritten_bytes = Some(target.region_bytes * 62 / 100);
        let notes = run(&result);
        assert_eq!(notes[0].sentence, "62 % of the region was never written; those reads never reached the disk");
        assert_eq!(notes[0].grade, Grade::NotAStorageResult);
        result.jobs[0].directions.write.bytes = u64::MAX / 2;
        assert_eq!(run(&result), [], "what a run writes itself is there");
    }

    #[test]
    fn blocks_that_a_thin_volume_has_not_are_named() {
        let mut result = watched_random_read();
        result.jobs[0].echo.direct = true;
        let asked = bytes_asked(&result, Direction::Read);
        result.devices = vec![device(asked / 512 / 100 * 12, 0)];
        let cached = |result: &RunResult| super::super::cache::run(result);
        assert_ne!(cached(&result), [], "it is another target");
        let target = &mut result.monitored.as_mut().unwrap().targets[0];
        (target.provisioned_bytes, target.unwritten_bytes) = (Some(8 << 20), Some(0));
        let notes = run(&result);
        let sentence = "88 % of the reads were of blocks that the volume has not provisioned: no disk was read";
        assert_eq!((notes[0].sentence.as_str(), notes[0].grade), (sentence, Grade::NotAStorageResult));
        assert_eq!(cached(&result), [], "said once");
        result.jobs[0].echo.direct = false;
        assert_ne!(cached(&result), [], "memory may have answered");
        result.jobs[0].echo.direct = true;
        result.devices = vec![device(asked / 512, 0)];
        assert_eq!(run(&result), [], "all of it is there");
    }

    #[test]
    fn a_file_that_is_only_written_says_nothing_of_other_reads() {
        let mut result = watched_random_read();
        let targets = &mut result.monitored.as_mut().unwrap().targets;
        targets[0].access = Some(TargetAccess::Reads);
        let unwritten_bytes = Some(targets[0].region_bytes);
        let new = TargetFacts { access: Some(TargetAccess::Writes), unwritten_bytes, ..targets[0].clone() };
        targets.push(new);
        assert_eq!(run(&result), [], "the writer's new file");
        let targets = &mut result.monitored.as_mut().unwrap().targets;
        targets[0].unwritten_bytes = unwritten_bytes;
        result.jobs[0].directions.write.bytes = u64::MAX / 2;
        assert!(run(&result)[0].sentence.starts_with("100 % of the region"), "writes to another file fill no holes");
    }
}

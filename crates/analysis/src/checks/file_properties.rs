//! File properties: attributes, extents and mount options that change what an I/O does.
//!
//! Signals: mount options, attributes (FS_IOC_GETFLAGS) and extents (FIEMAP) of the targets at the start of I/O.

use super::note;
use crate::run_facts::{bytes_asked, float};
use measure::{Direction, text};
use model::{FileAttribute, Grade, Note, RunResult, TargetFacts};

/// A smaller fraction of the blocks does not affect the result.
const LEAST_SHARE: f64 = 0.02;

/// Reports each property once, with the first target that has it.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let Some(monitored) = &result.monitored else { return Vec::new() };
    let writes = bytes_asked(result, Direction::Write) > 0;
    let reads = bytes_asked(result, Direction::Read) > 0;
    let targets = monitored.targets.as_slice();
    let mut notes = Vec::new();
    if writes {
        notes.extend(first(targets, journaled_data));
        notes.extend(first(targets, synchronous));
        notes.extend(first(targets, copied_on_write));
    } else if reads {
        notes.extend(one_place(targets));
    }
    notes.extend(first(targets, inline));
    notes
}

fn first(targets: &[TargetFacts], judge: fn(&TargetFacts) -> Option<(String, f64)>) -> Option<Note> {
    let (sentence, percent) = targets.iter().find_map(judge)?;
    Some(note(Grade::ValidWithLimits, sentence, &[("share_percent", percent)]))
}

fn has_option(target: &TargetFacts, options: &[&str]) -> bool {
    let mount = target.mount.as_ref();
    mount.is_some_and(|mount| mount.options.split(',').any(|option| options.contains(&option)))
}

/// Percentage of the target's region, if it matters.
fn percent(target: &TargetFacts, bytes: Option<u64>) -> Option<f64> {
    let share = float(bytes?) / float(target.region_bytes.max(1));
    (share >= LEAST_SHARE).then(|| 100.0 * share.min(1.0))
}

fn journaled_data(target: &TargetFacts) -> Option<(String, f64)> {
    let whose = if has_option(target, &["data=journal"]) {
        "the mount option data=journal"
    } else if target.attributes.contains(&FileAttribute::JournaledData) {
        "the attribute j (chattr +j)"
    } else {
        return None;
    };
    let path = &target.path;
    Some((format!("{path} has {whose}: all data is written twice, and O_DIRECT is buffered I/O"), 100.0))
}

fn synchronous(target: &TargetFacts) -> Option<(String, f64)> {
    let whose = if has_option(target, &["sync"]) {
        "the mount option sync"
    } else if target.attributes.contains(&FileAttribute::Synchronous) {
        "the attribute S (chattr +S)"
    } else {
        return None;
    };
    Some((format!("{} has {whose}: each write is flushed, as with sync=1", target.path), 100.0))
}

fn copied_on_write(target: &TargetFacts) -> Option<(String, f64)> {
    let percent = percent(target, target.shared_bytes)?;
    let sentence = format!(
        "other files share {} of the blocks of {} (reflinks, snapshots): the first write of each goes to a new place",
        text::percent(percent / 100.0),
        target.path
    );
    Some((sentence, percent))
}

fn inline(target: &TargetFacts) -> Option<(String, f64)> {
    let percent = percent(target, target.inline_bytes)?;
    let (path, share) = (&target.path, text::percent(percent / 100.0));
    Some((format!("{share} of {path} is in the metadata of the file system (inline data)"), percent))
}

/// Files that share their blocks, if several are read: they can be one place on the disk.
fn one_place(targets: &[TargetFacts]) -> Option<Note> {
    let shared =
        targets.iter().filter(|target| percent(target, target.shared_bytes).is_some_and(|share| share >= 50.0));
    let count = shared.count();
    (count >= 2).then(|| {
        let sentence = format!(
            "{count} files share most of their blocks (reflinks, snapshots): they may be one place on the disk"
        );
        note(Grade::ValidWithLimits, sentence, &[("files", float(count as u64))])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{watched_random_read, watched_random_write};
    use model::MountFacts;

    fn target(result: &mut RunResult) -> &mut TargetFacts {
        &mut result.monitored.as_mut().unwrap().targets[0]
    }

    fn sentences(result: &RunResult) -> Vec<String> {
        run(result).into_iter().map(|note| note.sentence).collect()
    }

    #[test]
    fn an_ordinary_file_is_silent() {
        let mut result = watched_random_write();
        let options = "rw,relatime,data=ordered,async".to_owned();
        target(&mut result).mount = Some(MountFacts { point: "/".into(), kind: "ext4".into(), options });
        (target(&mut result).shared_bytes, target(&mut result).inline_bytes) = (Some(0), Some(0));
        assert_eq!(sentences(&result), [""; 0]);
    }

    #[test]
    fn options_and_attributes_are_named_when_something_is_written() {
        let mut result = watched_random_write();
        target(&mut result).attributes = vec![FileAttribute::JournaledData, FileAttribute::Synchronous];
        assert_eq!(
            sentences(&result),
            [
                "a has the attribute j (chattr +j): all data is written twice, and O_DIRECT is buffered I/O",
                "a has the attribute S (chattr +S): each write is flushed, as with sync=1"
            ]
        );
        let options = "rw,sync,data=journal".to_owned();
        target(&mut result).mount = Some(MountFacts { point: "/".into(), kind: "ext4".into(), options });
        assert!(sentences(&result)[0].starts_with("a has the mount option data=journal: all data"));
        assert!(sentences(&result)[1].starts_with("a has the mount option sync: each write"));
        let mut reads = watched_random_read();
        target(&mut reads).attributes = vec![FileAttribute::JournaledData];
        assert_eq!(sentences(&reads), [""; 0]);
    }

    #[test]
    fn shared_blocks_matter_to_writes_and_to_reads_of_several_files() {
        let shared = |mut result: RunResult, files: usize| {
            let region = target(&mut result).region_bytes;
            target(&mut result).shared_bytes = Some(region * 6 / 10);
            let targets = &mut result.monitored.as_mut().unwrap().targets;
            let one = targets[0].clone();
            targets.resize(files, one);
            sentences(&result)
        };
        assert!(
            shared(watched_random_write(), 1)[0]
                .starts_with("other files share 60 % of the blocks of a (reflinks, snapshots)")
        );
        assert_eq!(shared(watched_random_read(), 1), [""; 0], "one file with a snapshot is read as any other");
        assert!(shared(watched_random_read(), 2)[0].starts_with("2 files share most of their blocks"));
    }

    #[test]
    fn inline_data_is_named_with_its_share() {
        let mut result = watched_random_read();
        let region = target(&mut result).region_bytes;
        target(&mut result).inline_bytes = Some(region);
        assert_eq!(sentences(&result), ["100 % of a is in the metadata of the file system (inline data)"]);
    }
}

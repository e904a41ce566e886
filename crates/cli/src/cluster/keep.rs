//! The directory with each member's own result, and reading them back.

use crate::failure::Failure;
use crate::input;
use crate::safe_files::{AtomicFile, Durability};
use cluster::{Loss, MemberResult, Repetition};
use measure::Nanos;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Writes the results of those that have one.
pub(super) fn write(folder: &Path, members: &[MemberResult]) -> Result<(), Failure> {
    for member in members {
        if let Some(text) = member.to_document()? {
            let repetition = member.repetition.map(|place| format!("repetition-{:03}-", place.number));
            let path = folder.join(format!("{}member-{:03}.json", repetition.unwrap_or_default(), member.rank));
            AtomicFile::at(&path)?.write(text.as_bytes(), Durability::Synced)?;
        }
    }
    Ok(())
}

/// Reads the results of members of one run, or of all its repetitions, in order. Members of which there is no file are
/// lost.
pub(super) fn read(files: &[PathBuf]) -> Result<Vec<Vec<MemberResult>>, Failure> {
    let count = u32::try_from(files.len()).unwrap_or(u32::MAX);
    let mut runs: BTreeMap<Option<Repetition>, BTreeMap<u32, MemberResult>> = BTreeMap::new();
    for (place, path) in (0..count).zip(files) {
        let text = String::from_utf8(input::read_bytes(path)?).map_err(|_| Failure::at(path, "is not text"))?;
        let member = cluster::kept(&text, place, count).map_err(|error| Failure::at(path, error))?;
        // A member that lost its leader does not know when all were asked to begin.
        let of_another = |first: &MemberResult| {
            first.members != member.members || (first.go != member.go && first.go.is_some() && member.go.is_some())
        };
        let of_other_repetitions = |(place, members): (&Option<Repetition>, &BTreeMap<u32, MemberResult>)| {
            let first = members.values().next().map(|first| first.members);
            place.map(|place| place.of) != member.repetition.map(|place| place.of) || first != Some(member.members)
        };
        let is_foreign = runs.iter().any(of_other_repetitions);
        let members = runs.entry(member.repetition).or_default();
        if is_foreign || members.values().any(of_another) {
            return Err(Failure::at(
                path,
                "is of another run than the files before it; merge the files of one directory",
            ));
        }
        let rank = member.rank;
        if members.insert(rank, member).is_some() {
            return Err(Failure::at(path, format!("is the result of member {rank}, which another file has, too")));
        }
    }
    let whole = runs.into_iter().map(|(repetition, mut members)| {
        let count = members.values().next().map_or(0, |member| member.members);
        for rank in 0..count {
            let lost = Some(Loss { why: "there is no file of it".to_owned(), at: Nanos::ZERO });
            let missing = || MemberResult { rank, members: count, repetition, lost, ..MemberResult::default() };
            members.entry(rank).or_insert_with(missing);
        }
        members.into_values().collect()
    });
    Ok(whole.collect())
}

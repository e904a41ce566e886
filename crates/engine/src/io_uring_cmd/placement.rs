//! Identifiers of writes: where the device is asked to place them (flexible data placement, streams).

use super::command::Command;
use super::namespace::Namespace;
use measure::SplitMix;
use plan::{PlacementChoice, PlacementKind, PlacementPlan};
use std::ops::Range;
use std::os::fd::RawFd;

/// Chooses the identifiers of a job's writes.
#[derive(Debug)]
pub(super) struct Placement {
    /// Directive type, in its place in dword 12.
    directive: u32,
    /// Identifiers of each target.
    targets: Box<[Vec<u16>]>,
    choice: Choice,
}

#[derive(Debug)]
enum Choice {
    /// Number of writes so far, by target.
    InTurn(Box<[usize]>),
    AtRandom(SplitMix),
    /// Identifiers of ranges of offsets.
    ByOffset(Vec<(Range<u64>, u16)>),
}

impl Placement {
    /// Reads the scheme, and the handles of each namespace; `Err` is the reason why the plan cannot be followed.
    pub(super) fn of(plan: &PlacementPlan, targets: &[(RawFd, Namespace)]) -> Result<Self, String> {
        let choice = match &plan.choice {
            PlacementChoice::InTurn => Choice::InTurn(vec![0; targets.len()].into()),
            PlacementChoice::AtRandom => Choice::AtRandom(SplitMix::new(1)),
            PlacementChoice::ByOffset(file) => Choice::ByOffset(read_scheme(file)?),
        };
        let used: Vec<u16> = match &choice {
            Choice::ByOffset(ranges) => ranges.iter().map(|(_, identifier)| *identifier).collect(),
            _ => plan.identifiers.clone(),
        };
        let targets = targets.iter().map(|(descriptor, namespace)| match plan.kind {
            PlacementKind::Streams => Ok(used.clone()),
            PlacementKind::Handles => pick(&handles(*descriptor, *namespace)?, &used),
        });
        let directive = match plan.kind {
            PlacementKind::Streams => 1,
            PlacementKind::Handles => 2,
        };
        Ok(Placement { directive: directive << 20, targets: targets.collect::<Result<_, String>>()?, choice })
    }

    /// Dword 12 and 13 of the next write.
    pub(super) fn next(&mut self, target: usize, offset: u64) -> (u32, u32) {
        let identifiers = &self.targets[target];
        let at = match &mut self.choice {
            Choice::InTurn(counts) => {
                counts[target] += 1;
                Some((counts[target] - 1) % identifiers.len())
            }
            Choice::AtRandom(random) => usize::try_from(random.next_word()).ok().map(|word| word % identifiers.len()),
            Choice::ByOffset(ranges) => ranges.iter().position(|(range, _)| range.contains(&offset)),
        };
        (self.directive, u32::from(at.map_or(0, |at| identifiers[at])) << 16)
    }
}

/// The handles at these indices; all if none is given.
fn pick(handles: &[u16], indices: &[u16]) -> Result<Vec<u16>, String> {
    let picked = |index: &u16| {
        let most = handles.len() - 1;
        handles.get(usize::from(*index)).copied().ok_or_else(|| {
            format!("has {} placement handles, and the identifier {index} is not one of 0 to {most}", handles.len())
        })
    };
    if indices.is_empty() { Ok(handles.to_vec()) } else { indices.iter().map(picked).collect() }
}

/// The placement identifiers of a namespace, by its handles: I/O Management Receive, Reclaim Unit Handle Status.
fn handles(descriptor: RawFd, namespace: Namespace) -> Result<Vec<u16>, String> {
    /// Bytes of the header, and of the descriptor of a handle.
    const HEADER: usize = 16;
    const EACH: usize = 32;
    // A device may refuse memory that is longer than its answer, so the header says how long that is.
    let answer = |length: usize| {
        let mut page = vec![0_u8; length];
        let done = Command::handle_status(namespace.number, &mut page).execute(descriptor);
        done.map_err(|what| format!("has no flexible data placement: I/O Management Receive: {what}")).map(|()| page)
    };
    let number = |page: &[u8], at: usize| u16::from_le_bytes([page[at], page[at + 1]]);
    let count = usize::from(number(&answer(HEADER)?, 14));
    if count == 0 {
        return Err("has no placement handle".to_owned());
    }
    let page = answer(HEADER + count * EACH)?;
    Ok((0..count).map(|index| number(&page, HEADER + index * EACH)).collect())
}

/// Reads lines of `START, END, IDENTIFIER`.
fn read_scheme(file: &str) -> Result<Vec<(Range<u64>, u16)>, String> {
    const LONGEST: u64 = 1 << 20;
    let text = sys::files::read_limited::read_text(file.as_ref(), LONGEST);
    let text = text.map_err(|error| format!("dp_scheme={file}: {error}"))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(number, line)| entry(line).ok_or_else(|| wrong_line(file, number + 1, line))).collect()
}

fn entry(line: &str) -> Option<(Range<u64>, u16)> {
    let numbers: Vec<u64> = line.split(',').map(|part| part.trim().parse().ok()).collect::<Option<_>>()?;
    let &[start, end, identifier] = numbers.as_slice() else { return None };
    (start < end).then_some((start..end, u16::try_from(identifier).ok()?))
}

fn wrong_line(file: &str, number: usize, line: &str) -> String {
    format!("{file}:{number}: `{line}` is not a range of offsets; write START, END, IDENTIFIER like 0, 1048576, 2")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(choice: Choice) -> Placement {
        Placement { directive: 2 << 20, targets: vec![vec![7, 9], vec![3]].into(), choice }
    }

    #[test]
    fn identifiers_follow_in_turn_for_each_target() {
        let mut placement = of(Choice::InTurn(vec![0, 0].into()));
        let next: Vec<u32> = [0, 1, 0, 0].map(|target| placement.next(target, 0).1 >> 16).to_vec();
        assert_eq!(next, [7, 3, 9, 7]);
        assert_eq!(placement.next(0, 0).0, 0x20_0000);
    }

    #[test]
    fn a_scheme_places_by_offset_and_the_rest_by_default() {
        let mut placement = of(Choice::ByOffset(vec![(0..4096, 0), (4096..8192, 1)]));
        let next = [0, 4095, 4096, 8192].map(|offset| placement.next(0, offset).1 >> 16);
        assert_eq!(next, [7, 7, 9, 0]);
    }

    #[test]
    fn all_identifiers_are_drawn() {
        let mut placement = of(Choice::AtRandom(SplitMix::new(1)));
        let drawn: std::collections::BTreeSet<u32> = (0..100).map(|_| placement.next(0, 0).1 >> 16).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [7, 9]);
    }

    #[test]
    fn indices_name_handles_and_others_are_refused() {
        assert_eq!(pick(&[4, 5, 6], &[2, 0]), Ok(vec![6, 4]));
        assert_eq!(pick(&[4, 5, 6], &[]), Ok(vec![4, 5, 6]));
        assert!(pick(&[4, 5, 6], &[3]).unwrap_err().contains("3 is not one of 0 to 2"));
    }

    #[test]
    fn a_wrong_line_of_a_scheme_is_named() {
        assert_eq!(entry(" 0, 1024 ,3"), Some((0..1024, 3)));
        for line in ["0,1024", "5,5,1", "0,1024,65536", "a,b,c"] {
            assert_eq!(entry(line), None, "{line}");
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("scheme");
        std::fs::write(&file, "0, 4096, 1\n\nnonsense\n").unwrap();
        let found = read_scheme(file.to_str().unwrap()).unwrap_err();
        assert!(found.contains("scheme:3: `nonsense`"), "{found}");
    }
}

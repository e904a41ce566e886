//! Contents: blocks of zeros and blocks that are all the same need not have been read from a medium.
//!
//! Signals: the contents of a few blocks of the targets that were read, sampled after the run.

use super::note;
use crate::run_facts::{bytes_asked, is_pass};
use measure::Direction;
use model::{Grade, Note, RunResult, SampledBlocks, TargetFacts};

/// Fewer blocks are not a sample.
const LEAST_BLOCKS: u32 = 4;

/// Reports the first target with half or more of the sampled blocks zeros, and the first with half alike.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let Some(monitored) = &result.monitored else { return Vec::new() };
    if bytes_asked(result, Direction::Read) == 0 {
        return Vec::new();
    }
    let first = |judge: fn(&TargetFacts, SampledBlocks) -> Option<Note>| {
        let sampled = |target: &TargetFacts| Some((target.sampled?, target.clone()));
        let usable = monitored.targets.iter().filter_map(sampled).filter(|(found, _)| found.blocks >= LEAST_BLOCKS);
        usable.into_iter().find_map(|(found, target)| judge(&target, found))
    };
    // iozone reads what it wrote, one page over and over; check `compressible` names targets to which that matters.
    let repeats = if is_pass(result) { None } else { first(alike) };
    first(zeros).into_iter().chain(repeats).collect()
}

fn zeros(target: &TargetFacts, found: SampledBlocks) -> Option<Note> {
    // Holes and unwritten extents have their own check, which knows how much they are.
    let is_known = target.unwritten_bytes.is_some_and(|bytes| bytes > 0);
    (found.zeros * 2 >= found.blocks && !is_known).then(|| {
        let sentence = format!(
            "{} of {} sampled blocks of {} hold only zeros: what was never written, was discarded or is thin need not be \
             read from the medium",
            found.zeros, found.blocks, target.path
        );
        noted(sentence, found)
    })
}

fn alike(target: &TargetFacts, found: SampledBlocks) -> Option<Note> {
    (found.alike * 2 > found.blocks).then(|| {
        let sentence = format!(
            "{} of {} sampled blocks of {} are the same: valid only for data like yours wherever the target deduplicates \
             or compresses",
            found.alike, found.blocks, target.path
        );
        noted(sentence, found)
    })
}

fn noted(sentence: String, found: SampledBlocks) -> Note {
    let evidence = [("blocks", found.blocks), ("zeros", found.zeros), ("alike", found.alike)];
    note(Grade::ValidWithLimits, sentence, &evidence.map(|(name, count)| (name, f64::from(count))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::watched_random_read;

    fn check(blocks: u32, zeros: u32, alike: u32) -> Option<String> {
        let mut result = watched_random_read();
        let target = &mut result.monitored.as_mut().unwrap().targets[0];
        target.sampled = Some(SampledBlocks { blocks, zeros, alike });
        let notes = run(&result);
        assert!(notes.len() <= 1, "{notes:?}");
        notes.into_iter().next().map(|note| note.sentence)
    }

    #[test]
    fn iozone_reads_the_page_that_it_wrote() {
        let mut result = watched_random_read();
        let target = &mut result.monitored.as_mut().unwrap().targets[0];
        target.sampled = Some(SampledBlocks { blocks: 16, zeros: 0, alike: 16 });
        assert_eq!(run(&result).len(), 1);
        result.jobs[0].pass = Some(model::PassResult::default());
        assert_eq!(run(&result), []);
    }

    #[test]
    fn blocks_of_zeros_and_equal_blocks_are_named() {
        assert!(check(16, 8, 0).unwrap().starts_with("8 of 16 sampled blocks of a hold only zeros"));
        assert!(check(16, 0, 16).unwrap().starts_with("16 of 16 sampled blocks of a are the same"));
        for (blocks, zeros, alike) in [(16, 7, 0), (16, 0, 8), (3, 3, 0), (0, 0, 0)] {
            assert_eq!(check(blocks, zeros, alike), None, "{blocks} {zeros} {alike}");
        }
    }

    #[test]
    fn holes_are_named_once_and_a_run_that_reads_nothing_is_silent() {
        let mut result = watched_random_read();
        let target = &mut result.monitored.as_mut().unwrap().targets[0];
        target.sampled = Some(SampledBlocks { blocks: 16, zeros: 16, alike: 0 });
        assert_eq!(run(&result).len(), 1);
        result.monitored.as_mut().unwrap().targets[0].unwritten_bytes = Some(64 << 20);
        assert_eq!(run(&result), [], "holes says it");
        result.monitored.as_mut().unwrap().targets[0].unwritten_bytes = None;
        result.jobs[0].directions.read.bytes = 0;
        assert_eq!(run(&result), []);
    }
}

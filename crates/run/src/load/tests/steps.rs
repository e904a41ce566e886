//! What follows a random draw: runs of blocks, and the same block again (`rw=randread:N`).

use super::*;

/// The offsets in blocks of 4 KiB that a random reader of 64 blocks issues.
fn offsets(step: Step) -> Vec<u64> {
    let mut job = job();
    job.load.mix = Mix::Only(Direction::Read);
    (job.load.random, job.load.step) = (true, step);
    job.files.size = Some(Extent::Bytes(64 * 4 * K));
    let trace = trace(&job, &[Region { start: 0, end: 64 * 4 * K }]);
    trace.requests.iter().map(|(_, request)| request.offset / (4 * K)).collect()
}

#[test]
fn a_run_goes_on_from_its_draw_unless_the_region_ends() {
    let offsets = offsets(Step::Run(4));
    assert_eq!(offsets.len(), 64, "as many as there are blocks");
    for run in offsets.chunks(4) {
        for pair in run.windows(2) {
            assert!(pair[1] == pair[0] + 1 || pair[0] == 63, "{run:?}");
        }
    }
    let starts: BTreeSet<u64> = offsets.chunks(4).map(|run| run[0]).collect();
    assert!(starts.len() > 8, "16 draws of 64 blocks: {starts:?}");
}

#[test]
fn a_repeated_draw_is_the_same_block_so_many_times() {
    let offsets = offsets(Step::Repeat(4));
    assert_eq!(offsets.len(), 64);
    assert!(offsets.chunks(4).all(|run| run.iter().all(|&block| block == run[0])), "{offsets:?}");
}

//! The I/Os that follow a random draw: runs of blocks, and the same block again (`rw=randread:N`).

use super::*;

/// The offsets, in blocks of 4 KiB, that a random reader of 64 blocks issues.
fn offsets(step: Step) -> Vec<u64> {
    let mut job = job();
    job.load.mix = Mix::Only(Direction::Read);
    (job.load.random, job.load.step) = (true, step);
    job.files.size = Some(Extent::Bytes(64 * 4 * K));
    let trace = trace(&job, &[Region { start: 0, end: 64 * 4 * K, reach: Reach::Whole }]);
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
fn a_repeated_draw_is_the_same_block_as_often_as_asked() {
    let offsets = offsets(Step::Repeat(4));
    assert_eq!(offsets.len(), 64);
    assert!(offsets.chunks(4).all(|run| run.iter().all(|&block| block == run[0])), "{offsets:?}");
}

/// The offsets in KiB that a sequential reader of 4 KiB blocks issues in this region.
fn skipping(skip: i64, region: Region) -> Vec<u64> {
    let mut job = job();
    job.load.mix = Mix::Only(Direction::Read);
    job.load.step = Step::Skip(skip);
    job.files.size = Some(Extent::Bytes(region.bytes()));
    trace(&job, &[region]).requests.iter().map(|(_, request)| request.offset / K).collect()
}

#[test]
fn a_skip_over_the_end_wraps_until_the_amount_is_there() {
    let whole = Region { start: 0, end: 32 * K, reach: Reach::Whole };
    assert_eq!(skipping(4 * 1024, whole), [0, 8, 16, 24, 0, 8, 16, 24]);
    assert_eq!(skipping(100 * 1024, whole), [0; 8]);
    // The last block ends at the end of the file: the target is used up.
    assert_eq!(skipping(10 * 1024, whole), [0, 14, 28]);
    // A part of a file is read once.
    assert_eq!(skipping(4 * 1024, Region { reach: Reach::Part, ..whole }), [0, 8, 16, 24]);
}

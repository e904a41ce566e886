//! Tests of the blocks that are read back.

use super::*;

fn block(offset: u64, length: u32, sequence: u64) -> Block {
    Block { file: 0, offset, length, expects: Expects::Write(sequence) }
}

fn verify() -> VerifyPlan {
    VerifyPlan { method: plan::VerifyMethod::Meta, check: true, ..VerifyPlan::default() }
}

fn review(change: fn(&mut VerifyPlan)) -> Review {
    let mut job = crate::tests::job();
    job.load.mix = Mix::Only(Direction::Write);
    let mut plan = verify();
    change(&mut plan);
    job.verify = Some(plan);
    Review::new(&job, 1).unwrap()
}

fn write(offset: u64) -> Request {
    Request::new(Operation::Write, 0, offset, 4)
}

fn read(offset: u64, sequence: u64) -> Turn {
    Turn::Read(Request { operation: Operation::Read, ..write(offset) }, Expects::Write(sequence))
}

fn all(mut written: WrittenBlocks) -> Vec<Block> {
    std::iter::from_fn(|| written.pop()).collect()
}

#[test]
fn only_the_last_write_of_a_place_is_remembered() {
    let mut written = WrittenBlocks::Latest(BTreeMap::new());
    for (sequence, (offset, length)) in (1..).zip([(0, 4), (8, 4), (4, 4), (16, 8), (2, 8), (20, 1)]) {
        written.remember(block(offset, length, sequence));
    }
    assert_eq!(all(written), [block(2, 8, 5), block(20, 1, 6)]);
}

#[test]
fn a_write_to_one_target_forgets_nothing_of_another() {
    let mut written = WrittenBlocks::Latest(BTreeMap::new());
    written.remember(Block { file: 0, ..block(0, 8, 1) });
    written.remember(Block { file: 1, ..block(0, 8, 2) });
    assert_eq!(written.len(), 2);
}

#[test]
fn loads_that_write_twice_are_judged_by_their_last_write() {
    let keeps_the_last = |change: fn(&mut JobPlan)| {
        let mut job = crate::tests::job();
        job.load.mix = Mix::Only(Direction::Write);
        (job.load.random, job.load.cover_all) = (true, true);
        job.verify = Some(verify());
        change(&mut job);
        matches!(Review::new(&job, 1).unwrap().written, WrittenBlocks::Latest(_))
    };
    assert!(!keeps_the_last(|_| ()));
    assert!(keeps_the_last(|job| job.load.step = Step::Run(4)));
    assert!(keeps_the_last(|job| job.load.percent_random.write = 50));
    assert!(keeps_the_last(|job| (job.load.random, job.load.step) = (false, Step::Skip(4096))));
    assert!(keeps_the_last(|job| job.load.cover_all = false));
}

#[test]
fn a_backlog_is_read_when_full_and_the_rest_at_the_end() {
    let mut review = review(|plan| plan.backlog = Some(2));
    review.wrote(&write(0));
    assert_eq!(review.step(), Turn::None);
    review.wrote(&write(4));
    let steps: Vec<Turn> = (0..5).map(|_| review.step()).collect();
    assert_eq!(steps, [Turn::Begin, read(0, 1), read(4, 2), Turn::End, Turn::None]);
    review.wrote(&write(8));
    let steps: Vec<Turn> = (0..4).map(|_| review.finish()).collect();
    assert_eq!(steps, [Turn::Begin, read(8, 3), Turn::End, Turn::None]);
}

#[test]
fn a_batch_is_read_back_whenever_a_backlog_is_there_as_fio_does() {
    // The behaviour of fio 3.33 with 16 blocks, as its --debug=io shows; writes are omitted.
    let reads_before = |change: fn(&mut VerifyPlan)| {
        let mut review = review(change);
        let mut groups = Vec::new();
        for number in 0..16 {
            let mut reads = 0;
            loop {
                match review.step() {
                    Turn::None => break,
                    Turn::Read(..) => reads += 1,
                    _ => {}
                }
            }
            if reads > 0 {
                groups.push((number, reads));
            }
            review.wrote(&write(number * 4));
        }
        groups
    };
    let small = reads_before(|plan| (plan.backlog, plan.backlog_batch) = (Some(8), Some(2)));
    assert_eq!(small, [(8, 2), (10, 2), (12, 2), (14, 2)]);
    let large = reads_before(|plan| (plan.backlog, plan.backlog_batch) = (Some(4), Some(8)));
    assert_eq!(large, [(4, 4), (5, 1), (6, 1), (7, 1), (8, 1), (12, 4), (13, 1), (14, 1), (15, 1)]);
}

#[test]
fn trims_come_after_a_number_of_writes_however_few_were_chosen() {
    let mut review = review(|plan| {
        plan.trim = Some(TrimPlan { percent: 30, backlog: 8, batch: None, zero: true });
    });
    let mut trims = Vec::new();
    for number in 0..32u64 {
        let due = std::iter::from_fn(|| Some(review.step()).filter(|turn| *turn != Turn::None));
        let blocks: Vec<u64> = due
            .filter_map(|turn| if let Turn::Trim(request) = turn { Some(request.offset / 4) } else { None })
            .collect();
        assert!(number % 8 == 0 || blocks.is_empty(), "after {number} writes");
        assert!(blocks.iter().all(|&block| (number.saturating_sub(8)..number).contains(&block)), "{blocks:?}");
        trims.extend(blocks);
        review.wrote(&write(number * 4));
    }
    assert!((3..=14).contains(&trims.len()), "{trims:?}");
}

#[test]
fn a_block_is_read_among_writes_once_its_own_has_completed() {
    let mut job = crate::tests::job();
    job.load.mix = Mix::Only(Direction::Write);
    job.files.direct = true;
    job.verify = Some(VerifyPlan { backlog: Some(2), ..verify() });
    let mut review = Review::new(&job, 1).unwrap();
    (0..3).for_each(|block| review.wrote(&write(block * 4)));
    assert_eq!(review.step(), Turn::None, "all are in flight");
    review.completed(&write(4));
    review.completed(&write(0));
    let turns: Vec<Turn> = (0..3).map(|_| review.step()).collect();
    assert_eq!(turns, [read(4, 2), read(0, 1), Turn::None]);
    // At the end of the pass the rest completes first, and is read apart.
    assert_eq!(review.finish(), Turn::Settle);
    review.completed(&write(8));
    let turns: Vec<Turn> = (0..4).map(|_| review.finish()).collect();
    assert_eq!(turns, [Turn::Begin, read(8, 3), Turn::End, Turn::None]);
}

#[test]
fn a_block_that_is_written_again_is_read_once_that_completed() {
    let mut job = crate::tests::job();
    job.load.mix = Mix::Only(Direction::Write);
    job.files.direct = true;
    job.limits.time_based = true;
    job.verify = Some(VerifyPlan { backlog: Some(1), ..verify() });
    let mut review = Review::new(&job, 1).unwrap();
    assert!(review.may_overlap());
    for block in [0, 4] {
        review.wrote(&write(block));
        review.completed(&write(block));
    }
    review.wrote(&write(0));
    let turns: Vec<Turn> = (0..2).map(|_| review.step()).collect();
    assert_eq!(turns, [read(4, 2), Turn::None], "the second write of block 0 is in flight");
    review.completed(&write(0));
    assert_eq!(review.step(), read(0, 3));
}

#[test]
fn a_write_that_failed_is_not_read_back() {
    let mut review = review(|_| ());
    (0..3).for_each(|block| review.wrote(&write(block * 4)));
    review.failed(&write(4));
    let turns: Vec<Turn> = (0..4).map(|_| review.finish()).collect();
    assert_eq!(turns, [Turn::Begin, read(0, 1), read(8, 3), Turn::End]);
}

#[test]
fn only_flushed_writes_are_read_back_where_the_policy_says_so() {
    let mut review = review(|plan| plan.policy = VerifyPolicy::Synced);
    review.wrote(&write(0));
    review.wrote(&write(4));
    review.flushed(0, 1);
    review.wrote(&write(8));
    let turns: Vec<Turn> = (0..4).map(|_| review.finish()).collect();
    assert_eq!(turns, [Turn::Begin, read(0, 1), Turn::End, Turn::None]);
}

#[test]
fn only_what_a_state_names_is_read_back() {
    let mut review = review(|_| ());
    review.resume(State { writes: 3, in_flight: vec![1], ..State::default() });
    (0..5).for_each(|block| review.wrote(&write(block * 4)));
    let turns: Vec<Turn> = (0..4).map(|_| review.finish()).collect();
    assert_eq!(turns, [Turn::Begin, read(0, 1), read(8, 3), Turn::End]);
}

/// The steps while four blocks are written, of which two are trimmed, and the content they must have afterwards.
fn with_trims(change: fn(&mut VerifyPlan)) -> (Vec<Turn>, Vec<Expects>) {
    let mut review = review(change);
    let mut turns = Vec::new();
    for block in 0..4 {
        turns.extend(std::iter::from_fn(|| Some(review.step()).filter(|turn| *turn != Turn::None)));
        review.wrote(&write(block * 4));
    }
    let reads = std::iter::from_fn(|| Some(review.finish()).filter(|turn| *turn != Turn::None))
        .filter_map(|turn| if let Turn::Read(_, expects) = turn { Some(expects) } else { None })
        .collect();
    (turns, reads)
}

#[test]
fn trims_take_blocks_of_the_history_which_must_then_be_zero() {
    let (turns, reads) = with_trims(|plan| {
        plan.trim = Some(TrimPlan { percent: 100, backlog: 3, batch: Some(2), zero: true });
    });
    let trim = |offset| Turn::Trim(Request { operation: Operation::Trim, ..write(offset) });
    assert_eq!(turns, [Turn::Settle, trim(0), trim(4)]);
    assert_eq!(reads, [Expects::Zeros, Expects::Zeros, Expects::Write(3), Expects::Write(4)]);
    // With trim_verify_zero=0 a device may return any data.
    let (_, reads) = with_trims(|plan| {
        plan.trim = Some(TrimPlan { percent: 100, backlog: 3, batch: Some(2), zero: false });
    });
    assert_eq!(reads, [Expects::Anything, Expects::Anything, Expects::Write(3), Expects::Write(4)]);
}

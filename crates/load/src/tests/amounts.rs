//! The amount of I/O, and when a load ends.

use super::*;

/// Checks that the number of I/Os is the same for sequential and random loads, with and without a map.
fn check_count(sizes: &[u64], expected: usize, change: impl Fn(&mut JobPlan)) {
    for (random, cover_all) in [(false, true), (true, true), (true, false)] {
        let mut job = job();
        job.load.random = random;
        job.load.cover_all = cover_all;
        change(&mut job);
        let trace = trace(&job, &regions(sizes));
        assert_eq!(trace.requests.len(), expected, "random {random}, cover_all {cover_all}");
    }
}

#[test]
fn the_region_is_the_amount() {
    check_count(&[64 * K], 16, |_| ());
    check_count(&[64 * K, 32 * K], 24, |_| ());
}

#[test]
fn io_size_replaces_the_amount_and_is_not_cut() {
    check_count(&[16 * K], 10, |job| job.files.io_size = Some(Extent::Bytes(40 * K)));
    check_count(&[16 * K], 2, |job| job.files.io_size = Some(Extent::Bytes(6 * K)));
    check_count(&[64 * K], 8, |job| job.files.io_size = Some(Extent::Percent(50)));
}

#[test]
fn with_filesize_the_size_is_at_most_that_of_the_files() {
    let sized = |size| {
        move |job: &mut JobPlan| {
            (job.files.file_size, job.files.size) = (Some((64 * K, 64 * K)), Some(Extent::Bytes(size)))
        }
    };
    check_count(&[64 * K], 8, sized(32 * K));
    check_count(&[64 * K], 16, sized(128 * K));
}

#[test]
fn loops_multiply_the_amount() {
    check_count(&[16 * K], 12, |job| job.limits.loops = 3);
    check_count(&[16 * K], 10, |job| {
        job.limits.loops = 5;
        job.files.io_size = Some(Extent::Bytes(8 * K));
    });
}

#[test]
fn an_amount_beyond_the_region_counts_once_for_all_loops() {
    for (loops, expected) in [(1, 10), (2, 12), (3, 12), (5, 20)] {
        let mut job = job();
        job.limits.loops = loops;
        job.files.io_size = Some(Extent::Bytes(40 * K));
        assert_eq!(trace(&job, &regions(&[16 * K])).requests.len(), expected, "{loops} loops");
    }
}

#[test]
fn number_ios_holds_per_loop_and_never_exceeds_the_amount() {
    check_count(&[16 * K], 3, |job| job.limits.ios = Some(3));
    check_count(&[16 * K], 4, |job| job.limits.ios = Some(7));
    check_count(&[16 * K], 6, |job| {
        job.limits.ios = Some(3);
        job.limits.loops = 2;
    });
}

#[test]
fn runtime_ends_everything_number_ios_no_time_based_job() {
    check_count(&[16 * K], 1000, |job| {
        job.limits.time_based = true;
        job.limits.runtime = Some(Nanos(MS));
        job.limits.ios = Some(5);
    });
    check_count(&[64 * K], 2, |job| job.limits.runtime = Some(Nanos(2000)));
}

#[test]
fn the_runtime_counts_from_the_end_of_the_ramp() {
    let mut job = job();
    job.limits.ramp = Nanos(MS);
    job.limits.runtime = Some(Nanos(MS));
    let mut load = load(&job, &regions(&[1 << 30]));
    let before = run(&mut load, 1000, 5000).requests.len();
    assert_eq!(before, 5000, "no end before the ramp is over");
    load.ramp_over(Nanos(5 * MS));
    assert!(matches!(load.next(Nanos(6 * MS - 1)), Next::Issue(_)));
    assert_eq!(load.next(Nanos(6 * MS)), Next::Stop);

    job.limits.runtime = None;
    let mut load = super::load(&job, &regions(&[40 * 4 * K]));
    run(&mut load, 1000, 21);
    load.ramp_over(Nanos(MS));
    assert_eq!(run(&mut load, 1000, 100).requests.len(), 19);
}

#[test]
fn a_tail_smaller_than_a_block_is_left_alone() {
    let mut job = job();
    assert_eq!(trace(&job, &regions(&[18 * K])).requests.len(), 4);
    job.load.random = true;
    assert_eq!(trace(&job, &regions(&[18 * K])).requests.len(), 4);
    job.load.cover_all = false;
    assert_eq!(trace(&job, &regions(&[18 * K])).requests.len(), 5, "independent draws go on to the amount");
    job.load.random = false;
    job.limits.loops = 2;
    assert_eq!(trace(&job, &regions(&[18 * K])).requests.len(), 8, "nor does a third pass make up for it");
}

#[test]
fn a_block_is_trimmed_and_written_within_twice_the_amount() {
    let mut job = job();
    job.load.mix = Mix::TrimWrite;
    job.limits.ios = Some(3);
    let trace = trace(&job, &regions(&[64 * K]));
    assert_eq!((count(&trace, Operation::Trim), count(&trace, Operation::Write)), (3, 3));
}

#[test]
fn stop_is_final() {
    let mut load = load(&job(), &regions(&[1 << 20]));
    run(&mut load, 1, 10);
    load.stop();
    assert_eq!(load.next(Nanos(1)), Next::Stop);
}

#[test]
fn caches_are_dropped_whenever_a_target_starts_over() {
    let mut job = job();
    job.files.invalidate = true;
    job.limits.loops = 3;
    let both = trace(&job, &regions(&[16 * K, 16 * K]));
    assert_eq!((both.drains, both.drops), (2, vec![0, 1, 0, 1]));

    job.limits.time_based = true;
    job.limits.runtime = Some(Nanos(20_000));
    let once = trace(&job, &regions(&[16 * K]));
    assert_eq!((once.requests.len(), once.drains, once.drops.len()), (20, 0, 4));
    job.load.random = true;
    assert_eq!(trace(&job, &regions(&[16 * K])).drops.len(), 4);
    job.load.cover_all = false;
    assert_eq!(trace(&job, &regions(&[16 * K])).drops.len(), 0, "independent draws never start over");
    job.load.cover_all = true;
    job.files.invalidate = false;
    assert_eq!(trace(&job, &regions(&[16 * K])).drops.len(), 0);
}

#[test]
fn files_take_turns_until_each_is_used_up() {
    let trace = trace(&job(), &regions(&[8 * K, 20 * K, 3 * K, 12 * K]));
    assert_eq!(words(&trace), "R0+4/0 R0+4/1 R0+4/3 R4+4/0 R4+4/1 R4+4/3 R8+4/1 R8+4/3 R12+4/1 R16+4/1");
}

#[test]
fn a_sync_goes_to_the_file_that_was_written_last() {
    let mut job = job();
    job.load.mix = Mix::Only(Direction::Write);
    job.load.fsync_every = 1;
    let trace = trace(&job, &regions(&[8 * K, 8 * K]));
    assert_eq!(words(&trace), "W0+4/0 S0+0/0 W0+4/1 S0+0/1 W4+4/0 S4+0/0 W4+4/1");
}

#[test]
fn in_a_time_based_mix_each_direction_starts_over_by_itself() {
    let mut job = job();
    job.load.mix = Mix::ReadWrite;
    job.limits.time_based = true;
    job.limits.runtime = Some(Nanos(MS));
    let trace = trace(&job, &regions(&[16 * K]));
    assert_eq!((trace.requests.len(), trace.drains), (1000, 0));
    for operation in [Operation::Read, Operation::Write] {
        let ours = trace.requests.iter().filter(|(_, request)| request.operation == operation);
        for (index, (_, request)) in (0u64..).zip(ours) {
            assert_eq!(request.offset, index % 4 * 4 * K);
        }
    }
}

#[test]
fn a_time_based_job_goes_over_files_or_a_tail_repeatedly() {
    for sizes in [&[16 * K, 24 * K][..], &[18 * K]] {
        let mut job = job();
        job.limits.time_based = true;
        job.limits.runtime = Some(Nanos(MS));
        let trace = trace(&job, &regions(sizes));
        let per_pass: u64 = sizes.iter().map(|size| size / (4 * K)).sum();
        assert_eq!(trace.requests.len(), 1000);
        assert_eq!(trace.drains as u64, (1000 - 1) / per_pass);
    }
}

#[test]
fn nothing_to_do_io_on_is_an_error() {
    let job = job();
    let error = |regions: &[Region]| {
        Load::new(&LoadSetup { job: &job, number: 1, regions, zones: &[], system_seed: 0 }).unwrap_err()
    };
    assert!(error(&[]).to_string().contains("no file"));
    assert!(error(&regions(&[4095])).to_string().contains("4096 bytes fits into no file"));
}

proptest! {
    #[test]
    fn an_amount_is_met_exactly_by_blocks_that_divide_it(blocks in 1u64..200, loops in 1u64..4, random: bool, cover_all: bool) {
        let mut job = job();
        job.load.random = random;
        job.load.cover_all = cover_all;
        job.limits.loops = loops;
        let trace = trace(&job, &regions(&[blocks * 4 * K]));
        prop_assert_eq!(bytes(&trace), blocks * 4 * K * loops);
    }

    #[test]
    fn no_io_leaves_its_region(start in 0u64..10_000, size in 4096u64..200_000, kind in 0..6, unaligned: bool) {
        let mut job = job();
        job.load.random = kind > 0;
        job.load.cover_all = kind % 2 == 0;
        job.load.unaligned_sizes = unaligned;
        job.load.mix = Mix::ReadWrite;
        job.load.block_size = alike(match kind {
            0 | 1 => BlockSize::Range(1024, 4096),
            2 | 3 => BlockSize::Split(vec![(512, 20), (4096, 80)]),
            _ => BlockSize::Fixed(4096),
        });
        let region = Region { start, end: start + size, reach: Reach::Part };
        job.files.io_size = Some(Extent::Bytes(3 * size));
        let trace = run(&mut load(&job, &[region]), 1, 2000);
        prop_assert!(!trace.requests.is_empty());
        for (_, request) in &trace.requests {
            prop_assert!(request.offset >= start && request.offset + u64::from(request.length) <= region.end);
            prop_assert!(request.length > 0);
        }
    }
}

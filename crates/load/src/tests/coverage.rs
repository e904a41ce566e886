//! Coverage: which blocks are used, how often, and in which directions.

use super::*;

/// Checks that every byte of the region is used once, whatever the sizes.
fn check_full_coverage(job: &JobPlan, size: u64) {
    let trace = trace(job, &regions(&[size]));
    let mut pieces: Vec<(u64, u64)> = trace
        .requests
        .iter()
        .map(|(_, request)| (request.offset, request.offset + u64::from(request.length)))
        .collect();
    pieces.sort_unstable();
    assert_eq!((pieces[0].0, pieces[pieces.len() - 1].1), (0, size));
    assert!(pieces.windows(2).all(|pair| pair[0].1 == pair[1].0), "{pieces:?}");
}

proptest! {
    #[test]
    fn a_random_pass_covers_every_block_once(blocks in 1u64..3000, seed: u64, lfsr: bool) {
        let mut job = job();
        job.load.random = true;
        job.load.seed = Some(seed);
        job.load.generator = if lfsr { Generator::Lfsr } else { Generator::Tausworthe };
        check_full_coverage(&job, blocks * 4 * K);
    }

    #[test]
    fn reads_and_writes_share_one_pass(blocks in 1u64..500, seed: u64, percent in 0u8..=100) {
        let mut job = job();
        job.load.random = true;
        job.load.seed = Some(seed);
        job.load.mix = Mix::ReadWrite;
        job.load.read_percent = percent;
        check_full_coverage(&job, blocks * 4 * K);
    }

    #[test]
    fn different_sizes_cover_every_byte_once(blocks in 8u64..500, seed: u64, kind in 0..3) {
        let mut job = job();
        job.load.random = true;
        job.load.seed = Some(seed);
        job.load.mix = Mix::ReadWrite;
        job.load.block_size = match kind {
            0 => alike(BlockSize::Range(1024, 8192)),
            1 => alike(BlockSize::Split(vec![(1024, 30), (4096, 60), (65536, 10)])),
            _ => PerDirection { write: BlockSize::Fixed(8192), ..alike(BlockSize::Fixed(1024)) },
        };
        check_full_coverage(&job, blocks * K);
    }
}

fn sequence(change: impl FnOnce(&mut JobPlan), number: u32) -> Vec<u64> {
    let mut job = job();
    job.load.random = true;
    change(&mut job);
    offsets(&run(&mut load_number(&job, &regions(&[1 << 20]), number), 1000, 600))
}

#[test]
fn a_seed_fixes_the_sequence_and_clones_differ() {
    for change in [
        |_: &mut JobPlan| (),
        |job: &mut JobPlan| job.load.cover_all = false,
        |job: &mut JobPlan| job.load.distribution = Distribution::Zipf(1.2, None),
        |job: &mut JobPlan| job.load.block_size = alike(BlockSize::Range(4096, 16384)),
        |job: &mut JobPlan| job.load.generator = Generator::Lfsr,
        |job: &mut JobPlan| job.load.generator = Generator::Tausworthe64,
    ] {
        assert_eq!(sequence(change, 1), sequence(change, 1));
        assert_ne!(sequence(change, 1), sequence(change, 2));
        let other_seed = |job: &mut JobPlan| {
            change(job);
            job.load.seed = Some(2);
        };
        assert_ne!(sequence(change, 1), sequence(other_seed, 1));
        let system_seed = |job: &mut JobPlan| {
            change(job);
            job.load.seed = None;
        };
        assert_ne!(sequence(change, 1), sequence(system_seed, 1));
    }
}

#[test]
fn loops_repeat_the_sequence_only_where_asked_to() {
    let looped = |repeat| {
        sequence(
            |job| {
                job.limits.loops = 2;
                job.load.repeat_per_loop = repeat;
            },
            1,
        )
    };
    let repeated = looped(true);
    assert_eq!(repeated[..256], repeated[256..512]);
    let other = looped(false);
    assert_eq!(repeated[..256], other[..256]);
    assert_ne!(other[..256], other[256..512]);
}

#[test]
fn a_time_based_pass_starts_over_in_another_order() {
    let offsets = sequence(
        |job| {
            job.limits.time_based = true;
            job.limits.runtime = Some(Nanos(SECOND));
        },
        1,
    );
    let pass = |from: usize| offsets[from..from + 256].iter().copied().collect::<BTreeSet<u64>>();
    assert_eq!((pass(0).len(), pass(256).len()), (256, 256));
    assert_ne!(offsets[..256], offsets[256..512]);
}

#[test]
fn without_a_map_some_blocks_repeat() {
    let offsets = sequence(|job| job.load.cover_all = false, 1);
    let distinct = offsets.iter().collect::<BTreeSet<_>>().len();
    // 256 draws of 256 blocks leave 1/e of them out.
    assert_eq!(offsets.len(), 256);
    assert!((140..185).contains(&distinct), "{distinct}");
}

#[test]
fn the_mix_has_its_share_of_reads() {
    for percent in [0, 10, 50, 70, 100] {
        let mut job = job();
        job.load.mix = Mix::ReadWrite;
        job.load.read_percent = percent;
        let trace = trace(&job, &regions(&[20_000 * 4 * K]));
        let reads = count(&trace, Operation::Read);
        assert!(reads.abs_diff(200 * usize::from(percent)) < 300, "{percent}: {reads}");
        assert_eq!(trace.requests.len(), 20_000);
    }
}

#[test]
fn a_share_of_random_ios_continues_where_the_last_one_ended() {
    let mut job = job();
    job.load.random = true;
    job.load.cover_all = false;
    job.load.percent_random = alike(30);
    job.files.io_size = Some(Extent::Bytes(10_000 * 4 * K));
    let offsets = offsets(&trace(&job, &regions(&[1 << 30])));
    let continued = offsets.windows(2).filter(|pair| pair[1] == pair[0] + 4 * K).count();
    assert!(continued.abs_diff(7000) < 200, "{continued}");
}

#[test]
fn skewed_draws_reach_the_requests() {
    let mut job = job();
    job.load.random = true;
    job.load.distribution = Distribution::Zipf(1.2, None);
    job.files.io_size = Some(Extent::Bytes(20_000 * 4 * K));
    let mut counts: HashMap<u64, u32> = HashMap::new();
    for offset in offsets(&trace(&job, &regions(&[1000 * 4 * K]))) {
        *counts.entry(offset).or_default() += 1;
    }
    let hottest = counts.values().copied().max().unwrap();
    // 1 / (sum of rank^-1.2 over 1000 ranks) = 23.1 %.
    assert!(hottest.abs_diff(4617) < 250, "{hottest}");
}

#[test]
fn more_than_four_billion_blocks_are_reached_evenly() {
    let mut job = job();
    job.load.random = true;
    job.load.cover_all = false;
    job.load.block_size = alike(BlockSize::Fixed(512));
    let offsets = offsets(&run(&mut load(&job, &regions(&[1 << 50])), 1, 10_000));
    let upper = offsets.iter().filter(|&&offset| offset >= 1 << 49).count();
    assert!(upper.abs_diff(5000) < 250, "{upper}");
    assert!(offsets.iter().any(|offset| offset / 512 % 2 == 1));
    assert_eq!(offsets.iter().collect::<BTreeSet<_>>().len(), 10_000);
}

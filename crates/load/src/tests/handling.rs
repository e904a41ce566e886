//! Zones, the order of files, open files, alignment and other options that decide where I/O goes, compared with
//! sequences that fio 3.33 issued.

use super::golden::{ask_fio, block_sizes, bytes_of};
use super::*;
use plan::{FileService, Gap, RangeSync, Strides, ZonePlan, Zoned};

const RECORDED: &str = include_str!("../../tests/golden/fio-3.33/place-sequences.txt");

const STRIDES: Strides = Strides { amount: 0, window: 0, skip: Gap::Bytes(0) };
const ZONES: Zoned = Zoned {
    size: 0,
    capacity: 0,
    open_most: None,
    opened_by_job_most: None,
    reads_anywhere: false,
    reset_threshold: None,
    reset_frequency: 1.0,
    writes_remainder: false,
    ignores_limits: false,
    recovers: false,
};

/// Parses the options of recorded command lines that decide positions.
pub(super) fn parse(option: &str, value: &str, job: &mut JobPlan) -> bool {
    let handling = &mut job.files.handling;
    match option {
        "zonemode" if value == "strided" => job.load.zones = ZonePlan::Strided(STRIDES),
        "zonemode" => job.load.zones = ZonePlan::Zoned(ZONES),
        "openfiles" => handling.open_at_once = value.parse().ok(),
        "file_service_type" => {
            let (word, times) = value.split_once(':').unwrap_or((value, "1"));
            handling.service = match word {
                "roundrobin" => FileService::RoundRobin(times.parse().unwrap()),
                "sequential" => FileService::Sequential,
                _ => panic!("{value} is not known here"),
            };
        }
        "ba" => {
            job.load.align = block_sizes(value).map(|size| Some(size.smallest()));
            job.load.cover_all = job.load.align.read == Some(job.load.block_size.read.smallest());
        }
        "bs_is_seq_rand" => job.load.sizes_by_order = true,
        "percentage_random" => job.load.percent_random = alike(value.parse().unwrap()),
        "rw_sequencer" => {}
        _ => return zone_option(option, value, &mut job.load.zones),
    }
    true
}

fn zone_option(option: &str, value: &str, zones: &mut ZonePlan) -> bool {
    match (zones, option) {
        (ZonePlan::Strided(zones), "zonesize") => (zones.amount, zones.window) = (bytes_of(value), bytes_of(value)),
        (ZonePlan::Strided(zones), "zonerange") => zones.window = bytes_of(value),
        (ZonePlan::Strided(zones), "zoneskip") => zones.skip = Gap::Bytes(bytes_of(value)),
        (ZonePlan::Zoned(zones), "zonesize") => (zones.size, zones.capacity) = (bytes_of(value), bytes_of(value)),
        (ZonePlan::Zoned(zones), "zonecapacity") => zones.capacity = bytes_of(value),
        (ZonePlan::Zoned(zones), "read_beyond_wp") => zones.reads_anywhere = value == "1",
        (ZonePlan::Zoned(zones), "zone_reset_threshold") => zones.reset_threshold = value.parse().ok(),
        (ZonePlan::Zoned(zones), "zone_reset_frequency") => zones.reset_frequency = value.parse().unwrap(),
        (ZonePlan::Zoned(zones), "max_open_zones") => zones.open_most = value.parse().ok(),
        (ZonePlan::Zoned(zones), "write_zone_remainder") => zones.writes_remainder = value == "1",
        _ => return false,
    }
    true
}

fn ours(arguments: &str) -> Trace {
    let (job, regions) = super::golden::parse(arguments);
    trace(&job, &regions)
}

#[test]
fn sequences_are_those_of_fio() {
    let cases: Vec<&str> = RECORDED.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert!(cases.len() >= 70, "{}", cases.len());
    for case in cases.chunks(2) {
        assert_eq!(words(&ours(case[0])), case[1], "{}", case[0]);
    }
}

#[test]
fn random_strides_draw_inside_their_window_and_move_on() {
    for arguments in [
        "--rw=randread --bs=4k --size=128k --zonemode=strided --zonesize=8k --zonerange=16k",
        "--rw=randread --bs=4k --size=128k --zonemode=strided --zonesize=8k --zonerange=16k --norandommap=1",
    ] {
        let offsets = offsets(&ours(arguments));
        assert_eq!(offsets.len(), ask_fio(arguments).0, "{arguments}");
        for (index, pair) in offsets.chunks(2).enumerate() {
            let start = index as u64 % 8 * 16 * K;
            assert!(pair.iter().all(|&offset| (start..start + 16 * K).contains(&offset)), "{arguments}: {offsets:?}");
        }
    }
    // Twice as much as a window holds: each of its blocks twice.
    let twice = offsets(&ours("--rw=randread --bs=4k --size=64k --zonemode=strided --zonesize=32k --zonerange=16k"));
    for window in twice.chunks(8) {
        let counts = window.iter().fold(HashMap::new(), |mut counts: HashMap<u64, u32>, &offset| {
            *counts.entry(offset).or_default() += 1;
            counts
        });
        assert!(counts.len() == 4 && counts.values().all(|&count| count == 2), "{twice:?}");
    }
}

#[test]
fn a_skip_in_percent_is_a_share_of_the_region() {
    let (mut job, regions) = super::golden::parse("--rw=read --bs=4k --size=160k --io_size=16k");
    job.load.zones = ZonePlan::Strided(Strides { amount: 4 * K, window: 4 * K, skip: Gap::Percent(10) });
    assert_eq!(words(&trace(&job, &regions)), "R0+4/0 R20+4/0 R40+4/0 R60+4/0");
}

/// Checks the state of zones after these writes: every write is at its zone's write pointer, and a zone is reset only
/// when it is full.
fn check_zones(trace: &Trace, zone: u64, capacity: u64) -> (usize, usize) {
    let (mut written, mut resets) = (HashMap::<u64, u64>::new(), 0);
    let mut most_open = 0;
    for (_, request) in &trace.requests {
        let held = written.entry(request.offset / zone).or_default();
        let inside = request.offset % zone;
        if request.operation == Operation::Read {
            assert!(inside + u64::from(request.length) <= *held, "read beyond what is written: {request:?}");
            continue;
        }
        if inside == 0 && *held > 0 {
            resets += 1;
            *held = 0;
        }
        assert_eq!(inside, *held, "a write off its zone's pointer: {request:?}");
        *held += u64::from(request.length);
        assert!(*held <= capacity, "{request:?}");
        most_open = most_open.max(written.values().filter(|&&held| held > 0 && held < capacity).count());
    }
    (resets, most_open)
}

#[test]
fn zones_are_written_in_order_whatever_is_drawn() {
    let zoned = "--bs=256k --size=4096k --zonemode=zbd --zonesize=1024k";
    let (resets, _) = check_zones(&ours(&format!("--rw=randwrite {zoned}")), 1024 * K, 1024 * K);
    assert_eq!(resets, 0, "each block once fills each zone once");
    // fio counts 4 resets here, too.
    let capped = ours(&format!("--rw=randwrite {zoned} --zonecapacity=512k"));
    assert_eq!((check_zones(&capped, 1024 * K, 512 * K).0, capped.requests.len()), (4, 16));
    for most in [1, 2] {
        let limited = ours(&format!("--rw=randwrite {zoned} --max_open_zones={most}"));
        assert_eq!((check_zones(&limited, 1024 * K, 1024 * K).1, limited.requests.len()), (most, 16));
    }
    let mixed = ours(&format!("--rw=randrw {zoned}"));
    check_zones(&mixed, 1024 * K, 1024 * K);
    assert!(count(&mixed, Operation::Read) > 0);
}

#[test]
fn empty_zones_have_nothing_to_read() {
    for pattern in ["read", "randread"] {
        let arguments = format!("--rw={pattern} --bs=256k --size=4096k --zonemode=zbd --zonesize=1024k");
        assert_eq!(ours(&arguments).requests.len(), 0, "{pattern}");
        assert_eq!(ours(&format!("{arguments} --read_beyond_wp=1")).requests.len(), 16, "{pattern}");
    }
}

#[test]
fn a_zones_remainder_is_left_out_or_written() {
    let zoned = "--rw=write --bs=384k --size=2048k --zonemode=zbd --zonesize=1024k";
    assert_eq!(words(&ours(zoned)), "W0+384/0 W384+384/0 W1024+384/0 W1408+384/0");
    assert_eq!(
        words(&ours(&format!("{zoned} --write_zone_remainder=1"))),
        "W0+384/0 W384+384/0 W768+256/0 W1024+384/0 W1408+384/0 W1792+256/0"
    );
}

#[test]
fn aligned_random_blocks_start_at_multiples_and_may_repeat() {
    for (align, size) in [(512, 32 * K), (8192, 64 * K), (3072, 100 * K)] {
        let arguments = format!("--rw=randread --bs=4k --size={size} --io_size=4096k --ba={align}");
        let offsets = offsets(&ours(&arguments));
        assert_eq!(offsets.len(), 1024);
        assert!(offsets.iter().all(|offset| offset % align == 0 && offset + 4 * K <= size), "{arguments}");
        let distinct: BTreeSet<_> = offsets.iter().collect();
        let possible = (size - 4 * K) / align + 1;
        assert!(distinct.len() as u64 > possible * 9 / 10, "{arguments}: {} of {possible}", distinct.len());
    }
    // An alignment equal to the block size is the plain load, with its map.
    let same = ours("--rw=randread --bs=4k --size=64k --ba=4k");
    assert_eq!(offsets(&same).into_iter().collect::<BTreeSet<_>>().len(), 16);
}

#[test]
fn sizes_by_order_are_of_sequential_reads_and_random_writes() {
    let all_random = ours("--rw=randread --bs=4k,8k --size=256k --bs_is_seq_rand=1");
    assert!(all_random.requests.iter().all(|(_, request)| request.length == 8192));
    let mixed = ours("--rw=randwrite --bs=4k,8k --size=4096k --bs_is_seq_rand=1 --percentage_random=50");
    let mut next = 0;
    let mut sequential = 0;
    for (_, request) in &mixed.requests {
        // A random draw may hit the next sequential block.
        let follows = request.offset == next;
        assert!(request.length == 8192 || follows, "{request:?} after {next}");
        sequential += usize::from(request.length == 4096);
        next = request.offset + u64::from(request.length);
    }
    let share = sequential * 100 / mixed.requests.len();
    assert!((40..=60).contains(&share), "{share} % in sequence");
}

#[test]
fn each_direction_goes_on_from_its_own_position() {
    let mixed = ours("--rw=rw --bs=4k --size=256k");
    for operation in [Operation::Read, Operation::Write] {
        let own: Vec<u64> =
            mixed.requests.iter().filter(|(_, r)| r.operation == operation).map(|(_, r)| r.offset).collect();
        assert!(own.iter().enumerate().all(|(index, &offset)| offset == index as u64 * 4 * K), "{own:?}");
    }
}

#[test]
fn percentage_random_is_met_per_direction() {
    let (mut job, regions) = super::golden::parse("--rw=randrw --bs=4k --size=16384k --norandommap=1");
    job.load.percent_random = PerDirection { read: 20, write: 80, trim: 100 };
    let mixed = trace(&job, &regions);
    for (operation, random) in [(Operation::Read, 20), (Operation::Write, 80)] {
        let own: Vec<&Request> = mixed.requests.iter().map(|(_, r)| r).filter(|r| r.operation == operation).collect();
        let jumps = own.windows(2).filter(|pair| pair[1].offset != pair[0].offset + 4 * K).count();
        let share = jumps * 100 / own.len();
        assert!(share.abs_diff(random) <= 4, "{operation:?}: {share} %");
    }
}

fn files(service: FileService, sizes: &[u64], open: Option<u32>) -> Trace {
    let mut job = job();
    job.files.handling.service = service;
    job.files.handling.open_at_once = open;
    trace(&job, &regions(sizes))
}

/// Number of I/Os of each file.
fn shares(trace: &Trace, files: usize) -> Vec<usize> {
    let mut counts = vec![0; files];
    trace.requests.iter().for_each(|(_, request)| counts[request.file as usize] += 1);
    counts
}

#[test]
fn random_service_draws_files_and_uses_all_up() {
    let once = files(FileService::Random(1), &[64 * K; 8], None);
    assert_eq!(shares(&once, 8), [16; 8]);
    let order: Vec<u32> = once.requests.iter().map(|(_, request)| request.file).collect();
    assert!(order.windows(2).filter(|pair| pair[1] != (pair[0] + 1) % 8).count() > 64, "{order:?}");
    let runs = files(FileService::Random(4), &[64 * K; 8], None);
    for four in runs.requests.chunks(4) {
        assert!(four.iter().all(|(_, request)| request.file == four[0].1.file), "{}", words(&runs));
    }
}

#[test]
fn skewed_services_favour_files_as_fio_does() {
    const FILES: usize = 100;
    let sizes = [64 * K; FILES];
    let total = 16 * FILES;
    let check = |service, hottest: std::ops::RangeInclusive<usize>, top: usize, least: usize, most: usize| {
        let trace = files(service, &sizes, None);
        let counts = shares(&trace, FILES);
        assert_eq!(trace.requests.len(), total, "{service:?}");
        let file = (0..FILES).max_by_key(|&file| counts[file]).unwrap();
        assert!(hottest.contains(&file), "{service:?}: {file}");
        let mut sorted = counts;
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let share = sorted[..top].iter().sum::<usize>() * 100 / total;
        assert!((least..=most).contains(&share), "{service:?}: {share} % to {top}");
    };
    check(FileService::Zipf(1.2, Some(0.5)), 50..=50, 1, 20, 36);
    check(FileService::Zipf(1.2, None), 0..=99, 1, 20, 36);
    check(FileService::Pareto(0.2, None), 0..=99, 20, 75, 85);
    check(FileService::Normal(10.0, None), 40..=60, 20, 62, 76);
    check(FileService::Normal(10.0, Some(0.25)), 15..=35, 20, 62, 76);
}

#[test]
fn no_more_files_are_open_than_allowed_whatever_the_service() {
    for service in [FileService::RoundRobin(1), FileService::Random(3), FileService::Zipf(1.2, None)] {
        for open in [1, 3, 7] {
            let trace = files(service, &[16 * K; 20], Some(open));
            assert_eq!(trace.requests.len(), 80, "{service:?}");
            // One seat per open file, and every file that is served and was not among the first has been opened.
            assert!(trace.opened.iter().all(|&(seat, _)| seat < open), "{service:?}");
            let served: BTreeSet<u32> = trace.requests.iter().map(|(_, r)| r.file).filter(|&f| f >= open).collect();
            let opened: BTreeSet<u32> = trace.opened.iter().map(|&(_, file)| file).collect();
            assert!(served.is_subset(&opened), "{service:?} {open}: {served:?} {opened:?}");
        }
    }
}

#[test]
fn ranges_are_synced_after_the_writes_that_fio_counts() {
    let mut job = job();
    job.load.mix = Mix::Only(Direction::Write);
    job.load.range_sync = Some(RangeSync { every: 2, wait_before: false, write: true, wait_after: false });
    let trace = trace(&job, &regions(&[32 * K]));
    // fio 3.33 does not sync after the last write; plumb does.
    assert_eq!(trace.ranges[..3], [(2, 0, 0, 8), (4, 0, 8, 8), (6, 0, 16, 8)]);
    assert_eq!(trace.requests.len(), 8);
}

#[test]
fn a_map_that_does_not_fit_is_an_error_or_done_without() {
    let mut job = job();
    job.load.random = true;
    job.load.block_size = alike(BlockSize::Range(512, 1024));
    job.limits.ios = Some(4);
    let huge = regions(&[1 << 62]);
    let made = |job: &JobPlan| Load::new(&LoadSetup { job, number: 1, regions: &huge, zones: &[], system_seed: 1 });
    assert!(made(&job).unwrap_err().what.starts_with("there is no memory for a random map"));
    job.load.soft_map = true;
    let mut load = made(&job).unwrap();
    load.begin(Nanos(0));
    assert_eq!(run(&mut load, 1000, 100).requests.len(), 4);
}

#[test]
fn a_block_larger_than_the_rest_ends_the_file_ranges_fit() {
    assert_eq!(words(&ours("--rw=read --bs=8k --size=20k")), "R0+8/0 R8+8/0");
    let (mut job, regions) = super::golden::parse("--rw=randread --bs=4k --size=1024k");
    job.load.block_size = alike(BlockSize::Range(4096, 10_240));
    for (_, request) in &trace(&job, &regions).requests {
        assert!(request.length % 4096 == 0 || request.length == 10_240, "{request:?}");
        assert!(request.offset + u64::from(request.length) <= 1024 * K, "{request:?}");
    }
}

#[test]
fn skewed_ranks_are_scattered_as_a_permutation_per_pass() {
    let hot = |seed| {
        let (mut job, regions) = super::golden::parse("--rw=randread --bs=4k --size=4096k --io_size=16384k");
        job.load.distribution = Distribution::Zipf(1.2, None);
        job.load.seed = Some(seed);
        let mut counts: HashMap<u64, u32> = HashMap::new();
        offsets(&trace(&job, &regions)).into_iter().for_each(|offset| *counts.entry(offset).or_default() += 1);
        let mut ranked: Vec<(u32, u64)> = counts.into_iter().map(|(offset, count)| (count, offset)).collect();
        ranked.sort_unstable_by(|a, b| b.cmp(a));
        [ranked[0].1, ranked[1].1]
    };
    let [first, second] = hot(1);
    assert!(first.abs_diff(second) > 4 * K, "hot blocks lie side by side");
    assert_ne!(hot(1), hot(2));
    assert_eq!(hot(1), hot(1));
    let (mut job, regions) = super::golden::parse("--rw=randread --bs=4k --size=400k --loops=2");
    job.load.generator = Generator::Lfsr;
    for pass in offsets(&trace(&job, &regions)).chunks(100) {
        assert_eq!(pass.iter().collect::<BTreeSet<_>>().len(), 100);
    }
}

#[test]
fn a_seed_of_ones_own_does_not_start_again_with_each_loop() {
    let passes = |repeats: bool| {
        let (mut job, regions) = super::golden::parse("--rw=randread --bs=4k --size=400k --loops=2");
        job.load.repeat_per_loop = repeats;
        let offsets = offsets(&trace(&job, &regions));
        (offsets[..100].to_vec(), offsets[100..].to_vec())
    };
    let (first, second) = passes(true);
    assert_eq!(first, second);
    let (one, other) = passes(false);
    assert_eq!(one, first);
    assert_ne!(one, other);
}

#[test]
fn the_share_of_reads_holds_in_the_long_run() {
    for percent in [0, 30, 70, 100] {
        let mixed = ours(&format!("--rw=randrw --bs=4k --size=65536k --rwmixread={percent}"));
        let share = count(&mixed, Operation::Read) * 1000 / mixed.requests.len();
        assert!(share.abs_diff(percent * 10) <= 20, "{percent}: {share}");
    }
}

#[test]
fn no_zone_is_written_again_before_it_was_verified() {
    for seed in 0..20 {
        for open_most in [Some(1), Some(4), Some(8), None] {
            let (mut job, regions) = super::golden::parse("--rw=randwrite --bs=16k --size=1024k --loops=2");
            job.load.seed = Some(seed);
            job.load.zones = ZonePlan::Zoned(Zoned {
                size: 64 * K,
                capacity: 64 * K,
                open_most,
                reset_threshold: Some(0.1),
                ..ZONES
            });
            job.verify = Some(plan::VerifyPlan { check: true, ..plan::VerifyPlan::default() });
            let ios = trace(&job, &regions).requests;
            assert_eq!(ios.len(), 256, "{seed} {open_most:?}");
            for pass in ios.chunks(128) {
                let of = |operation| {
                    let wanted = pass.iter().filter(move |(_, request)| request.operation == operation);
                    wanted.map(|(_, request)| request.offset).collect::<Vec<_>>()
                };
                let (writes, reads) = (of(Operation::Write), of(Operation::Read));
                assert_eq!(writes, reads, "{seed} {open_most:?}: in the order of the writes");
                assert_eq!(writes.iter().collect::<BTreeSet<_>>().len(), 64, "{seed} {open_most:?}");
                // Within a zone the blocks follow one another.
                for zone in 0..16 {
                    let inside: Vec<u64> = writes.iter().copied().filter(|at| at / (64 * K) == zone).collect();
                    assert!(inside.is_sorted(), "{seed} {open_most:?}: {inside:?}");
                }
            }
        }
    }
}

#[test]
fn writes_of_mixed_sizes_fill_each_zone_to_its_end() {
    for seed in 0..20 {
        let (mut job, regions) = super::golden::parse("--rw=randwrite --bs=4k --size=1024k");
        job.load.block_size = alike(BlockSize::Range(4096, 16384));
        job.load.seed = Some(seed);
        job.load.zones = ZonePlan::Zoned(Zoned { size: 64 * K, capacity: 64 * K, ..ZONES });
        job.verify = Some(plan::VerifyPlan { check: true, ..plan::VerifyPlan::default() });
        let found = trace(&job, &regions);
        assert_eq!(check_zones(&found, 64 * K, 64 * K).0, 0, "{seed}");
        let is_write = |request: &&Request| request.operation == Operation::Write;
        let written = found.requests.iter().map(|(_, request)| request).filter(is_write);
        assert_eq!(written.map(|request| u64::from(request.length)).sum::<u64>(), 1024 * K, "{seed}");
    }
}

#[test]
fn a_file_that_starts_over_makes_way_for_the_next() {
    for change in [
        (|job: &mut JobPlan| (job.limits.time_based, job.limits.runtime) = (true, Some(Nanos(SECOND))))
            as fn(&mut JobPlan),
        |job| job.load.cover_all = false,
    ] {
        let mut job = job();
        job.load.random = true;
        job.files.handling.open_at_once = Some(1);
        job.files.io_size = Some(Extent::Bytes(96 * K));
        change(&mut job);
        let trace = run(&mut load(&job, &regions(&[16 * K; 3])), 1000, 24);
        let files: Vec<u32> = trace.requests.iter().map(|(_, request)| request.file).collect();
        let in_turn: Vec<u32> = [0, 1, 2, 0, 1, 2].into_iter().flat_map(|file| [file; 4]).collect();
        assert_eq!(files, in_turn);
    }
}

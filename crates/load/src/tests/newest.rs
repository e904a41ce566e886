//! Sequences of the newest fio, 3.42, that no packaged fio shows: `w0` is a write of block 0, `r` a read, `t` a trim.

use super::*;
use plan::{SprandomPlan, TrimPlan, VerifyPlan};

/// I/Os by operation and block. `w0-7` in an expected sequence stands for `w0 w1 ... w7`.
fn blocks(trace: &Trace, block: u64) -> String {
    let word = |(_, request): &(u64, Request)| {
        let letter = match request.operation {
            Operation::Read => 'r',
            Operation::Write => 'w',
            Operation::Trim => 't',
            Operation::Sync | Operation::DataSync => 's',
        };
        format!("{letter}{}", request.offset / block)
    };
    trace.requests.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn spelled(short: &str) -> String {
    let word = |word: &str| match word[1..].split_once('-') {
        None => word.to_owned(),
        Some((first, last)) => {
            let (first, last): (u64, u64) = (first.parse().unwrap(), last.parse().unwrap());
            (first..=last).map(|block| format!("{}{block}", &word[..1])).collect::<Vec<_>>().join(" ")
        }
    };
    short.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

fn verifying(arguments: &str) -> (JobPlan, Vec<Region>) {
    let (mut job, regions) = super::golden::parse(arguments);
    job.verify = Some(VerifyPlan { check: true, ..VerifyPlan::default() });
    (job, regions)
}

#[test]
fn blocks_that_are_written_more_than_once_are_verified_once() {
    let writes = "--rw=write --bs=128k --size=1024k";
    for (io_size, expected) in
        [(2048, "w0-7 w0-7 r0-7"), (1536, "w0-7 w0-3 r0-7"), (512, "w0-3 r0-3"), (4096, "w0-7 w0-7 w0-7 w0-7 r0-7")]
    {
        let (job, regions) = verifying(&format!("{writes} --io_size={io_size}k"));
        assert_eq!(blocks(&trace(&job, &regions), 128 * K), spelled(expected), "{io_size}k");
    }
    let (mut job, regions) = verifying(&format!("{writes} --io_size=2048k"));
    job.verify.as_mut().unwrap().backlog = Some(3);
    assert_eq!(
        blocks(&trace(&job, &regions), 128 * K),
        spelled("w0-2 r0-2 w3-5 r3-5 w6-7 w0 r0 r6-7 w1-3 r1-3 w4-6 r4-6 w7 r7")
    );
    // Loops are something else.
    let (job, regions) = verifying(&format!("{writes} --loops=2"));
    assert_eq!(blocks(&trace(&job, &regions), 128 * K), spelled("w0-7 r0-7 w0-7 r0-7"));
    let (mut job, regions) = verifying(writes);
    job.limits.ios = Some(12);
    assert_eq!(blocks(&trace(&job, &regions), 128 * K), spelled("w0-7 r0-7"));
}

#[test]
fn the_last_write_of_a_block_is_the_one_that_counts() {
    let (job, regions) = verifying("--rw=write --bs=128k --size=1024k --io_size=1536k");
    let mut load = load(&job, &regions);
    let mut wanted = Vec::new();
    loop {
        match load.next(Nanos(0)) {
            Next::Review { expects, .. } => wanted.push(expects),
            Next::Stop => break,
            _ => {}
        }
    }
    let numbers = [9, 10, 11, 12, 5, 6, 7, 8];
    assert_eq!(wanted, numbers.map(crate::Expects::Write), "numbers 8 to 11 and 4 to 7, counted from 1");
}

#[test]
fn files_written_more_than_once_are_read_one_by_one() {
    let mut job = job();
    job.load.mix = Mix::Only(Direction::Write);
    job.verify = Some(VerifyPlan { check: true, ..VerifyPlan::default() });
    job.files.io_size = Some(Extent::Bytes(64 * K));
    let trace = trace(&job, &regions(&[16 * K; 2]));
    let round = "W0+4/0 W0+4/1 W4+4/0 W4+4/1 W8+4/0 W8+4/1 W12+4/0 W12+4/1";
    let reads = "R0+4/0 R4+4/0 R8+4/0 R12+4/0 R0+4/1 R4+4/1 R8+4/1 R12+4/1";
    assert_eq!(words(&trace), format!("{round} {round} {reads}"));
}

#[test]
fn random_writes_with_a_map_are_over_after_their_first_pass() {
    let (job, regions) = verifying("--rw=randwrite --bs=128k --size=1024k --io_size=2048k");
    let found = trace(&job, &regions);
    assert_eq!((count(&found, Operation::Write), count(&found, Operation::Read)), (8, 8));
    // What is read back counts: four times the size is two passes.
    let (job, regions) = verifying("--rw=randwrite --bs=128k --size=1024k --io_size=4096k");
    let found = trace(&job, &regions);
    assert_eq!((count(&found, Operation::Write), count(&found, Operation::Read)), (16, 16));
    let (job, regions) = verifying("--rw=randwrite --bs=128k --size=1024k --io_size=2048k --norandommap=1");
    let found = trace(&job, &regions);
    let different = offsets(&found)[..16].iter().copied().collect::<BTreeSet<_>>();
    assert_eq!(count(&found, Operation::Write), 16);
    assert_eq!(offsets(&found)[16..], different.into_iter().collect::<Vec<_>>(), "each once, by offset");
}

#[test]
fn verification_alone_wants_what_the_last_pass_wrote() {
    for (arguments, last) in [("--io_size=2048k", 8), ("--loops=2", 8), ("--loops=3 --size=1024k", 16)] {
        let (mut job, regions) = verifying(&format!("--rw=write --bs=128k --size=1024k {arguments}"));
        job.verify.as_mut().unwrap().only = true;
        let mut load = load(&job, &regions);
        let mut wanted = Vec::new();
        loop {
            match load.next(Nanos(0)) {
                Next::Review { request, expects } => wanted.push((request.offset / (128 * K), expects)),
                Next::Stop => break,
                _ => {}
            }
        }
        let expected: Vec<_> = (0..8).map(|block| (block, crate::Expects::Write(last + block + 1))).collect();
        assert_eq!(wanted, expected, "{arguments}");
        assert_eq!(load.walked(), Some((last + 8, (last + 8) * 128 * K)), "{arguments}: all passes are walked through");
    }
}

#[test]
fn a_job_that_only_reads_follows_the_job_that_wrote() {
    for (rw, seeded) in [("read", true), ("randread", true), ("read", false)] {
        let (mut job, regions) = verifying(&format!("--rw={rw} --bs=4k --size=32k"));
        job.verify.as_mut().unwrap().seed = seeded;
        let mut writer = job.clone();
        writer.load.mix = plan::Mix::Only(measure::Direction::Write);
        writer.verify = None;
        let written = offsets(&trace(&writer, &regions));
        let mut load = load(&job, &regions);
        let (mut read, mut expected) = (Vec::new(), Vec::new());
        loop {
            match load.next(Nanos(0)) {
                Next::Review { request, expects } => {
                    read.push(request.offset);
                    expected.push(expects);
                }
                Next::Issue(request) => read.push(request.offset),
                Next::Stop => break,
                _ => {}
            }
        }
        assert_eq!(read, written, "{rw}");
        let numbers: Vec<_> = (1..=8).map(crate::Expects::Write).collect();
        assert_eq!(expected, if seeded { numbers } else { Vec::new() }, "{rw}");
    }
}

#[test]
fn trims_of_a_history_need_no_verification() {
    let trimmed = |size: u64, check: bool, plan: TrimPlan, ios: Option<u64>| {
        let (mut job, regions) = verifying(&format!("--rw=write --bs=4k --size={size}"));
        job.limits.ios = ios;
        let verify = job.verify.as_mut().unwrap();
        (verify.check, verify.trim) = (check, Some(plan));
        blocks(&trace(&job, &regions), 4 * K)
    };
    let every = |backlog, batch| TrimPlan { percent: 100, backlog, batch, zero: true };
    assert_eq!(trimmed(32 * K, false, every(3, None), None), spelled("w0-2 t0-2 w3-5 t3-5 w6-7"));
    assert_eq!(trimmed(32 * K, false, every(4, Some(2)), None), spelled("w0-3 t0-1 w4-7 t2-3"));
    assert_eq!(trimmed(32 * K, true, every(3, None), None), spelled("w0-2 t0-2 w3-5 t3-5 w6-7 r0-7"));
    assert_eq!(trimmed(64 * K, false, every(1, None), Some(8)), spelled("w0 t0 w1 t1 w2 t2 w3 t3"));
    assert_eq!(trimmed(64 * K, false, every(4, None), Some(8)), spelled("w0-3 t0-3"));
}

fn sequence(arguments: &str, list: &[u64], strides: bool) -> String {
    let arguments =
        if arguments.contains("--rw") { arguments.to_owned() } else { format!("--rw=randread {arguments}") };
    let (mut job, regions) = super::golden::parse(&format!("--bs=4k {arguments}"));
    job.load.cover_all = false;
    job.load.distribution = Distribution::Sequence(list.to_vec());
    job.load.sequence_strides = strides;
    blocks(&trace(&job, &regions), 4 * K)
}

#[test]
fn a_sequence_of_blocks_is_read_again_and_again() {
    let list = [2, 0, 1];
    for (arguments, strides, expected) in [
        ("--size=48k --io_size=24k", false, "r2 r0 r1 r2 r0 r1"),
        ("--size=48k --io_size=24k", true, "r2 r0 r1 r5 r3 r4"),
        ("--size=48k", true, "r2 r0 r1 r5 r3 r4 r8 r6 r7 r11 r9 r10"),
        ("--size=44k", true, "r2 r0 r1 r5 r3 r4 r8 r6 r7"),
        ("--size=48k --io_size=96k", true, "r2 r0 r1 r5 r3 r4 r8 r6 r7 r11 r9 r10"),
        ("--size=24k --loops=2", true, "r2 r0 r1 r5 r3 r4"),
        ("--size=24k --loops=2", false, "r2 r0 r1 r2 r0 r1 r2 r0 r1 r2 r0 r1"),
    ] {
        assert_eq!(sequence(arguments, &list, strides), expected, "{arguments} {strides}");
    }
    assert_eq!(sequence("--size=48k --io_size=24k", &[2, 0, 2], false), "r2 r0 r2 r2 r0 r2");
    // `rw=randread:2`: each block that is drawn is followed by the next one, which uses up an entry.
    let (mut job, regions) = super::golden::parse("--rw=randread --bs=4k --size=48k");
    (job.load.cover_all, job.load.step) = (false, Step::Run(2));
    job.load.distribution = Distribution::Sequence(list.to_vec());
    assert_eq!(blocks(&trace(&job, &regions), 4 * K), "r2 r3 r1 r2 r0 r1 r2 r3 r1 r2 r0 r1");
}

#[test]
fn each_direction_goes_through_a_sequence_by_itself() {
    let mixed = sequence("--rw=randrw --size=48k", &[2, 0, 1], false);
    for letter in ['r', 'w'] {
        let own: Vec<&str> = mixed.split(' ').filter(|word| word.starts_with(letter)).map(|word| &word[1..]).collect();
        assert!(own.iter().zip(["2", "0", "1"].iter().cycle()).all(|(found, expected)| found == expected), "{mixed}");
    }
    let trims = sequence("--rw=randtrimwrite --size=24k", &[2, 0, 1], false);
    assert!(trims.starts_with("t2 w2 t0 w0 t1 w1"), "{trims}");
}

#[test]
fn a_sequence_is_one_for_all_files() {
    let mut job = job();
    (job.load.random, job.load.cover_all) = (true, false);
    job.load.distribution = Distribution::Sequence(vec![2, 0, 1]);
    assert_eq!(words(&trace(&job, &regions(&[12 * K; 2]))), "R8+4/0 R0+4/1 R4+4/0 R8+4/1 R0+4/0 R4+4/1");
}

#[test]
fn a_sequence_beyond_the_region_is_an_error() {
    let mut job = job();
    (job.load.random, job.load.cover_all) = (true, false);
    job.load.distribution = Distribution::Sequence(vec![4, 1]);
    let region = regions(&[16 * K]);
    let made = Load::new(&LoadSetup { job: &job, number: 1, regions: &region, zones: &[], system_seed: 1 });
    assert!(made.unwrap_err().to_string().contains("block 4, and the smallest region has 4 blocks"));
}

#[test]
fn sprandom_writes_every_block_and_some_of_them_again() {
    let (mut job, regions) = super::golden::parse("--rw=randwrite --bs=4k --size=4096k --loops=3");
    job.load.sprandom = Some(SprandomPlan { over_provisioning: 0.25, regions: 8, cache_bytes: 0 });
    let found = trace(&job, &regions);
    assert!((1230..=1330).contains(&found.requests.len()), "{}", found.requests.len());
    assert_eq!(offsets(&found).into_iter().collect::<BTreeSet<_>>().len(), 1024);
    job.load.sprandom = Some(SprandomPlan { over_provisioning: 0.25, regions: 8, cache_bytes: 1 << 20 });
    let made = Load::new(&LoadSetup { job: &job, number: 1, regions: &regions, zones: &[], system_seed: 1 });
    assert!(made.unwrap_err().to_string().contains("not more than spr_cs"));
}

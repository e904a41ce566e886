//! Zones that several jobs share: loads that take turns on the same zones, and threads that write at once.

use super::*;
use crate::random::Random;
use crate::shared_zones::SharedZones;
use crate::{Expects, SharedWords};
use plan::{VerifyPlan, ZonePlan, Zoned};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const ZONE: u64 = 64 * K;
const BLOCK: u64 = 16 * K;

/// Zones for all of these jobs: 64 of them, of which up to 8 may be open.
fn shared() -> SharedZones {
    let words: Box<[AtomicU64]> = (0..SharedZones::words(64, 8)).map(|_| AtomicU64::new(0)).collect();
    SharedZones::new(Arc::new(words) as Arc<dyn SharedWords>, 8)
}

fn zoned(mix: Mix, random: bool) -> JobPlan {
    let mut job = job();
    (job.load.mix, job.load.random) = (mix, random);
    let block = u32::try_from(BLOCK).unwrap();
    job.load.block_size = alike(BlockSize::Fixed(block));
    if mix == Mix::Only(Direction::Trim) {
        job.load.block_size = alike(BlockSize::Fixed(4 * block));
    }
    job.load.zones = ZonePlan::Zoned(Zoned { size: ZONE, capacity: ZONE, ..Zoned::default() });
    job
}

fn limited(mut job: JobPlan, edit: impl Fn(&mut Zoned)) -> JobPlan {
    if let ZonePlan::Zoned(zoned) = &mut job.load.zones {
        edit(zoned);
    }
    job
}

/// The load of a job on `zones` of a file, from zone `from` up to zone `end`.
fn load_of(job: &JobPlan, number: u32, zones: &SharedZones, (from, end): (u64, u64)) -> Load {
    let region = [Region { start: from * ZONE, end: end * ZONE, reach: Reach::Part }];
    let zones = [Some(zones.clone())];
    let mut load = Load::new(&LoadSetup { job, number, regions: &region, zones: &zones, system_seed: 1 }).unwrap();
    load.begin(Nanos(0));
    load
}

/// The first bytes of all I/Os, in zones and blocks.
fn places(trace: &Trace) -> Vec<(u64, u64)> {
    offsets(trace).into_iter().map(|offset| (offset / ZONE, offset % ZONE / BLOCK)).collect()
}

fn all_of(zone: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..4).map(move |block| (zone, block))
}

#[test]
fn a_reader_finds_writes_of_another_job_and_a_trim_ends_them() {
    let zones = shared();
    let mut write = load_of(&zoned(Mix::Only(Direction::Write), false), 1, &zones, (2, 4));
    assert_eq!(run(&mut write, 1, 100).requests.len(), 8);
    let read = zoned(Mix::Only(Direction::Read), false);
    let found = run(&mut load_of(&read, 2, &zones, (0, 4)), 1, 100);
    assert_eq!(places(&found), all_of(2).chain(all_of(3)).collect::<Vec<_>>());
    let random = zoned(Mix::Only(Direction::Read), true);
    let found = run(&mut load_of(&random, 2, &zones, (0, 4)), 1, 100);
    assert_eq!((found.requests.len(), places(&found).iter().all(|(zone, _)| [2, 3].contains(zone))), (16, true));
    let mut trim = load_of(&zoned(Mix::Only(Direction::Trim), false), 3, &zones, (0, 3));
    assert_eq!((run(&mut trim, 1, 100).requests.len(), trim.zone_resets()), (3, 1));
    let found = run(&mut load_of(&read, 2, &zones, (0, 4)), 1, 100);
    assert_eq!(places(&found), all_of(3).collect::<Vec<_>>());
}

#[test]
fn jobs_that_share_zones_reset_each_before_its_next_write() {
    for (jobs, zones_each, resets) in [(4, 1, 3), (16, 1, 15), (8, 4, 28)] {
        let zones = shared();
        let job = zoned(Mix::Only(Direction::Write), true);
        let mut loads: Vec<Load> = (1..=jobs).map(|number| load_of(&job, number, &zones, (0, zones_each))).collect();
        let mut written = vec![0; 64];
        for load in (0..100).flat_map(|_| 0..loads.len()).collect::<Vec<_>>() {
            for (zone, block) in places(&run(&mut loads[load], 1, 1)) {
                let at = &mut written[usize::try_from(zone).unwrap()];
                assert_eq!(*at % 4, block, "writes go to the write pointer of zone {zone}");
                *at = block + 1;
            }
        }
        assert_eq!(loads.iter().map(Load::zone_resets).sum::<u64>(), resets, "{jobs} jobs");
    }
}

#[test]
fn a_trim_closes_a_zone_so_that_another_can_be_opened() {
    let zones = shared();
    let limit = |zoned: &mut Zoned| zoned.open_most = Some(4);
    let writer = limited(zoned(Mix::Only(Direction::Write), true), limit);
    // One block to each of four zones: all that may be open are.
    for zone in 0..4 {
        run(&mut load_of(&writer, 1, &zones, (zone, zone + 1)), 1, 1);
    }
    let fifth = limited(zoned(Mix::Only(Direction::Write), false), limit);
    assert_eq!(run(&mut load_of(&fifth, 2, &zones, (4, 5)), 1, 100).requests.len(), 0);
    run(&mut load_of(&zoned(Mix::Only(Direction::Trim), false), 3, &zones, (0, 1)), 1, 100);
    assert_eq!(run(&mut load_of(&fifth, 2, &zones, (4, 5)), 1, 100).requests.len(), 4);
}

#[test]
fn a_job_opens_no_more_zones_than_its_share() {
    let zones = shared();
    let job = limited(zoned(Mix::Only(Direction::Write), true), |zoned| {
        (zoned.open_most, zoned.opened_by_job_most) = (Some(6), Some(2));
    });
    let mut loads: Vec<Load> = (1..=3).map(|number| load_of(&job, number, &zones, (0, 16))).collect();
    let mut written: HashMap<u64, u64> = HashMap::new();
    let (mut most, mut ios) = (0, 0);
    for turn in 0..600 {
        for (zone, block) in places(&run(&mut loads[turn % 3], 1, 1)) {
            written.insert(zone, block + 1);
            ios += 1;
        }
        most = most.max(written.values().filter(|&&blocks| blocks < 4).count());
    }
    assert_eq!((most, ios), (6, 192));
}

/// Verifying jobs take turns at random; a block must hold what the job that reads it back wrote last.
#[test]
fn jobs_that_verify_find_what_they_wrote_on_the_zones_of_all() {
    for seed in 0..20 {
        for open_most in [Some(8), None] {
            let zones = shared();
            let mut job = limited(zoned(Mix::Only(Direction::Write), true), |zoned| zoned.open_most = open_most);
            job.load.seed = Some(seed);
            job.limits.loops = 3;
            job.verify = Some(VerifyPlan { check: true, ..VerifyPlan::default() });
            let mut loads: Vec<Load> = (1..=4).map(|number| load_of(&job, number, &zones, (0, 16))).collect();
            let mut turns = Random::new(seed);
            let mut content: HashMap<u64, (usize, u64)> = HashMap::new();
            let (mut writes, mut reads, mut ended) = ([0u64; 4], 0, BTreeSet::new());
            while ended.len() < 4 {
                let turn = usize::try_from(turns.below(4)).unwrap();
                match loads[turn].next(Nanos(0)) {
                    Next::Issue(request) => {
                        writes[turn] += 1;
                        content.insert(request.offset, (turn, writes[turn]));
                        loads[turn].completed(&request);
                    }
                    Next::Review { request, expects } => {
                        reads += 1;
                        let Expects::Write(number) = expects else { panic!("{expects:?}") };
                        assert_eq!(content[&request.offset], (turn, number), "{seed} {open_most:?}: {request:?}");
                        loads[turn].completed(&request);
                    }
                    Next::Stop => _ = ended.insert(turn),
                    _ => {}
                }
            }
            assert_eq!(writes.iter().sum::<u64>(), reads, "{seed} {open_most:?}");
            assert!(reads >= 64, "{seed} {open_most:?}: {reads}");
        }
    }
}

#[test]
fn threads_that_write_at_once_never_get_the_same_bytes() {
    let zones = shared();
    let job = limited(zoned(Mix::Only(Direction::Write), true), |zoned| zoned.open_most = Some(8));
    let issued: Vec<AtomicU64> = (0..64).map(|_| AtomicU64::new(0)).collect();
    let resets = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for number in 1..=4 {
            let (job, zones, issued, resets) = (&job, &zones, &issued, &resets);
            scope.spawn(move || {
                let mut load = load_of(job, number, zones, (0, 16));
                for _ in 0..40 {
                    for (zone, _) in places(&run(&mut load, 1, 1_000_000)) {
                        issued[usize::try_from(zone).unwrap()].fetch_add(1, Relaxed);
                    }
                    resets.fetch_add(load.zone_resets(), Relaxed);
                    load = load_of(job, number, zones, (0, 16));
                }
            });
        }
    });
    // Each zone was filled as often as it was reset, and once more: no write was lost or given twice.
    let all: u64 = issued.iter().map(|ios| ios.load(Relaxed)).sum();
    let held: u64 = (0..16).map(|zone| zones.state(zone).written() / BLOCK).sum();
    assert_eq!(all, 4 * 40 * 64);
    assert_eq!(all - held, 4 * resets.load(Relaxed));
}

//! Regions, blocks and rates at the edges of 64 bits: no sum overflows, and no I/O leaves its region.

use super::*;
use plan::{Gap, Strides, ThinkCount, ZonePlan};

const EDGES: &[u64] = &[
    0,
    1,
    511,
    4096,
    (1 << 32) - 1,
    1 << 32,
    1_000_000_000_000,
    (1 << 62) + 1,
    (1 << 63) - 1,
    1 << 63,
    u64::MAX - 4095,
    u64::MAX,
];

fn edge() -> impl Strategy<Value = u64> {
    prop_oneof![prop::sample::select(EDGES.to_vec()), any::<u64>(), 1_u64..1 << 40]
}

fn block() -> impl Strategy<Value = u32> {
    prop_oneof![Just(1_u32), Just(512), Just(4096), Just(1 << 20), Just(u32::MAX), Just(1 << 31), 1_u32..1 << 24]
}

#[derive(Clone, Debug)]
struct Extreme {
    region: Region,
    block: u32,
    mix: Mix,
    random: bool,
    cover_all: bool,
    tausworthe: bool,
    percent: u8,
    pace: (Option<u64>, Option<u64>, u64, u64),
    amount: Option<u64>,
    loops: u64,
    ios: Option<u64>,
    step: Step,
    strides: Option<(u64, u64, u64)>,
    service: u64,
}

fn extreme() -> impl Strategy<Value = Extreme> {
    let place = (edge(), edge(), block());
    let mix = prop::sample::select(vec![
        Mix::Only(Direction::Read),
        Mix::Only(Direction::Write),
        Mix::Only(Direction::Trim),
        Mix::ReadWrite,
        Mix::TrimWrite,
    ]);
    let order = (mix, any::<bool>(), any::<bool>(), any::<bool>(), 0_u8..=100);
    let step = prop_oneof![
        Just(Step::Plain),
        (1_u64..1 << 40).prop_map(|run| Step::Run(u32::try_from(run >> 10).unwrap_or(u32::MAX).max(1))),
    ];
    let pace = (prop::option::of(edge()), prop::option::of(edge()), edge(), edge());
    let ends = (prop::option::of(edge()), prop_oneof![Just(1_u64), Just(7), Just(u64::MAX)], prop::option::of(edge()));
    let strides = prop::option::of((edge(), edge(), edge()));
    (place, order, step, pace, ends, strides, edge()).prop_map(|(place, order, step, pace, ends, strides, service)| {
        let (one, other, block) = place;
        let (mix, random, cover_all, tausworthe, percent) = order;
        let (amount, loops, ios) = ends;
        let region = Region { start: one.min(other), end: one.max(other), reach: Reach::Part };
        let service = service >> 24;
        Extreme {
            region,
            block,
            mix,
            random,
            cover_all,
            tausworthe,
            percent,
            pace,
            amount,
            loops,
            ios,
            step,
            strides,
            service,
        }
    })
}

fn plan(extreme: &Extreme) -> JobPlan {
    let mut job = job();
    job.load.mix = extreme.mix;
    job.load.block_size = alike(BlockSize::Fixed(extreme.block));
    (job.load.random, job.load.cover_all) = (extreme.random, extreme.cover_all);
    job.load.percent_random = alike(extreme.percent);
    job.load.step = extreme.step;
    if extreme.tausworthe {
        job.load.generator = Generator::Tausworthe64;
    }
    if let Some((amount, window, skip)) = extreme.strides {
        job.load.zones = ZonePlan::Strided(Strides { amount: amount.max(1), window, skip: Gap::Bytes(skip) });
    }
    let (rate, iops, think, blocks) = extreme.pace;
    job.pace.rate = alike(rate.filter(|&rate| rate > 0).map(BytesPerSecond));
    job.pace.iops = alike(iops.filter(|&iops| iops > 0));
    (job.pace.think, job.pace.think_blocks, job.pace.think_counts) =
        (Nanos(think >> 8), blocks.max(1), ThinkCount::Issued);
    job.files.io_size = extreme.amount.map(Extent::Bytes);
    (job.limits.loops, job.limits.ios) = (extreme.loops, extreme.ios.filter(|&ios| ios > 0));
    job.limits.runtime = Some(Nanos(SECOND * 3600));
    job
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_number_overflows_and_no_io_leaves_its_region(extreme in extreme()) {
        let job = plan(&extreme);
        let setup = LoadSetup { job: &job, number: u32::MAX, regions: &[extreme.region], zones: &[], system_seed: u64::MAX };
        // A map that does not fit into memory is an error.
        let Ok(mut load) = Load::new(&setup) else { return Ok(()) };
        load.begin(Nanos(0));
        let trace = run(&mut load, extreme.service.max(1), 40);
        for (_, request) in &trace.requests {
            if matches!(request.operation, Operation::Sync | Operation::DataSync) {
                continue;
            }
            let end = request.offset.checked_add(u64::from(request.length));
            prop_assert!(request.offset >= extreme.region.start, "{request:?}");
            prop_assert!(end.is_some_and(|end| end <= extreme.region.end), "{request:?}");
        }
    }
}

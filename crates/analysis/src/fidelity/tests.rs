//! Distances of loads that differ in one known way.

use super::*;
use model::TraceIo;
use plan::Operation;

/// A load of 40,000 I/Os: reads with a hot set, one sequential stream, syncs, bursts, and four threads.
fn load() -> Vec<TraceIo> {
    let mut state = 1_u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let (mut begin, mut stream) = (0, 1 << 30);
    (0..40_000_u64)
        .map(|at| {
            begin += if at / 400 % 3 == 0 { 20_000 + random(20_000) } else { 300_000 + random(400_000) };
            let (operation, offset, bytes) = match random(10) {
                0 => (Operation::DataSync, None, 0),
                1..=3 => {
                    stream += 65_536;
                    (Operation::Write, Some(stream - 65_536), 65_536)
                }
                _ => {
                    let hot = 1 + random(8192);
                    (Operation::Read, Some(random(hot) * 4096), 4096)
                }
            };
            let (latency, thread) = (Some(Nanos(100_000 + random(100_000))), Some(u32::from(at % 4 == 0)));
            TraceIo { begin: Nanos(begin), operation, offset, bytes, target: 0, latency, thread }
        })
        .collect()
}

struct Given {
    coarse_tick: Option<Nanos>,
    lost: f64,
    is_replay: bool,
}

const PLAIN: Given = Given { coarse_tick: None, lost: 0.0, is_replay: false };

fn between(original: &[TraceIo], replay: &[TraceIo], given: &Given) -> Fidelity {
    let extents = [original, replay].map(|ios| {
        let mut extent = Extent::default();
        ios.iter().for_each(|io| extent.add(io));
        extent
    });
    let ruler = Ruler::of(&extents[0], &extents[1]);
    let (mut halved, mut counts) = (Halved::new(ruler, extents[0].ios), Counts::new(ruler));
    original.iter().for_each(|io| halved.add(io));
    replay.iter().for_each(|io| counts.add(io));
    halved.finish();
    counts.finish();
    let (mut first, mut second) = (original.iter(), replay.iter());
    let next = |side| Ok::<_, ()>(if side == Side::Original { first.next() } else { second.next() }.copied());
    let facts = extents.map(|extent| SideFacts { extent, coarse_tick: given.coarse_tick, lost: given.lost });
    let pairs = Some(pairs(next).unwrap());
    fidelity(&Sides { facts, original: &halved, replay: &counts, pairs, is_replay: given.is_replay })
}

fn scores(found: &Fidelity) -> Vec<Option<f64>> {
    found.rows.iter().map(|row| row.found.ok().map(|found| found.score)).collect()
}

/// The same moments, given to the I/Os in another order: those of the first half go to the second one.
fn shuffled(ios: &[TraceIo]) -> Vec<TraceIo> {
    let span = ios[ios.len() - 1].begin.get();
    let mut state = 9_u64;
    let mut moments: Vec<u64> = ios
        .iter()
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 20) % span
        })
        .collect();
    moments.sort_unstable();
    ios.iter().zip(moments).map(|(io, begin)| TraceIo { begin: Nanos(begin), ..*io }).collect()
}

#[test]
fn a_load_is_wholly_faithful_to_itself() {
    let ios = load();
    let found = between(&ios, &ios, &Given { is_replay: true, ..PLAIN });
    assert_eq!(scores(&found), vec![Some(1.0); 8], "{found:?}");
    assert_eq!((&found.answer, found.weakest), (&Answer::Faithful(1.0), None));
    assert!(found.rows.iter().all(|row| row.found.unwrap().distance == 0.0));
}

#[test]
fn moments_at_random_lower_gaps_bursts_and_order() {
    let ios = load();
    let found = between(&ios, &shuffled(&ios), &PLAIN);
    let scores = scores(&found);
    assert_eq!(scores[..3], [Some(1.0); 3], "{found:?}");
    assert!(scores[3].unwrap() < 0.8 && scores[4].unwrap() < 0.8, "{found:?}");
    assert!(scores[7].unwrap() < 0.8, "{found:?}");
    assert!(matches!(found.answer, Answer::Unlike(_)) && found.rows[6].found == Err(Unknown::NoReplay));
}

#[test]
fn ios_of_other_threads_lower_the_order() {
    let ios = load();
    let shuffled: Vec<TraceIo> = (0_u32..).zip(&ios).map(|(at, io)| TraceIo { thread: Some(at % 7), ..*io }).collect();
    let found = between(&ios, &shuffled, &Given { is_replay: true, ..PLAIN });
    let scores = scores(&found);
    assert_eq!(scores[..7], [Some(1.0); 7], "{found:?}");
    assert!(scores[7].unwrap() < 0.7 && found.weakest == Some(Distance::Order), "{found:?}");
}

#[test]
fn doubled_sizes_of_random_reads_lower_the_mix_alone() {
    // Within a block, so that the same blocks are touched.
    let of_size = |bytes| {
        let reads = load().into_iter().filter(|io| io.operation == Operation::Read);
        reads.map(|io| TraceIo { bytes, ..io }).collect::<Vec<_>>()
    };
    let found = between(&of_size(1024), &of_size(2048), &PLAIN);
    let scores = scores(&found);
    assert_eq!((scores[0], found.weakest), (Some(0.0), Some(Distance::Mix)), "{found:?}");
    assert_eq!(scores[1..6], [Some(1.0); 5], "{found:?}");
}

#[test]
fn a_late_replay_loses_kept_time() {
    let ios = load();
    let late: Vec<TraceIo> =
        (0_u64..).zip(&ios).map(|(at, io)| TraceIo { begin: Nanos(io.begin.get() + at * 100), ..*io }).collect();
    let found = between(&ios, &late, &Given { is_replay: true, ..PLAIN });
    let kept = found.rows[6].found.unwrap();
    assert!(
        (kept.score - 0.5).abs() < 0.01,
        "4 ms later at the end, so half of it is within 1 ms of one time: {kept:?}"
    );
    assert_eq!(found.weakest, Some(Distance::KeptTime));
}

#[test]
fn what_a_coarse_clock_hides_is_not_judged() {
    let ios = load();
    for (tick, is_hidden) in [(Nanos(10_000_000), false), (Nanos::SECOND, true), (Nanos::MAX, true)] {
        let found = between(&ios, &shuffled(&ios), &Given { coarse_tick: Some(tick), ..PLAIN });
        let hidden = Err(Unknown::CoarseClock(tick));
        assert_eq!([&found.rows[3].found, &found.rows[5].found], [&hidden; 2]);
        assert_eq!(found.rows[4].found == hidden, is_hidden, "{tick:?}: {:?}", found.rows[4]);
    }
}

#[test]
fn few_ios_and_lost_events_have_no_answer() {
    let ios = load();
    let few = between(&ios[..9_999], &ios, &PLAIN).answer;
    assert_eq!(few, Answer::CannotTell(vec![NoAnswer::FewIos(Side::Original, 9_999)]));
    let lost = between(&ios, &ios, &Given { lost: 0.01, ..PLAIN }).answer;
    let of = |side| NoAnswer::LostEvents(side, 0.01);
    assert_eq!(lost, Answer::CannotTell(vec![of(Side::Original), of(Side::Replay)]));
    assert!(matches!(between(&ios, &ios, &Given { lost: 0.001, ..PLAIN }).answer, Answer::Faithful(_)));
}

//! The phases of runs of the simulated device, whose truth is known: `PLUMB_SEEDS` seeds of each kind, at most 100 (5).

use crate::rig::{BLOCK, Rig, io, options};
use analysis::regime::phases;
use engine::{Completion, Engine, EngineClock, Io, Operation, Visitor, dispatch};
use measure::{Clock, Nanos, SystemClock};
use model::{Interval, JobResult, Monitored, Phase, PhaseKind, RunResult};
use plan::option::Value;
use survey::{PreconditionResult, Rounds};

const PACE: Nanos = Nanos::from_millis(500);
const DEPTH: u32 = 4;

/// A closed loop of four I/Os for some intervals; returns the bytes and the I/Os of each.
struct Run<'a> {
    values: &'a [(&'static str, Value)],
    operation: Operation,
    intervals: usize,
}

impl Visitor for Run<'_> {
    type Out = Vec<u64>;

    fn visit<E: Engine>(self) -> Self::Out {
        let clock = E::Clock::for_worker(&SystemClock::start());
        let mut rig = Rig::<E>::open(&options(self.values), &[], DEPTH, clock.clone()).unwrap();
        let mut done: Vec<Completion> = (0..DEPTH).map(|slot| Completion { slot, result: 0 }).collect();
        let mut ios = vec![0; self.intervals];
        loop {
            for Completion { slot, .. } in done.drain(..) {
                rig.engine.submit(Io { slot, ..io(self.operation, 0, 0, BLOCK) });
            }
            rig.engine.flush().unwrap();
            rig.engine.reap(1, DEPTH, &mut done).unwrap();
            let at = usize::try_from(clock.now().get() / PACE.get()).unwrap();
            match ios.get_mut(at) {
                Some(count) => *count += done.len() as u64,
                None => return ios,
            }
        }
    }
}

/// The phases of a run with these options and some noise, seen after its first two intervals.
fn seen(given: &[(&'static str, Value)], operation: Operation, intervals: usize) -> Vec<Phase> {
    let mut job = JobResult::default();
    job.directions.read.ios = 1;
    let monitored = Some(samples(given, operation, intervals));
    phases(&RunResult { jobs: vec![job], monitored, ..RunResult::default() })
}

/// The samples of a run with these options.
fn samples(given: &[(&'static str, Value)], operation: Operation, intervals: usize) -> Monitored {
    let ios = dispatch("sim", Run { values: given, operation, intervals }).unwrap();
    let index = if operation == Operation::Write { 1 } else { 0 };
    let interval = |(at, &ios): (u64, &u64)| {
        let mut one = Interval { until: Nanos(at * PACE.get()), measuring: 1, ..Interval::default() };
        (one.ios[index], one.bytes[index]) = (ios, ios * BLOCK as u64);
        one
    };
    Monitored { intervals: (1..).zip(&ios).map(interval).collect(), ..Monitored::default() }
}

fn seeds() -> i64 {
    std::env::var("PLUMB_SEEDS").ok().and_then(|text| text.parse().ok()).map_or(5, |seeds: i64| seeds.min(100))
}

/// Four servers with this service time, in µs, and noise of 1 %.
fn device(seed: i64, service_us: i64, more: (&'static str, [f64; 2])) -> Vec<(&'static str, Value)> {
    vec![
        ("sim_service_time", Value::Integer(service_us * 1000)),
        ("sim_seed", Value::Integer(seed)),
        ("sim_noise", Value::Floats(vec![0.01, 0.3, 0.5])),
        (more.0, Value::Floats(more.1.to_vec())),
    ]
}

fn value(phase: &Phase, name: &str) -> f64 {
    phase.evidence.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{name}: {phase:?}")).1
}

fn near(what: &str, found: f64, truth: f64, share: f64) {
    assert!((found / truth - 1.0).abs() <= share, "{what}: {found} is not {truth} within {share}");
}

#[test]
fn credits_are_named() {
    for seed in 1..=seeds() {
        // 2,000 I/Os per second of four servers; 200 credits return per second: they last for 20 s.
        let found = seen(&device(seed, 2_000, ("sim_bucket", [36_000.0, 200.0])), Operation::Read, 160);
        assert_eq!(found[0].kind, PhaseKind::Burst, "{seed}: {found:#?}");
        assert!((found[0].until.as_secs_f64() - 20.0).abs() <= 0.51, "{seed}: {found:#?}");
        near("base", value(&found[0], "base_iops"), 200.0, 0.01);
        near("credits", value(&found[0], "credits_ios"), 36_000.0, 0.06);
        assert_eq!(found.last().unwrap().kind, PhaseKind::Settled, "{seed}: {found:#?}");
    }
}

#[test]
fn a_full_write_cache_is_named() {
    for seed in 1..=seeds() {
        let bytes = 60_000 * BLOCK as u64;
        let found = seen(&device(seed, 1_930, ("sim_cliff", [bytes as f64, 3.0])), Operation::Write, 200);
        assert_eq!(found[0].kind, PhaseKind::WriteCache, "{seed}: {found:#?}");
        let full = 60_000.0 * 0.001_93 / 4.0;
        assert!((found[0].until.as_secs_f64() - full).abs() <= 0.51, "{seed}: {found:#?}");
        near("cache", value(&found[0], "cache_bytes"), bytes as f64, 0.06);
        near("base", found.last().unwrap().iops, 4.0 / 0.001_93 / 3.0, 0.01);
    }
}

#[test]
fn recurring_stalls_are_named() {
    for seed in 1..=seeds() {
        let found = seen(&device(seed, 2_000, ("sim_stall", [10.0, 2.0])), Operation::Read, 240);
        assert!(found.len() == 1 && found[0].kind == PhaseKind::Dips, "{seed}: {found:#?}");
        assert!((value(&found[0], "period_s") - 10.0).abs() <= 0.5, "{seed}: {found:#?}");
    }
}

#[test]
fn a_change_is_a_new_level() {
    for seed in 1..=seeds() {
        let found = seen(&device(seed, 2_000, ("sim_change", [45.0, 0.5])), Operation::Read, 240);
        assert_eq!(found.len(), 2, "{seed}: {found:#?}");
        assert!((found[0].until.as_secs_f64() - 45.0).abs() <= 0.51, "{seed}: {found:#?}");
        near("after it", found[1].iops, 4_000.0, 0.01);
    }
}

/// The service time falls from twice its value to it over these seconds.
fn settling(seed: i64, seconds: i64, intervals: usize) -> Vec<Phase> {
    let mut values = device(seed, 2_000, ("sim_change", [1e6, 1.0]));
    values.push(("sim_settling", Value::Integer(seconds * 1_000_000_000)));
    seen(&values, Operation::Read, intervals)
}

#[test]
fn a_settling_device_is_settling_and_a_fifth_settles_nothing() {
    for seed in 1..=seeds() {
        let found = settling(seed, 60, 300);
        assert_eq!(found[0].kind, PhaseKind::Settling, "{seed}: {found:#?}");
        assert_eq!(found.last().unwrap().kind, PhaseKind::Settled, "{seed}: {found:#?}");
        near("its end", found.last().unwrap().iops, 2_000.0, 0.02);
        let found = settling(seed, 600, 240);
        assert!(found.iter().all(|phase| phase.kind != PhaseKind::Settled), "{seed}: {found:#?}");
    }
}

/// The seconds after which writes to a device with these options, and a target of 1 MiB, end, and their answer.
fn preconditioned(given: &[(&'static str, Value)], budget: Option<Nanos>) -> (u64, PreconditionResult) {
    const MINUTES: usize = 8;
    let all = samples(given, Operation::Write, MINUTES * 120);
    let mut rounds = Rounds::new(1 << 20, 0, budget);
    let part = |count: usize| Monitored { intervals: all.intervals[..count].to_vec(), ..Monitored::default() };
    let most = budget.map_or(all.intervals.len(), |budget| usize::try_from(budget.get() / PACE.get()).unwrap());
    let last = (1..=most / 120).map(|minute| 120 * minute).find(|&count| {
        rounds.look(&part(count));
        rounds.is_over()
    });
    let count = last.unwrap_or(most);
    (count as u64 / 2, rounds.end(&part(count)))
}

#[test]
fn writes_end_once_a_device_is_settled_and_not_before() {
    for seed in 1..=seeds() {
        let bytes = 60_000 * BLOCK as u64;
        // The cache is full after 87 s, in the second round.
        let (seconds, found) = preconditioned(&device(seed, 5_800, ("sim_cliff", [bytes as f64, 3.0])), None);
        let kinds: Vec<PhaseKind> = found.phases.iter().map(|phase| phase.kind).collect();
        assert_eq!((seconds, kinds.as_slice()), (300, &[PhaseKind::WriteCache, PhaseKind::Settled][..]), "{seed}");
        let mut values = device(seed, 2_000, ("sim_change", [1e6, 1.0]));
        values.push(("sim_settling", Value::Integer(600 * 1_000_000_000)));
        let (seconds, found) = preconditioned(&values, Some(Nanos::from_secs(480)));
        assert_eq!(seconds, 480, "{seed}: {found:#?}");
        assert!(found.sentence.starts_with("not settled after 8 min of writes: "), "{seed}: {found:#?}");
    }
}

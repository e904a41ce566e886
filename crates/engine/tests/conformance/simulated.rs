//! Exact truths of virtual time.

use crate::rig::{BLOCK, Rig, io, options};
use engine::{Completion, Engine, EngineClock, Io, Operation, Submitted, Visitor, dispatch};
use measure::{Clock, Nanos, SystemClock};
use plan::option::Value;

/// Keeps the queue full until so many I/Os are done; returns the moment of each completion.
struct Saturate<'a> {
    values: &'a [(&'static str, Value)],
    depth: u32,
    ios: u32,
}

impl Visitor for Saturate<'_> {
    type Out = Vec<(Nanos, i64)>;

    fn visit<E: Engine>(self) -> Self::Out {
        let clock = E::Clock::for_worker(&SystemClock::start());
        let mut rig = Rig::<E>::open(&options(self.values), &[], self.depth, clock.clone()).unwrap();
        let mut done: Vec<Completion> = (0..self.depth).map(|slot| Completion { slot, result: 0 }).collect();
        let mut ended = Vec::new();
        let mut issued = 0;
        while ended.len() < self.ios as usize {
            for Completion { slot, .. } in done.drain(..) {
                if issued < self.ios {
                    let io = Io { slot, ..io(Operation::Read, 0, 0, BLOCK) };
                    assert_eq!(rig.engine.submit(io), Submitted::Queued);
                    issued += 1;
                }
            }
            rig.engine.flush().unwrap();
            rig.engine.reap(1, self.depth, &mut done).unwrap();
            ended.extend(done.iter().map(|completion| (clock.now(), completion.result)));
        }
        ended
    }
}

fn check(values: &[(&'static str, Value)], depth: u32, ios: u32) -> Vec<(Nanos, i64)> {
    dispatch("sim", Saturate { values, depth, ios }).unwrap()
}

fn last(ended: &[(Nanos, i64)]) -> Nanos {
    ended.last().unwrap().0
}

#[test]
fn depth_4_at_100_us_is_exactly_40k_iops() {
    assert_eq!(last(&check(&[], 4, 40_000)), Nanos::SECOND);
    assert_eq!(last(&check(&[("sim_parallelism", Value::Integer(4))], 4, 40_000)), Nanos::SECOND);
    assert_eq!(last(&check(&[("sim_parallelism", Value::Integer(8))], 4, 40_000)), Nanos::SECOND);
}

#[test]
fn servers_bound_the_rate_whatever_the_depth() {
    for depth in [2, 4, 32] {
        assert_eq!(last(&check(&[("sim_parallelism", Value::Integer(2))], depth, 20_000)), Nanos::SECOND);
    }
}

#[test]
fn transfer_time_is_length_over_rate() {
    let values = [("sim_rate", Value::Integer(40_960_000)), ("sim_service_time", Value::Integer(0))];
    assert_eq!(last(&check(&values, 1, 10)), Nanos::MILLISECOND);
}

#[test]
fn faults_come_where_the_plan_says() {
    let values = [("sim_faults", Value::Text("read:3:error=EIO,any:5:delay=900,read:4:short=512".into()))];
    let ended = check(&values, 1, 10);
    let results: Vec<i64> = ended.iter().map(|(_, result)| *result).collect();
    assert_eq!(results, [4096, 4096, -5, 512, 4096, -5, 4096, 512, -5, 4096]);
    // Eight I/Os at 100 µs and two at 1,000.
    assert_eq!(last(&ended), Nanos::from_micros(2_800));
}

#[test]
fn drawn_times_repeat_with_their_seed_and_keep_their_mean() {
    for word in ["uniform", "exponential"] {
        let values = |seed| [("sim_distribution", Value::Text(word.into())), ("sim_seed", Value::Integer(seed))];
        let (once, again, other) =
            (check(&values(7), 1, 20_000), check(&values(7), 1, 20_000), check(&values(8), 1, 20_000));
        assert_eq!(once, again);
        assert_ne!(once, other);
        // The mean of 20,000 exponential times deviates by 0.7 % (one sigma).
        let mean = last(&once).as_f64() / 20_000.0;
        assert!((mean - 100_000.0).abs() < 3_000.0, "{word}: {mean}");
    }
}

#[test]
fn the_journal_has_every_submission_and_reap() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let values = [("sim_journal", Value::Text(path.to_str().unwrap().into()))];
    check(&values, 4, 8);
    let journal = std::fs::read_to_string(path).unwrap();
    assert_eq!(journal, "submit 4\nreap 1 4 4\nsubmit 4\nreap 1 4 4\n");
}

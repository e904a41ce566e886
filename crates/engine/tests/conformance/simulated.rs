//! Exact truths of virtual time.

use crate::rig::{BLOCK, Rig, io, options};
use engine::{Completion, Engine, EngineClock, Io, Operation, Submitted, Visitor, dispatch};
use measure::{Clock, Nanos, SystemClock};
use plan::option::Value;

/// Keeps the queue full until this number of I/Os is done; returns the moment of each completion.
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
    for word in ["uniform", "exponential", "lognormal"] {
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
fn the_spread_of_lognormal_times_is_that_of_their_logarithm() {
    let values = [("sim_distribution", Value::Text("lognormal".into())), ("sim_sigma", Value::Floats(vec![0.8]))];
    let ended = check(&values, 1, 20_000);
    let moments: Vec<f64> = std::iter::once(0.0).chain(ended.iter().map(|(moment, _)| moment.as_f64())).collect();
    let logarithms: Vec<f64> = moments.windows(2).map(|pair| (pair[1] - pair[0]).ln()).collect();
    let mean = logarithms.iter().sum::<f64>() / 20_000.0;
    let deviation = (logarithms.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / 20_000.0).sqrt();
    assert!((deviation - 0.8).abs() < 0.02, "{deviation}");
    assert!((mean - (100_000_f64.ln() - 0.32)).abs() < 0.02, "{mean}");
}

#[test]
fn a_series_of_runs_has_its_own_level_drift_and_draws() {
    let rate = |run: i64, values: &[(&'static str, Value)]| {
        let mut values = values.to_vec();
        values.push(("sim_run", Value::Integer(run)));
        last(&check(&values, 1, 1_000)).as_f64()
    };
    let drift = [("sim_drift", Value::Floats(vec![0.01]))];
    assert!((rate(1, &drift) - 1e8).abs() < 1.0);
    assert!((rate(11, &drift) / 1e8 - 1.01_f64.powi(10)).abs() < 1e-4);
    let level = [("sim_level", Value::Floats(vec![0.05, 0.5]))];
    let rates: Vec<f64> = (1..=6).map(|run| rate(run, &level)).collect();
    assert!(rates.windows(2).all(|pair| (pair[0] / pair[1]).ln().abs() > 1e-4), "{rates:?}");
    assert_eq!(rates[3], rate(4, &level), "a run can be repeated");
    let drawn = [("sim_distribution", Value::Text("exponential".into()))];
    assert_ne!(rate(1, &drawn), rate(2, &drawn));
    let noise = [("sim_noise", Value::Floats(vec![0.2, 0.5, 0.01]))];
    assert!((rate(1, &noise) / 1e8).ln().abs() > 1e-3);
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

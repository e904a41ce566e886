//! Simulated disks a fifth better and a fifth worse than the limit of a profile, in virtual time: the profile's jobs, the
//! engine `sim`, its intervals, the rule.

use super::question::Question;
use super::rounds;
use analysis::question::Answer;
use run::{Event, Monitoring, Observer, RunOptions, VirtualIntervals};
use std::path::Path;
use survey::{PROFILES, Profile};

const SEEDS: usize = 20;

struct Unseen;

impl Observer for Unseen {
    fn event(&mut self, _: Event<'_>) {}
}

/// The answers of etcd's rule, p99 of fdatasync below 10 ms, on disks whose true p99 is this one: exponential times.
fn answers(p99_ms: f64) -> Vec<Answer> {
    let (_, text) = PROFILES.iter().find(|(name, _)| *name == "etcd").unwrap();
    let profile = Profile::from_toml(text).unwrap();
    let rule = profile.tests[0].rules[0].rule(1).unwrap();
    let service_us = p99_ms * 1e3 / -(0.01_f64).ln();
    let options =
        RunOptions { monitoring: Monitoring::Off, virtual_intervals: VirtualIntervals::Kept, ..RunOptions::default() };
    let answer = |seed: usize| {
        let added = [
            ("ioengine", "sim".to_owned()),
            ("thread", "1".to_owned()),
            ("sim_distribution", "exponential".to_owned()),
            ("sim_service_time", service_us.round().to_string()),
            ("sim_seed", seed.to_string()),
            ("sim_run", "{run}".to_owned()),
        ];
        let added = added.map(|(option, value)| (option.to_owned(), value)).to_vec();
        let question =
            Question { name: "etcd".to_owned(), profile: profile.clone(), units: None, time: 60, rounds: 3, added };
        let round = |number: u64| {
            let plan = rounds::plan(&question, 0, number, Path::new(".")).unwrap();
            rule.observe(&run::execute(&plan, &options, &mut Unseen).unwrap())
        };
        let found: Vec<_> = (1..=3).map(round).collect();
        assert!(found.iter().all(|round| round.intervals == 120), "{found:?}");
        assert_ne!(found[0].beyond, found[1].beyond, "rounds are separate runs");
        rule.of_rounds(&found)
    };
    (1..=SEEDS).map(answer).collect()
}

#[test]
fn disks_a_fifth_off_the_limit_are_answered_in_virtual_time() {
    assert_eq!(answers(8.0), [Answer::Yes; SEEDS]);
    assert_eq!(answers(12.0), [Answer::No; SEEDS]);
    let unsaid = answers(10.0).iter().filter(|&&answer| answer == Answer::CannotTell).count();
    assert!(unsaid >= SEEDS - 2, "at the limit {unsaid} of {SEEDS} cannot tell");
}

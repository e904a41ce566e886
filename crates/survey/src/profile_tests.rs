//! Simulated disks on either side of every limit of every profile.

use super::*;
use analysis::question::Answer;
use measure::{Direction, Histogram, SplitMix};
use model::{DirectionResult, Interval, JobResult, LatencyCounts, LatencyStatistics, Monitored, RunResult, SyncResult};

const SECONDS: u64 = 20;
/// I/Os per second of a disk whose latency is judged: 500 in each half second.
const LEAST_IOPS: f64 = 1000.0;
/// Rounds of a question.
const ROUNDS: u64 = 3;

/// A disk: its rate, mean latency in nanoseconds, and bytes of an I/O.
#[derive(Clone, Copy)]
struct Disk {
    iops: f64,
    mean: f64,
    bytes: u64,
}

impl Disk {
    /// The disk whose true number is this many times the limit of a rule.
    fn at(rule: &Rule, times: f64) -> Self {
        let number = rule.limit * times;
        // A rare percentile wants more I/Os: one per second beyond it.
        let served = |mean: f64, least: f64| Disk { iops: least.max(LEAST_IOPS).max(1e9 / mean), mean, bytes: 4096 };
        match rule.number {
            Number::Percentile(percent) => {
                let beyond = 1.0 - percent / 100.0;
                served(number / -beyond.ln(), 1.0 / beyond)
            }
            Number::Mean => served(number, LEAST_IOPS),
            Number::Iops => Disk { iops: number, mean: 1e9 / number, bytes: 4096 },
            Number::Bandwidth => {
                let bytes = 1 << 18;
                let iops = number / measure::float(bytes);
                Disk { iops, mean: 1e9 / iops, bytes }
            }
        }
    }

    /// A round: exponential latencies, and as many I/Os in flight as the rate needs.
    fn round(self, part: Part, seed: u64) -> RunResult {
        let mut random = SplitMix::new(seed);
        let mut exponential = |mean: f64| -(1.0 - random.fraction()).ln() * mean;
        let (mut all, mut then, mut total) = (Histogram::new(), Histogram::new(), LatencyStatistics::default());
        let mut monitored = Monitored::default();
        let (mut now, mut counted, mut ios) = (0.0, 0_u64, 0_u64);
        let slot = Direction::ALL.iter().position(|known| *known == Self::direction(part)).unwrap();
        for half in 1..=2 * SECONDS {
            let until = Nanos::from_millis(500 * half);
            while now < until.as_f64() {
                now += exponential(1e9 / self.iops);
                let time = Nanos::from_secs_f64(exponential(self.mean) / 1e9);
                all.record(time);
                total.moments.record(time);
                ios += 1;
            }
            let mut interval = Interval { until, measuring: 1, ..Interval::default() };
            interval.ios[slot] = ios - counted;
            interval.bytes[slot] = self.bytes * (ios - counted);
            interval.latencies[slot] = LatencyCounts::gained(&all, &then);
            interval.sync_latencies = interval.latencies[slot].clone();
            monitored.intervals.push(interval);
            (counted, then) = (ios, all.clone());
        }
        total.histogram = Some(Box::new(all));
        let sync = SyncResult { count: ios, latency: total.clone() };
        let mut job = JobResult { sync, ..JobResult::default() };
        job.directions[Self::direction(part)] = DirectionResult {
            ios,
            bytes: self.bytes * ios,
            runtime: Nanos::from_secs(SECONDS),
            total: Some(total),
            ..DirectionResult::default()
        };
        RunResult { jobs: vec![job], monitored: Some(monitored), ..RunResult::default() }
    }

    fn direction(part: Part) -> Direction {
        if part == Part::Read || part == Part::All { Direction::Read } else { Direction::Write }
    }

    /// The answers of three rounds each.
    fn answers(self, rule: &Rule, seeds: std::ops::Range<u64>) -> Vec<Answer> {
        let round = |seed: u64| rule.observe(&self.round(rule.part, seed));
        let rounds = |seed: u64| (0..ROUNDS).map(|number| round(ROUNDS * seed + number)).collect::<Vec<_>>();
        seeds.map(|seed| rule.of_rounds(&rounds(seed))).collect()
    }
}

#[test]
fn disks_a_fifth_off_every_limit_are_answered_and_at_it_none() {
    let mut rules: Vec<(String, Rule)> = Vec::new();
    for (name, text) in PROFILES {
        let profile = Profile::from_toml(text).unwrap();
        for written in profile.tests.iter().flat_map(|test| &test.rules) {
            let rule = written.rule(1).unwrap();
            // The same limit in two profiles or tests is one.
            if rules.iter().all(|(_, known)| *known != rule) {
                rules.push((format!("{name}: {}", written.number), rule));
            }
        }
    }
    assert!(rules.len() >= 16, "{} limits", rules.len());
    let check = |(name, rule): &(String, Rule)| {
        let (enough, little) = if rule.is_time() { (0.8, 1.2) } else { (1.2, 0.8) };
        for (times, right) in [(enough, Answer::Yes), (little, Answer::No)] {
            let found = Disk::at(rule, times).answers(rule, 0..20);
            let count = |wanted: Answer| found.iter().filter(|&&answer| answer == wanted).count();
            // Three rounds of a few hundred I/Os differ so much in one of some hundred cases that they cannot tell.
            let (said, unsaid) = (count(right), count(Answer::CannotTell));
            assert!(said >= 19 && said + unsaid == 20, "{name}, {times} times the limit: {found:?}");
        }
        let at = Disk::at(rule, 1.0).answers(rule, 100..140);
        let unsaid = at.iter().filter(|&&answer| answer == Answer::CannotTell).count();
        assert!(unsaid >= 38, "{name}: at the limit, {unsaid} of 40 cannot tell");
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for part in rules.chunks(rules.len().div_ceil(cores)) {
            scope.spawn(move || part.iter().for_each(check));
        }
    });
}

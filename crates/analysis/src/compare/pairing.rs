//! Tests of two sets of results, paired by what was asked, and the order in which they were made.

use super::observation::Settings;
use super::{Difference, FactSet, Metric, Observation, RequestedWork};
use measure::distinct;
use serde::Serialize;

/// The results of one test on one side.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// The work that was asked for.
    pub asked: RequestedWork,
    /// Name of the job, if tests of several names were asked the same.
    pub name: Option<String>,
    /// One per run, in the order of their time if it is known of all, else as given.
    pub runs: Vec<Observation>,
}

impl Test {
    /// `random reads 8K ×16`, after the job's name if that is needed.
    pub fn label(&self) -> String {
        match &self.name {
            Some(name) => format!("{name}: {}", self.asked.label()),
            None => self.asked.label(),
        }
    }
}

/// The same test on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct TestPair {
    /// Of the old results.
    pub old: Test,
    /// Of the new results.
    pub new: Test,
}

/// The tests of two sets of results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matches {
    /// Tests that both sides have.
    pub both: Vec<TestPair>,
    /// Tests that are refused: both sides have them, with settings that differ.
    pub refused: Vec<String>,
    /// Tests that only the old side has, with what is similar on the new side.
    pub only_old: Vec<String>,
    /// Tests that only the new side has.
    pub only_new: Vec<String>,
    /// Settings that should be equal, and that a side does not state.
    pub not_stated: Vec<String>,
    /// Results that were given more than once on a side; each counts once.
    pub repeated: usize,
}

impl Matches {
    /// The facts of the jobs in which the compared tests differ.
    pub fn differences(&self) -> Vec<Difference> {
        let [mut old, mut new] = [FactSet::default(), FactSet::default()];
        for test in &self.both {
            test.old.runs.iter().for_each(|run| old.include(run.facts.clone()));
            test.new.runs.iter().for_each(|run| new.include(run.facts.clone()));
        }
        old.differences(&new)
    }
}

/// Pairs the tests of two sets of results.
pub fn pair(old: Vec<Observation>, new: Vec<Observation>) -> Matches {
    let named = needs_names(&old, &new);
    let mut found = Matches::default();
    let [old, mut new] = [old, new].map(|side| tests(side, &named, &mut found.repeated));
    let mut lonely = Vec::new();
    for test in old {
        let Some(at) = new.iter().position(|other| (&other.asked, &other.name) == (&test.asked, &test.name)) else {
            lonely.push(test);
            continue;
        };
        let other = new.remove(at);
        let label = test.label();
        match conflict(&settings(&test), &settings(&other)) {
            Some(why) => found.refused.push(format!("{label} is not compared: {why}")),
            None => {
                let missing = unstated(&settings(&test), &settings(&other));
                found.not_stated.extend(missing.into_iter().map(|what| format!("{label}: {what}")));
                found.both.push(TestPair { old: test, new: other });
            }
        }
    }
    found.only_old = lonely.iter().map(|test| with_similar(test, &new)).collect();
    found.only_new = new.iter().map(Test::label).collect();
    found.not_stated = distinct(found.not_stated);
    found
}

/// The tests that only their names distinguish: a file has several of them, or both sides have the same several names.
fn needs_names(old: &[Observation], new: &[Observation]) -> Vec<RequestedWork> {
    let names = |side: &[Observation], asked: &RequestedWork, file: Option<usize>| -> Vec<String> {
        let of = side.iter().filter(|run| run.asked == *asked && file.is_none_or(|file| run.file == file));
        let mut found: Vec<String> = of.map(|run| run.name.clone()).collect();
        found.sort();
        found.dedup();
        found
    };
    let mut needed: Vec<RequestedWork> = Vec::new();
    for run in old.iter().chain(new) {
        if needed.contains(&run.asked) {
            continue;
        }
        let in_a_file = [old, new].iter().any(|side| names(side, &run.asked, Some(run.file)).len() > 1);
        let everywhere = [old, new].map(|side| names(side, &run.asked, None));
        if in_a_file || (everywhere[0].len() > 1 && everywhere[0] == everywhere[1]) {
            needed.push(run.asked.clone());
        }
    }
    needed
}

fn tests(runs: Vec<Observation>, named: &[RequestedWork], repeated: &mut usize) -> Vec<Test> {
    let mut found: Vec<Test> = Vec::new();
    for run in runs {
        let name = named.contains(&run.asked).then(|| run.name.clone());
        match found.iter_mut().find(|test| test.asked == run.asked && test.name == name) {
            Some(test) if test.runs.iter().any(|known| known.is_copy_of(&run)) => *repeated += 1,
            Some(test) => test.runs.push(run),
            None => found.push(Test { asked: run.asked.clone(), name, runs: vec![run] }),
        }
    }
    for test in &mut found {
        if test.runs.iter().all(|run| run.ended_unix_ms.is_some()) {
            test.runs.sort_by_key(|run| run.ended_unix_ms);
        }
    }
    found
}

fn settings(test: &Test) -> Vec<&Settings> {
    test.runs.iter().map(|run| &run.settings).collect()
}

/// A setting that both sides state and that is not the same in all runs.
fn conflict(old: &[&Settings], new: &[&Settings]) -> Option<String> {
    let size = |bytes: &u64| measure::text::rounded_size(measure::float(*bytes));
    let all = || old.iter().chain(new);
    let sizes = distinct(all().filter_map(|one| one.region_bytes));
    if sizes.len() > 1 {
        return Some(format!("its I/Os go to {}", sizes.iter().map(size).collect::<Vec<_>>().join(" and ")));
    }
    let differ = [
        (distinct(all().filter_map(|one| one.flushes)).len(), "its writes are made durable in different ways"),
        (distinct(all().filter_map(|one| one.pace.clone())).len(), "it has different rate limits or pauses"),
        (distinct(all().filter_map(|one| one.read_percent)).len(), "it mixes different shares of reads"),
    ];
    differ.into_iter().find(|(count, _)| *count > 1).map(|(_, why)| why.to_owned())
}

fn unstated(old: &[&Settings], new: &[&Settings]) -> Option<String> {
    let lacks = |side: &[&Settings]| {
        let size = side.iter().any(|one| one.region_bytes.is_none()).then_some("the size of the data");
        let options = side.iter().any(|one| one.flushes.is_none()).then_some("flushes and rate limits");
        [size, options].into_iter().flatten().collect::<Vec<_>>()
    };
    let [old, new] = [lacks(old), lacks(new)];
    let both = distinct(old.iter().chain(&new).map(|what| (*what).to_owned()));
    let side = match (old.is_empty(), new.is_empty()) {
        (true, true) => return None,
        (false, false) => "both sides do not state",
        (false, true) => "the old side does not state",
        (true, false) => "the new side does not state",
    };
    Some(format!("{side} {}; that they are the same is not known", both.join(", ")))
}

/// The label of a test without partner; with the test of the other side that differs in one point.
fn with_similar(test: &Test, others: &[Test]) -> String {
    let why = others.iter().find_map(|other| differs_in(&test.asked, &other.asked));
    match why {
        Some(why) => format!("{}: {why}", test.label()),
        None => test.label(),
    }
}

/// The point in which two tests differ, if it is only one.
fn differs_in(old: &RequestedWork, new: &RequestedWork) -> Option<String> {
    let block = |asked: &RequestedWork| {
        let (low, high) = asked.block?;
        let size = |bytes: u32| measure::text::rounded_size(f64::from(bytes));
        Some(if low == high { size(low) } else { format!("{} to {}", size(low), size(high)) })
    };
    let direction = |asked: &RequestedWork| format!("{:?}s", asked.direction).to_lowercase();
    let points = [
        (old.direction != new.direction, "direction", direction(old), direction(new)),
        (old.block != new.block, "block size", block(old).unwrap_or_default(), block(new).unwrap_or_default()),
        (old.users != new.users, "users", old.users.to_string(), new.users.to_string()),
        (old.depth != new.depth, "depth", old.depth.to_string(), new.depth.to_string()),
    ];
    let order = |asked: &RequestedWork| asked.pattern.map(|pattern| pattern.order);
    if order(old) != order(new)
        || old.name != new.name
        || (&old.options, old.set_bytes) != (&new.options, new.set_bytes)
    {
        return None;
    }
    let mut differ = points.into_iter().filter(|(differs, ..)| *differs);
    let (_, what, old, new) = differ.next()?;
    differ.next().is_none().then(|| format!("{what} {old} in the old results, {new} in the new ones"))
}

/// The order in which the runs of a test were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOrder {
    /// In turns: the n-th run of each side before the next one of both.
    Turns,
    /// All old runs first.
    OldFirst,
    /// All new runs first.
    NewFirst,
    /// In another order.
    Mixed,
    /// Not known of all runs.
    NotKnown,
}

/// How the runs of both sides belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// As sets, or in rounds if they were made in turns.
    AsMade,
    /// As rounds in random order, looked at after each.
    Rounds {
        /// Rounds that are planned.
        planned: usize,
    },
}

/// The order in which the runs of a test were made, by the times at which they ended.
pub fn order_of(test: &TestPair) -> RunOrder {
    let times = |side: &Test| -> Option<Vec<u64>> { side.runs.iter().map(|run| run.ended_unix_ms).collect() };
    let (Some(old), Some(new)) = (times(&test.old), times(&test.new)) else { return RunOrder::NotKnown };
    let ends = |times: &[u64]| times.iter().min().copied().zip(times.iter().max().copied());
    let (Some((old_first, old_last)), Some((new_first, new_last))) = (ends(&old), ends(&new)) else {
        return RunOrder::NotKnown;
    };
    let pairs: Vec<(u64, u64)> = old.iter().copied().zip(new.iter().copied()).collect();
    let is_turn = |pair: &[(u64, u64)]| pair[0].0.max(pair[0].1) < pair[1].0.min(pair[1].1);
    if old.len() == new.len() && old.len() > 1 && pairs.windows(2).all(is_turn) {
        RunOrder::Turns
    } else if old_last < new_first {
        RunOrder::OldFirst
    } else if new_last < old_first {
        RunOrder::NewFirst
    } else {
        RunOrder::Mixed
    }
}

impl Test {
    /// The number in each run, or the reason why it is not known in one of them.
    pub(super) fn numbers(&self, metric: Metric) -> Result<Vec<f64>, super::observation::Missing> {
        self.runs.iter().map(|run| run.number(metric)).collect()
    }
}

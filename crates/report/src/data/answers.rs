//! Data of answers: the trials of a capacity, rounds against limits, and the changes of a comparison.

use super::Unit;
use analysis::compare::Verdict;
use analysis::parts::noun;
use measure::{float, push_new, text};
use model::{IoGroup, SomeIos};
use serde::{Deserialize, Serialize};

/// The trials of `plumb capacity`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// For example `/data · 8K random reads`.
    pub title: String,
    /// Sentences under the title.
    pub sentences: Vec<String>,
    /// The trials, by rate.
    pub trials: Vec<RateTrial>,
    /// The limits.
    pub limits: Vec<ResponseLimit>,
    /// The rate at which the first limit is reached; `None` if it is not known.
    pub capacity: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Footnotes.
    pub notes: Vec<String>,
}

/// One trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RateTrial {
    /// Rate of arrivals per second.
    pub offered: f64,
    /// Rate of completions per second.
    pub done: f64,
    /// Share of the I/Os over the limit that counts.
    pub over: f64,
    /// Response time at p50 in nanoseconds; `None` with too few I/Os.
    pub p50_ns: Option<f64>,
    /// The same at p99.
    pub p99_ns: Option<f64>,
    /// The same at p99.9.
    pub p99_9_ns: Option<f64>,
}

/// A limit on response times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResponseLimit {
    /// `p99 < 2 ms`.
    pub label: String,
    /// The response time in nanoseconds.
    pub limit_ns: f64,
}

// Data of an answer: the numbers of rounds against their limits.

/// The rounds of `plumb ask`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// For example `etcd · /var/lib/etcd`.
    pub title: String,
    /// Sentences under the title.
    pub sentences: Vec<String>,
    /// The rules, in their order.
    pub rules: Vec<LimitedRule>,
    /// Footnotes.
    pub notes: Vec<String>,
}

/// A limit with its rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitedRule {
    /// `wal: sync p99 below 10 ms`.
    pub label: String,
    /// The answer of all rounds: `yes`, `no` or `cannot tell`.
    pub answer: String,
    /// True if the answer to the question does not depend on it.
    pub is_advice: bool,
    /// The rounds, in their order.
    pub rounds: Vec<LimitedRound>,
}

/// One round of a rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitedRound {
    /// The number with its unit: `120 µs`.
    pub value: String,
    /// How many times better than the limit: 2 for half of the latency, or twice the rate. `None` if it is not known.
    pub times: Option<f64>,
    /// Worse end of its 95 % interval; `None` without an interval.
    pub low: Option<f64>,
    /// Better end.
    pub high: Option<f64>,
    /// Its answer.
    pub answer: String,
}

// Data of the I/O of a program: the parts of its time.

/// The parts of the time of I/Os.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parts {
    /// For example `postgres (process 4711) · 30 s`.
    pub title: String,
    /// Sentences under the title.
    pub sentences: Vec<String>,
    /// Names of the parts that occur, in their order.
    pub parts: Vec<String>,
    /// The kinds of I/Os.
    pub kinds: Vec<KindOfIo>,
    /// Slow I/Os.
    pub slow: Vec<SlowIo>,
    /// Mean number of I/Os in flight in equal intervals of the recording.
    pub depth: Vec<f64>,
    /// Time of the recording in seconds.
    pub until_s: f64,
    /// Footnotes.
    pub notes: Vec<String>,
}

/// Recorded I/Os, with what stands before their number on a picture: `8 users: `.
#[derive(Clone, Debug)]
pub struct RecordedIos<'a> {
    /// May be empty.
    pub before: String,
    /// The I/Os.
    pub group: &'a IoGroup,
}

impl Parts {
    /// The bars of recorded I/Os, without sentences and slow I/Os.
    pub fn of(title: &str, all: &[RecordedIos<'_>]) -> Self {
        let mut parts: Vec<String> = Vec::new();
        let known = all.iter().flat_map(|ios| &ios.group.parts.0);
        known.for_each(|(part, _)| push_new(&mut parts, part.clone()));
        let occurs =
            |part: &String| all.iter().any(|ios| ios.group.parts.get(part).is_some_and(|time| !time.is_zero()));
        parts.retain(occurs);
        let kind = |ios: &RecordedIos<'_>| {
            let (group, before) = (ios.group, &ios.before);
            let label = format!("{before}{} {}", text::grouped(float(group.count)), noun(group, group.count));
            let bars = group.around.0.iter().map(|(name, ios)| BarOfParts::of(name, ios, &parts)).collect();
            KindOfIo { label, bars }
        };
        let note = "A bar is the mean of the I/Os around a percentile: p50 those with ranks from 45 to 55 %, p90 from 89 to \
                    91 %, p99 from 98.9 to 99.1 %, p99.9 from 99.89 to 99.91 %.";
        let kinds = all.iter().map(kind).collect();
        Parts { title: title.to_owned(), kinds, notes: vec![note.to_owned()], parts, ..Parts::default() }
    }
}

impl BarOfParts {
    fn of(label: &str, ios: &SomeIos, parts: &[String]) -> Self {
        let sum = ios.time.as_f64().max(1.0);
        let share = |part: &String| ios.parts.get(part).map_or(0.0, |time| time.as_f64() / sum);
        BarOfParts {
            label: label.to_owned(),
            time_ns: ios.time.as_f64() / float(ios.count.max(1)),
            shares: parts.iter().map(share).collect(),
        }
    }
}

/// I/Os that do the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KindOfIo {
    /// `12,040 reads`.
    pub label: String,
    /// The bars, by percentile.
    pub bars: Vec<BarOfParts>,
}

/// The I/Os around a percentile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BarOfParts {
    /// `p99`.
    pub label: String,
    /// Their mean time in nanoseconds.
    pub time_ns: f64,
    /// The share of each part in it.
    pub shares: Vec<f64>,
}

/// A slow I/O.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowIo {
    /// Its begin in seconds.
    pub at_s: f64,
    /// Its time in nanoseconds.
    pub time_ns: f64,
    /// Its largest part, as an index.
    pub part: usize,
    /// Lines about it.
    pub says: String,
}

// Data of a comparison: each number's change with its interval.

/// The changes of all numbers of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    /// For example `before.json → after.json`.
    pub title: String,
    /// Sentences under the title.
    pub sentences: Vec<String>,
    /// Largest change that counts as the same, as a share: 0.05.
    pub tolerance: f64,
    /// The tests, in their order.
    pub tests: Vec<ChangedTest>,
    /// Footnotes.
    pub notes: Vec<String>,
}

/// A test with its numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChangedTest {
    /// `random reads 8K ×16`.
    pub label: String,
    /// `5 and 5 runs`.
    pub runs: String,
    /// The numbers.
    pub rows: Vec<NumberChange>,
}

/// One number of both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NumberChange {
    /// `IOPS`, `p99`.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// Mean of the old runs; `None` if it is not known.
    pub old: Option<f64>,
    /// Mean of the new runs.
    pub new: Option<f64>,
    /// The change as a share: −0.116.
    pub change: Option<f64>,
    /// Lower end of its 95 % interval; `None` without an interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
}

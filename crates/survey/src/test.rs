//! One test of a survey: its I/O and its load levels.

use crate::kind::TestKind;
use crate::parse_values::short_size;
use measure::{Nanos, text};
use model::{JobResult, RunResult};

/// One test: a type at given levels. A user is a process with one request in flight, unless `iodepth` sets more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurveyTest {
    /// Name of a custom test.
    pub name: Option<String>,
    /// Type of I/O.
    pub kind: TestKind,
    /// Block size in bytes.
    pub block: u32,
    /// Concurrent users.
    pub users: u32,
    /// Bytes of the target used, if not all.
    pub set: Option<u64>,
    /// Additional fio options and their values, in order.
    pub extras: Vec<(String, String)>,
    /// Number of the repetition, from 1.
    pub round: u32,
}

/// Duration of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestTime {
    /// Ramp time: I/O at the start that is not measured.
    pub ramp: Nanos,
    /// Measured time.
    pub time: Nanos,
}

impl TestTime {
    /// Sum of both.
    pub fn total(&self) -> Nanos {
        self.ramp.saturating_add(self.time)
    }
}

impl SurveyTest {
    /// A test of a kind at these levels: all of the target, no other options, the first round.
    pub fn at(kind: TestKind, block: u32, users: u32) -> Self {
        SurveyTest { name: None, kind, block, users, set: None, extras: Vec::new(), round: 1 }
    }

    /// Name in tables.
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(self.kind.title())
    }

    /// Name in files.
    pub fn id(&self) -> &str {
        self.name.as_deref().unwrap_or(self.kind.id())
    }

    /// True if both are the same test, at any levels.
    pub fn is_like(&self, other: &SurveyTest) -> bool {
        self.kind == other.kind && self.name == other.name
    }

    /// Default percentage of reads in a mixed test.
    pub(crate) const USUAL_READS: u8 = 80;

    /// Percentage of I/Os that are writes; for a mixed test, as set by its options.
    pub(crate) fn writes_percent(&self) -> u64 {
        if !self.kind.is_mixed() {
            return if self.kind.writes() { 100 } else { 0 };
        }
        let said = self.extras.iter().rev().find(|(name, _)| name == "rwmixread");
        let reads = said.and_then(|(_, value)| value.parse::<u64>().ok()).unwrap_or(SurveyTest::USUAL_READS.into());
        100_u64.saturating_sub(reads)
    }

    /// The same test with the users of all members, if each of this number runs it.
    pub fn by(&self, members: u32) -> Self {
        SurveyTest { users: self.users.saturating_mul(members.max(1)), ..self.clone() }
    }

    /// Description for progress lines: `8k rand read, 16 users, iodepth=4`.
    pub fn describe(&self) -> String {
        let users = text::counted(self.users.into(), "user");
        let mut text = format!("{} {}, {users}", short_size(u64::from(self.block)), self.title());
        if let Some(set) = self.set {
            text.push_str(&format!(", size={}", short_size(set)));
        }
        for (name, value) in self.extras.iter().filter(|(name, _)| !is_given_by_kind(self.kind, name)) {
            text.push_str(&format!(", {name}={value}"));
        }
        text
    }

    /// Key that identifies the test within a survey, stable between versions.
    pub fn key(&self) -> String {
        let mut text = format!("{} bs={} users={}", self.id(), self.block, self.users);
        if let Some(set) = self.set {
            text.push_str(&format!(" size={set}"));
        }
        for (name, value) in &self.extras {
            text.push_str(&format!(" {name}={value}"));
        }
        format!("{text} round={}", self.round)
    }

    /// True if this is another repetition of the same test.
    pub fn repeats(&self, other: &SurveyTest) -> bool {
        SurveyTest { round: 0, ..self.clone() } == SurveyTest { round: 0, ..other.clone() }
    }
}

/// Options that are implied by the type are part of its name.
fn is_given_by_kind(kind: TestKind, name: &str) -> bool {
    kind == TestKind::LogWrite && ["sync", "direct"].contains(&name)
}

// Cost estimate of a survey before it runs: time, bytes and writes.

/// Result of a dry run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Number of tests.
    pub tests: usize,
    /// Total measured time of all tests.
    pub measured: Nanos,
    /// Total warm-up time of all tests; a lower bound with `steady`.
    pub warm_up: Nanos,
    /// Bytes written before the first test.
    pub prepared_bytes: u64,
    /// True if more is written before it, until the rate is settled.
    pub settles: bool,
    /// Time during which the target is written to at full speed: a mixed test counts with its share of writes.
    pub writing: Nanos,
}

impl Estimate {
    /// Estimates these tests with this time per test, after writing `prepared_bytes`.
    pub fn of(tests: &[SurveyTest], time: TestTime, prepared_bytes: u64) -> Self {
        let all = |count: usize, each: Nanos| Nanos(each.get().saturating_mul(count as u64));
        let percent = tests.iter().map(SurveyTest::writes_percent).fold(0, u64::saturating_add);
        let writing =
            Nanos((u128::from(time.total().get()) * u128::from(percent) / 100).try_into().unwrap_or(u64::MAX));
        Estimate {
            tests: tests.len(),
            measured: all(tests.len(), time.time),
            warm_up: all(tests.len(), time.ramp),
            prepared_bytes,
            settles: false,
            writing,
        }
    }

    /// Total bytes written if the target accepts this number of bytes per second.
    pub fn written_at(&self, bytes_per_second: f64) -> f64 {
        self.prepared_bytes as f64 + self.writing.as_secs_f64() * bytes_per_second
    }
}

// A finished test of a survey: the test and its result.

/// A finished test.
#[derive(Clone, Debug)]
pub struct FinishedTest {
    /// The test, with the users of all members.
    pub test: SurveyTest,
    /// The result, after the checks; of several members that of all.
    pub result: RunResult,
    /// The members of a cluster that ran the test; `None` if this process did.
    pub members: Option<Box<cluster::Summary>>,
}

impl FinishedTest {
    /// A test that this process ran.
    pub fn here(test: SurveyTest, result: RunResult) -> Self {
        FinishedTest { test, result, members: None }
    }

    /// A test that was run once by this process or by each of these members.
    pub fn new(planned: &SurveyTest, result: RunResult, members: Option<Box<cluster::Summary>>) -> Self {
        let test = planned.by(members.as_ref().map_or(1, |summary| summary.members));
        FinishedTest { test, result, members }
    }

    /// The test as it was planned: of members that of each.
    pub fn planned(&self) -> SurveyTest {
        let users = self.test.users / self.members.as_ref().map_or(1, |summary| summary.members.max(1));
        SurveyTest { users, ..self.test.clone() }
    }

    /// I/Os per second of all users, reads and writes together.
    pub fn iops(&self) -> f64 {
        let all = self.merged().unwrap_or_default();
        self.test.kind.directions().iter().filter_map(|direction| all.directions[*direction].iops()).sum()
    }

    /// All workers of the test merged into one.
    pub fn merged(&self) -> Option<JobResult> {
        analysis::measured::merged(&self.result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::TestKind;

    fn test() -> SurveyTest {
        let extras = vec![("iodepth".to_owned(), "4".to_owned())];
        SurveyTest {
            name: None,
            kind: TestKind::RandomRead,
            block: 8192,
            users: 16,
            set: Some(1 << 30),
            extras,
            round: 2,
        }
    }

    #[test]
    fn a_test_is_named_by_what_it_does() {
        assert_eq!(test().describe(), "8k rand read, 16 users, size=1G, iodepth=4");
        assert_eq!(test().key(), "random_read bs=8192 users=16 size=1073741824 iodepth=4 round=2");
        let own = SurveyTest { name: Some("checkout".to_owned()), ..test() };
        assert_eq!(own.describe(), "8k checkout, 16 users, size=1G, iodepth=4");
        assert!(own.key().starts_with("checkout bs=8192") && !own.is_like(&test()));
    }

    #[test]
    fn a_round_repeats_the_others_and_nothing_else() {
        assert!(test().repeats(&SurveyTest { round: 1, ..test() }));
        assert!(!test().repeats(&SurveyTest { users: 8, ..test() }));
    }

    #[test]
    fn time_and_bytes_add_up() {
        let test = |kind| SurveyTest::at(kind, 8192, 1);
        let tests =
            [test(TestKind::RandomRead), test(TestKind::LogWrite), test(TestKind::LogWrite), test(TestKind::Mixed)];
        let time = TestTime { ramp: Nanos::SECOND, time: Nanos::from_secs(9) };
        let outline = Estimate::of(&tests, time, 1000);
        assert_eq!((outline.measured, outline.warm_up), (Nanos::from_secs(36), Nanos::from_secs(4)));
        assert_eq!(outline.writing, Nanos::from_secs(22), "two logs and a fifth of a mix");
        assert!((outline.written_at(100.0) - 3200.0).abs() < 1e-9);
        let extras = vec![("rwmixread".to_owned(), "30".to_owned())];
        let own = SurveyTest { extras, ..test(TestKind::SequentialMixed) };
        assert_eq!(
            Estimate::of(&[own, test(TestKind::RandomWrite)], time, 0).writing,
            Nanos::from_secs(17),
            "70 % and all"
        );
        assert_eq!(Estimate::of(&[], time, 0), Estimate::default());
    }
}

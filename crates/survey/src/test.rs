//! One test of a survey: its I/O and its load levels.

use crate::kind::TestKind;
use crate::parse_values::short_size;
use measure::{Nanos, text};

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

#[cfg(test)]
mod tests {
    use super::*;

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
}

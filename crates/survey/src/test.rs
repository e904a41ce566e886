//! One test of a survey: what is done, at which levels.

use crate::kind::Kind;
use crate::word::short_size;
use measure::Nanos;

/// One test: a kind at its levels. A user is a process with one request at a time, unless `iodepth` says more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// What its owner calls it, where it is none of ours.
    pub name: Option<String>,
    /// What it does.
    pub kind: Kind,
    /// Bytes per request.
    pub block: u32,
    /// How many at once.
    pub users: u32,
    /// How much of the target is used, where it is not all.
    pub set: Option<u64>,
    /// Further options of fio's and their values, in order.
    pub extras: Vec<(String, String)>,
    /// Which repetition, from 1.
    pub round: u32,
}

/// How long a test takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// I/O that does not count, first.
    pub ramp: Nanos,
    /// I/O that counts.
    pub time: Nanos,
}

impl Pace {
    /// Both together.
    pub fn total(&self) -> Nanos {
        self.ramp.saturating_add(self.time)
    }
}

impl Test {
    /// Name for tables.
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(self.kind.title())
    }

    /// Name for files.
    pub fn id(&self) -> &str {
        self.name.as_deref().unwrap_or(self.kind.id())
    }

    /// Whether both are the same test, at whatever levels.
    pub fn is_like(&self, other: &Test) -> bool {
        self.kind == other.kind && self.name == other.name
    }

    /// How much of what it does is writing, in percent: of a mix as its options say.
    pub(crate) fn writes_percent(&self) -> u64 {
        const USUAL_READS: u64 = 80;
        if !self.kind.is_mixed() {
            return if self.kind.writes() { 100 } else { 0 };
        }
        let said = self.extras.iter().rev().find(|(name, _)| name == "rwmixread");
        let reads = said.and_then(|(_, value)| value.parse::<u64>().ok()).unwrap_or(USUAL_READS);
        100_u64.saturating_sub(reads)
    }

    /// A line for progress: `8k rand read, 16 users, iodepth=4`.
    pub fn describe(&self) -> String {
        let users = if self.users == 1 { "1 user".to_owned() } else { format!("{} users", self.users) };
        let mut text = format!("{} {}, {users}", short_size(u64::from(self.block)), self.title());
        if let Some(set) = self.set {
            text.push_str(&format!(", size={}", short_size(set)));
        }
        for (name, value) in self.extras.iter().filter(|(name, _)| !is_given_by_kind(self.kind, name)) {
            text.push_str(&format!(", {name}={value}"));
        }
        text
    }

    /// What tells it from all other tests of a survey, in words that stay the same from version to version.
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

    /// Whether this is another round of the same.
    pub fn repeats(&self, other: &Test) -> bool {
        Test { round: 0, ..self.clone() } == Test { round: 0, ..other.clone() }
    }
}

/// Options that make a kind what it is are told by its name.
fn is_given_by_kind(kind: Kind, name: &str) -> bool {
    kind == Kind::LogWrite && ["sync", "direct"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test() -> Test {
        let extras = vec![("iodepth".to_owned(), "4".to_owned())];
        Test { name: None, kind: Kind::RandomRead, block: 8192, users: 16, set: Some(1 << 30), extras, round: 2 }
    }

    #[test]
    fn a_test_is_told_by_what_it_does() {
        assert_eq!(test().describe(), "8k rand read, 16 users, size=1G, iodepth=4");
        assert_eq!(test().key(), "random_read bs=8192 users=16 size=1073741824 iodepth=4 round=2");
        let own = Test { name: Some("checkout".to_owned()), ..test() };
        assert_eq!(own.describe(), "8k checkout, 16 users, size=1G, iodepth=4");
        assert!(own.key().starts_with("checkout bs=8192") && !own.is_like(&test()));
    }

    #[test]
    fn a_round_repeats_the_others_and_nothing_else() {
        assert!(test().repeats(&Test { round: 1, ..test() }));
        assert!(!test().repeats(&Test { users: 8, ..test() }));
    }
}

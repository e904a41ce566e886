//! Types of tests, and their default load levels.

use measure::Direction;
use plan::Mix;

const KIB: u32 = 1 << 10;
const MIB: u32 = 1 << 20;

/// Type of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestKind {
    /// Random reads, as in an index lookup.
    RandomRead,
    /// Sequential reads, each user in a separate region, as in a table scan or a backup.
    SequentialRead,
    /// Sequential synchronous writes, each stable before the next, each user in a region, as in a database log.
    LogWrite,
    /// Random reads and writes, 80 % reads by default.
    Mixed,
    /// Sequential writes; custom tests only.
    SequentialWrite,
    /// Random writes; custom tests only.
    RandomWrite,
    /// Sequential reads and writes; custom tests only.
    SequentialMixed,
}

/// Fixed properties of a type.
struct KindRow {
    kind: TestKind,
    word: &'static str,
    title: &'static str,
    id: &'static str,
    block: u32,
    /// fio options that produce it.
    options: &'static [(&'static str, &'static str)],
}

/// A row; the names are those on the command line, in tables and in files.
const fn row(
    kind: TestKind,
    [word, title, id]: [&'static str; 3],
    block: u32,
    options: &'static [(&'static str, &'static str)],
) -> KindRow {
    KindRow { kind, word, title, id, block, options }
}

const ROWS: &[KindRow] = &[
    row(TestKind::RandomRead, ["randread", "rand read", "random_read"], 8 * KIB, &[("rw", "randread")]),
    row(TestKind::SequentialRead, ["read", "seq read", "sequential_read"], MIB, &[("rw", "read")]),
    row(TestKind::LogWrite, ["write", "log write", "log_write"], 8 * KIB, &[("rw", "write"), ("sync", "dsync")]),
    row(
        TestKind::Mixed,
        ["randrw", "rand mix", "random_mixed"],
        8 * KIB,
        &[("rw", "randrw"), ("rwmixread", "80"), ("end_fsync", "1")],
    ),
    row(
        TestKind::SequentialWrite,
        ["write", "seq write", "sequential_write"],
        MIB,
        &[("rw", "write"), ("end_fsync", "1")],
    ),
    row(
        TestKind::RandomWrite,
        ["randwrite", "rand write", "random_write"],
        8 * KIB,
        &[("rw", "randwrite"), ("end_fsync", "1")],
    ),
    row(
        TestKind::SequentialMixed,
        ["rw", "seq mix", "sequential_mixed"],
        MIB,
        &[("rw", "rw"), ("rwmixread", "80"), ("end_fsync", "1")],
    ),
];

/// Patterns of custom tests, by fio's `rw` values.
const PATTERNS: &[(&str, TestKind)] = &[
    ("read", TestKind::SequentialRead),
    ("write", TestKind::SequentialWrite),
    ("randread", TestKind::RandomRead),
    ("randwrite", TestKind::RandomWrite),
    ("rw", TestKind::SequentialMixed),
    ("readwrite", TestKind::SequentialMixed),
    ("randrw", TestKind::Mixed),
];

impl TestKind {
    /// All types with default levels, in the default order.
    pub const ALL: [TestKind; 4] =
        [TestKind::RandomRead, TestKind::SequentialRead, TestKind::LogWrite, TestKind::Mixed];

    /// Returns the type with this name on the command line.
    pub fn named(word: &str) -> Option<TestKind> {
        TestKind::ALL.into_iter().find(|kind| kind.word() == word || kind.id() == word)
    }

    /// Returns the type for a value of fio's `rw`: `randwrite`.
    pub(crate) fn of_pattern(word: &str) -> Option<TestKind> {
        PATTERNS.iter().find(|(pattern, _)| *pattern == word).map(|&(_, kind)| kind)
    }

    /// The value of fio's `rw` option.
    pub(crate) fn pattern(self) -> &'static str {
        self.row().options.iter().find(|(name, _)| *name == "rw").map_or("", |&(_, word)| word)
    }

    /// True if a built-in test or a fio pattern has this name.
    pub(crate) fn is_taken(word: &str) -> bool {
        TestKind::of_pattern(word).is_some() || ROWS.iter().any(|row| [row.word, row.id, row.title].contains(&word))
    }

    fn row(self) -> &'static KindRow {
        // Every type has a row, which a test verifies.
        ROWS.iter().find(|row| row.kind == self).unwrap_or(&ROWS[0])
    }

    /// Name on the command line: `randread`.
    pub fn word(self) -> &'static str {
        self.row().word
    }

    /// Name in tables.
    pub fn title(self) -> &'static str {
        self.row().title
    }

    /// Name in files.
    pub fn id(self) -> &'static str {
        self.row().id
    }

    /// Default block size in bytes.
    pub fn usual_block(self) -> u32 {
        self.row().block
    }

    /// fio options that produce it.
    pub(crate) fn options(self) -> &'static [(&'static str, &'static str)] {
        self.row().options
    }

    /// Directions in which data is transferred.
    pub const fn directions(self) -> &'static [Direction] {
        match self {
            TestKind::RandomRead | TestKind::SequentialRead => &[Direction::Read],
            TestKind::LogWrite | TestKind::SequentialWrite | TestKind::RandomWrite => &[Direction::Write],
            TestKind::Mixed | TestKind::SequentialMixed => &[Direction::Read, Direction::Write],
        }
    }

    /// The directions as a Plan's [`Mix`].
    pub(crate) const fn mix(self) -> Mix {
        match self.directions() {
            [only] => Mix::Only(*only),
            _ => Mix::ReadWrite,
        }
    }

    /// True if it modifies the target.
    pub const fn writes(self) -> bool {
        !matches!(self, TestKind::RandomRead | TestKind::SequentialRead)
    }

    /// True if it reads and writes.
    pub const fn is_mixed(self) -> bool {
        matches!(self, TestKind::Mixed | TestKind::SequentialMixed)
    }

    /// True if its offsets are random.
    pub const fn is_random(self) -> bool {
        matches!(self, TestKind::RandomRead | TestKind::Mixed | TestKind::RandomWrite)
    }
}

/// A type, its block sizes in bytes and its user counts; every pair of the two is measured.
pub(crate) type Levels = (TestKind, &'static [u32], &'static [u32]);

const USERS: &[u32] = &[1, 8, 16, 32, 64];

/// Default levels if no tests are named: a result within five minutes.
pub(crate) const USUAL: &[Levels] = &[
    (TestKind::RandomRead, &[8 * KIB], USERS),
    (TestKind::SequentialRead, &[MIB], &[1, 8]),
    (TestKind::LogWrite, &[8 * KIB], &[1, 4, 16]),
];

/// All levels, for tests that are named.
pub(crate) const FULL: &[Levels] = &[
    (TestKind::RandomRead, &[8 * KIB], USERS),
    (TestKind::SequentialRead, &[8 * KIB, 32 * KIB, 128 * KIB], &[1]),
    (TestKind::SequentialRead, &[MIB], USERS),
    (TestKind::LogWrite, &[KIB, 4 * KIB, 8 * KIB, 128 * KIB], &[1, 4, 16]),
    (TestKind::Mixed, &[8 * KIB], USERS),
];

pub(crate) const FIO_SH: &[Levels] = &[
    (TestKind::RandomRead, &[8 * KIB], USERS),
    (TestKind::SequentialRead, &[8 * KIB, 32 * KIB, 128 * KIB], &[1]),
    (TestKind::SequentialRead, &[MIB], USERS),
    (TestKind::LogWrite, &[KIB, 8 * KIB, 128 * KIB], &[1, 4, 16]),
    (TestKind::Mixed, &[8 * KIB], USERS),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_row() {
        for kind in TestKind::ALL {
            assert_eq!(kind.row().kind, kind);
            assert_eq!(TestKind::named(kind.word()), Some(kind));
            assert_eq!(TestKind::named(kind.id()), Some(kind));
        }
        for &(word, kind) in PATTERNS {
            assert_eq!((kind.row().kind, TestKind::of_pattern(word)), (kind, Some(kind)), "{word}");
        }
        assert_eq!((TestKind::named("readrand"), TestKind::named("randwrite")), (None, None));
    }
}

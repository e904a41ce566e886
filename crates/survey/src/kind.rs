//! The kinds of tests, and the levels at which each is usually measured.

use measure::Direction;

const KIB: u32 = 1 << 10;
const MIB: u32 = 1 << 20;

/// What a test does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads at random offsets: an index lookup.
    RandomRead,
    /// Reads in order, each user in its own part: a table scan, a backup.
    SequentialRead,
    /// Writes in order, each on stable storage before the next, each user in its own part: a database's log.
    LogWrite,
    /// Random reads and writes, 80 to 20 unless said otherwise.
    Mixed,
    /// Writes in order, of a test of one's own.
    SequentialWrite,
    /// Writes at random offsets, of a test of one's own.
    RandomWrite,
    /// Reads and writes in order, of a test of one's own.
    SequentialMixed,
}

/// What is fixed about a kind.
struct Row {
    kind: Kind,
    word: &'static str,
    title: &'static str,
    id: &'static str,
    block: u32,
    /// The fio words that make it.
    words: &'static [(&'static str, &'static str)],
}

const ROWS: &[Row] = &[
    Row {
        kind: Kind::RandomRead,
        word: "randread",
        title: "rand read",
        id: "random_read",
        block: 8 * KIB,
        words: &[("rw", "randread")],
    },
    Row {
        kind: Kind::SequentialRead,
        word: "read",
        title: "seq read",
        id: "sequential_read",
        block: MIB,
        words: &[("rw", "read")],
    },
    Row {
        kind: Kind::LogWrite,
        word: "write",
        title: "log write",
        id: "log_write",
        block: 8 * KIB,
        words: &[("rw", "write"), ("sync", "dsync")],
    },
    Row {
        kind: Kind::Mixed,
        word: "randrw",
        title: "rand mix",
        id: "random_mixed",
        block: 8 * KIB,
        words: &[("rw", "randrw"), ("rwmixread", "80"), ("end_fsync", "1")],
    },
    Row {
        kind: Kind::SequentialWrite,
        word: "write",
        title: "seq write",
        id: "sequential_write",
        block: MIB,
        words: &[("rw", "write"), ("end_fsync", "1")],
    },
    Row {
        kind: Kind::RandomWrite,
        word: "randwrite",
        title: "rand write",
        id: "random_write",
        block: 8 * KIB,
        words: &[("rw", "randwrite"), ("end_fsync", "1")],
    },
    Row {
        kind: Kind::SequentialMixed,
        word: "rw",
        title: "seq mix",
        id: "sequential_mixed",
        block: MIB,
        words: &[("rw", "rw"), ("rwmixread", "80"), ("end_fsync", "1")],
    },
];

/// What a test of one's own may do, by fio's words.
const PATTERNS: &[(&str, Kind)] = &[
    ("read", Kind::SequentialRead),
    ("write", Kind::SequentialWrite),
    ("randread", Kind::RandomRead),
    ("randwrite", Kind::RandomWrite),
    ("rw", Kind::SequentialMixed),
    ("readwrite", Kind::SequentialMixed),
    ("randrw", Kind::Mixed),
];

impl Kind {
    /// All kinds that have usual levels, in the order in which they are usually run.
    pub const ALL: [Kind; 4] = [Kind::RandomRead, Kind::SequentialRead, Kind::LogWrite, Kind::Mixed];

    /// The kind that a person calls so.
    pub fn named(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.word() == word || kind.id() == word)
    }

    /// What fio calls so: `randwrite`.
    pub(crate) fn of_pattern(word: &str) -> Option<Kind> {
        PATTERNS.iter().find(|(pattern, _)| *pattern == word).map(|&(_, kind)| kind)
    }

    /// fio's word for what it does.
    pub(crate) fn pattern(self) -> &'static str {
        self.row().words.iter().find(|(name, _)| *name == "rw").map_or("", |&(_, word)| word)
    }

    /// Whether a test of ours, or fio's pattern, is called so.
    pub(crate) fn is_taken(word: &str) -> bool {
        Kind::of_pattern(word).is_some() || ROWS.iter().any(|row| [row.word, row.id, row.title].contains(&word))
    }

    fn row(self) -> &'static Row {
        // Every kind has its row; a test holds this.
        ROWS.iter().find(|row| row.kind == self).unwrap_or(&ROWS[0])
    }

    /// The word on the command line: `randread`.
    pub fn word(self) -> &'static str {
        self.row().word
    }

    /// Name for tables.
    pub fn title(self) -> &'static str {
        self.row().title
    }

    /// Name for files.
    pub fn id(self) -> &'static str {
        self.row().id
    }

    /// Bytes per request where nothing else is asked.
    pub fn usual_block(self) -> u32 {
        self.row().block
    }

    /// The fio options that make it.
    pub(crate) fn words(self) -> &'static [(&'static str, &'static str)] {
        self.row().words
    }

    /// The directions in which data goes.
    pub const fn directions(self) -> &'static [Direction] {
        match self {
            Kind::RandomRead | Kind::SequentialRead => &[Direction::Read],
            Kind::LogWrite | Kind::SequentialWrite | Kind::RandomWrite => &[Direction::Write],
            Kind::Mixed | Kind::SequentialMixed => &[Direction::Read, Direction::Write],
        }
    }

    /// Whether it changes what is on the target.
    pub const fn writes(self) -> bool {
        !matches!(self, Kind::RandomRead | Kind::SequentialRead)
    }

    /// Whether it reads and writes.
    pub const fn is_mixed(self) -> bool {
        matches!(self, Kind::Mixed | Kind::SequentialMixed)
    }

    /// Whether its offsets are drawn.
    pub const fn is_random(self) -> bool {
        matches!(self, Kind::RandomRead | Kind::Mixed | Kind::RandomWrite)
    }
}

/// Block sizes of a kind, each with every one of the user counts.
pub(crate) type Levels = (Kind, &'static [u32], &'static [u32]);

const USERS: &[u32] = &[1, 8, 16, 32, 64];

/// What is measured when no tests are named: an answer in five minutes.
pub(crate) const USUAL: &[Levels] = &[
    (Kind::RandomRead, &[8 * KIB], USERS),
    (Kind::SequentialRead, &[MIB], &[1, 8]),
    (Kind::LogWrite, &[8 * KIB], &[1, 4]),
];

/// Everything, for the tests that are named.
pub(crate) const FULL: &[Levels] = &[
    (Kind::RandomRead, &[8 * KIB], USERS),
    (Kind::SequentialRead, &[8 * KIB, 32 * KIB, 128 * KIB], &[1]),
    (Kind::SequentialRead, &[MIB], USERS),
    (Kind::LogWrite, &[KIB, 4 * KIB, 8 * KIB, 128 * KIB], &[1, 4, 16]),
    (Kind::Mixed, &[8 * KIB], USERS),
];

/// What fio.sh runs.
pub(crate) const FIO_SH: &[Levels] = &[
    (Kind::RandomRead, &[8 * KIB], USERS),
    (Kind::SequentialRead, &[8 * KIB, 32 * KIB, 128 * KIB], &[1]),
    (Kind::SequentialRead, &[MIB], USERS),
    (Kind::LogWrite, &[KIB, 8 * KIB, 128 * KIB], &[1, 4, 16]),
    (Kind::Mixed, &[8 * KIB], USERS),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_row() {
        for kind in Kind::ALL {
            assert_eq!(kind.row().kind, kind);
            assert_eq!(Kind::named(kind.word()), Some(kind));
            assert_eq!(Kind::named(kind.id()), Some(kind));
        }
        for &(word, kind) in PATTERNS {
            assert_eq!((kind.row().kind, Kind::of_pattern(word)), (kind, Some(kind)), "{word}");
        }
        assert_eq!((Kind::named("readrand"), Kind::named("randwrite")), (None, None));
    }
}

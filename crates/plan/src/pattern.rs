//! Access patterns and their names, the words of fio's option `rw`.

use crate::{Mix, Workload};
use measure::Direction;

/// An access pattern: the directions of I/O, and sequential or random offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RwPattern {
    /// I/O directions.
    pub mix: Mix,
    /// Offsets are random instead of sequential.
    pub random: bool,
}

const fn sequential(mix: Mix) -> RwPattern {
    RwPattern { mix, random: false }
}

const fn random(mix: Mix) -> RwPattern {
    RwPattern { mix, random: true }
}

/// All words. Of two with the same meaning the preferred one comes first.
const WORDS: [(&str, RwPattern); 11] = [
    ("read", sequential(Mix::Only(Direction::Read))),
    ("write", sequential(Mix::Only(Direction::Write))),
    ("trim", sequential(Mix::Only(Direction::Trim))),
    ("randread", random(Mix::Only(Direction::Read))),
    ("randwrite", random(Mix::Only(Direction::Write))),
    ("randtrim", random(Mix::Only(Direction::Trim))),
    ("rw", sequential(Mix::ReadWrite)),
    ("readwrite", sequential(Mix::ReadWrite)),
    ("randrw", random(Mix::ReadWrite)),
    ("trimwrite", sequential(Mix::TrimWrite)),
    ("randtrimwrite", random(Mix::TrimWrite)),
];

impl RwPattern {
    /// Returns the pattern with this name; `None` for any other text.
    pub fn parse(word: &str) -> Option<Self> {
        WORDS.iter().find(|(known, _)| *known == word).map(|&(_, pattern)| pattern)
    }

    /// Name of the pattern, such as `randread`.
    pub fn name(self) -> &'static str {
        WORDS.iter().find(|(_, pattern)| *pattern == self).map_or("", |(word, _)| word)
    }
}

impl Workload {
    /// Name of the access pattern, such as `randread`.
    pub fn pattern(&self) -> &'static str {
        RwPattern { mix: self.mix, random: !self.is_sequential() }.name()
    }
}

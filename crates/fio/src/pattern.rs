//! The words after `rw=`: their meaning, and their names in plain English.

use measure::Direction;
use plan::{Mix, Workload};

/// Word, direction, order, and name in plain English. Of two words with the same meaning the preferred one comes first.
const PATTERNS: &[(&str, Mix, Random, &str)] = &[
    ("read", Mix::Only(Direction::Read), Random::No, "sequential read"),
    ("write", Mix::Only(Direction::Write), Random::No, "sequential write"),
    ("trim", Mix::Only(Direction::Trim), Random::No, "sequential trim"),
    ("randread", Mix::Only(Direction::Read), Random::Yes, "random read"),
    ("randwrite", Mix::Only(Direction::Write), Random::Yes, "random write"),
    ("randtrim", Mix::Only(Direction::Trim), Random::Yes, "random trim"),
    ("rw", Mix::ReadWrite, Random::No, "sequential mix"),
    ("readwrite", Mix::ReadWrite, Random::No, "sequential mix"),
    ("randrw", Mix::ReadWrite, Random::Yes, "random mix"),
    ("trimwrite", Mix::TrimWrite, Random::No, "sequential trim and write"),
    ("randtrimwrite", Mix::TrimWrite, Random::Yes, "random trim and write"),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Random {
    Yes,
    No,
}

/// Returns the word after `rw=` for this workload.
pub fn word(workload: &Workload) -> &'static str {
    let random = if workload.is_sequential() { Random::No } else { Random::Yes };
    let found = PATTERNS.iter().find(|(_, mix, order, _)| *mix == workload.mix && *order == random);
    found.map_or("", |(word, ..)| word)
}

/// Returns the plain English name of a word after `rw=`; `None` if there is no such word.
pub fn title(word: &str) -> Option<&'static str> {
    PATTERNS.iter().find(|(known, ..)| *known == word).map(|(.., title)| *title)
}

/// True if this is a word after `rw=`, with or without a number after `:`.
pub(crate) fn is_one(text: &str) -> bool {
    text.split(':').next().is_some_and(|word| title(word.trim()).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parser;

    #[test]
    fn every_word_means_what_the_parser_reads() {
        for (written, ..) in PATTERNS.iter().filter(|(written, ..)| *written != "readwrite") {
            let workload = Parser::new(&[]).echoed_pattern(written).expect("a pattern");
            assert_eq!(word(&workload), *written);
        }
        assert!(Parser::new(&[]).echoed_pattern("sequential").is_none());
        assert_eq!(Parser::new(&[]).echoed_pattern("randread:8").as_ref().map(word), Some("randread"));
    }
}

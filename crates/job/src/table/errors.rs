//! Options about what happens on errors.

use super::row::{NOT_YET, Row, Set};
use crate::option::Kind;
use crate::plan::ContinueOnError;

const GROUP: &str = "Errors";

const fn works(name: &'static str, kind: Kind, set: Set, help: &'static str) -> Row {
    Row::works(GROUP, name, kind, set, help)
}

const fn refused(name: &'static str, kind: Kind, reason: &'static str, help: &'static str) -> Row {
    Row::refused(GROUP, name, kind, reason, help)
}

const CLASSES: Kind = Kind::Word(&[
    ("none", "end at the first error"),
    ("read", "go on after failed reads"),
    ("write", "go on after failed writes"),
    ("io", "go on after both"),
    ("verify", "go on after failed checks"),
    ("all", "go on after all of these"),
    ("0", "same as none"),
    ("1", "same as all"),
]);

pub(super) const ROWS: &[Row] = &[
    works(
        "continue_on_error",
        CLASSES,
        Set::Word(|draft, word, _| {
            let is = |words: &[&str]| words.contains(&word);
            draft.continue_on_error = ContinueOnError {
                read: is(&["read", "io", "all", "1"]),
                write: is(&["write", "io", "all", "1"]),
                verify: is(&["verify", "all", "1"]),
            };
            Ok(())
        }),
        "Which I/O errors do not end the job",
    )
    .default("none"),
    refused("ignore_error", Kind::Text, NOT_YET, "Which error numbers are forgiven"),
    refused("error_dump", Kind::Bool, NOT_YET, "Print every error").default("0"),
];

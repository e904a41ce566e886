//! House rule "one place each": for the kinds of additions that ARCHITECTURE.md lists, a thing that exists is named by
//! exactly the files that its row promises, so that adding another one needs no more.

use super::language::production;
use super::{check, table, text};

/// One thing of each kind: its row in ARCHITECTURE.md, words that only this thing has, and the files that use them.
#[rustfmt::skip]
const EXAMPLES: &[(&str, &[&str], &[&str])] = &[
    ("an engine", &["E4Defrag", "e4defrag"], &["engine/src/e4defrag.rs", "engine/src/lib.rs", "engine/src/registry.rs"]),
    ("an option", &["rate_cycle", "ratecycle"], &["fio/src/options/table/pace.rs", "plan/src/pace.rs", "run/src/drive/minimum_rate.rs"]),
    ("an option of iozone", &["no_stonewall"], &["iozone/src/passes.rs", "iozone/src/settings.rs"]),
    ("a format that is written", &["terse::write"], &["formats/src/fio/clients.rs", "formats/src/lib.rs"]),
    ("a chart", &["Surface"], &["report/src/data/mod.rs", "report/src/data/surface.rs", "report/src/sources/pictures.rs"]),
    ("a check", &["link_ceiling"], &["analysis/src/checks/mod.rs"]),
    ("a column of iostat", &["areq-sz"], &["formats/src/iostat/columns.rs"]),
    ("a reason not to write to a device", &["Swap"], &["sys/src/devices/claims.rs"]),
];

/// True if `word` occurs in the code of a line as a whole word; texts in quotes count, comments do not.
fn names(line: &str, word: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    code.match_indices(word)
        .any(|(at, _)| !part(code[..at].chars().next_back()) && !part(code[at + word.len()..].chars().next()))
}

#[test]
fn a_thing_of_each_kind_is_in_the_files_that_the_architecture_promises() {
    let promised = table(&text("ARCHITECTURE.md"), "to add", "do");
    let code = production();
    let mut findings = Vec::new();
    for (kind, words, expected) in EXAMPLES {
        if !promised.iter().any(|row| row[0] == *kind) {
            findings.push(format!("ARCHITECTURE.md has no row for {kind}"));
        }
        let uses = |lines: &[(usize, String)]| lines.iter().any(|(_, line)| words.iter().any(|word| names(line, word)));
        let found = code.iter().filter(|(_, lines)| uses(lines)).map(|(path, _)| path.trim_start_matches("crates/"));
        let mut found: Vec<&str> = found.collect();
        found.sort_unstable();
        if found != *expected {
            findings.push(format!("{kind} ({}) is in {}, not in {}", words[0], found.join(", "), expected.join(", ")));
        }
    }
    check(findings);
}

#[test]
fn words_are_found_as_whole_words_outside_of_comments() {
    assert!(names("    crate::e4defrag::E4Defrag,", "e4defrag") && names("name: \"drqm\",", "drqm"));
    assert!(!names("// as e4defrag does", "e4defrag") && !names("swapped(Swapping)", "Swap"));
}

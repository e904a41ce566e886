//! House rules about language: words of the old dialect and their plain replacements, doc lines, and error types.

use super::source::{Source, production_sources, read_all};
use super::{above_tests, check, sources, text};
use std::collections::BTreeMap;
use std::fs;

/// Words and phrases that do not occur in fio's, the kernel's or ripgrep's documents in this sense, and what to write.
/// Matched as whole words, in any case, across line ends, and inside identifiers (`told_once`, `ToldOnce`).
const BANNED: &[(&str, &str)] = &[
    ("anew", "again, or name the action: recreate, remeasure"),
    ("beside", "next to, in addition to, during, or name the relation: side output, background"),
    ("came back", "completed, returned"),
    ("come back", "complete, return"),
    ("comes back", "completes, returns"),
    ("does otherwise", "name what it does"),
    ("gone on with", "resumed"),
    ("heed", "handle, check"),
    ("in company", "in the background"),
    ("is no", "is not a"),
    ("keep company", "run in the background"),
    ("keeps company", "runs in the background"),
    ("left behind", "abandoned, not removed"),
    ("lies at", "is at"),
    ("lies below", "is below"),
    ("lies beyond", "is beyond"),
    ("lies in", "is in"),
    ("lies on", "is on"),
    ("lies under", "is under"),
    ("nobody", "no one, no process, or name who"),
    ("of his own", "own"),
    ("of its own", "its own, a separate"),
    ("of one's own", "custom"),
    ("of our own", "our own"),
    ("of their own", "their own, separate"),
    ("of yours", "your"),
    ("pretence", "null, simulated"),
    ("pretend", "simulate, ignore"),
    ("pretends", "simulates, ignores"),
    ("shall", "must, is to, or will"),
    ("so many", "name the number: N, count, up to"),
    ("somebody", "another process, another user, someone"),
    ("somebody's", "another user's"),
    ("speak up", "report, remark"),
    ("speaks against", "contradicts, lowers the grade of"),
    ("speaks up", "reports, remarks"),
    ("stranger", "untrusted, unknown"),
    ("strangers", "others, untrusted"),
    ("subtleties", "write the fact"),
    ("subtlety", "write the fact; the list it refers to is not in the repository"),
    ("tell of", "report"),
    ("tells", "reports, shows, says"),
    ("the specification", "write the fact, or name the public document"),
    ("told", "reported, printed, given, known"),
    ("whoever", "a reader, a caller, another process"),
    ("whom", "name the thing"),
    ("whose turn", "next"),
    ("wishes", "request, settings"),
];

/// Words before a phrase that make it plain English after all: "there is no sample".
const PLAIN_AFTER: &[(&str, &str)] = &[("there", "is no")];

/// Openings of a doc line that say less than "Returns ..", "Bytes ..", "True if ..".
const WEAK_OPENINGS: &[(&str, &str)] = &[
    ("What", "the noun, or Returns .."),
    ("Whether", "True if .., or Returns true if .."),
    ("Who", "the noun"),
    ("Whom", "the noun"),
];

/// One place where a rule is broken.
pub(super) struct Finding {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) what: String,
}

/// The production code of every crate: its path and its lines, numbered from 1, without test modules at its end.
pub(super) fn production() -> Vec<(String, Vec<(usize, String)>)> {
    let lines = |source: &Source| above_tests(&source.text).map(|(at, line)| (at + 1, line.to_owned())).collect();
    production_sources().iter().map(|source| (source.path.clone(), lines(source))).collect()
}

/// The tests and benches of every crate, and the test modules of its production code. This file names the words.
fn tests() -> Vec<(String, Vec<(usize, String)>)> {
    let production: BTreeMap<String, usize> =
        production().into_iter().map(|(path, lines)| (path, lines.len())).collect();
    let rest = |(path, text): (String, String)| {
        let above = production.get(&path).copied().unwrap_or(0);
        let lines = text.lines().enumerate().skip(above).map(|(at, line)| (at + 1, line.to_owned())).collect();
        (path, lines)
    };
    sources().into_iter().filter(|(path, _)| !path.ends_with("rules/language.rs")).map(rest).collect()
}

/// The documents that readers of the repository see.
fn documents() -> Vec<(String, Vec<(usize, String)>)> {
    let mut names: Vec<String> = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(str::to_owned).to_vec();
    for entry in fs::read_dir(super::root().join("docs")).expect("docs") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") {
            names.push(format!("docs/{name}"));
        }
    }
    names.sort();
    let lines = |name: &String| text(name).lines().enumerate().map(|(at, line)| (at + 1, line.to_owned())).collect();
    names.iter().map(|name| (name.clone(), lines(name))).collect()
}

/// The words of a line in lower case; identifiers are split at underscores and capitals.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in line.chars() {
        let joins = letter.is_alphanumeric() || (letter == '\'' && before.is_alphanumeric());
        if !joins || (letter.is_uppercase() && before.is_lowercase()) {
            words.push(String::new());
        }
        if joins {
            words.last_mut().expect("never empty").extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Every banned word or phrase in these lines.
fn banned_in(path: &str, lines: &[(usize, String)]) -> Vec<Finding> {
    let stream: Vec<(usize, String)> =
        lines.iter().flat_map(|(at, line)| words(line).into_iter().map(|word| (*at, word))).collect();
    let mut found = Vec::new();
    for (phrase, instead) in BANNED {
        let phrase_words: Vec<&str> = phrase.split(' ').collect();
        for (at, window) in stream.windows(phrase_words.len()).enumerate() {
            if !window.iter().map(|(_, word)| word).eq(phrase_words.iter()) {
                continue;
            }
            let before = at.checked_sub(1).map_or("", |at| &stream[at].1);
            if !PLAIN_AFTER.contains(&(before, *phrase)) {
                found.push(Finding {
                    path: path.to_owned(),
                    line: window[0].0,
                    what: format!("`{phrase}`: {instead}"),
                });
            }
        }
    }
    found
}

/// Doc comments of items that open with a weak word.
fn weak_docs_in(path: &str, lines: &[(usize, String)]) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut in_doc = false;
    for (at, line) in lines {
        let doc = line.trim_start().strip_prefix("/// ");
        let opening = doc.filter(|_| !in_doc).and_then(|doc| doc.split(' ').next());
        let weak = opening.and_then(|word| WEAK_OPENINGS.iter().find(|(weak, _)| *weak == word));
        if let Some((word, instead)) = weak {
            found.push(Finding { path: path.to_owned(), line: *at, what: format!("opens with {word}: {instead}") });
        }
        in_doc = doc.is_some() || line.trim_start() == "///";
    }
    found
}

/// Public functions whose error is a text.
fn text_errors(source: &Source) -> impl Iterator<Item = String> {
    let found = source.functions.iter().filter(|function| function.fails_with_text);
    found.map(|function| format!("{}:{}: {} fails with a String", source.path, function.name.line, function.name.name))
}

/// Fails with a line for each finding.
pub(super) fn fail_with(findings: Vec<Finding>) {
    check(findings.into_iter().map(|found| format!("{}:{}: {}", found.path, found.line, found.what)).collect());
}

#[test]
fn no_word_of_the_old_dialect_comes_in() {
    let all = production().into_iter().chain(tests()).chain(documents());
    fail_with(all.flat_map(|(path, lines)| banned_in(&path, &lines)).collect());
}

#[test]
fn doc_lines_say_what_a_thing_is() {
    fail_with(production().into_iter().flat_map(|(path, lines)| weak_docs_in(&path, &lines)).collect());
}

#[test]
fn library_crates_have_error_enums() {
    let libraries = production_sources().iter().filter(|source| !source.path.starts_with("crates/cli/"));
    check(libraries.flat_map(text_errors).collect());
}

#[test]
fn the_rules_of_language_find_what_breaks_them() {
    let lines = |text: &str| -> Vec<(usize, String)> {
        text.lines().enumerate().map(|(at, line)| (at + 1, line.to_owned())).collect()
    };
    let banned = |text: &str| banned_in("x", &lines(text)).into_iter().map(|found| found.line).collect::<Vec<_>>();
    assert_eq!(banned("fn told_once() {}\nstruct ToldOnce;\n// untold\n"), [1, 2]);
    assert_eq!(banned("/// of its\n/// own\nlet its = own;\n"), [1]);
    assert_eq!(banned("// there is no device\n// is no device\n\"so many\"\n"), [2, 3]);
    let weak = |text: &str| weak_docs_in("x", &lines(text)).len();
    assert_eq!(weak("/// Whether it is.\nfn a();\n/// True if it is.\n/// What follows.\nfn b();\n"), 1);
    let text = "pub fn a(\n    x: u8,\n) -> Result<u8, String> { todo() }\npub fn b() -> Result<u8, Error> { f() }\n\
                pub fn c(m: Map<String, String>) -> u8 { 1 }\npub(crate) fn d() -> Result<u8, String> { f() }\n";
    let sources = read_all([("x/src/lib.rs".to_owned(), text.to_owned())]);
    assert_eq!(text_errors(&sources[0]).collect::<Vec<_>>(), ["x/src/lib.rs:1: a fails with a String"]);
}

//! House rules about the prose of documents: how wide its lines are, how long its sentences, and how long each *Why*.

use super::documents::documents;
use super::language::{Finding, fail_with};
use super::text;

/// Columns of a line of prose; tables, pictures and code are as wide as what they show.
const WIDEST_LINE: usize = 120;
/// Words of a sentence; words in backquotes are one.
const LONGEST_SENTENCE: usize = 25;
/// Lines of a reason in ARCHITECTURE.md. The rest of it belongs to the documentation of its module.
const LONGEST_WHY: usize = 6;

/// The documents whose sentences are measured.
const PLAIN: &[&str] = &["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/cluster.md", "docs/decisions.md"];

/// The lines of prose of a document with their numbers from 1; an empty line stands for what is left out.
fn prose(document: &str) -> Vec<(usize, &str)> {
    let mut in_fence = false;
    let mut before_is_empty = true;
    let mut lines = Vec::new();
    for (at, line) in document.lines().enumerate() {
        let is_fence = line.trim_start().starts_with("```");
        in_fence ^= is_fence;
        // Four spaces after an empty line are code; after a line of text they continue it.
        let is_code = in_fence || is_fence || (before_is_empty && line.starts_with("    "));
        let is_prose = !is_code && !line.starts_with(['|', '#']) && !line.starts_with("![");
        before_is_empty = line.trim().is_empty() || (before_is_empty && is_code);
        lines.push((at + 1, if is_prose { line } else { "" }));
    }
    lines
}

/// The text of a list item without its mark; `None` for other lines.
fn item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("- ").or_else(|| line.trim_start_matches(|digit: char| digit.is_ascii_digit()).strip_prefix(". "))
}

/// The paragraphs and list items of a document: the number of the first line, and the lines.
fn paragraphs(document: &str) -> Vec<(usize, Vec<&str>)> {
    let mut found: Vec<(usize, Vec<&str>)> = Vec::new();
    let mut goes_on = false;
    for (at, line) in prose(document) {
        match found.last_mut() {
            Some((_, lines)) if goes_on && item(line).is_none() && !line.trim().is_empty() => lines.push(line.trim()),
            _ if !line.trim().is_empty() => found.push((at, vec![item(line).unwrap_or(line).trim()])),
            _ => {}
        }
        goes_on = !line.trim().is_empty();
    }
    found
}

/// The number of words of each sentence.
fn sentences(paragraph: &str) -> Vec<usize> {
    // What stands in backquotes, and where a link leads, may have spaces and full stops.
    let quoted: String =
        paragraph.split('`').enumerate().map(|(at, part)| if at % 2 == 0 { part } else { "x" }).collect();
    let linked = quoted.split("](").enumerate().map(|(at, part)| match part.split_once(')') {
        Some((_, rest)) if at > 0 => rest,
        _ => part,
    });
    let text = linked.collect::<String>();
    let mut counts = vec![0];
    for word in text.split_whitespace() {
        if word.contains(char::is_alphanumeric) {
            *counts.last_mut().expect("never empty") += 1;
        }
        if word.trim_end_matches(['*', '"', ')', ']']).ends_with(['.', '!', '?']) {
            counts.push(0);
        }
    }
    counts.retain(|count| *count > 0);
    counts
}

#[test]
fn lines_of_prose_are_not_too_wide() {
    let mut findings = Vec::new();
    for (name, document) in documents().iter().filter(|(name, _)| name != "CHANGELOG.md") {
        for (line, text) in prose(document).into_iter().filter(|(_, text)| text.chars().count() > WIDEST_LINE) {
            let what = format!("{} columns, {WIDEST_LINE} at most", text.chars().count());
            findings.push(Finding { path: name.clone(), line, what });
        }
    }
    fail_with(findings);
}

#[test]
fn sentences_are_not_too_long() {
    let mut findings = Vec::new();
    for name in PLAIN {
        for (line, lines) in paragraphs(&text(name)) {
            for count in sentences(&lines.join(" ")).into_iter().filter(|count| *count > LONGEST_SENTENCE) {
                let what = format!("a sentence of {count} words, {LONGEST_SENTENCE} at most");
                findings.push(Finding { path: (*name).to_owned(), line, what });
            }
        }
    }
    fail_with(findings);
}

#[test]
fn a_why_of_the_architecture_is_short() {
    let document = text("ARCHITECTURE.md");
    let (_, section) = document.split_once("\n## Why\n").expect("the section");
    let (section, _) = section.split_once("\n## ").expect("the next section");
    let reasons = paragraphs(section);
    assert!(reasons.len() > 10, "only {} reasons found", reasons.len());
    let before = document.lines().take_while(|line| *line != "## Why").count() + 1;
    let long = reasons.into_iter().filter(|(_, lines)| lines.len() > LONGEST_WHY);
    let finding = |(line, lines): (usize, Vec<&str>)| Finding {
        path: "ARCHITECTURE.md".to_owned(),
        line: before + line,
        what: format!("{} lines, {LONGEST_WHY} at most: the rest belongs to the module", lines.len()),
    };
    fail_with(long.map(finding).collect());
}

#[test]
fn prose_is_neither_a_table_nor_code() {
    let document =
        "# Head\n\nA line\n    goes on.\n\n    code\n    code\n\n| a |\n```\ncode\n```\n- item\n  more\n1. next\n";
    let found = paragraphs(document);
    assert_eq!(found, [(3, vec!["A line", "goes on."]), (13, vec!["item", "more"]), (15, vec!["next"])]);
}

#[test]
fn words_of_sentences_are_counted() {
    assert_eq!(sentences("One two. **Three `a b. c` five.** (See [this](x y.md) one.) No stop: go on"), [2, 3, 3, 4]);
    assert_eq!(sentences("1 − 5 % of 0.5 s"), [5]);
}

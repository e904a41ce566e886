//! House rules about the prose of documents: how wide its lines are.

use super::documents::documents;
use super::language::{Finding, fail_with};

/// Columns of a line of prose; tables, pictures and code are as wide as what they show.
const WIDEST_LINE: usize = 120;

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

#[test]
fn lines_of_prose_are_not_too_wide() {
    let read_by_line = |name: &str| name != "CHANGELOG.md";
    let mut findings = Vec::new();
    for (name, document) in documents().iter().filter(|(name, _)| read_by_line(name)) {
        for (line, text) in prose(document).into_iter().filter(|(_, text)| text.chars().count() > WIDEST_LINE) {
            let what = format!("{} columns, {WIDEST_LINE} at most", text.chars().count());
            findings.push(Finding { path: name.clone(), line, what });
        }
    }
    fail_with(findings);
}

#[test]
fn prose_is_neither_a_table_nor_code() {
    let kept = |document| prose(document).into_iter().filter(|(_, text)| !text.is_empty()).collect::<Vec<_>>();
    let document = "# Head\n\nA line\n    goes on.\n\n    code\n    code\n\n| a |\n```\ncode\n```\n- item\n";
    assert_eq!(kept(document), [(3, "A line"), (4, "    goes on."), (13, "- item")]);
}

//! House rule about the crate `cli`: what one command needs of another belongs to a module that is neither.

use super::language::production;
use super::{check, code};
use std::collections::{BTreeMap, BTreeSet};

/// The commands: each is a file or a folder of this name in `cli/src`.
const COMMANDS: &[&str] = &[
    "ask",
    "calibrate",
    "capacity",
    "check",
    "cluster",
    "compare",
    "cost_model",
    "explain",
    "fio",
    "gate",
    "generate",
    "grade",
    "iostat",
    "iozone",
    "knee",
    "parse",
    "report",
    "store",
    "survey",
    "versus",
    "watch",
];

/// How many pairs of commands there may be of which one imports the other. The number falls.
const PAIRS: usize = 40;

/// The same of pairs that import each other.
const MUTUAL: usize = 3;

/// The modules of the crate's root that code names: `crate::fio::Machine` is `fio`, `crate::{iozone, survey::run}` are both.
fn named_modules(code: &str) -> BTreeSet<String> {
    let word =
        |text: &str| text.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect::<String>();
    let mut found = BTreeSet::new();
    for (at, start) in code.match_indices("crate::") {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|letter| letter == '$' || letter == '_' || letter.is_alphanumeric()) {
            continue;
        }
        let rest = &code[at + start.len()..];
        let Some(inside) = rest.strip_prefix('{') else {
            found.insert(word(rest));
            continue;
        };
        let mut depth = 1_i32;
        let mut is_first = true;
        for (place, letter) in inside.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' => is_first = depth == 1 || is_first,
                _ if depth == 1 && is_first && !letter.is_whitespace() => {
                    found.insert(word(&inside[place..]));
                    is_first = false;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    found
}

/// Each command with the others that its production code names, files of its folder and its `mod.rs` alike.
fn arrows() -> BTreeMap<String, BTreeSet<String>> {
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, lines) in production() {
        let Some(file) = path.strip_prefix("crates/cli/src/") else { continue };
        let own = file.trim_start_matches("absent/").split(['/', '.']).next().unwrap_or_default().to_owned();
        if !COMMANDS.contains(&own.as_str()) {
            continue;
        }
        let text: String = lines.iter().map(|(_, line)| code(line) + "\n").collect();
        let mut others = named_modules(&text);
        others.retain(|name| *name != own && COMMANDS.contains(&name.as_str()));
        arrows.entry(own).or_default().extend(others);
    }
    arrows
}

#[test]
fn commands_know_one_another_in_few_pairs() {
    let arrows = arrows();
    let pairs: Vec<String> =
        arrows.iter().flat_map(|(from, to)| to.iter().map(move |to| format!("{from} imports {to}"))).collect();
    let is_mutual = |from: &str, to: &str| from < to && arrows.get(to).is_some_and(|back| back.contains(from));
    let mutual: Vec<String> = arrows
        .iter()
        .flat_map(|(from, to)| to.iter().filter(|to| is_mutual(from, to)).map(move |to| format!("{from} and {to}")))
        .collect();
    let mut findings = Vec::new();
    if pairs.len() > PAIRS {
        findings.push(format!("{} pairs, {PAIRS} at most: {}", pairs.len(), pairs.join(", ")));
    }
    if mutual.len() > MUTUAL {
        findings.push(format!("{} pairs import each other, {MUTUAL} at most: {}", mutual.len(), mutual.join(", ")));
    }
    check(findings);
}

#[test]
fn groups_of_imports_name_each_module_once() {
    let found = named_modules(
        "use crate::{iozone, survey::{run, members::M}, fio};\nlet x = crate::knee::levels(1);\n$crate::no",
    );
    assert_eq!(found, ["fio", "iozone", "knee", "survey"].map(str::to_owned).into());
}

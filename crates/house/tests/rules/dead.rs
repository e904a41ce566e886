//! House rule: a public item is used by production code somewhere. rustc does not report unused items that are `pub`.
//!
//! Works on text: an item is dead if its name occurs in no source outside of tests but where it is defined or re-exported.
//! Names that are defined twice, or that occur as another word, are not found; what is found is dead.

use super::{NOT_IN_THE_PROGRAM, above_tests, check, code, sources};
use std::collections::BTreeMap;

/// Public items that only tests or benches use, by crate, with the reason.
const ONLY_TESTED: &[(&str, &str)] = &[
    ("fio::titles", "the first lines of an error, which the tests of every word compare"),
    ("sys::of_children", "the bench of parsers measures processes with it and has no unsafe code"),
];

const KINDS: &[&str] = &["fn", "struct", "enum", "const", "static", "type", "trait", "mod"];

/// The code above the tests without comments, texts and re-exports.
fn production_code(text: &str) -> String {
    let lines: Vec<String> = above_tests(text).map(|(_, line)| code(line)).collect();
    let text = lines.join("\n");
    let mut parts = text.split("pub use ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |kept, part| kept + part.split_once(';').map_or("", |(_, rest)| rest))
}

fn words(text: &str) -> Vec<&str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty()).collect()
}

/// The name of the public item that a line defines.
fn public_item(line: &str) -> Option<&str> {
    let found = words(line.trim_start().strip_prefix("pub ")?);
    let kind = found.iter().position(|word| KINDS.contains(word) && *word != "mod")?;
    // `const fn`, `unsafe fn` and the like stand before the kind that counts.
    let kind = if found.get(kind + 1) == Some(&"fn") { kind + 1 } else { kind };
    found.get(kind + 1).copied()
}

/// Dead items as `crate::name`, of sources by their path below `crates`.
fn dead_items(sources: &BTreeMap<String, String>) -> Vec<String> {
    let (mut used, mut defined) = (BTreeMap::<&str, usize>::new(), BTreeMap::<&str, usize>::new());
    let mut public = Vec::new();
    for (name, text) in sources {
        let found = words(text);
        for (at, word) in found.iter().enumerate() {
            *used.entry(word).or_default() += 1;
            if at > 0 && KINDS.contains(&found[at - 1]) {
                *defined.entry(word).or_default() += 1;
            }
        }
        let crate_name = name.split('/').next().unwrap_or_default();
        public.extend(text.lines().filter_map(public_item).map(|item| (crate_name, item)));
    }
    let is_dead = |item: &str| used.get(item) <= defined.get(item);
    public.iter().filter(|(_, item)| is_dead(item)).map(|(crate_name, item)| format!("{crate_name}::{item}")).collect()
}

#[test]
fn a_public_item_is_used_by_production_code() {
    let production: BTreeMap<String, String> = sources()
        .into_iter()
        .filter_map(|(name, text)| {
            let name = name.strip_prefix("crates/")?;
            let is_production =
                name.contains("/src/") && !name.starts_with(NOT_IN_THE_PROGRAM) && !name.ends_with("tests.rs");
            is_production.then(|| (name.to_owned(), production_code(&text)))
        })
        .collect();
    let dead = dead_items(&production);
    let allowed = |item: &String| ONLY_TESTED.iter().any(|(name, _)| name == item);
    let mut findings: Vec<String> =
        dead.iter().filter(|item| !allowed(item)).map(|item| format!("{item} is public and not used")).collect();
    let idle = ONLY_TESTED.iter().filter(|(name, _)| !dead.iter().any(|item| item == name));
    findings.extend(idle.map(|(name, _)| format!("{name} is used or gone: take it off the list")));
    check(findings);
}

#[test]
fn a_dead_item_is_found_and_a_used_one_is_not() {
    let text = "pub fn used() {}\npub const fn dead() { \"dead\" } // dead\npub use x::{dead,\n dead};\nfn f() { used() }\n\
                #[cfg(test)]\nmod tests { fn t() { dead() } }\n";
    let sources = BTreeMap::from([("a/src/lib.rs".to_owned(), production_code(text))]);
    assert_eq!(dead_items(&sources), ["a::dead"]);
}

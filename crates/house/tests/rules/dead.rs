//! House rule: a public item is used by production code somewhere. rustc does not report unused items that are `pub`.
//!
//! An item is dead if its name occurs in production code only where it is defined or passed on (`pub use`).
//! Names that are defined twice, or that occur as another word, are not found; what is found is dead.

use super::source::{Source, production_sources, read_all};
use super::{NOT_IN_THE_PROGRAM, check};
use std::collections::BTreeMap;

/// Public items that only tests or benches use, by crate, with the reason.
const ONLY_TESTED: &[(&str, &str)] = &[
    ("fio::titles", "the first lines of an error, which the tests of every word compare"),
    ("sys::of_children", "the bench of parsers measures processes with it and has no unsafe code"),
];

/// Dead items as `crate::name`.
fn dead_items<'s>(sources: impl Iterator<Item = &'s Source> + Clone) -> Vec<String> {
    let (mut used, mut defined) = (BTreeMap::<&str, usize>::new(), BTreeMap::<&str, usize>::new());
    for source in sources.clone() {
        source.words.iter().for_each(|(word, count)| *used.entry(word).or_default() += count);
        source.defined.iter().for_each(|(word, count)| *defined.entry(word).or_default() += count);
    }
    let crate_of = |path: &str| path.split('/').nth(1).unwrap_or_default().to_owned();
    let public = sources.flat_map(|source| source.public_items.iter().map(move |item| (crate_of(&source.path), item)));
    let is_dead = |item: &str| used.get(item) <= defined.get(item);
    public.filter(|(_, item)| is_dead(item)).map(|(name, item)| format!("{name}::{item}")).collect()
}

#[test]
fn a_public_item_is_used_by_production_code() {
    let in_house = format!("crates/{NOT_IN_THE_PROGRAM}/");
    let dead = dead_items(production_sources().iter().filter(|source| !source.path.starts_with(&in_house)));
    let allowed = |item: &String| ONLY_TESTED.iter().any(|(name, _)| name == item);
    let mut findings: Vec<String> =
        dead.iter().filter(|item| !allowed(item)).map(|item| format!("{item} is public and not used")).collect();
    let idle = ONLY_TESTED.iter().filter(|(name, _)| !dead.iter().any(|item| item == name));
    findings.extend(idle.map(|(name, _)| format!("{name} is used or gone: take it off the list")));
    check(findings);
}

#[test]
fn a_dead_item_is_found_and_a_used_one_is_not() {
    let text = "pub fn used() {}\npub const fn dead() { \"dead\"; } // dead\npub use x::{dead,\n dead};\nfn f() { vec![used()] }\n\
                #[cfg(test)]\nmod tests { fn t() { dead() } }\n";
    let sources = read_all([("crates/a/src/lib.rs".to_owned(), text.to_owned())]);
    assert_eq!(dead_items(sources.iter()), ["a::dead"]);
}

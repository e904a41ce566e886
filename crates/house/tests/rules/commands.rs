//! House rule about the crate `cli`: what one command needs of another belongs to a module that is neither.

use super::check;
use super::source::{Source, production_sources, read_all};
use std::collections::{BTreeMap, BTreeSet};

/// The commands: each is a file or a folder of this name in `cli/src`.
pub(super) const COMMANDS: &[&str] = &[
    "ask",
    "calibrate",
    "capacity",
    "check",
    "cluster",
    "compare",
    "cost_model",
    "durable",
    "explain",
    "fidelity",
    "fio",
    "gate",
    "generate",
    "grade",
    "iostat",
    "iozone",
    "parse",
    "report",
    "store",
    "survey",
    "versus",
    "watch",
    "why",
];

/// Each command with the others that its production code names, files of its folder and its `mod.rs` alike.
fn arrows(sources: &[Source]) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut arrows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for source in sources {
        let Some(file) = source.path.strip_prefix("crates/cli/src/") else { continue };
        let own = file.trim_start_matches("absent/").split(['/', '.']).next().unwrap_or_default();
        if !COMMANDS.contains(&own) {
            continue;
        }
        let paths = source.imports.iter().map(|import| &import.path).chain(&source.paths);
        let of_root = paths.filter(|path| path[0] == "crate").filter_map(|path| path.get(1));
        let others = of_root.filter_map(|name| COMMANDS.iter().find(|command| *command == name));
        arrows.entry(own).or_default().extend(others.filter(|name| **name != own));
    }
    arrows
}

#[test]
fn no_command_imports_another() {
    let arrows = arrows(production_sources());
    check(arrows.iter().flat_map(|(from, to)| to.iter().map(move |to| format!("{from} imports {to}"))).collect());
}

#[test]
fn groups_of_imports_name_each_module_once() {
    let text = "use crate::{iozone, survey::{run, members::M}, fio};\nfn f() { crate::versus::run(1) }\n";
    let sources = read_all([("crates/cli/src/gate/mod.rs".to_owned(), text.to_owned())]);
    assert_eq!(arrows(&sources)["gate"], ["fio", "iozone", "survey", "versus"].into());
}

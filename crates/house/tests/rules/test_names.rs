//! House rules about tests: a name is a fact that fits into a line of a log, and programs are started in one way.

use super::{check, sources};

const LONGEST_NAME: usize = 60;

/// Tests of the program that start programs without `house::Run`: launchers and servers in namespaces or under strace,
/// a group of processes that is interrupted before it is killed, interpreters that may not be there, and a guest.
const START_THEMSELVES: &[&str] = &[
    "crates/cli/tests/cases/faults/guard.rs",
    "crates/cli/tests/cases/guest/mod.rs",
    "crates/cli/tests/cases/guest/network.rs",
    "crates/cli/tests/cases/guest/power.rs",
    "crates/cli/tests/cases/members.rs",
    "crates/cli/tests/cases/mpi.rs",
    "crates/cli/tests/cases/programs.rs",
    "crates/cli/tests/cases/seen.rs",
    "crates/cli/tests/cases/soak/case.rs",
    "crates/cli/tests/python.rs",
    "crates/cli/tests/sessions.rs",
];

/// The names of functions with `#[test]`, and of those that `tests!` puts into a table.
fn names(text: &str) -> Vec<String> {
    let word = |text: &str| text.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
    let mut names = Vec::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim_start) {
        let function = line.trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ").strip_prefix("fn ");
        match function {
            Some(rest) if is_test => names.push(word(rest)),
            _ if line.starts_with("#[") || line.starts_with("//") => {}
            _ => is_test = false,
        }
        is_test = (is_test && function.is_none()) || line == "#[test]";
    }
    for (_, list) in text.match_indices("tests!(").map(|(at, start)| text.split_at(at + start.len())) {
        let list = list.split(')').next().unwrap_or_default();
        names.extend(list.split(',').map(|name| word(name.rsplit("::").next().unwrap_or_default().trim())));
    }
    names
}

#[test]
fn a_test_has_a_name_of_at_most_60_characters() {
    let mut findings = Vec::new();
    let mut count = 0;
    for (path, text) in sources() {
        let names = names(&text);
        count += names.len();
        let long = names.iter().filter(|name| name.len() > LONGEST_NAME);
        findings.extend(long.map(|name| format!("{path}: {name}: {} characters", name.len())));
    }
    assert!(count > 2000, "only {count} tests were found");
    check(findings);
}

#[test]
fn tests_of_the_program_start_it_by_their_context() {
    let own = |text: &str| text.contains("Command::new") || text.contains("CARGO_BIN_EXE");
    let tests = sources().into_iter().filter(|(path, _)| path.starts_with("crates/cli/tests/"));
    let tests: Vec<_> = tests.filter(|(path, _)| path != "crates/cli/tests/context.rs").collect();
    assert!(tests.len() > 100, "only {} files of tests were found", tests.len());
    let found = tests.into_iter().filter(|(path, text)| own(text) && !START_THEMSELVES.contains(&path.as_str()));
    check(found.map(|(path, _)| format!("{path}: a run is `context::plumb` or `house::Run`")).collect());
}

#[test]
fn the_rule_of_names_finds_long_ones() {
    let text = "#[test]\n#[cfg(x)]\nfn one() {}\nfn two() {}\n    #[test]\n    pub(crate) fn three(x: u8) {}\n";
    assert_eq!(names(text), ["one", "three"]);
    assert_eq!(names("let cases = tests!(\n    cases,\n    four,\n    five::six,\n);"), ["cases", "four", "six", ""]);
}

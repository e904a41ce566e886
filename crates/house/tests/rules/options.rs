//! House rules about options: they become values in `fio` and `iozone`, and nothing below reads one by its name.

use super::{above_tests, check, code, sources};
use std::collections::BTreeSet;

/// Where the names of options may be written, and why.
const OPTION_NAMES: &[(&str, &str)] = &[
    ("crates/fio/src/", "fio's options"),
    ("crates/iozone/src/", "iozone's options"),
    ("crates/engine/src/", "the engines' own options"),
    ("crates/house/src/", "runs fio"),
    ("crates/formats/src/sweep/label.rs", "words in the names of result files"),
    ("crates/report/src/sources/native.rs", "options that a survey's result names as varied"),
    ("crates/formats/src/fio/", "keys of fio's JSON and labels of its text"),
    ("crates/survey/src/", "writes options for fio.sh and for sweeps, which fio's parser reads"),
    ("crates/run/src/", "names the option at fault in messages; the plan that it carries out is typed"),
    ("crates/session/src/publish/metrics.rs", "labels of plumb_run_info"),
    ("crates/cli/src/generate/", "words of completion scripts"),
    ("crates/plan/src/debug.rs", "subjects of --debug"),
    ("crates/plan/src/pattern.rs", "words of patterns"),
];

/// Names of options that mean something else as well, and what.
const OTHER_MEANINGS: &[(&str, &str)] = &[
    ("bs", "a column of sweeps"),
    ("buffered", "an argument of plumb survey"),
    ("cgroup", "a file system of the kernel"),
    ("comm", "a file under /proc"),
    ("direct", "an argument of plumb survey"),
    ("fallocate", "a system call"),
    ("fdatasync", "a system call"),
    ("fsync", "a system call"),
    ("mem", "a device under /dev"),
    ("name", "a key of JSON"),
    ("offset", "a field of a block's header"),
    ("overwrite", "an argument of plumb survey"),
    ("rate", "a column of tables"),
    ("size", "a column of tables, a file under /sys"),
    ("sync", "a test of plumb survey, a row of records of I/Os"),
    ("stuck_after", "an argument of plumb survey"),
    ("profile", "an argument of plumb ask"),
    ("sync_file_range", "a system call"),
    ("thread", "a word of iozone's report, and what its knee counts"),
    ("unlink", "a system call"),
];

/// The fields that hold options as text, and who may use them: the front ends that fill them, and fio's JSON.
const TEXT: &[(&str, &[&str])] = &[
    ("echo.options", &["crates/formats/src/fio/json/write.rs", "crates/formats/src/echoed.rs"]),
    (
        "global_options",
        &[
            "crates/fio/src/",
            "crates/cluster/src/merge.rs",
            "crates/formats/src/echoed.rs",
            "crates/formats/src/fio/json/clients.rs",
            "crates/formats/src/fio/json/read.rs",
            "crates/formats/src/fio/json/write.rs",
            "crates/formats/src/native/dense.rs",
            "crates/iozone/src/",
            "crates/model/src/result.rs",
            "crates/plan/src/lib.rs",
            "crates/run/src/supervise/result.rs",
            "crates/survey/src/job_plans.rs",
            "crates/survey/src/open_loop.rs",
        ],
    ),
    ("job.written", &["crates/fio/src/", "crates/run/src/supervise/result.rs", "crates/survey/src/job_plans.rs"]),
    ("engine_options.get(", &["crates/fio/src/"]),
    ("engine_options.is_on(", &["crates/fio/src/"]),
    ("engine_options.text(", &[]),
    ("engine_options.integer(", &[]),
];

/// The string literals of a line of code.
fn literals(line: &str) -> impl Iterator<Item = &str> {
    let line = if line.trim_start().starts_with("//") { "" } else { line };
    line.split('"').skip(1).step_by(2)
}

/// True if a file is part of the program.
fn is_production(name: &str) -> bool {
    name.contains("/src/") && !name.ends_with("tests.rs") && !name.contains("/src/tests/")
}

#[test]
fn no_string_outside_of_the_words_is_the_name_of_an_option() {
    let names: BTreeSet<&str> =
        fio::options().flat_map(|option| std::iter::once(option.name).chain(option.aliases.iter().copied())).collect();
    let (mut findings, mut used) = (Vec::new(), BTreeSet::new());
    for (name, text) in sources().iter().filter(|(name, _)| is_production(name)) {
        let place = OPTION_NAMES.iter().find(|(place, _)| name.starts_with(place));
        for (at, line) in above_tests(text) {
            for literal in literals(line).filter(|literal| names.contains(literal)) {
                match (place, OTHER_MEANINGS.iter().find(|(word, _)| *word == literal)) {
                    (Some((allowed, _)), _) | (None, Some((allowed, _))) => drop(used.insert(*allowed)),
                    (None, None) => findings.push(format!("{name}:{}: \"{literal}\": read plan::Workload", at + 1)),
                }
            }
        }
    }
    let listed = OPTION_NAMES.iter().chain(OTHER_MEANINGS).map(|(entry, _)| *entry);
    findings.extend(listed.filter(|entry| !used.contains(entry)).map(|entry| format!("{entry}: take it off the list")));
    check(findings);
}

#[test]
fn options_as_text_are_for_the_echo_alone() {
    let (mut findings, mut used) = (Vec::new(), BTreeSet::new());
    for (name, text) in sources().iter().filter(|(name, _)| is_production(name)) {
        for (at, line) in above_tests(text) {
            for (field, places) in TEXT.iter().filter(|(field, _)| code(line).contains(field)) {
                match places.iter().find(|place| name.starts_with(**place)) {
                    Some(place) => drop(used.insert((*field, *place))),
                    None => findings.push(format!("{name}:{}: {}: read plan::Workload", at + 1, line.trim())),
                }
            }
        }
    }
    let listed = TEXT.iter().flat_map(|(field, places)| places.iter().map(|place| (*field, *place)));
    let idle = listed.filter(|entry| !used.contains(entry));
    findings.extend(idle.map(|(field, place)| format!("{place} does not use {field}: take it off the list")));
    check(findings);
}

#[test]
fn these_rules_find_what_breaks_them() {
    assert_eq!(literals(r#"    get("a", "rate_iops")"#).collect::<Vec<_>>(), ["a", "rate_iops"]);
    assert_eq!(literals(r#"    // "rate_iops""#).count(), 0);
    assert!(code(r#"let given = &job.echo.options;"#).contains("echo.options"));
}

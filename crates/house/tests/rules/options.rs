//! House rules about options: they become values in `fio` and `iozone`, and nothing below reads one by its name.

use super::check;
use super::source::{Source, production_sources, read_all};
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
    ("crates/plan/src/record.rs", "subjects of --debug"),
    ("crates/plan/src/load.rs", "words of patterns"),
];

/// Names of options that mean something else as well, and what.
const OTHER_MEANINGS: &[(&str, &str)] = &[
    ("atomic", "a way of plumb durable"),
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

/// The fields that hold options as text, and who may use them once they are filled: the front ends, and fio's JSON.
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
            "crates/run/src/supervise/result.rs",
        ],
    ),
    ("job.written", &["crates/fio/src/", "crates/run/src/supervise/result.rs", "crates/survey/src/job_plans.rs"]),
    ("engine_options.get", &["crates/fio/src/"]),
    ("engine_options.is_on", &["crates/fio/src/"]),
    ("engine_options.text", &[]),
    ("engine_options.integer", &[]),
];

#[test]
fn no_string_outside_of_the_words_is_the_name_of_an_option() {
    let names: BTreeSet<&str> =
        fio::options().flat_map(|option| std::iter::once(option.name).chain(option.aliases.iter().copied())).collect();
    let (mut findings, mut used) = (Vec::new(), BTreeSet::new());
    for source in production_sources() {
        let place = OPTION_NAMES.iter().find(|(place, _)| source.path.starts_with(place));
        for literal in source.literals.iter().filter(|literal| names.contains(literal.name.as_str())) {
            match (place, OTHER_MEANINGS.iter().find(|(word, _)| *word == literal.name)) {
                (Some((allowed, _)), _) | (None, Some((allowed, _))) => drop(used.insert(*allowed)),
                (None, None) => {
                    findings
                        .push(format!("{}:{}: \"{}\": read plan::Workload", source.path, literal.line, literal.name));
                }
            }
        }
    }
    let listed = OPTION_NAMES.iter().chain(OTHER_MEANINGS).map(|(entry, _)| *entry);
    findings.extend(listed.filter(|entry| !used.contains(entry)).map(|entry| format!("{entry}: take it off the list")));
    check(findings);
}

/// The lines of a source that use a field of [`TEXT`].
fn uses(source: &Source) -> impl Iterator<Item = (usize, &'static str, &'static [&'static str])> {
    source.members.iter().filter_map(|member| {
        let whole = format!("{}.{}", member.owner, member.name.name);
        let (field, places) = TEXT.iter().find(|(field, _)| *field == whole || *field == member.name.name)?;
        Some((member.name.line, *field, *places))
    })
}

#[test]
fn options_as_text_are_for_the_echo_alone() {
    let (mut findings, mut used) = (Vec::new(), BTreeSet::new());
    for source in production_sources() {
        for (line, field, places) in uses(source) {
            match places.iter().find(|place| source.path.starts_with(**place)) {
                Some(place) => drop(used.insert((field, *place))),
                None => findings.push(format!("{}:{line}: {field}: read plan::Workload", source.path)),
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
    let text = "fn f() {\n    // \"rate\"\n    get(\"a\", \"rate_iops\");\n    let given = &job.echo.options;\n    \
                println!(\"{}\", self.engine_options.get(\"x\"));\n}\n";
    let source = &read_all([("crates/a/src/lib.rs".to_owned(), text.to_owned())])[0];
    let literals: Vec<(&str, usize)> = source.literals.iter().map(|found| (found.name.as_str(), found.line)).collect();
    assert_eq!(literals, [("a", 3), ("rate_iops", 3), ("{}", 5), ("x", 5)]);
    assert_eq!(
        uses(source).map(|(line, field, _)| (line, field)).collect::<Vec<_>>(),
        [(4, "echo.options"), (5, "engine_options.get")]
    );
}

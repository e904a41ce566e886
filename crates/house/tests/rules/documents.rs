//! House rules about documents: what they name exists, what they count is right, and no merge left its marks.

use super::{check, root, sources, table, text};
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// The documents at the top and under docs/, by their path.
pub(super) fn documents() -> Vec<(String, String)> {
    let mut names: Vec<String> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(str::to_owned).into();
    for entry in fs::read_dir(root().join("docs")).expect("docs") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") {
            names.push(format!("docs/{name}"));
        }
    }
    names.sort();
    names.into_iter().map(|name| (name.clone(), text(name))).collect()
}

/// The words in backquotes that are paths of this repository, braces and stars spelled out as far as they have a
/// folder.
fn paths(document: &str) -> Vec<String> {
    let quoted = document.split('`').skip(1).step_by(2);
    let is_path = |word: &&str| {
        let (first, rest) = word.split_once('/').unwrap_or((word, ""));
        let known =
            !["", ".."].contains(&first) && (root().join(first).is_dir() || root().join("crates").join(first).is_dir());
        known && !rest.is_empty() && !word.contains([' ', '<', '$', ',', '(']) && !word.starts_with("target/")
    };
    quoted
        .filter(is_path)
        .map(|word| word.split(['{', '*']).next().unwrap_or(word).trim_end_matches('/').to_owned())
        .collect()
}

#[test]
fn paths_that_documents_name_exist() {
    let mut findings = Vec::new();
    assert_eq!(paths("`crates/cli` is `not/here`, `docs/x*.md`"), ["crates/cli", "docs/x"]);
    for (name, document) in documents().iter().filter(|(name, _)| name != "CHANGELOG.md") {
        for path in paths(document) {
            if !root().join(&path).exists() && !root().join("crates").join(&path).exists() {
                findings.push(format!("{name}: there is no {path}"));
            }
        }
    }
    check(findings);
}

/// The targets of links to other documents, without the heading.
fn links(document: &str) -> Vec<String> {
    let targets = document.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let files = targets.map(|(target, _)| target.split('#').next().unwrap_or_default().to_owned());
    files.filter(|target| !target.is_empty() && !target.contains("://")).collect()
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut findings = Vec::new();
    assert_eq!(links("[a](b.md#c) [d](e.md)"), ["b.md", "e.md"]);
    for (name, document) in documents() {
        let folder = root().join(&name).parent().expect("a folder").to_path_buf();
        for target in links(&document).into_iter().filter(|target| !folder.join(target).exists()) {
            findings.push(format!("{name}: there is no {target}"));
        }
    }
    check(findings);
}

#[test]
fn documents_count_the_checks_that_there_are() {
    let all = sources();
    let rows = all["crates/analysis/src/checks/mod.rs"].matches("\n        id: ").count();
    let documented = table(&text("docs/checks.md"), "check", "fires if").len();
    assert_eq!(documented, rows, "docs/checks.md lists other checks than analysis/src/checks/mod.rs");
    for (name, phrase) in
        [("README.md", "known mistakes"), ("README.md", "kinds of [checks]"), ("docs/survey.md", "checks](checks.md)")]
    {
        let document = text(name);
        let before = document.split(phrase).next().unwrap_or_default();
        let number = before.trim_end().rsplit([' ', '[']).next().unwrap_or_default();
        assert_eq!(number, rows.to_string(), "{name}: `{number} {phrase}`");
    }
}

#[test]
fn no_merge_left_its_marks() {
    // Put together here, so that this file does not find itself.
    let marks = ["<", ">", "|"].map(|letter| letter.repeat(7));
    let all = documents().into_iter().chain(sources());
    let marked = |text: &str| text.lines().any(|line| marks.iter().any(|mark| line.starts_with(mark.as_str())));
    check(all.filter(|(_, text)| marked(text)).map(|(name, _)| name).collect());
}

/// The crates of a build of a package with these features, as docs/building.md counts them.
fn crates_of(package: &str, features: &str) -> usize {
    // Not offline: crates of features that are not compiled by default are fetched only here.
    let words = ["tree", "--locked", "-p", package, "-e", "normal,build", "--prefix", "none"];
    let chosen: &[&str] = match features {
        "(all)" => &[],
        "(none)" => &["--no-default-features"],
        feature => &["--no-default-features", "--features", feature],
    };
    let output = Command::new(env!("CARGO")).args(words).args(chosen).current_dir(root()).output().expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).expect("text");
    tree.lines().map(|line| line.trim_end_matches(" (*)")).collect::<BTreeSet<_>>().len()
}

#[test]
fn the_crates_of_each_feature_are_counted() {
    let mut findings = Vec::new();
    let document = text("docs/building.md");
    let (_, rows) = document.split_once("| feature |").expect("the table of features");
    for row in rows.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let (feature, stated) = (cells[0].trim_matches('`'), cells[2]);
        let counted = crates_of("cli", feature);
        if counted.to_string() != stated {
            findings.push(format!("docs/building.md: {feature} has {counted} crates, not {stated}"));
        }
    }
    let of_one = format!(
        "`cargo check -p run` compiles {} crates, of {}.",
        crates_of("run", "(all)"),
        crates_of("cli", "(all)")
    );
    if !document.contains(&of_one) {
        findings.push(format!("docs/building.md: say {of_one}"));
    }
    check(findings);
}

/// The targets of a Makefile that `.PHONY` names.
fn targets(makefile: &str) -> BTreeSet<&str> {
    let phony = makefile.split_once("\n.PHONY: ").map_or("", |(_, rest)| rest);
    let end = phony.find("\n\n").unwrap_or(phony.len());
    phony[..end].split_whitespace().filter(|word| *word != "\\").collect()
}

/// The commands of a workflow that are not `make` with one of these targets, nor the preparation of a bare container.
fn other_commands<'a>(workflow: &'a str, targets: &BTreeSet<&str>) -> Vec<&'a str> {
    let commands = workflow.lines().filter_map(|line| line.trim_start().trim_start_matches("- ").strip_prefix("run: "));
    let is_make = |command: &str| command.strip_prefix("make ").is_some_and(|target| targets.contains(target));
    let prepares = |command: &str| ["apt-get update", "git config"].iter().any(|start| command.starts_with(start));
    commands.filter(|command| !is_make(command) && !prepares(command)).collect()
}

#[test]
fn workflows_call_make_and_nothing_else() {
    let makefile = text("Makefile");
    let targets = targets(&makefile);
    assert!(targets.contains("check") && targets.contains("dist") && targets.contains("clean"), "{targets:?}");
    let mut findings = Vec::new();
    for name in ["check", "test", "release"] {
        let workflow = text(format!(".github/workflows/{name}.yml"));
        assert!(workflow.contains("\n      - run: make "), "{name}.yml runs no make");
        findings
            .extend(other_commands(&workflow, &targets).into_iter().map(|command| format!("{name}.yml: {command}")));
    }
    check(findings);
    let workflow =
        "      - run: make check\n      - run: cargo test\n      - run: make nothing\n        run: make dist && x\n";
    assert_eq!(other_commands(workflow, &targets), ["cargo test", "make nothing", "make dist && x"]);
}

#[test]
fn the_demo_says_what_it_compiles_and_leaves_small_programs() {
    let made = std::process::Command::new("make").args(["-n", "demo"]).current_dir(root()).output().expect("make runs");
    let steps = String::from_utf8_lossy(&made.stdout).into_owned();
    let place = |part: &str| steps.find(part).unwrap_or_else(|| panic!("`make demo` has no {part}:\n{steps}"));
    let order = [
        "echo \"Compiling plumb and plumb-mpi: the first time about 5 minutes",
        " --bin plumb --bin plumb-mpi",
        "objcopy --strip-all target/release/plumb ",
        "objcopy --strip-all target/release/plumb-mpi ",
        "install -m 755 target/dist/$program target/release/$program",
        "target/release/plumb survey --quick",
    ];
    assert!(order.map(place).is_sorted(), "{steps}");
}

//! The house rules, checked: floors, file heads and sizes, names, unsafe, leftovers, and the tables in the documents.

#[path = "rules/commands.rs"]
mod commands;
#[path = "rules/dead.rs"]
mod dead;
#[path = "rules/documents.rs"]
mod documents;
#[path = "rules/language.rs"]
mod language;
#[path = "rules/options.rs"]
mod options;
#[path = "rules/places.rs"]
mod places;
#[path = "rules/prose.rs"]
mod prose;
#[path = "rules/sessions.rs"]
mod sessions;
#[path = "rules/source.rs"]
mod source;
#[path = "rules/structure.rs"]
mod structure;
#[path = "rules/test_names.rs"]
mod test_names;
#[path = "rules/text.rs"]
mod text_for_people;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each crate and its floor; a crate may name only crates on lower floors. ARCHITECTURE.md shows the same table.
const FLOORS: &[(&str, u32)] = &[
    ("measure", 0),
    ("sys", 0),
    ("plan", 1),
    ("model", 2),
    ("fio", 2),
    ("engine", 2),
    ("load", 2),
    ("cluster", 3),
    ("iozone", 3),
    ("monitor", 3),
    ("observe", 3),
    ("formats", 3),
    ("analysis", 3),
    ("survey", 4),
    ("report", 4),
    ("run", 4),
    ("store", 4),
    ("session", 5),
    ("cli", 6),
];

/// The crate that no crate of the program may use: for tests and benches only.
const NOT_IN_THE_PROGRAM: &str = "house";

const LONGEST_FILE: usize = 800;
const LONGEST_MAIN: usize = 60;
const FORBIDDEN_NAMES: &[&str] = &["util", "utils", "common", "helper", "helpers", "misc", "manager"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

fn text(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every Rust file of every crate, by its path from the workspace.
fn sources() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![root().join("crates")];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).expect("a readable directory") {
            let path = entry.expect("a readable entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root()).expect("under the workspace").to_string_lossy().into_owned();
                found.insert(name, fs::read_to_string(&path).expect("readable"));
            }
        }
    }
    assert!(found.len() > 30, "only {} files found: the walk is broken", found.len());
    found
}

/// Fails with one line for each finding.
fn check(findings: Vec<String>) {
    assert!(findings.is_empty(), "{} findings:\n  {}", findings.len(), findings.join("\n  "));
}

/// The names that a manifest's section lists, `[dependencies]` say.
fn listed(manifest: &str, section: &str) -> Vec<String> {
    let from = manifest.split_once(&format!("\n[{section}]\n")).map_or("", |(_, rest)| rest);
    from.lines()
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .filter_map(|line| line.split(['.', ' ', '=']).next().map(str::to_owned))
        .collect()
}

/// The rows of a Markdown table whose head starts with these two cells. Fails where there are none, because a rule
/// about no rows cannot be broken.
fn table(document: &str, first: &str, second: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        // A bar that is part of a cell is written with a backslash.
        let line = line.trim().trim_matches('|').replace("\\|", "\0");
        line.split('|').map(|cell| cell.trim().trim_matches('`').replace('\0', "|")).collect()
    };
    let is_head = |line: &&str| {
        let head = cells(line);
        head.first().is_some_and(|cell| cell == first) && head.get(1).is_some_and(|cell| cell == second)
    };
    let rows = document.lines().skip_while(|line| !is_head(line)).skip(2);
    let rows: Vec<_> = rows.take_while(|line| line.starts_with('|')).map(cells).collect();
    assert!(!rows.is_empty(), "no table begins with the columns {first} and {second}");
    rows
}

#[test]
fn a_crate_names_only_crates_on_lower_floors() {
    let floor = |name: &str| FLOORS.iter().find(|(crate_name, _)| *crate_name == name).map(|(_, floor)| *floor);
    let mut findings = Vec::new();
    for entry in fs::read_dir(root().join("crates")).expect("crates") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        let manifest = text(format!("crates/{name}/Cargo.toml"));
        let used = listed(&manifest, "dependencies");
        let Some(own) = floor(&name) else {
            if name != NOT_IN_THE_PROGRAM {
                findings.push(format!("crates/{name} has no floor"));
            }
            findings.extend(used.iter().filter(|used| floor(used).is_some()).map(|used| format!("{name} uses {used}")));
            continue;
        };
        for used in &used {
            if used == NOT_IN_THE_PROGRAM || floor(used).is_some_and(|theirs| theirs >= own) {
                findings.push(format!("{name} (floor {own}) uses {used}"));
            }
        }
    }
    check(findings);
}

#[test]
fn the_floors_are_those_that_the_architecture_shows() {
    let shown: Vec<(String, String)> = table(&text("ARCHITECTURE.md"), "floor", "crate")
        .into_iter()
        .map(|row| (row[1].clone(), row[0].clone()))
        .collect();
    let ours: Vec<(String, String)> =
        FLOORS.iter().map(|(name, floor)| ((*name).to_owned(), floor.to_string())).collect();
    assert_eq!(shown, ours);
}

#[test]
fn every_file_opens_with_what_it_owns() {
    check(sources().into_iter().filter(|(_, text)| !text.starts_with("//! ")).map(|(name, _)| name).collect());
}

#[test]
fn no_file_is_too_long() {
    let mut findings = Vec::new();
    for (name, text) in sources() {
        let longest = if name.ends_with("src/main.rs") { LONGEST_MAIN - 1 } else { LONGEST_FILE };
        let lines = text.lines().count();
        if lines > longest {
            findings.push(format!("{name}: {lines} lines, {longest} at most"));
        }
    }
    check(findings);
}

#[test]
fn no_file_is_named_after_nothing() {
    let parts = |name: &str| name.split(['/', '.']).map(str::to_owned).collect::<Vec<_>>();
    check(
        sources()
            .into_keys()
            .filter(|name| parts(name).iter().any(|part| FORBIDDEN_NAMES.contains(&part.as_str())))
            .collect(),
    );
}

/// The code of a line, without its comment and without what stands in quotes.
fn code(line: &str) -> String {
    let line = line.split("//").next().unwrap_or_default();
    line.split('"').step_by(2).collect::<Vec<_>>().join("\"\"")
}

/// Whether a line of code uses a word, as a word.
fn uses(line: &str, word: &str) -> bool {
    let code = code(line);
    code.match_indices(word).any(|(at, _)| {
        let part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
        !part(code[..at].chars().next_back()) && !part(code[at + word.len()..].chars().next())
    })
}

fn lines_that_use(word: &str, allowed: impl Fn(&str) -> bool) -> Vec<String> {
    let mut findings = Vec::new();
    for (name, text) in sources() {
        let lines = text.lines().enumerate().filter(|(_, line)| !allowed(&name) && uses(line, word));
        findings.extend(lines.map(|(at, line)| format!("{name}:{}: {}", at + 1, line.trim())));
    }
    findings
}

#[test]
fn unsafe_stays_in_its_places() {
    // The bench's bare loops are the raw system calls themselves: no crate does them.
    let of_measure = ["crates/measure/src/tsc.rs", "crates/measure/src/random_bytes.rs"];
    let places = [["crates/sys/src/", "crates/engine/"].as_slice(), &of_measure, &["crates/cli/benches/"]].concat();
    check(lines_that_use("unsafe", |name| places.iter().any(|place| name.starts_with(place))));
}

#[test]
fn crates_without_unsafe_forbid_it() {
    let mut findings = Vec::new();
    for (name, _) in FLOORS.iter().filter(|(name, _)| !["sys", "engine", "measure"].contains(name)) {
        let head = if *name == "cli" { "main.rs" } else { "lib.rs" };
        if !text(format!("crates/{name}/src/{head}")).contains("#![forbid(unsafe_code)]") {
            findings.push(format!("crates/{name}/src/{head} does not forbid unsafe code"));
        }
    }
    check(findings);
}

#[test]
fn nothing_is_left_for_later() {
    let mut findings = Vec::new();
    // Put together here, so that this file does not find itself.
    for left in ["todo", "unimplemented", "dbg"].map(|word| format!("{word}!(")) {
        findings.extend(
            sources()
                .into_iter()
                .filter(|(_, text)| text.lines().any(|line| code(line).contains(&left)))
                .map(|(name, _)| format!("{name}: {left}..)")),
        );
    }
    for (name, text) in sources() {
        for line in text.lines().map(str::trim_start) {
            // `expect` is better than `allow`: it fails when it is not needed any more. What several test files
            // share cannot use it, because each of them needs another part.
            let unreasoned = line.starts_with("#![allow") || line.starts_with("#[allow");
            if line.starts_with("#[ignore") || (unreasoned && !line.contains("reason = ")) {
                findings.push(format!("{name}: {line}"));
            }
        }
    }
    check(findings);
}

#[test]
fn every_dependency_has_its_reason() {
    let manifest = text("Cargo.toml");
    let own: BTreeSet<String> =
        FLOORS.iter().map(|(name, _)| (*name).to_owned()).chain([NOT_IN_THE_PROGRAM.to_owned()]).collect();
    let used: BTreeSet<String> =
        listed(&manifest, "workspace.dependencies").into_iter().filter(|name| !own.contains(name)).collect();
    let rows = table(&text("docs/dependencies.md"), "dependency", "what it saves us");
    let explained: BTreeSet<String> = rows.iter().map(|row| row[0].clone()).collect();
    assert_eq!(used, explained, "Cargo.toml and the table in docs/dependencies.md name different crates");
    check(rows.iter().filter(|row| row[1].len() < 10).map(|row| row[0].clone()).collect());
}

#[test]
fn every_dependency_comes_from_the_workspace() {
    let mut findings = Vec::new();
    for entry in fs::read_dir(root().join("crates")).expect("crates") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        let manifest = text(format!("crates/{name}/Cargo.toml"));
        findings.extend(
            manifest
                .lines()
                .filter(|line| line.contains("version = \"") || line.contains("path = \".."))
                .map(|line| format!("{name}: {line}")),
        );
        if !manifest.contains("[lints]\nworkspace = true") {
            findings.push(format!("{name} does not take the workspace's lints"));
        }
    }
    check(findings);
}

#[test]
fn the_changelog_names_the_version_and_puts_measures_first() {
    let (changelog, manifest) = (text("CHANGELOG.md"), text("Cargo.toml"));
    let version =
        manifest.lines().find_map(|line| line.strip_prefix("version = \"")).expect("a version").trim_end_matches('"');
    let section =
        changelog.split_once(&format!("\n## {version}")).map(|(_, rest)| rest).expect("a section for the version");
    let first = section.lines().find(|line| line.starts_with("### ")).expect("a heading");
    assert_eq!(first, "### Measures");
}

#[test]
fn the_readme_shows_every_command() {
    let rows = table(&text("README.md"), "command", "does");
    let shown = |name: &str| {
        rows.iter().any(|row| {
            row[0].split(['`', ' ']).zip(row[0].split(['`', ' ']).skip(1)).any(|pair| pair == ("plumb", name))
        })
    };
    // The folder of `plumb model`; and the writer of man pages and completions, which packages call.
    let names = commands::COMMANDS.iter().map(|name| if *name == "cost_model" { "model" } else { name });
    check(names.filter(|name| *name != "generate" && !shown(name)).map(str::to_owned).collect());
}

/// Who may open files for writing without `sys::files::output_file`, and why no block device is met there, or why it
/// may be.
const OPEN_FOR_WRITING: &[(&str, &str)] = &[
    ("session/src/safe_files.rs", "looks at the descriptor, and replaces only what plumb made"),
    ("survey/src/work_file.rs", "recreates the work file and its mark next to it"),
    ("cli/src/durable/records.rs", "the records are the I/O"),
    ("engine/src/e4defrag.rs", "the donor is what the engine works on"),
    ("engine/src/names.rs", "making files is the I/O"),
    ("run/src/files/layout.rs", "the files of the I/O, behind the guard of devices"),
    ("run/src/files/open.rs", "the files of the I/O, behind the guard of devices"),
    ("run/src/supervise/devices.rs", "/sys"),
    ("sys/src/files/output_file.rs", "the place where it is done"),
    ("sys/src/machine/buffers.rs", "memory that is a file, as the job says"),
    ("sys/src/processes/io_group.rs", "/sys/fs/cgroup"),
];

/// What opens a file for writing.
const WAYS_TO_WRITE: &[&str] = &[
    "File::create",
    "fs::write(",
    "OpenOptions::new",
    "File::options",
    "OFlags::CREATE",
    "OFlags::TRUNC",
    "O_CREAT",
    "O_TRUNC",
];

/// The lines of a source without its tests: without each item that stands under `#[cfg(test)]`.
fn above_tests(text: &str) -> impl Iterator<Item = (usize, &str)> {
    #[derive(PartialEq)]
    enum Inside {
        Code,
        /// Its attributes, to the line that begins the item.
        Head,
        Block,
    }
    let mut inside = Inside::Code;
    text.lines().enumerate().filter(move |(_, line)| {
        let is_test = inside != Inside::Code || line.starts_with("#[cfg(test)]");
        inside = match inside {
            Inside::Code | Inside::Head if line.starts_with('#') && is_test => Inside::Head,
            Inside::Head if !line.ends_with([';', '}']) => Inside::Block,
            Inside::Block if *line != "}" => Inside::Block,
            _ => Inside::Code,
        };
        !is_test
    })
}

#[test]
fn files_other_than_the_io_are_opened_in_one_place() {
    let all = sources();
    let of_program = |name: &str| {
        let (_, rest) = name.split_once("crates/")?;
        let is_test = rest.ends_with("tests.rs");
        (rest.contains("/src/") && !rest.starts_with(NOT_IN_THE_PROGRAM) && !is_test).then(|| rest.to_owned())
    };
    let mut findings = Vec::new();
    let mut needed = BTreeSet::new();
    for (name, text) in &all {
        let Some(name) = of_program(name) else { continue };
        for (at, line) in above_tests(text).filter(|(_, line)| WAYS_TO_WRITE.iter().any(|way| code(line).contains(way)))
        {
            match OPEN_FOR_WRITING.iter().find(|(allowed, _)| *allowed == name) {
                Some((allowed, _)) => drop(needed.insert(*allowed)),
                None => findings.push(format!(
                    "{name}:{}: {}: use sys::files::output_file, which refuses devices",
                    at + 1,
                    line.trim()
                )),
            }
        }
    }
    let idle = OPEN_FOR_WRITING.iter().filter(|(allowed, _)| !needed.contains(allowed));
    findings.extend(idle.map(|(allowed, _)| format!("{allowed} writes nothing any more: take it off the list")));
    check(findings);
}

/// The crates of the loop, which compute for every I/O; their tests run with the checks that a release leaves out.
const UNCHECKED_IN_RELEASES: &[&str] = &["measure", "engine", "load", "run"];

#[test]
fn sums_are_checked_in_releases_but_in_the_loop() {
    let manifest = text("Cargo.toml");
    let checks = |section: &str| {
        let (_, rest) = manifest.split_once(&format!("\n[{section}]\n"))?;
        let line =
            rest.lines().take_while(|line| !line.starts_with('[')).find(|line| line.starts_with("overflow-checks"));
        line.map(|line| line.ends_with("true"))
    };
    assert_eq!(checks("profile.release"), Some(true));
    let of_crate = |name: &str| checks(&format!("profile.release.package.{name}"));
    check(
        FLOORS
            .iter()
            .filter(|(name, _)| of_crate(name).unwrap_or(true) == UNCHECKED_IN_RELEASES.contains(name))
            .map(|(name, _)| format!("{name}: only the crates of the loop are without checks of overflow"))
            .collect(),
    );
    // Tests are compiled as they come: with the checks.
    assert!(!["dev", "test"].iter().any(|profile| checks(&format!("profile.{profile}")) == Some(false)));
}

#[test]
fn what_is_left_out_of_sanitizers_exists_and_has_its_reason() {
    let all = sources();
    let lines = text("tools/unsanitized.txt");
    let wrong = |line: &&str| {
        let mut words = line.splitn(4, ' ');
        let [Some(tool), Some(name), Some(test), Some(reason)] =
            [words.next(), words.next(), words.next(), words.next()]
        else {
            return true;
        };
        // The last part of a path of modules: a function, or a module that stands for its tests.
        let part = test.trim_end_matches("::").rsplit("::").next().unwrap_or(test);
        let of_crate = all.iter().filter(|(path, _)| path.starts_with(&format!("crates/{name}/")));
        let known = of_crate.into_iter().any(|(path, text)| {
            path.ends_with(&format!("/{part}.rs"))
                || path.contains(&format!("/{part}/"))
                || text.contains(&format!("fn {part}"))
        });
        !["address", "thread", "miri"].contains(&tool) || !known || reason.len() < 10
    };
    check(lines.lines().filter(|line| !line.starts_with('#')).filter(wrong).map(str::to_owned).collect());
}

#[test]
fn tests_that_make_check_leaves_out_exist_and_have_a_reason() {
    let all = sources();
    let lines = text("tools/needs-root-or-oracles.txt");
    let wrong = |line: &&str| {
        let Some((name, reason)) = line.split_once(' ') else { return true };
        let function = format!("fn {name}()");
        let file = format!("/{}.rs", name.trim_end_matches("::"));
        !all.iter().any(|(path, text)| text.contains(&function) || path.ends_with(&file)) || reason.len() < 8
    };
    check(lines.lines().filter(|line| !line.starts_with('#')).filter(wrong).map(str::to_owned).collect());
}

#[test]
fn what_is_called_no_race_exists() {
    let all = sources();
    let lines = text("tools/races.txt");
    let wrong = |line: &&str| {
        let name = line.rsplit("::").next().unwrap_or(line);
        !line.starts_with("race:") || !all.values().any(|text| text.contains(&format!("struct {name} ")))
    };
    check(lines.lines().filter(|line| !line.starts_with('#')).filter(wrong).map(str::to_owned).collect());
}

#[test]
fn the_rules_find_what_breaks_them() {
    assert!(uses("    let x = unsafe { read() };", "unsafe"));
    assert!(!uses("#![forbid(unsafe_code)]", "unsafe"));
    assert!(!uses("// unsafe", "unsafe") && !uses("say(\"unsafe\")", "unsafe"));
    assert_eq!(
        listed("x\n[dependencies]\na.workspace = true\nb-c = \"1\"\n\n# d\n[lints]\ne = 1\n", "dependencies"),
        ["a", "b-c"]
    );
    let document = "text\n| floor | crate |\n|---|---|\n| 0 | `measure` |\n\n| 1 | no |\n";
    assert_eq!(table(document, "floor", "crate"), [["0", "measure"]]);
    let source = "use a;\n#[cfg(test)]\nuse b;\n#[cfg(test)]\n#[path = \"c.rs\"]\nmod c;\nfn d() {\n}\n#[cfg(test)]\nmod e {\n    use f;\n}\nfn g() {}\n";
    let lines: Vec<&str> = above_tests(source).map(|(_, line)| line).collect();
    assert_eq!(lines, ["use a;", "fn d() {", "}", "fn g() {}"]);
}

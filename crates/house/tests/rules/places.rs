//! House rule "one place each": all that the table of ARCHITECTURE.md names exists, and for most kinds of additions a
//! thing that exists is named by exactly the files that its row promises, so that adding another one needs no more.

use super::language::production;
use super::{check, root, sources, text};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// One thing of each kind: its row in ARCHITECTURE.md, words that only this thing has, and the files that use them.
#[rustfmt::skip]
const EXAMPLES: &[(&str, &[&str], &[&str])] = &[
    ("an engine whose queue jobs of a thread can share", &["SharedNull"], &["engine/src/null.rs", "engine/src/registry.rs"]),
    ("an engine", &["E4Defrag", "e4defrag"], &["engine/src/e4defrag.rs", "engine/src/lib.rs", "engine/src/registry.rs"]),
    ("an engine of the calibration", &["Timeouts", "TIMEOUTS"], &["engine/src/io_uring/mod.rs", "engine/src/io_uring/nothing.rs", "engine/src/registry.rs", "run/src/calibration/setups.rs"]),
    ("an option", &["rate_cycle", "ratecycle"], &["fio/src/options/table/pace.rs", "plan/src/pace.rs", "run/src/drive/constraints.rs"]),
    ("an option of iozone", &["no_stonewall"], &["iozone/src/passes.rs", "iozone/src/settings.rs"]),
    ("a format that is written", &["terse::write"], &["formats/src/fio/clients.rs", "formats/src/lib.rs"]),
    ("a family of metrics", &["plumb_io_errors"], &["formats/src/openmetrics.rs"]),
    ("a format that is only read", &["IostatReader"], &["formats/src/iostat/mod.rs", "formats/src/iostat/read.rs", "formats/src/stream/mod.rs"]),
    ("a chart", &["Surface"], &["report/src/data/mod.rs", "report/src/data/surface.rs", "report/src/sources/pictures.rs"]),
    ("a profile of `plumb ask`", &["zeebe"], &["survey/src/profile.rs"]),
    ("a profile of grades", &["oracle-2012"], &["analysis/src/report_card/profiles.rs", "cli/src/grade/mod.rs"]),
    ("a check", &["link_ceiling"], &["analysis/src/checks/mod.rs"]),
    ("a message between leader and members", &["Bye"], &["cli/src/members/listener.rs", "cli/src/members/member.rs", "cluster/src/leader.rs", "cluster/src/message.rs"]),
    ("an MPI with an ABI that is not known", &["Standard"], &["sys/src/processes/mpi/mod.rs", "sys/src/processes/mpi/tables.rs"]),
    ("a check that only a cluster has", &["uneven_start"], &["cluster/src/checks/mod.rs"]),
    ("a number that no run can print", &["shortest {name}"], &["analysis/src/checks/contradiction/printed.rs"]),
    ("a number that is compared", &["Metric::Response"], &["analysis/src/compare/observation.rs"]),
    ("a fact about the surroundings", &["firmware"], &["analysis/src/compare/surroundings.rs", "monitor/src/surroundings.rs"]),
    ("an identity", &["users = iops × latency"], &["analysis/src/identities/job_side.rs"]),
    ("a cause of a fall", &["Quota"], &["analysis/src/regime/falls.rs", "analysis/src/regime/words.rs"]),
    ("a published rate of a volume", &["gp2"], &["analysis/src/regime/plateaus.rs"]),
    ("an option of iostat", &["--pretty"], &["monitor/src/iostat/command_line.rs"]),
    ("an option of fio.sh", &["DTrace"], &["survey/src/fio_sh_options.rs"]),
    ("a shell", &["fish"], &["cli/src/generate/mod.rs", "cli/src/generate/shells.rs"]),
    ("a column of iostat", &["areq-sz"], &["formats/src/iostat/columns.rs"]),
    ("a column of the report's table", &["tool_p99_us"], &["report/src/sources/numbers.rs"]),
    ("a reason not to write to a device", &["Swap"], &["sys/src/devices/claims.rs"]),
];

/// True for what names are made of.
fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// True if `word` occurs in the code of a line as a whole word; texts in quotes count, comments do not.
fn names(line: &str, word: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let part = |letter: Option<char>| letter.is_some_and(is_of_word);
    code.match_indices(word)
        .any(|(at, _)| !part(code[..at].chars().next_back()) && !part(code[at + word.len()..].chars().next()))
}

#[test]
fn things_are_in_the_files_that_the_architecture_promises() {
    let document = text("ARCHITECTURE.md");
    let code = production();
    let mut findings = Vec::new();
    for (kind, words, expected) in EXAMPLES {
        if !document.contains(&format!("\n| {kind} |")) {
            findings.push(format!("ARCHITECTURE.md has no row for {kind}"));
        }
        let uses = |lines: &[(usize, String)]| lines.iter().any(|(_, line)| words.iter().any(|word| names(line, word)));
        let found = code.iter().filter(|(path, lines)| !path.starts_with("crates/house/") && uses(lines));
        let mut found: Vec<&str> = found.map(|(path, _)| path.trim_start_matches("crates/")).collect();
        found.sort_unstable();
        if found != *expected {
            findings.push(format!("{kind} ({}) is in {}, not in {}", words[0], found.join(", "), expected.join(", ")));
        }
    }
    check(findings);
}

/// All files and folders of the repository that a document may name, by their path from the root.
fn paths() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![root()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).expect("a readable directory") {
            let path = entry.expect("a readable entry").path();
            let name = path.strip_prefix(root()).expect("under the root").to_string_lossy().into_owned();
            if [".git", "target"].contains(&name.as_str()) {
                continue;
            }
            found.insert(name);
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            }
        }
    }
    found
}

/// What the repository has, for names in the table.
struct Repository {
    paths: BTreeSet<String>,
    /// Every file of Rust, Python and JavaScript, and its text.
    code: Vec<(String, String)>,
    /// Every word of their code.
    words: BTreeSet<String>,
    makefile: String,
    readme: String,
}

/// Read once for all tests.
static REPOSITORY: LazyLock<Repository> = LazyLock::new(Repository::read);

impl Repository {
    fn read() -> Self {
        let paths = paths();
        let is_script = |path: &&String| [".py", ".js"].iter().any(|end| path.ends_with(end));
        let scripts = paths.iter().filter(is_script).map(|path| (path.clone(), text(path)));
        let code: Vec<(String, String)> = sources().into_iter().chain(scripts).collect();
        let lines = code.iter().flat_map(|(_, text)| text.lines()).map(|line| line.split("//").next().unwrap_or(line));
        let words = lines.flat_map(|line| line.split(|letter| !is_of_word(letter))).map(str::to_owned).collect();
        Self { paths, code, words, makefile: text("Makefile"), readme: text("README.md") }
    }

    /// The paths that end in these parts.
    fn ending(&self, path: &str) -> Vec<&String> {
        let path = path.trim_end_matches('/');
        let inner = format!("/{path}");
        self.paths.iter().filter(|known| *known == path || known.ends_with(&inner)).collect()
    }

    /// True if a file that `path` names, or one in a folder of this name, has the word.
    fn has(&self, path: &str, word: &str) -> bool {
        let places = self.ending(path);
        let is_there = |file: &str| places.iter().any(|place| file == *place || file.starts_with(&format!("{place}/")));
        self.code.iter().any(|(file, text)| is_there(file) && text.lines().any(|line| names(line, word)))
    }

    /// What of a quoted text does not exist.
    fn missing(&self, quoted: &str) -> Option<String> {
        let is_file = [".rs", ".md", ".txt", ".py", ".js", ".spec"].iter().any(|end| quoted.ends_with(end));
        if let Some(target) = quoted.strip_prefix("make ") {
            let target = format!("\n{target}:");
            return (!self.makefile.contains(&target)).then(|| format!("no target `{quoted}`"));
        }
        if let Some(command) = quoted.strip_prefix("plumb ") {
            let mut words = command.split(' ');
            let name = words.next().unwrap_or_default();
            let known = self.readme.contains(&format!("plumb {name}"));
            return words.find_map(|word| self.missing(word)).or((!known).then(|| format!("no command `{quoted}`")));
        }
        if quoted.starts_with("run: ") {
            return None;
        }
        if is_file || quoted.contains('/') {
            return self.ending(quoted).is_empty().then(|| format!("no path {quoted}"));
        }
        if let Some(option) = quoted.strip_prefix("--") {
            let of_table = format!("\"{option}\"");
            let is_in_table = || self.code.iter().any(|(_, text)| text.contains(&of_table));
            let known = self.words.contains(&option.replace('-', "_")) || is_in_table();
            return (!known).then(|| format!("no option {quoted}"));
        }
        let mut words = quoted.split(|letter| !is_of_word(letter)).filter(|word| word.len() > 2);
        let known = |word: &str| self.words.contains(word) || self.paths.contains(&format!("crates/{word}"));
        words.find(|word| !known(word)).map(|word| format!("nothing is named {word}"))
    }
}

/// The texts in backquotes of a cell.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Names that a cell says are in a file, `X` in `path` or `X` (`path`), with that path.
fn placed(cell: &str) -> Vec<(&str, &str)> {
    let parts: Vec<&str> = cell.split('`').collect();
    let pairs = parts.windows(3).enumerate().filter(|(at, part)| at % 2 == 1 && [" in ", " ("].contains(&part[1]));
    pairs.map(|(_, part)| (part[0], part[2])).filter(|(name, path)| path.contains('/') && !name.contains(' ')).collect()
}

#[test]
fn what_the_table_of_places_names_exists() {
    let document = text("ARCHITECTURE.md");
    let (_, rows) = document.split_once("\n| to add | do |").expect("the table");
    let rows = rows.lines().skip(2).take_while(|line| line.starts_with('|'));
    let repository = &*REPOSITORY;
    let mut findings = Vec::new();
    for row in rows {
        let subject = row.split('|').nth(1).unwrap_or_default().trim();
        let plain = row.split('`').step_by(2).flat_map(str::split_whitespace);
        let paths = plain.map(|word| word.trim_matches(['(', ')', ',', ';'])).filter(|word| word.contains('/'));
        let all = quoted(row).into_iter().chain(paths);
        findings.extend(all.filter_map(|name| repository.missing(name)).map(|what| format!("{subject}: {what}")));
        for (name, path) in placed(row) {
            let last = name.split("::").last().unwrap_or(name);
            if !repository.has(path, last) {
                findings.push(format!("{subject}: {name} is not in {path}"));
            }
        }
    }
    check(findings);
}

#[test]
fn words_are_found_as_whole_words_outside_of_comments() {
    assert!(names("    crate::e4defrag::E4Defrag,", "e4defrag") && names("name: \"drqm\",", "drqm"));
    assert!(!names("// as e4defrag does", "e4defrag") && !names("swapped(Swapping)", "Swap"));
    assert_eq!(placed("a `B` in `c/d.rs`, `E` (`f/g.rs`), `h` or `i`"), [("B", "c/d.rs"), ("E", "f/g.rs")]);
    let repository = &*REPOSITORY;
    let missing = ["make nothing", "plumb nothing", "engine/src/nothing_at_all.rs", "--no-such-thing-at-all"];
    assert!(missing.iter().all(|name| repository.missing(name).is_some()));
    let known = ["make check", "plumb gate --metrics", "engine/src/null.rs", "Engine::OWN_LOOP", "model"];
    assert_eq!(known.iter().filter_map(|name| repository.missing(name)).collect::<Vec<_>>(), [""; 0]);
}

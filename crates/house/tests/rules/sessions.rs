//! House rules about runs: one road from words to a result, and one edge of the process.

use super::code;
use super::language::{Finding, fail_with, production};

/// Crates that may print, exit and read the environment. `house` is not a part of the program.
const EDGE: &[&str] = &["crates/session/", "crates/cli/", "crates/house/"];

/// What only they use.
const OF_THE_EDGE: &[&str] =
    &["io::stdout()", "io::stderr()", "env::var", "env::args", "env::current_dir", "process::exit"];

/// What has one place, the files or folders that may have it, and how many lines elsewhere still have it. `formats`
/// reads the words of documents, which no run follows.
const ONE_PLACE: &[(&str, &[&str], usize)] = &[
    ("Parser::new(engine::ENGINES)", &["crates/session/src/machine.rs", "crates/formats/src/echoed.rs"], 0),
    ("run::execute(", &["crates/session/src/session.rs"], 0),
    ("Runner::new(", &["crates/run/src/", "crates/session/src/session.rs"], 0),
    // Commands that read documents judge what they read. iozone judges the children of a pass, which was published as
    // it was, as one job.
    (
        "analysis::judge(",
        &[
            "crates/session/",
            "crates/report/",
            "crates/cli/src/check/",
            "crates/cli/src/explain/",
            "crates/cli/src/grade/",
            "crates/cli/src/iozone/json_report.rs",
            "crates/cli/src/sides.rs",
        ],
        0,
    ),
    ("environment.command =", &["crates/session/src/"], 1),
];

/// The lines of production code with one of these texts, outside of files that begin with one of `allowed`.
fn lines_with(texts: &[&str], allowed: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, lines) in production() {
        if allowed.iter().any(|start| path.starts_with(start)) {
            continue;
        }
        for (at, line) in &lines {
            let line = code(line);
            let found = texts.iter().find(|text| line.contains(**text));
            findings.extend(found.map(|text| Finding { path: path.clone(), line: *at, what: (*text).to_owned() }));
        }
    }
    findings
}

/// Types of variables that change while a process runs.
const STATE: &[&str] = &["Atomic", "Mutex", "RwLock", "Cell<", "OnceLock", "static mut "];

/// Files that may have such global variables, with why.
const OF_THE_PROCESS: &[(&str, &str)] = &[
    ("crates/sys/src/processes/", "a handler of a signal has no argument"),
    ("crates/engine/src/offload/mod.rs", "the kernel limits the mappings of a process"),
    ("crates/engine/src/turns/thread.rs", "a coroutine finds the thread that it runs on"),
    ("crates/house/", "not a part of the program"),
];

/// True for a line that defines a global variable.
fn is_global_state(line: &str) -> bool {
    let line = code(line);
    let is_static = line.split_whitespace().take(3).any(|word| word == "static");
    is_static && STATE.iter().any(|kind| line.contains(kind))
}

#[test]
fn what_changes_in_a_process_is_an_argument() {
    let may = |path: &str| OF_THE_PROCESS.iter().any(|(start, _)| path.starts_with(start));
    let mut findings = Vec::new();
    for (path, lines) in production().into_iter().filter(|(path, _)| !may(path)) {
        let found = lines.iter().filter(|(_, line)| is_global_state(line));
        findings.extend(found.map(|(at, line)| Finding {
            path: path.clone(),
            line: *at,
            what: line.trim().to_owned(),
        }));
    }
    fail_with(findings);
    let examples = [
        ("static QUIET: AtomicBool = AtomicBool::new(false);", true),
        ("    pub(crate) static ALL: Mutex<Vec<u8>> = Mutex::new(Vec::new());", true),
        ("static mut COUNT: u32 = 0;", true),
        ("static TABLE: Crc<u8> = Crc::<u8>::new(&CRC_7);", false),
        ("// static QUIET: AtomicBool", false),
        ("fn f(count: &'static AtomicU32) {}", false),
    ];
    for (line, expected) in examples {
        assert_eq!(is_global_state(line), expected, "{line}");
    }
}

#[test]
fn only_the_top_crates_print_exit_and_read_the_environment() {
    fail_with(lines_with(OF_THE_EDGE, EDGE));
}

#[test]
fn a_step_of_a_run_has_one_place() {
    for (text, allowed, limit) in ONE_PLACE {
        let findings = lines_with(&[text], allowed);
        assert!(findings.len() >= *limit, "{text}: {} lines are left: write {0} as the limit", findings.len());
        if findings.len() > *limit {
            fail_with(findings);
        }
    }
}

//! Test harness for tables: each row is a test with a name, which can be listed, filtered and timed.
//!
//! A test program with `harness = false` calls [`run_all`]. Names and options are those of Rust's own harness
//! (libtest-mimic): `cargo test -p cli --test cases differential::clones`, `--list`, `--exact`, `--skip`,
//! `--test-threads`. Groups run sequentially, each with its own limit of concurrent tests. On-request cases run only
//! with `--ignored` or `--include-ignored`: they take long, or print output to be read.

use libtest_mimic::{Arguments, Trial};
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

/// Result of a case; an error is the difference found, for the log.
pub type Outcome = Result<(), String>;

/// A group of tests that run together.
pub struct Cases {
    name: &'static str,
    at_once: usize,
    tests: Vec<(String, Demand, Body)>,
}

type Body = Box<dyn FnOnce() -> Outcome + Send>;

/// Selection of a case by default or on request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Demand {
    Always,
    OnRequest,
}

impl Cases {
    /// Creates a group that runs up to `at_once` tests concurrently: 1 if they share a device, timing or a control
    /// group.
    pub fn new(name: &'static str, at_once: usize) -> Self {
        Cases { name, at_once, tests: Vec::new() }
    }

    /// Adds a case. Its listed name is `group::name`, with `_` for all characters but letters, digits, `:`, `.` and
    /// `-`.
    #[must_use]
    pub fn case(self, name: &str, body: impl FnOnce() -> Outcome + Send + 'static) -> Self {
        self.with(name, Demand::Always, Box::new(body))
    }

    /// Adds a case that runs only with `--ignored` or `--include-ignored`.
    #[must_use]
    pub fn on_request(self, name: &str, body: impl FnOnce() -> Outcome + Send + 'static) -> Self {
        self.with(name, Demand::OnRequest, Box::new(body))
    }

    /// Adds a test that fails by panicking.
    #[must_use]
    pub fn test(self, name: &str, body: impl FnOnce() + Send + 'static) -> Self {
        self.case(name, move || {
            body();
            Ok(())
        })
    }

    /// The listed names of the group's tests.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tests.iter().map(|(name, ..)| name.as_str())
    }

    fn with(mut self, name: &str, demand: Demand, body: Body) -> Self {
        let plain = |letter: char| match letter {
            letter if letter.is_alphanumeric() || "_:.-".contains(letter) => letter,
            _ => '_',
        };
        let name: String = name.trim().chars().map(plain).collect();
        self.tests.push((format!("{}::{name}", self.name), demand, body));
        self
    }
}

/// Adds tests to a group by their function names: `tests!(group, one, two)`. A function missing from all lists is
/// unused, so the compiler warns about it.
#[macro_export]
macro_rules! tests {
    ($cases:expr $(, $name:path)+ $(,)?) => {
        $cases$(.test(stringify!($name), $name))+
    };
}

/// Runs the groups with the options of the command line; a group without a selected test prints nothing. Fails if a
/// test fails, or if two tests have the same name.
pub fn run_all(groups: Vec<Cases>) -> ExitCode {
    let arguments = Arguments::from_args();
    let mut names: Vec<&str> = groups.iter().flat_map(|group| &group.tests).map(|(name, ..)| name.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        complain(&format!("two tests are called {}", pair[0]));
        return ExitCode::FAILURE;
    }
    let (mut failed, mut ran) = (false, 0);
    for group in groups {
        let tests: Vec<_> = group.tests.into_iter().filter(|(_, demand, _)| exists(&arguments, *demand)).collect();
        let selected = tests.iter().filter(|(name, ..)| is_selected(&arguments, name)).count();
        ran += selected;
        if selected > 0 {
            let threads = arguments.test_threads.map_or(group.at_once, |most| most.min(group.at_once));
            let arguments = Arguments { test_threads: Some(threads), ..arguments.clone() };
            failed |= libtest_mimic::run(&arguments, tests.into_iter().map(trial).collect()).has_failed();
        }
    }
    if ran == 0 {
        complain("no test has such a name");
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// True if a case is part of this run: on-request cases alone with `--ignored`, all cases with `--include-ignored`,
/// otherwise all but the on-request ones.
fn exists(arguments: &Arguments, demand: Demand) -> bool {
    match demand {
        Demand::Always => !arguments.ignored,
        Demand::OnRequest => arguments.ignored || arguments.include_ignored,
    }
}

/// True if the filters select this name; the harness applies them again.
fn is_selected(arguments: &Arguments, name: &str) -> bool {
    let matches = |filter: &String| if arguments.exact { name == filter } else { name.contains(filter.as_str()) };
    arguments.filter.as_ref().is_none_or(matches) && !arguments.skip.iter().any(matches)
}

fn trial((name, demand, body): (String, Demand, Body)) -> Trial {
    let timed = name.clone();
    let test = move || {
        let started = Instant::now();
        let outcome = body();
        note_time(&timed, started.elapsed().as_secs_f64());
        outcome.map_err(Into::into)
    };
    Trial::test(name, test).with_ignored_flag(demand == Demand::OnRequest)
}

/// Appends the duration of a test to the file named by `PLUMB_TEST_TIMES`; tools/gate prints the slowest tests.
fn note_time(name: &str, seconds: f64) {
    let Some(path) = std::env::var_os("PLUMB_TEST_TIMES") else { return };
    let file = std::fs::File::options().append(true).create(true).open(path);
    if let Err(error) = file.and_then(|mut file| writeln!(file, "{seconds:.2} cases::{name}")) {
        complain(&format!("PLUMB_TEST_TIMES: {error}"));
    }
}

#[expect(clippy::print_stderr, reason = "a test harness talks to the person who runs it")]
fn complain(text: &str) {
    eprintln!("{text}");
}

//! Test harness for tables: each row is a test with a name, which can be listed, filtered and timed.
//!
//! A test program with `harness = false` calls [`run_all`]. Names and options are those of Rust's own harness
//! (libtest-mimic): `cargo test -p cli --test cases differential::clones`, `--list`, `--exact`, `--skip`,
//! `--test-threads`. Groups run sequentially, each with its own limit of concurrent tests; those that mostly wait run
//! while the others do, and of these the ones that compare rates of a device come last. On-request cases run only with
//! `--ignored` or `--include-ignored`: they take long, or print output to be read.

use libtest_mimic::{Arguments, Trial};
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use std::{fs, thread};

/// Result of a case; an error is the difference found, for the log.
pub type Outcome = Result<(), String>;

/// A group of tests that run together.
pub struct Cases {
    name: &'static str,
    at_once: usize,
    load: Load,
    tests: Vec<(String, Demand, Body)>,
}

/// How busy the tests of a group keep the machine.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Load {
    Busy,
    Waiting,
    /// Waits too, and is disturbed by the other groups that do.
    WaitingLater,
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
        Cases { name, at_once, load: Load::Busy, tests: Vec::new() }
    }

    /// The same for tests that mostly wait for a program that sleeps. They run while the other groups do, and their
    /// lines are printed together at the end.
    pub fn waiting(name: &'static str, at_once: usize) -> Self {
        Cases { load: Load::Waiting, ..Cases::new(name, at_once) }
    }

    /// The same for tests that compare rates of a device: they begin when the groups of [`Cases::waiting`] have ended.
    pub fn waiting_later(name: &'static str, at_once: usize) -> Self {
        Cases { load: Load::WaitingLater, ..Cases::new(name, at_once) }
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
/// test fails, if none is selected, or if two tests have the same name.
pub fn run_all(groups: Vec<Cases>) -> ExitCode {
    let arguments = Arguments::from_args();
    let mut names: Vec<&str> = groups.iter().flat_map(|group| &group.tests).map(|(name, ..)| name.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        complain(&format!("two tests are called {}", pair[0]));
        return ExitCode::FAILURE;
    }
    let selected = groups.into_iter().filter_map(|group| group.selected(&arguments));
    let (busy, others): (Vec<Cases>, Vec<Cases>) = selected.partition(|group| group.load == Load::Busy);
    let (waiting, later): (Vec<Cases>, Vec<Cases>) = others.into_iter().partition(|group| group.load == Load::Waiting);
    if busy.is_empty() && waiting.is_empty() && later.is_empty() {
        complain("no test has such a name");
        return ExitCode::FAILURE;
    }
    let run = |groups: Vec<Cases>| groups.into_iter().fold(false, |failed, group| failed | group.run(&arguments));
    let has_failed = if busy.is_empty() {
        run(waiting) | run(later)
    } else {
        let into_file = |group: Cases| group.run_into_file(&arguments);
        thread::scope(|scope| {
            let waiting: Vec<_> = waiting.into_iter().map(|group| scope.spawn(|| into_file(group))).collect();
            let others = scope.spawn(|| {
                let mut ended: Vec<_> = waiting.into_iter().map(thread::ScopedJoinHandle::join).collect();
                ended.extend(later.into_iter().map(|group| Ok(into_file(group))));
                ended
            });
            let busy = run(busy);
            let ended = others.join().unwrap_or_else(|panic| vec![Err(panic)]);
            ended.into_iter().fold(busy, |failed, group| failed | !group.is_ok_and(GroupEnd::print_and_pass))
        })
    };
    if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

impl Cases {
    /// The group with the tests that are part of this run; `None` if the filters select none of them.
    fn selected(mut self, arguments: &Arguments) -> Option<Self> {
        self.tests.retain(|(_, demand, _)| exists(arguments, *demand));
        self.tests.iter().any(|(name, ..)| is_selected(arguments, name)).then_some(self)
    }

    /// Runs the tests; true if one failed.
    fn run(self, arguments: &Arguments) -> bool {
        let threads = arguments.test_threads.map_or(self.at_once, |most| most.min(self.at_once));
        let arguments = Arguments { test_threads: Some(threads), ..arguments.clone() };
        libtest_mimic::run(
            &arguments,
            self.tests.into_iter().map(|(name, demand, body)| trial(name, demand, body)).collect(),
        )
        .has_failed()
    }

    /// The same with its lines in a file.
    fn run_into_file(self, arguments: &Arguments) -> GroupEnd {
        let path = std::env::temp_dir().join(format!("{}.{}", self.name, std::process::id()));
        let logfile = Some(path.to_string_lossy().into_owned());
        let has_failed = self.run(&Arguments { logfile, ..arguments.clone() });
        GroupEnd { path, has_failed }
    }
}

/// A group that has ended, and the file of its lines.
struct GroupEnd {
    path: PathBuf,
    has_failed: bool,
}

impl GroupEnd {
    /// Prints its lines; true if they could be, and all tests passed.
    fn print_and_pass(self) -> bool {
        let copied = fs::read(&self.path).and_then(|lines| std::io::stdout().write_all(&lines));
        if let Err(error) = &copied {
            complain(&format!("{}: {error}", self.path.display()));
        }
        let _ = fs::remove_file(&self.path);
        copied.is_ok() && !self.has_failed
    }
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

fn trial(name: String, demand: Demand, body: Body) -> Trial {
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
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(Path::file_name).map(OsStr::to_string_lossy);
    let table = program.as_deref().and_then(|name| name.split('-').next()).unwrap_or("cases");
    let file = std::fs::File::options().append(true).create(true).open(path);
    if let Err(error) = file.and_then(|mut file| writeln!(file, "{seconds:.2} {table}::{name}")) {
        complain(&format!("PLUMB_TEST_TIMES: {error}"));
    }
}

#[expect(clippy::print_stderr, reason = "a test harness talks to the person who runs it")]
fn complain(text: &str) {
    eprintln!("{text}");
}

//! Random job files over all options against a simulated device, a tmpfs and a loop device: none may panic, hang, leave
//! a process behind or report numbers that contradict each other.
//!
//! `make soak` runs it for half an hour, the gate for seconds. Every case has a number; its file follows from the seed
//! and the number alone, so `PLUMB_SOAK_SEED=s PLUMB_SOAK_CASE=n` repeats one. Two cases run at a time, as root.

mod case;
mod draw;
mod found;
mod invariants;
mod values;

use case::{End, Place};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long the gate lets it go on.
const SLICE: Duration = Duration::from_secs(12);
/// The seed where none is given.
const SEED: u64 = 20_240_601;
/// Cases side by side.
const AT_ONCE: usize = 2;
/// After so many findings nothing new is learned.
const ENOUGH: usize = 25;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

/// What is known after all cases.
#[derive(Default)]
struct Tally {
    cases: u64,
    ended_well: u64,
    ended_with_errors: u64,
    ios: u64,
    bytes: u64,
    checks: u64,
    /// How often each option was in a file that ran.
    options: BTreeMap<&'static str, u64>,
    findings: Vec<String>,
}

impl Tally {
    /// What there is to say of a case at once: its file, where something was found.
    fn add(&mut self, seed: u64, number: u64, end: End) -> Option<String> {
        self.cases += 1;
        for name in end.options {
            *self.options.entry(name).or_default() += 1;
        }
        (self.ios, self.bytes, self.checks) = (self.ios + end.ios, self.bytes + end.bytes, self.checks + end.checks);
        *(if end.status == Some(0) { &mut self.ended_well } else { &mut self.ended_with_errors }) += 1;
        if let Err(why) = end.verdict {
            let again = format!("PLUMB_SOAK_SEED={seed} PLUMB_SOAK_CASE={number}");
            self.findings.push(format!("{again}: {why}"));
            return Some(format!("--- {again}: {why}\n{}", end.file));
        }
        None
    }

    fn told(&self, seed: u64, took: Duration) -> String {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "seed {seed}: {} cases in {} s, {} ended well, {} with the error of a job; {} I/Os, {} MiB, {} identities held",
            self.cases,
            took.as_secs(),
            self.ended_well,
            self.ended_with_errors,
            self.ios,
            self.bytes >> 20,
            self.checks,
        );
        // Some engines have an option of the same name.
        let drawn: BTreeSet<&str> = values::drawn().collect();
        let never: Vec<&str> = drawn.iter().copied().filter(|name| !self.options.contains_key(name)).collect();
        let _ = writeln!(text, "{} of {} options were in a file that ran", drawn.len() - never.len(), drawn.len());
        if !never.is_empty() {
            let _ = writeln!(text, "never: {}", never.join(" "));
        }
        text
    }
}

#[test]
fn random_job_files_end_and_their_numbers_agree() {
    let seed = number("PLUMB_SOAK_SEED").unwrap_or(SEED);
    let only = number("PLUMB_SOAK_CASE");
    let length = number("PLUMB_SOAK_SECONDS").map_or(SLICE, Duration::from_secs);
    let begun = Instant::now();
    let (next, tally) = (AtomicU64::new(only.unwrap_or(0)), Mutex::new(Tally::default()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let place = Place::new().expect("a tmpfs and a loop device (needs root)");
                loop {
                    let case = next.fetch_add(1, Ordering::Relaxed);
                    let known = tally.lock().unwrap().findings.len();
                    if begun.elapsed() > length || known >= ENOUGH || only.is_some_and(|only| only != case) {
                        break;
                    }
                    let end = case::run(&place, seed, case);
                    if let Some(found) = tally.lock().unwrap().add(seed, case, end) {
                        eprintln!("{found}");
                    }
                }
            });
        }
    });
    let tally = tally.into_inner().unwrap();
    println!("{}", tally.told(seed, begun.elapsed()));
    assert!(tally.findings.is_empty(), "{} findings:\n{}", tally.findings.len(), tally.findings.join("\n"));
    assert!(only.is_some() || tally.cases >= 10, "only {} cases", tally.cases);
    // In a long run nothing may be left out.
    if only.is_none() && length >= Duration::from_secs(600) {
        let never: Vec<&str> = values::drawn().filter(|name| !tally.options.contains_key(name)).collect();
        assert!(never.is_empty(), "options that never ran: {never:?}");
    }
}

#[test]
fn the_generator_knows_a_value_for_every_option() {
    let unknown: Vec<&str> =
        values::drawn().filter(|name| values::of(name, &mut draw::Draw::new(1, 1)).is_none()).collect();
    assert!(unknown.is_empty(), "add them to the pools of values.rs, or to those left out: {unknown:?}");
    let gone: Vec<&str> = values::listed().filter(|name| values::spec(name).is_none()).collect();
    assert!(gone.is_empty(), "options that are no more: {gone:?}");
}

/// Files that are only read: enough for every option to be in one that the parser accepts.
const FILES_READ: u64 = 6000;

#[test]
fn every_option_is_left_out_with_a_reason_or_stands_in_a_file_that_is_run() {
    let place = tempfile::tempdir().expect("a directory");
    case::furnish(place.path()).expect("files for the options that name some");
    let mut missing: BTreeSet<&str> = values::drawn().collect();
    for number in 0..FILES_READ {
        for name in case::admitted(place.path(), SEED, number).unwrap_or_else(|why| panic!("file {number}: {why}")) {
            missing.remove(name);
        }
        if missing.is_empty() {
            return;
        }
    }
    panic!(
        "the parser accepted them in none of {FILES_READ} files; give them values that it takes and what they need \
         beside them (values.rs), or leave them out with a reason: {missing:?}"
    );
}

//! Random job files over all options against a simulated device, a tmpfs and a loop device: none may panic, hang, leave
//! a process behind or report numbers that contradict each other.
//!
//! Every case has a number; its file follows from the seed and the number alone. The first cases are tests,
//! `soak::case_N`. On request (`--ignored`): `soak::for_minutes` runs new cases for SOAK_MINUTES (30; `make soak`), and
//! `soak::once_more` repeats the one that SOAK_SEED and SOAK_CASE name. Two cases run at a time, as root.

mod case;
pub(crate) mod draw;
mod found;
mod invariants;
mod values;

use case::{End, Place};
use house::Cases;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The cases that are tests.
const SLICE: u64 = 40;
/// The seed where none is given.
const SEED: u64 = 20_240_601;
/// Cases side by side.
const AT_ONCE: usize = 2;
/// After this number of findings nothing new is learned.
const ENOUGH: usize = 25;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is not a number")))
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
            let again = format!("SOAK_SEED={seed} SOAK_CASE={number}");
            self.findings.push(format!("{again}: {why}"));
            return Some(format!("--- {again}: {why}\n{}", end.file));
        }
        None
    }

    fn message(&self, seed: u64, took: Duration) -> String {
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

/// The slice, the long run, and the tests of the generator.
pub(super) fn groups() -> Vec<Cases> {
    let mut cases = Cases::new("soak", AT_ONCE);
    for number in 0..SLICE {
        cases = cases.case(&format!("case_{number}"), move || one(SEED, number));
    }
    let cases = cases.on_request("for_minutes", || for_minutes(number("SOAK_MINUTES").unwrap_or(30)));
    let cases = cases.on_request("once_more", || match (number("SOAK_SEED"), number("SOAK_CASE")) {
        (seed, Some(case)) => one(seed.unwrap_or(SEED), case),
        (_, None) => Ok(()),
    });
    vec![house::tests!(
        cases,
        the_generator_knows_a_value_for_every_option,
        every_option_is_in_a_file_or_left_out_with_a_reason,
        found::a_job_that_locks_its_files_logs_every_io,
        found::an_engine_without_files_has_nothing_to_lock_and_ends,
        found::time_goes_on_where_the_simulated_device_takes_none,
        found::a_ramp_of_bytes_is_refused_where_no_bytes_move,
        found::what_moves_no_bytes_has_nothing_to_read_back,
        found::a_shift_register_stays_within_places_that_lie_apart,
        invariants::a_group_counts_single_ios_where_each_of_its_jobs_does,
        invariants::intervals_hold_more_than_the_result_after_forgetting_only,
        invariants::a_log_has_more_rows_than_the_result_after_a_search_only,
    )]
}

/// One case; its job file is in the reason of its failure.
fn one(seed: u64, number: u64) -> Result<(), String> {
    let place = Place::new().map_err(|error| format!("a tmpfs and a loop device (needs root): {error}"))?;
    let end = case::run(&place, seed, number);
    end.verdict.map_err(|why| format!("SOAK_SEED={seed} SOAK_CASE={number}: {why}\n{}", end.file))
}

fn for_minutes(minutes: u64) -> Result<(), String> {
    let length = Duration::from_secs(60 * minutes);
    let seed = number("SOAK_SEED").unwrap_or(SEED);
    let begun = Instant::now();
    let (next, tally) = (AtomicU64::new(0), Mutex::new(Tally::default()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let place = Place::new().expect("a tmpfs and a loop device (needs root)");
                loop {
                    let case = next.fetch_add(1, Ordering::Relaxed);
                    let known = tally.lock().unwrap().findings.len();
                    if begun.elapsed() > length || known >= ENOUGH {
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
    println!("{}", tally.message(seed, begun.elapsed()));
    if !tally.findings.is_empty() {
        return Err(format!("{} findings:\n{}", tally.findings.len(), tally.findings.join("\n")));
    }
    // In a long run nothing may be left out.
    let never: Vec<&str> = values::drawn().filter(|name| !tally.options.contains_key(name)).collect();
    if minutes >= 10 && !never.is_empty() {
        return Err(format!("options that never ran: {never:?}"));
    }
    Ok(())
}

fn the_generator_knows_a_value_for_every_option() {
    let unknown: Vec<&str> =
        values::drawn().filter(|name| values::of(name, &mut draw::Draw::new(1, 1)).is_none()).collect();
    assert!(unknown.is_empty(), "add them to the pools of values.rs, or to those left out: {unknown:?}");
    let gone: Vec<&str> = values::listed().filter(|name| values::spec(name).is_none()).collect();
    assert!(gone.is_empty(), "options that are no more: {gone:?}");
}

/// Files that are only read: enough for every option to be in one that the parser accepts.
const FILES_READ: u64 = 6000;

fn every_option_is_in_a_file_or_left_out_with_a_reason() {
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
         next to them (values.rs), or leave them out with a reason: {missing:?}"
    );
}

//! Each check fires on a set-up made for it, stays silent over clean runs, and judges what others measured.
//!
//! Needs root, loop devices, tmpfs and control groups. A set-up is a test, `checks::CHECK::HOW`, and so are five clean
//! runs, `checks::clean::PLACE::LOAD`, of which may be said what is true of a busy machine. On request (`make checks`)
//! two tables over all set-ups and all honest runs, which want a quiet machine: `checks::detector::table` (is what is
//! wrong found, and what is right left alone?) and `checks::detector::limits` (is the bottleneck named?).

mod costs;
mod honest;
mod limits;
mod other_work;
mod plan_setups;
mod seldom;
mod setups;
mod sweeps;
mod table;
mod unusual;

use crate::context::{self, place};
use house::{Cases, Run, Transcript};
use plan_setups::{LONG_PLAN_SETUPS, PLAN_SETUPS};
use serde_json::Value;
use setups::{LONG_SETUPS, Rig, SETUPS, Setup};
use std::path::Path;

/// What a check found: its name, and its sentence.
type Finding = (String, String);

/// All set-ups: the tests of the gate, and those that run on request.
const LISTS: &[(&[Setup], Demand)] = &[
    (SETUPS, Demand::Gate),
    (PLAN_SETUPS, Demand::Gate),
    (LONG_SETUPS, Demand::OnRequest),
    (LONG_PLAN_SETUPS, Demand::OnRequest),
    (seldom::SETUPS, Demand::OnRequest),
];

/// Selection of a set-up as a test.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Demand {
    Gate,
    OnRequest,
}

fn fio(words: &str) -> Run {
    context::fio(place(), words).words("--output-format=json")
}

/// The notes of a finished run: (check, sentence), without those that could not be made.
fn findings(run: Run) -> Vec<Finding> {
    findings_in(&run.end())
}

fn findings_in(run: &Transcript) -> Vec<Finding> {
    of_notes(&run.json()["plumb"]["notes"])
}

/// The notes of all tests of a survey or of iozone, which writes its result into this file.
fn findings_of_tests(words: &str, file: &Path) -> Vec<Finding> {
    let run = context::plumb(place(), words).end();
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{error}: {run}"));
    let all: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let tests = all["tests"].as_array().expect("tests");
    assert!(!tests.is_empty(), "no test was made");
    tests.iter().flat_map(|test| of_notes(&test["result"]["notes"])).collect()
}

fn of_notes(notes: &Value) -> Vec<Finding> {
    let notes = notes.as_array().cloned().unwrap_or_default();
    let text = |note: &Value, key: &str| note[key].as_str().expect("text").to_owned();
    notes
        .iter()
        .filter(|note| note["grade"] != "not_checked")
        .map(|note| (text(note, "check"), text(note, "sentence")))
        .collect()
}

/// Set-ups, honest runs and single tests, one at a time: they share the machine's processors.
pub(super) fn groups() -> Vec<Cases> {
    let mut cases = Cases::new("checks", 1);
    for (setups, demand) in LISTS {
        for setup in *setups {
            let name = format!("{}::{}", setup.check, setup.how);
            cases = match demand {
                Demand::Gate => cases.case(&name, || fires(setup)),
                Demand::OnRequest => cases.on_request(&name, || fires(setup)),
            };
        }
    }
    cases = limits::add_to(honest::add_to(plan_setups::with_honest_runs(cases)));
    cases = cases.on_request("detector::table", table::detector).on_request("detector::limits", limits::table);
    vec![house::tests!(
        cases,
        every_check_has_a_setup_and_a_class,
        findings_are_printed_on_standard_error_and_fail_strict_runs,
        costs::a_printed_rate_is_checked_against_its_counts_in_all_forms,
        costs::a_block_size_sweep_of_a_device_is_fitted_with_its_errors,
        costs::what_jobs_and_device_say_of_the_same_stands_side_by_side,
        costs::a_sweep_that_cannot_be_measured_names_why,
        sweeps::exactly_the_rows_that_do_not_match_their_users_are_reported,
        sweeps::explain_puts_the_numbers_in_and_says_which_equation_breaks,
        sweeps::the_model_of_a_known_device_is_within_one_percent,
    )]
}

/// A machine that is busy with other work may hide what a set-up does to it: five tries.
fn fires(setup: &Setup) -> Result<(), String> {
    let mut found = Vec::new();
    for _ in 0..5 {
        found = (setup.run)(&Rig::new());
        if let Some((_, sentence)) = found.iter().find(|(check, _)| check == setup.check) {
            println!("{:<22} {:<34} {sentence}", setup.check, setup.how);
            return Ok(());
        }
    }
    Err(format!("did not fire; others: {found:?}"))
}

fn every_check_has_a_setup_and_a_class() {
    let fired: Vec<&str> = LISTS.iter().flat_map(|(setups, _)| *setups).map(|setup| setup.check).collect();
    let ids = || analysis::CHECKS.iter().map(|check| check.id);
    assert_eq!(
        ids().filter(|id| !fired.contains(id)).collect::<Vec<_>>(),
        Vec::<&str>::new(),
        "nothing makes these fire"
    );
    let classless: Vec<&str> = ids().filter(|id| table::Class::of(id).is_none()).collect();
    assert_eq!(classless, Vec::<&str>::new(), "these are in no class of the table");
}

fn findings_are_printed_on_standard_error_and_fail_strict_runs() {
    let run = |strict: &str| {
        let words = format!("--name=a --ioengine=null --rw=read --bs=4k --size=64m {strict}");
        fio(&words).env("PLUMB_REMARKS", "always").end()
    };
    let plain = run("").exits(0);
    assert!(plain.stderr.lines().any(|line| line.starts_with("plumb: check: ") && line.ends_with(']')), "{plain}");
    run("--strict=too-short").exits(4);
    run("--strict").exits(4);
    // Other checks found something.
    run("--strict=cache,limiter").exits(0);
    let unknown = run("--strict=cash").exits(1).complains("--strict=cash: `cash` is neither a check nor a grade");
    assert_eq!(unknown.stdout, "");
    fio("--name=a --ioengine=null --rw=read --size=64m").env("PLUMB_REMARKS", "never").end().silent();
}

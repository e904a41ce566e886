//! The drop-in held against fio itself: one list of cases, each given to Debian's `fio` and to `plumb fio`.
//!
//! Both must end with the same exit status, leave the same files, give the same JSON keys in the same order, count
//! the same I/O where the workload fixes it, reach a given rate within 2 %, and print the same lines of text after
//! folding (the rules stand in `house::fold`). What one refuses the other refuses.
//!
//! The newest fio that Debian has answers them, too: `newest_fio::NAME`, but for those that [`newest::DIFFERS`] lists
//! with the reason. Cases that both fio know are compared with the newest on request (`make test-full`).
//!
//! Each case is a test, `differential::NAME`, and so is each option that a case shows to work,
//! `differential::NAME::without_OPTION`. On request (`--ignored`): `fio_itself::NAME` compares fio with itself, which
//! must pass or the test is wrong; `search::NAME` prints which option a case notices.

mod case;
mod checks;
mod clients;
mod engines;
mod loads;
mod logs;
mod newest;
mod omitted;
mod places;
mod runs;
mod streams;
mod terse;
mod timing;
mod words;

use crate::context::PLUMB;
use case::{Case, Held, Rate};
use house::{
    Amounts, Cases, Counts, End, LoopDevice, Outcome, Program, Scene, compare_results, compare_text, split_output,
};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

fn all_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for area in [
        words::command_line,
        words::job_files,
        words::refused,
        loads::patterns,
        loads::names_that_add_up,
        loads::trims_of_a_device,
        loads::paces,
    ] {
        cases.extend(area());
    }
    for area in [checks::verify, checks::verified_later, checks::trims_and_preconditioning, checks::logs, checks::steps]
    {
        cases.extend(area());
    }
    for area in [places::handling, places::regions, places::below_the_size_of_the_file, places::amounts] {
        cases.extend(area());
    }
    for area in [loads::buffers, runs::files, runs::workers, runs::engines, runs::measures, terse::lines] {
        cases.extend(area());
    }
    for area in [clients::paths, clients::letters, clients::numbers] {
        cases.extend(area());
    }
    cases.extend(timing::limits());
    cases.extend(timing::turns());
    for area in [engines::on_files, engines::on_connections, engines::for_company, engines::own_options] {
        cases.extend(area());
    }
    for area in [logs::options, logs::reports, streams::ios, streams::calls] {
        cases.extend(area());
    }
    cases
}

fn fio() -> Program {
    Program { path: "fio".into(), first: Vec::new() }
}

fn ours() -> Program {
    Program { path: PLUMB.into(), first: vec!["fio".into()] }
}

/// fio's answer to a case: asked for once, by the first test that needs it.
type Oracle = Arc<OnceLock<Result<Answer, String>>>;

/// The cases, and the tests of this table itself.
pub(super) fn groups() -> Vec<Cases> {
    // Most of them wait for most of their time; with more at once, the cases with a rate may miss it on two processors.
    let mut cases = Cases::new("differential", 8);
    let (mut itself, mut search) = (Cases::new("fio_itself", 2), Cases::new("search", 2));
    let mut newest = Cases::new("newest_fio", 8);
    for case in all_cases() {
        let (name, oracle) = (case.name, Oracle::default());
        if newest::is_alike(name) {
            let (asked, is_only) = (case.clone(), case.newest_only);
            let compared = move || {
                let theirs = answer_of(&newest::fio(), &asked)?;
                held(differences_that_stay(&asked, &newest::fio(), &theirs)?)
            };
            // Where both fio answer alike, the comparison with one of them finds what changes in plumb.
            newest = if is_only { newest.case(name, compared) } else { newest.on_request(name, compared) };
        }
        if case.newest_only {
            continue;
        }
        for option in omitted::noticed_by(name) {
            let (case, oracle) = (case.clone(), oracle.clone());
            cases = cases.case(&format!("{name}::without_{option}"), move || {
                held(omitted::unnoticed(&case, &answer_of_fio(&case, &oracle)?, option)?)
            });
        }
        let (own, other, third) = (case.clone(), case.clone(), case);
        cases = cases.case(name, move || held(differences_that_stay(&own, &fio(), &answer_of_fio(&own, &oracle)?)?));
        itself = itself
            .on_request(name, move || held(differences(&other, &answer_of_fio(&other, &Oracle::default())?, &fio())?));
        search = search.on_request(name, move || omitted::search(&third, &answer_of_fio(&third, &Oracle::default())?));
    }
    let cases = house::tests!(
        cases,
        the_list_is_long_enough_and_every_case_has_its_own_name,
        omitted::each_row_names_a_case_that_is_there,
        terse::a_planted_difference_in_a_terse_line_is_named,
        streams::planted_differences_among_ios_are_named,
    );
    let newest = house::tests!(newest, newest::each_row_names_a_case_that_is_there);
    vec![cases, newest, itself, search]
}

fn held(differences: Vec<String>) -> Result<(), String> {
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n    ")) }
}

fn the_list_is_long_enough_and_every_case_has_its_own_name() {
    let cases = all_cases();
    let names: BTreeSet<_> = cases.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), cases.len(), "two cases share a name");
    assert!(cases.len() >= 500, "{} cases", cases.len());
}

fn answer_of_fio(case: &Case, oracle: &Oracle) -> Result<Answer, String> {
    oracle.get_or_init(|| answer_of(&fio(), case)).clone()
}

/// The answer of a fio. Debian's now and then never ends (seen in one run of some hundred, between two processes and an
/// exit), or gives up a job that did not start within seconds: it is asked again. Ours is asked once.
fn answer_of(fio: &Program, case: &Case) -> Result<Answer, String> {
    let is_stuck = |found: &Answer| {
        found.outcome.end == End::TooLate || found.outcome.stderr.contains("fio: job startup hung? exiting.")
    };
    let mut found = answer(case, fio)?;
    for _ in 0..2 {
        if is_stuck(&found) {
            found = answer(case, fio)?;
        }
    }
    Ok(found)
}

/// The differences between fio's answer and ours. A case that takes time, and so depends on what else the machine does,
/// is given to both up to three times.
fn differences_that_stay(case: &Case, fio: &Program, oracle: &Answer) -> Result<Vec<String>, String> {
    let mut found = differences(case, oracle, &ours())?;
    for _ in 0..2 {
        if found.is_empty() || !case.takes_time() {
            break;
        }
        found = differences(case, &answer_of(fio, case)?, &ours())?;
    }
    Ok(found)
}

/// The differences between fio's answer and that of the program, which runs in its own directory in the target
/// directory.
fn differences(case: &Case, oracle: &Answer, program: &Program) -> Result<Vec<String>, String> {
    let ours = answer(case, program)?;
    let mut differences = compare(case, oracle, &ours)?;
    if !differences.is_empty() {
        let end = |text: &str| {
            text.lines().rev().take(3).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join(" | ")
        };
        differences.push(format!("given: {}", case.call.words.join(" ")));
        differences.push(format!("fio's errors: {}", end(&oracle.outcome.stderr)));
        differences.push(format!("our errors: {}", end(&ours.outcome.stderr)));
    }
    Ok(differences)
}

const TRACE: &str = "trace";

/// The program under strace(1), which writes down these calls.
fn strace(program: &Program, calls: &str) -> Program {
    let words = ["-f", "-qq", "-e", &format!("trace={calls}"), "-o", TRACE].map(str::to_owned);
    let first = words.into_iter().chain([program.path.display().to_string()]).chain(program.first.clone());
    Program { path: "strace".into(), first: first.collect() }
}

/// What a program answered, and what its files hold where that counts.
#[derive(Clone)]
struct Answer {
    outcome: Outcome,
    report: String,
    contents: Vec<(PathBuf, Vec<u8>)>,
    windows: Vec<(PathBuf, logs::Shape)>,
}

fn answer(case: &Case, program: &Program) -> Result<Answer, String> {
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let device = match case.on_device {
        true => Some(LoopDevice::new(parent, 16 << 20).map_err(|error| format!("no loop device: {error}"))?),
        false => None,
    };
    let scene = Scene::new(parent, device.as_ref().map(LoopDevice::path)).map_err(|error| error.to_string())?;
    let traced = case.asked.map(|(calls, _)| strace(program, calls));
    let program = traced.as_ref().unwrap_or(program);
    let mut outcome = scene.run(program, &case.call).map_err(|error| format!("{}: {error}", program.path.display()))?;
    let mut report = outcome.stdout.clone();
    if case.asked.is_some() {
        report = std::fs::read_to_string(scene.directory().join(TRACE)).map_err(|error| format!("{TRACE}: {error}"))?;
        outcome.left.remove(Path::new(TRACE));
    }
    if let Some(name) = case.report_file {
        report = std::fs::read_to_string(scene.directory().join(name)).map_err(|error| format!("{name}: {error}"))?;
        outcome.left.remove(Path::new(name));
    }
    let mut contents = Vec::new();
    if case.logged {
        for (path, size) in &mut outcome.left {
            if path.extension().is_some_and(|extension| extension == "log") {
                let text = std::fs::read_to_string(scene.directory().join(path)).map_err(|error| error.to_string())?;
                contents.push((path.clone(), shape_of_log(&text).into_bytes()));
                *size = None;
            }
        }
    }
    let mut windows = Vec::new();
    for (path, size) in outcome.left.iter_mut().filter(|_| case.windowed) {
        if path.extension().is_some_and(|extension| extension == "log") {
            let text = std::fs::read_to_string(scene.directory().join(path)).map_err(|error| error.to_string())?;
            windows.push((path.clone(), logs::Shape::of(&text)));
        }
        if path.extension().is_some_and(|extension| extension == "log" || extension == "fz") {
            *size = None;
        }
    }
    if case.contents_fixed {
        for path in outcome.left.keys() {
            let bytes = std::fs::read(scene.directory().join(path)).map_err(|error| error.to_string())?;
            contents.push((path.clone(), bytes));
        }
    }
    Ok(Answer { outcome, report, contents, windows })
}

/// The files that stay. State files of verify are of another version than those of Debian's fio, so only their
/// presence is held.
fn without_sizes_of_states(answer: &Answer) -> Vec<(&Path, Option<u64>)> {
    let is_state = |path: &Path| path.to_string_lossy().ends_with("-verify.state");
    let files = answer.outcome.left.iter().map(|(path, size)| (path.as_path(), *size));
    files.map(|(path, size)| (path, size.filter(|_| !is_state(path)))).collect()
}

/// What is fixed in a log: of each row the number of its fields, its direction and its block size.
fn shape_of_log(text: &str) -> String {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(", ").collect();
        format!("{} fields, direction {:?}, size {:?}\n", fields.len(), fields.get(2), fields.get(3))
    };
    text.lines().map(row).collect()
}

fn compare(case: &Case, oracle: &Answer, ours: &Answer) -> Result<Vec<String>, String> {
    let mut differences = Vec::new();
    if let Some(status) = case.ends.filter(|&status| oracle.outcome.end != End::Status(status)) {
        differences.push(format!("the case expects fio to end with {status}, it ended with {:?}", oracle.outcome.end));
    }
    if oracle.outcome.end != ours.outcome.end {
        differences.push(format!("end: fio {:?}, ours {:?}", oracle.outcome.end, ours.outcome.end));
    }
    let (fios, left) = (without_sizes_of_states(oracle), without_sizes_of_states(ours));
    if fios != left {
        differences.push(format!("files: fio {fios:?}, ours {left:?}"));
    }
    if oracle.contents != ours.contents {
        differences.push("the files hold other bytes".to_owned());
    }
    for ((name, theirs), (_, mine)) in oracle.windows.iter().zip(&ours.windows) {
        differences.extend(theirs.differences(mine, &name.display().to_string()));
    }
    if ours.outcome.stderr.contains("panicked") {
        differences.push("a panic".to_owned());
    }
    if let Some((calls, wanted)) = case.asked {
        let (theirs, mine) = (streams::asked(&oracle.report, wanted), streams::asked(&ours.report, wanted));
        if theirs != mine {
            differences.push(format!("{calls}: of {wanted:?} fio has {theirs:?}, ours {mine:?}"));
        }
    }
    match case.held {
        Held::Ios(how) => differences.extend(streams::differences(how, &oracle.report, &ours.report)),
        Held::Report => differences.extend(compare_reports(case, &oracle.report, &ours.report)?),
        Held::Words => {
            if named(&oracle.report) != named(&ours.report) {
                differences.push(format!("words: fio {:?}, ours {:?}", oracle.report, ours.report));
            }
        }
        Held::Status => {}
        Held::Refusal => differences.extend(check_refusal(case, &oracle.outcome, &ours.outcome)),
    }
    Ok(differences)
}

/// The first word of a command line is the program's own name.
fn named(words: &str) -> String {
    let words = words.trim_end();
    let rest = words.strip_prefix("plumb fio ").or_else(|| words.strip_prefix("fio "));
    rest.unwrap_or(words).to_owned()
}

fn compare_reports(case: &Case, oracle: &str, ours: &str) -> Result<Vec<String>, String> {
    let (their_terse, oracle) = terse::apart(oracle);
    let (our_terse, ours) = terse::apart(ours);
    let split = |output: &str| split_output(output).map_err(|error| format!("the output holds no valid JSON: {error}"));
    let (their_json, their_text) = split(&oracle)?;
    let (our_json, our_text) = split(&ours)?;
    let mut differences = compare_text(&their_text, &our_text, case.rules);
    differences.extend(terse::differences(&their_terse, &our_terse, case.rules));
    let counts = if case.rules.amounts == Amounts::Fixed { Counts::Fixed } else { Counts::Free };
    match (&their_json, &our_json) {
        (Some(theirs), Some(mine)) => {
            differences.extend(compare_results(theirs, mine, counts));
            if case.sum_fixed && bytes_of(theirs) != bytes_of(mine) {
                differences.push(format!("bytes: fio {}, ours {}", bytes_of(theirs), bytes_of(mine)));
            }
            differences.extend(case.rate.iter().flat_map(|&rate| check_rate(mine, rate)));
        }
        (None, None) => {}
        (theirs, mine) => differences.push(format!("JSON: fio {}, ours {}", theirs.is_some(), mine.is_some())),
    }
    Ok(differences)
}

const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

fn jobs(result: &Value) -> impl Iterator<Item = &Value> {
    result["jobs"].as_array().into_iter().flatten()
}

fn bytes_of(result: &Value) -> u64 {
    jobs(result).flat_map(|job| DIRECTIONS.map(|direction| job[direction]["io_bytes"].as_u64().unwrap_or(0))).sum()
}

/// Within 2 % of the rate in IOPS and bandwidth, in every direction that moved anything; at least one did.
fn check_rate(result: &Value, rate: Rate) -> Vec<String> {
    let mut differences = Vec::new();
    let mut moved = 0;
    for job in jobs(result) {
        for direction in DIRECTIONS.map(|name| &job[name]).into_iter().filter(|d| d["total_ios"] != 0) {
            moved += 1;
            for (key, wanted) in [("iops", rate.iops), ("bw_bytes", rate.bandwidth)] {
                let reached = direction[key].as_f64().unwrap_or(0.0);
                if (reached / wanted - 1.0).abs() > 0.02 {
                    differences.push(format!("rate: {key} is {reached}, {wanted} was asked"));
                }
            }
        }
    }
    if moved == 0 {
        differences.push("rate: nothing moved".to_owned());
    }
    differences
}

fn check_refusal(case: &Case, oracle: &Outcome, ours: &Outcome) -> Vec<String> {
    let mut differences = Vec::new();
    for (who, outcome) in [("fio", oracle), ("plumb", ours)] {
        if !matches!(outcome.end, End::Status(status) if status != 0) {
            differences.push(format!("{who} did not refuse: {:?}", outcome.end));
        }
        if outcome.left.len() != case.call.files.len() {
            differences.push(format!("{who} left {:?}", outcome.left.keys()));
        }
        if outcome.stderr.trim().is_empty() && outcome.stdout.trim().is_empty() {
            differences.push(format!("{who} refused without a word"));
        }
    }
    differences
}

//! Whether the comparison would notice an option that is accepted and ignored.
//!
//! For each row of [`NOTICED`] the program under test gets the case once more without the option, and the answer is held
//! to fio's with it: there must be a difference, beside the echo of the options themselves. So a row means that the
//! option's effect is looked at, and `effects.rs` asks for a row, or for a test of its own, for each option that works.
//!
//! `PLUMB_OMITTED=search` tries all options of all cases and prints which case notices which.

use crate::case::{Case, Held};
use crate::{Answer, answer, compare, under_test};
use std::collections::BTreeSet;

/// An option, as its case spells it, and a case that notices when it does nothing.
pub(crate) const NOTICED: &[(&str, &str)] = &[];

/// What is wrong: options of this case whose omission goes unnoticed.
pub(crate) fn unnoticed(case: &Case, oracle: &Answer) -> Result<Vec<String>, String> {
    if std::env::var_os("PLUMB_OMITTED").is_some() {
        return search(case, oracle);
    }
    let mut wrong = Vec::new();
    for (option, _) in NOTICED.iter().filter(|(_, name)| *name == case.name) {
        if !spelled(case).contains(*option) {
            wrong.push(format!("is to notice when {option} does nothing, and does not have it"));
        } else if what_is_noticed(case, oracle, option)?.is_none() {
            wrong.push(format!("does not notice when {option} does nothing"));
        }
    }
    Ok(wrong)
}

/// The first difference that shows when the option is left out.
fn what_is_noticed(case: &Case, oracle: &Answer, option: &str) -> Result<Option<String>, String> {
    let less = without(case, option);
    let mut ours = answer(&less, &under_test())?;
    let mut theirs = oracle.clone();
    for report in [&mut theirs.report, &mut ours.report] {
        *report = without_echo(report);
    }
    Ok(compare(&less, &theirs, &ours).map_or_else(Some, |differences| differences.into_iter().next()))
}

/// The options that a case gives, as it spells them.
fn spelled(case: &Case) -> BTreeSet<&str> {
    let words = case.call.words.iter().filter_map(|word| word.strip_prefix("--").or_else(|| word.strip_prefix('-')));
    let lines = case.call.files.iter().flat_map(|(_, text)| text.lines()).map(str::trim);
    let name = |word| str::split(word, '=').next().unwrap_or_default();
    words.chain(lines).map(name).filter(|name| !name.is_empty()).collect()
}

fn without(case: &Case, option: &str) -> Case {
    let is = |word: &str| word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='));
    let mut less = case.clone();
    less.call.words.retain(|word| !word.starts_with('-') || !is(word.trim_start_matches('-')));
    for (_, text) in &mut less.call.files {
        if text.lines().any(is) {
            *text = text.lines().filter(|line| !is(line)).map(|line| format!("{line}\n")).collect();
        }
    }
    less
}

/// A report that does not say what was asked: neither options in JSON nor a job's first line.
fn without_echo(report: &str) -> String {
    let report: String =
        report.lines().filter(|line| !line.contains(": (g=")).map(|line| format!("{line}\n")).collect();
    let Ok((Some(mut json), text)) = house::split_output(&report) else { return report };
    let forget = |from: &mut serde_json::Value, key| from.as_object_mut().and_then(|map| map.shift_remove(key));
    forget(&mut json, "global options");
    for job in json["jobs"].as_array_mut().into_iter().flatten() {
        forget(job, "job options");
    }
    format!("{json:#}\n{text}")
}

/// What each option of the case shows, printed for a person who fills the table.
fn search(case: &Case, oracle: &Answer) -> Result<Vec<String>, String> {
    const NO_OPTIONS: [&str; 6] = ["name", "output-format", "output", "terse-version", "minimal", "debug"];
    for option in spelled(case).into_iter().filter(|option| !NO_OPTIONS.contains(option)) {
        if case.held != Held::Refusal {
            let found = what_is_noticed(case, oracle, option)?.unwrap_or_else(|| "nothing".to_owned());
            println!("{option} in {}: {}", case.name, found.replace('\n', " "));
        }
    }
    Ok(Vec::new())
}

#[test]
fn each_row_names_a_case_that_is_there() {
    let cases = crate::all_cases();
    for (option, name) in NOTICED {
        let case = cases.iter().find(|case| case.name == *name);
        let case = case.unwrap_or_else(|| panic!("{option}: there is no case {name}"));
        assert!(spelled(case).contains(option), "{name} does not give {option}");
        assert!(case.held != Held::Refusal, "{name}: a refusal shows no effect");
    }
}

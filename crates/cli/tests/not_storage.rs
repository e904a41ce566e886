//! What is not of the storage has no answer, in every command that gives one: neither yes nor no, better, worse, a best
//! level, a peak or a knee. The simulated disk moves nothing, which a check finds.

use crate::context::{SIMULATED_SURVEY, place, plumb};
use house::Place;

/// A survey over users of the simulated disk.
fn survey(place: &Place, file: &str, words: &str) -> String {
    let users = "--users 1,2,4,8 --no-report";
    plumb(place, format!("survey {SIMULATED_SURVEY} {users} {words} -o {file} .")).succeeds().stdout
}

/// In what a command prints, this is there and none of these words are.
#[track_caller]
fn says(shown: &str, no_answer: &str, verdicts: &[&str]) {
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(no_answer), "{no_answer}\n{shown}");
    assert!(verdicts.iter().all(|words| !shown.contains(words)), "{verdicts:?}\n{shown}");
}

const REASON: &str = "the numbers are not of the storage (nothing moved)";

#[test]
fn a_survey_its_page_and_its_costs_have_no_answer() {
    let place = place();
    let shown = survey(&place, "s.json", "");
    says(&shown, &format!("; no answer: {REASON}."), &["peak at", "Going from", "more than 10 % below"]);
    plumb(&place, "report s.json -o s.html").succeeds();
    says(&place.read("s.html"), &format!("; no answer: {REASON}."), &["IOPS peak at", "reads peak at"]);
    let costs = plumb(&place, "model s.json").succeeds().stdout;
    says(&costs, "No answer about the storage: nothing moved: engine `sim` drops every I/O", &[]);
    let document = plumb(&place, "model --json s.json").json();
    assert!(document["models"][0]["not_storage"].as_str().is_some_and(|why| why.starts_with("nothing moved: ")));
    let accepted = survey(&place, "a.json", "--accept nothing-moved");
    says(&accepted, "peak at", &["no answer"]);
}

#[test]
fn a_knee_has_no_answer() {
    let place = Place::below("/dev/shm");
    let shown = plumb(&place, "knee --buffered --time 1s --size 16M --users 1 --no-report .").succeeds().stdout;
    says(&shown, "8k random reads: no answer: the numbers are not of the storage (backing", &["growing"]);
}

#[test]
fn a_comparison_and_a_gate_have_no_answer() {
    let place = place();
    for file in ["old.json", "new.json"] {
        survey(&place, file, "");
    }
    let shown = plumb(&place, "compare old.json new.json").succeeds().stdout;
    says(
        &shown,
        "No answer: of the old side 1 of 1 runs, nothing moved: engine `sim`",
        &["Nothing changed", "In one run each"],
    );
    let pairs = plumb(&place, "compare --json old.json new.json").json();
    assert!(pairs["pairs"].as_array().unwrap().iter().all(|pair| pair["verdict"] == "cannot_tell"), "{pairs}");
    plumb(&place, "gate new.json --against old.json").exits(3).prints("NOT A STORAGE RESULT: old.json: nothing moved");
    let job = "--name=a --ioengine=sim --rw=randread --size=1g --runtime=1 --time_based";
    plumb(&place, format!("versus --rest 0 --b bs=8k -- {job}")).exits(3).complains("NOT A STORAGE RESULT, twice");
}

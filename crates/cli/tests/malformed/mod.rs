//! Wrong input that we made: each is refused with a clear message, a failing exit status and no trace on disk.
//!
//! The list is the table in `inputs.rs`: what is given, and the words that the message must hold (the place and the
//! word that is wrong). A panic, a signal, an empty message or a file that stays fails the input.

mod inputs;

use crate::context::PLUMB;
use house::{Call, End, Outcome, Program, Scene};
use inputs::{Input, all_inputs};
use std::collections::BTreeSet;
use std::path::Path;

fn given(input: &Input) -> Outcome {
    let scene = Scene::new(Path::new(env!("CARGO_TARGET_TMPDIR")), None).expect("a directory");
    let call = Call {
        words: input.words.split_whitespace().map(str::to_owned).collect(),
        files: input.files.iter().map(|(name, text)| ((*name).to_owned(), text.to_string())).collect(),
        ..Call::default()
    };
    let program = Program { path: PLUMB.into(), first: vec![input.command.to_owned()] };
    scene.run(&program, &call).expect("the program starts")
}

/// What is wrong with how the input was refused; nothing when it was refused well.
fn findings(input: &Input, outcome: &Outcome) -> Vec<String> {
    let said = format!("{}{}", outcome.stderr, outcome.stdout);
    let mut findings = Vec::new();
    if !matches!(outcome.end, End::Status(status) if status != 0) {
        findings.push(format!("it ended with {:?}", outcome.end));
    }
    for word in input.says.iter().filter(|word| !said.contains(**word)) {
        findings.push(format!("the message does not say `{word}`"));
    }
    if said.contains("panicked") || said.contains("RUST_BACKTRACE") {
        findings.push("it panicked".to_owned());
    }
    if outcome.stderr.trim().is_empty() {
        findings.push("nothing on standard error".to_owned());
    }
    let before: BTreeSet<&Path> = input.files.iter().map(|(name, _)| Path::new(*name)).collect();
    let after: BTreeSet<&Path> = outcome.left.keys().map(std::path::PathBuf::as_path).collect();
    if before != after {
        findings.push(format!("it left {after:?}"));
    }
    findings
}

#[test]
fn every_malformed_input_is_refused_with_the_place_and_the_word() {
    let mut failures = Vec::new();
    for input in all_inputs() {
        let outcome = given(&input);
        let found = findings(&input, &outcome);
        if !found.is_empty() {
            let said: String = outcome.stderr.chars().take(400).collect();
            failures.push(format!("{}\n    {}\n    said: {said}", input.name, found.join("\n    ")));
        }
    }
    assert!(failures.is_empty(), "{} inputs:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn the_list_is_long_enough_and_every_input_has_its_own_name() {
    let inputs = all_inputs();
    let names: BTreeSet<_> = inputs.iter().map(|input| input.name).collect();
    assert_eq!(names.len(), inputs.len(), "two inputs share a name");
    assert!(inputs.len() >= 60, "{} inputs", inputs.len());
    assert!(inputs.iter().all(|input| !input.says.is_empty()), "an input asks for no words");
}

#[test]
fn a_bad_refusal_is_noticed() {
    let input =
        Input { name: "n", command: "fio", words: String::new(), files: Vec::new(), says: vec!["bad.fio:2", "bs"] };
    let good = Outcome {
        end: End::Status(1),
        stdout: String::new(),
        stderr: "bad.fio:2: bs=x is not a size".to_owned(),
        left: std::collections::BTreeMap::new(),
    };
    assert_eq!(findings(&input, &good), Vec::<String>::new());
    let bad = [
        Outcome { end: End::Status(0), ..good.clone() },
        Outcome { end: End::Signal(6), ..good.clone() },
        Outcome { stderr: "something is wrong with bs".to_owned(), ..good.clone() },
        Outcome { stderr: format!("{}\nthread 'main' panicked", good.stderr), ..good.clone() },
        Outcome { left: [("a.0.0".into(), Some(0))].into(), ..good.clone() },
    ];
    for outcome in bad {
        assert_ne!(findings(&input, &outcome), Vec::<String>::new(), "{outcome:?} went unnoticed");
    }
}

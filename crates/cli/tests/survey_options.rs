//! What options of `plumb survey` make of it: what is written before the first test, how the cache is met, where the
//! result goes.

use crate::context::{place, plumb};
use house::Place;
use serde_json::Value;
use std::path::Path;

struct Survey {
    place: Place,
}

impl Survey {
    fn new() -> Self {
        Survey { place: place() }
    }

    /// Runs it and gives what it showed and what it saved.
    fn run(&self, target: &Path, words: &str) -> (String, Value) {
        let run = plumb(&self.place, "survey --output-dir .").words(words).words([target]).succeeds();
        let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        (text, self.place.json("plumb-survey-001.json"))
    }
}

/// Bytes that were written to a block device, by the kernel's count.
fn written(device: &Path) -> u64 {
    let name = device.file_name().expect("a device").to_string_lossy().into_owned();
    let stat = std::fs::read_to_string(format!("/sys/block/{name}/stat")).expect("the device's counters");
    let sectors: u64 = stat.split_whitespace().nth(6).and_then(|sectors| sectors.parse().ok()).expect("a count");
    sectors * 512
}

#[test]
fn preconditioning_writes_the_whole_device_twice() {
    const SIZE: u64 = 32 << 20;
    let device = house::LoopDevice::new(Path::new(env!("CARGO_TARGET_TMPDIR")), SIZE).expect("a loop device");
    let name = device.path().file_name().expect("a device").to_string_lossy().into_owned();
    let before = written(device.path());
    let words = format!(
        "--tests randread --users 1 --block-sizes 4k --time 1 --warm-up 0 --precondition --overwrite {name}:{SIZE}"
    );
    let (shown, saved) = Survey::new().run(device.path(), &words);
    let bytes = written(device.path()) - before;
    assert!((2 * SIZE..2 * SIZE + (1 << 20)).contains(&bytes), "{bytes} bytes were written\n{shown}");
    assert_eq!(saved["request"]["precondition"], true);
    assert_eq!(saved["tests"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_buffered_survey_says_that_the_cache_may_answer() {
    let survey = Survey::new();
    let target = place();
    let words = "--size 16M --tests randread --users 1 --block-sizes 4k --time 1 --warm-up 0 --buffered";
    let (shown, saved) = survey.run(target.path(), words);
    assert_eq!(saved["target"]["direct"], false);
    assert!(shown.contains("page cache"), "{shown}");
}

#[test]
fn a_survey_that_waits_until_it_is_steady_has_all_its_rows() {
    let survey = Survey::new();
    let target = place();
    let words =
        "--size 16M --tests randread --users 1,2 --time 1 --warm-up steady --engine sim --repeat 2 --shuffle --seed 7";
    let (shown, saved) = survey.run(target.path(), words);
    assert!(shown.contains("once it is steady"), "{shown}");
    assert_eq!((&saved["request"]["warm-up"], &saved["request"]["seed"]), (&"steady".into(), &7.into()));
    assert_eq!(saved["tests"].as_array().map(Vec::len), Some(4));
}

#[test]
fn a_target_that_had_not_settled_in_its_budget_is_named_so() {
    let survey = Survey::new();
    let target = place();
    let words = "--size 16M --tests randread --users 1 --block-sizes 4k --time 1 --warm-up 0 --precondition=steady \
                 --budget 2s";
    let (shown, saved) = survey.run(target.path(), words);
    assert!(shown.contains("Wear: 32M and more, until the rate is settled, are written before"), "{shown}");
    let (found, request) = (&saved["preconditioned"], &saved["request"]);
    assert_eq!((&request["precondition"], &request["budget"]), (&"steady".into(), &2.into()));
    assert_eq!((&found["settled"], &found["target_bytes"]), (&false.into(), &(16 << 20).into()));
    let sentence = found["sentence"].as_str().expect("a sentence");
    assert!(sentence.starts_with("not settled after 2") && shown.contains(sentence), "{shown}");
    let seconds = found["seconds"].as_f64().expect("seconds");
    assert!((1.9..4.0).contains(&seconds) && found["written_bytes"].as_u64() > Some(16 << 20), "{found}");
    let notes = saved["tests"][0]["result"]["notes"].as_array().expect("notes");
    assert!(notes.iter().any(|note| note["check"] == "steady"), "{notes:?}");
}
